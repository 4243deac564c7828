"""The half precision rule: halves are computed and kept in float32, and rounded where an output is stored."""

from __future__ import annotations

from collections.abc import Callable

from opgen_runtime.base.arith import Expr, Var, call, cast, const, gt, lt, maximum, select, to_text
from opgen_runtime.base.vocabulary import FLOAT16, INDEX, DType
from opgen_runtime.compute import te
from opgen_runtime.compute.te.graph import tensor_order

X = te.placeholder("x", (4,), "float16")
Y = te.placeholder("y", (4,), "float32")
K = te.reduce_axis(4, "k")
H = te.read(X, 0)


def widened(e: Expr, dtype: str = "float16") -> str:
    (out,) = te.widen([te.Tensor("out", (), DType(dtype), te.Compute((), e))])
    assert isinstance(out.op, te.Compute)
    return to_text(out.op.body)


def test_widen() -> None:
    assert widened(H) == "x[0]"
    assert widened(H + 1.0) == "cast(cast(x[0], float32) + 1.0, float16)"
    assert widened(te.read(Y, 0) + 1.0, "float32") == "y[0] + 1.0"
    assert widened(cast(H * H, "float32"), "float32") == "cast(x[0], float32) * cast(x[0], float32)"
    assert (
        widened(cast(te.read(Y, 0), FLOAT16) + H)
        == "cast(cast(cast(y[0], float16), float32) + cast(x[0], float32), float16)"
    )
    assert widened(select(lt(H, 0.0), call("exp", H), H)) == (
        "cast(exp(cast(x[0], float32)) if cast(x[0], float32) < 0.0 else cast(x[0], float32), float16)"
    )
    assert widened(te.reduce("sum", K, te.read(X, K.var))) == (
        "cast(sum(cast(x[k], float32) for k in range(4)), float16)"
    )
    assert widened(cast(te.reduce("argmax", K, te.read(X, K.var)), "int64"), "int64") == (
        "cast(argmax(cast(x[k], float32) for k in range(4)), int64)"
    )


def text(*outputs: te.Tensor) -> str:
    return te.to_text(te.widen(outputs))


def test_intermediates_are_kept_in_float32() -> None:
    y = te.compute("y", (4,), "float16", lambda i: te.read(X, i) * te.read(X, i))
    out = te.compute("out", (4,), "float16", lambda i: te.read(y, i) + 1.0)
    assert (
        text(out)
        == """\
x: float16[4]
y[i0]: float32[4] = cast(x[i0], float32) * cast(x[i0], float32)
out[i0]: float16[4] = cast(y[i0] + 1.0, float16)
"""
    )


def test_what_is_only_chosen_stays_a_half() -> None:
    y = te.compute("y", (4,), "float16", lambda i: select(lt(i, 2), te.read(X, i), const(0.5, FLOAT16)))
    out = te.compute("out", (4,), "float16", lambda i: te.read(y, 3 - i) + 1.0)
    assert (
        text(out)
        == """\
x: float16[4]
y[i0]: float16[4] = cast(cast(x[i0], float32) if i0 < 2 else 0.5, float16)
out[i0]: float16[4] = cast(cast(y[3 - i0], float32) + 1.0, float16)
"""
    )


def test_an_output_that_is_read_is_kept_before_it_is_rounded() -> None:
    y = te.compute("y", (4,), "float16", lambda i: call("exp", te.read(X, i)))
    out = te.compute("out", (4,), "float16", lambda i: te.read(y, i) * 3.0)
    assert (
        text(y, out)
        == """\
x: float16[4]
y[i0]: float32[4] = exp(cast(x[i0], float32))
y_float16[i0]: float16[4] = cast(y[i0], float16)
out[i0]: float16[4] = cast(y[i0] * 3.0, float16)
"""
    )


def running(step: Callable[[Expr, Expr], Expr]) -> te.Tensor:
    axes = te.data_axes((4,), ("t",))
    t = axes[0].var
    state = te.State(axes, 0)
    state.tensor = te.Tensor("s", (4,), FLOAT16, te.Scan((state,), 4, 1))
    state.body = select(gt(t, 0), step(te.read(state.tensor, t - 1), te.read(X, t)), 1.0)
    return state.tensor


def test_the_states_of_a_scan_are_float32() -> None:
    assert (
        text(running(lambda a, b: a + b))
        == """\
x: float16[4]
scan t in range(4) upwards:
    s[t]: float32[4] = s[t - 1] + cast(x[t], float32) if t > 0 else 1.0
s_float16[i0]: float16[4] = cast(s[i0], float16)
"""
    )


def test_a_scan_that_chooses_stays_in_halves() -> None:
    assert (
        text(running(maximum))
        == """\
x: float16[4]
scan t in range(4) upwards:
    s[t]: float16[4] = cast(max(cast(s[t - 1], float32), cast(x[t], float32)) if t > 0 else 1.0, float16)
"""
    )


def scattered(op: str) -> te.Tensor:
    base = te.compute("base", (4,), "float16", lambda i: te.read(X, i) * 2.0)
    axis = te.IterVar(Var(INDEX, "u"), 4)
    put = te.Put((3 - axis.var,), op, te.read(X, axis.var) * 3.0)
    return te.Tensor("out", (4,), FLOAT16, te.Update(base, (te.Loop(axis, (put,)),), (X,)))


def test_scatters_accumulate_in_float32() -> None:
    assert (
        text(scattered("add"))
        == """\
x: float16[4]
base[i0]: float32[4] = cast(x[i0], float32) * 2.0
out: float32[4] = base, then
    for u in range(4):
        out[3 - u] += cast(x[u], float32) * 3.0
out_float16[i0]: float16[4] = cast(out[i0], float16)
"""
    )


def test_scatters_that_replace_are_rounded_in_place() -> None:
    assert (
        text(scattered("max"))
        == """\
x: float16[4]
base[i0]: float16[4] = cast(cast(x[i0], float32) * 2.0, float16)
out: float16[4] = base, then
    for u in range(4):
        out[3 - u] = max(out[3 - u], cast(cast(x[u], float32) * 3.0, float16))
"""
    )


def test_without_halves_nothing_changes() -> None:
    out = te.compute("out", (4,), "float32", lambda i: te.read(Y, i) + 1.0)
    (same,) = te.widen([out])
    assert same is out


def test_what_operands_are_computed_from_is_shared() -> None:
    """Op after op, each reading its operand twice: one tensor an op, not one for each way to it."""
    tensor = X
    for step in range(64):
        double = te.compute(f"y{step}", (4,), "float16", lambda i, t=tensor: te.read(t, i) + te.read(t, i))
        (tensor,) = te.widen([double], [tensor])
        assert tensor.dtype == "float16"
    other = te.compute("other", (4,), "float16", lambda i: te.read(tensor, i) * te.read(tensor, i))
    assert len(tensor_order(te.widen([other, tensor], [tensor]))) == 66
