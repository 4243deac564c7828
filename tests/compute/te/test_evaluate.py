"""Evaluation of tensor expressions agrees with numpy, and choices are lazy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime.base.arith import (
    Expr,
    Var,
    add,
    call,
    cast,
    const,
    dim,
    div,
    eq,
    evaluate_scalar,
    floordiv,
    floormod,
    ge,
    gt,
    le,
    logical_and,
    lt,
    maximum,
    minimum,
    mul,
    select,
    shift_left,
    shift_right,
    sub,
    truncdiv,
    truncmod,
)
from opgen_runtime.base.errors import AccessError, ExecutorError
from opgen_runtime.base.vocabulary import FLOAT32, INDEX, DType
from opgen_runtime.compute import te
from opgen_runtime.compute.te.evaluation import reduction, run

Array = np.ndarray[Any, np.dtype[Any]]
RNG = np.random.default_rng(7)


def floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype(np.float32)


def evaluate(out: te.Tensor, feeds: dict[te.Tensor, Array]) -> Array:
    (found,) = te.evaluate([out], feeds)
    (again,) = te.evaluate(te.normalize([out]), feeds)
    np.testing.assert_array_equal(found, again)
    return found


def test_axis_abs() -> None:
    data = te.placeholder("data", (3, 3, 3), "int32")
    out = te.compute(
        "out",
        (3, 3, 3),
        "int32",
        lambda i, j, k: select(eq(j, 1), call("abs", te.read(data, i, j, k)), te.read(data, i, j, k)),
    )
    x = RNG.integers(-9, 9, (3, 3, 3)).astype(np.int32)
    expected = x.copy()
    expected[:, 1] = np.abs(expected[:, 1])
    np.testing.assert_array_equal(evaluate(out, {data: x}), expected)


def test_softmax_and_its_stages() -> None:
    n = dim("n")
    x = te.placeholder("x", (n, 7), "float32")
    k, other = te.reduce_axis(7, "k"), te.reduce_axis(7, "l")

    def top(i: Expr) -> Expr:
        return te.reduce("max", k, te.read(x, i, k.var))

    def body(i: Expr, j: Expr) -> Expr:
        total = te.reduce("sum", other, call("exp", te.read(x, i, other.var) - top(i)))
        return call("exp", te.read(x, i, j) - top(i)) / total

    out = te.compute("out", (n, 7), "float32", body)
    a = floats(5, 7)
    e = np.exp(a.astype(np.float64) - a.max(1, keepdims=True))
    (found,) = te.evaluate([out], {x: a})
    np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), rtol=1e-6)
    assert te.to_text(te.normalize([out])) == (
        "x: float32[n, 7]\n"
        "out_max[i0]: float32[n] = max(x[i0, k] for k in range(7))\n"
        "out_sum1[i0]: float32[n] = sum(exp(x[i0, l] - max(x[i0, k] for k in range(7))) for l in range(7))\n"
        "out[i0, i1]: float32[n, 7] = exp(x[i0, i1] - out_max[i0]) / out_sum1[i0]\n"
    )


def test_choices_are_lazy() -> None:
    x = te.placeholder("x", (4,), "float32")
    shifted = te.compute(
        "s", (6,), "float32", lambda i: select(logical_and(ge(i, 1), lt(i, 5)), te.read(x, i - 1), 0.0)
    )
    a = floats(4)
    np.testing.assert_array_equal(evaluate(shifted, {x: a}), [0, *a, 0])
    with pytest.raises(
        AccessError, match=r"tensor w reads x\[i0\]: cannot prove that index 0 of x is in bounds"
    ):
        te.compute("w", (6,), "float32", lambda i: te.read(x, i))
    axes = te.data_axes((6,))  # as lang, which proves by itself, makes tensors
    body = te.read(x, axes[0].var)
    wrong = te.Tensor("w", (6,), body.dtype, te.Compute(axes, body))
    with pytest.raises(AccessError, match=r"x\[i0\] \(dim 0\): index 4 is outside 0 <= index < 4"):
        te.evaluate([wrong], {x: a})
    empty = te.placeholder("empty", (0,), "float32")
    none = te.compute("n", (3,), "float32", lambda i: select(lt(i, 0), te.read(empty, i), 2.0))
    np.testing.assert_array_equal(evaluate(none, {empty: floats(0)}), [2, 2, 2])


def test_a_value_shared_by_many_choices_is_evaluated_few_times() -> None:
    x = te.placeholder("x", (8,), "float32")

    def body(i: Expr) -> Expr:
        value = te.read(x, i)
        for step in range(40):
            c = gt(value, 0.1 * step)
            value = select(c, value * 0.9, value + 0.01)
        return value

    a = floats(8)
    expected = a.copy()
    for step in range(40):
        expected = np.where(
            expected > np.float32(0.1 * step), expected * np.float32(0.9), expected + np.float32(0.01)
        )
    np.testing.assert_array_equal(evaluate(te.compute("y", (8,), "float32", body), {x: a}), expected)


@pytest.mark.parametrize("limit", [1 << 22, 5])
@pytest.mark.parametrize("combiner", ["sum", "prod", "min", "max", "argmax", "argmin"])
def test_reductions(combiner: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduction, "LIMIT", limit)
    monkeypatch.setattr(run, "LIMIT", limit)
    x = te.placeholder("x", (3, 4, 5), "float32")
    axes = (te.reduce_axis(4, "k"), te.reduce_axis(5, "l"))
    dtype = "int64" if combiner.startswith("arg") else "float32"
    out = te.compute(
        "out", (3,), dtype, lambda i: te.reduce(combiner, axes, te.read(x, i, axes[0].var, axes[1].var))
    )
    a = floats(3, 4, 5)
    a[1, 2, 3] = np.nan
    a[1, 3, 0] = np.nan
    expected = getattr(np, combiner)(a.reshape(3, -1).astype(np.float64), axis=1)
    np.testing.assert_allclose(evaluate(out, {x: a}), expected.astype(out.dtype.numpy), rtol=1e-6)


@pytest.mark.parametrize(
    ("combiner", "dtype", "expected"),
    [
        ("sum", "int32", 0),
        ("prod", "float32", 1),
        ("max", "float32", -math.inf),
        ("max", "int8", -128),
        ("min", "uint8", 255),
        ("argmax", "float32", -1),
        ("any", "bool", False),
        ("all", "bool", True),
    ],
)
@pytest.mark.parametrize("masked", [False, True])
def test_empty_reductions(combiner: str, dtype: str, expected: float, masked: bool) -> None:
    size = 3 if masked else 0
    x = te.placeholder("x", (size,), dtype)
    k = te.reduce_axis(size, "k")
    condition = lt(k.var, 0) if masked else None
    result = "int64" if combiner == "argmax" else dtype
    out = te.compute("out", (2,), result, lambda i: te.reduce(combiner, k, te.read(x, k.var), condition))
    found = evaluate(out, {x: np.zeros(size, x.dtype.numpy)})
    assert found.tolist() == [expected, expected]


def test_first_match_else_default() -> None:
    x = te.placeholder("x", (6,), "int32")
    k = te.reduce_axis(6, "k")
    out = te.compute(
        "out",
        (7,),
        "int32",
        lambda i: te.reduce(
            "first", k, te.read(x, k.var), gt(cast(te.read(x, k.var), INDEX), i), const(-1, "int32")
        ),
    )
    a = np.array([1, 0, 3, 5, 2, 5], np.int32)
    assert evaluate(out, {x: a}).tolist() == [1, 3, 3, 5, 5, -1, -1]


def test_extents_that_depend_on_elements_and_axes() -> None:
    lens = te.placeholder("lens", (3,), "int64")
    x = te.placeholder("x", (3, 4), "float32")

    def body(i: Expr) -> Expr:
        k = te.reduce_axis(minimum(te.read(lens, i), 4), "k")
        return te.reduce("sum", k, te.read(x, i, k.var))

    a, n = floats(3, 4), np.array([0, 4, 2])
    out = te.compute("out", (3,), "float32", body)
    expected = [a[i, : n[i]].astype(np.float64).sum() for i in range(3)]
    np.testing.assert_allclose(evaluate(out, {x: a, lens: n}), expected, rtol=1e-6)


def test_integer_sums_wrap() -> None:
    x = te.placeholder("x", (3,), "int8")
    k = te.reduce_axis(3, "k")
    out = te.compute("out", (), "int8", lambda: te.reduce("sum", k, te.read(x, k.var)))
    assert evaluate(out, {x: np.array([100, 100, 100], np.int8)}).tolist() == 44


def test_half_rounds_once() -> None:
    x = te.placeholder("x", (600,), "float16")
    k = te.reduce_axis(600, "k")
    (out,) = te.widen([te.compute("out", (), "float16", lambda: te.reduce("sum", k, te.read(x, k.var)))])
    a = RNG.standard_normal(600).astype(np.float16)
    assert te.evaluate([out], {x: a})[0] == np.float16(a.astype(np.float64).sum())
    (y,) = te.widen([te.compute("y", (600,), "float16", lambda i: (te.read(x, i) + 1.0) * te.read(x, i))])
    wide = a.astype(np.float32)
    np.testing.assert_array_equal(te.evaluate([y], {x: a})[0], ((wide + 1) * wide).astype(np.float16))


def cumulative(direction: int) -> tuple[te.Tensor, te.Tensor]:
    x = te.placeholder("x", (4, 3), "float32")
    axes = te.data_axes((4, 3), ("t", "j"))
    t, j = axes[0].var, axes[1].var
    state = te.State(axes, 0)
    scan = te.Scan((state,), 4, direction)
    state.tensor = te.Tensor("s", (4, 3), FLOAT32, scan)
    before = select(gt(t, 0), te.read(state.tensor, t - 1, j), 0.0)
    if direction < 0:
        before = select(lt(t, 3), te.read(state.tensor, t + 1, j), 0.0)
    k = te.reduce_axis(3, "k")
    row = te.reduce("max", k, te.read(x, t, k.var))  # does not depend on the state
    state.body = te.read(x, t, j) + before + row
    return x, state.tensor


@pytest.mark.parametrize("direction", [1, -1])
def test_scan(direction: int) -> None:
    x, s = cumulative(direction)
    a = floats(4, 3)
    step = a + a.max(1, keepdims=True)
    expected = np.cumsum(step[::direction].astype(np.float64), axis=0)[::direction]
    np.testing.assert_allclose(evaluate(s, {x: a}), expected, rtol=1e-5)


def test_normalize_takes_out_of_scans_what_depends_on_no_state() -> None:
    _, s = cumulative(1)
    assert te.to_text(te.normalize([s])) == (
        "x: float32[4, 3]\n"
        "s_max[t]: float32[4] = max(x[t, k] for k in range(3))\n"
        "scan t in range(4) upwards:\n"
        "    s[t, j]: float32[4, 3] = x[t, j] + (s[t - 1, j] if t > 0 else 0.0) + s_max[t]\n"
    )


def scatter(op: str, guard: bool = True) -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    data = te.placeholder("data", (5,), "int32")
    index = te.placeholder("index", (6,), "int64")
    updates = te.placeholder("updates", (6,), "int32")
    base = te.compute("base", (5,), "int32", lambda i: te.read(data, i))
    u = te.IterVar(Var(INDEX, "u"), 6)
    at = te.read(index, u.var)
    put = te.Put((at,), op, te.read(updates, u.var))
    body: te.Put | te.Guard = te.Guard(logical_and(le(0, at), lt(at, 5)), (put,)) if guard else put
    out = te.Tensor("out", (5,), data.dtype, te.Update(base, (te.Loop(u, (body,)),), (index, updates)))
    return data, index, updates, out


@pytest.mark.parametrize(
    ("op", "expected"), [("=", [60, 1, 40, 3, 4]), ("add", [80, 1, 72, 3, 4]), ("max", [60, 1, 40, 3, 4])]
)
def test_scatter(op: str, expected: list[int]) -> None:
    data, index, updates, out = scatter(op)
    feeds = {
        data: np.arange(5, dtype=np.int32),
        index: np.array([0, 2, -1, 2, 9, 0]),
        updates: np.array([20, 30, 99, 40, 98, 60], np.int32),
    }
    assert evaluate(out, feeds).tolist() == expected


def test_a_write_out_of_range_is_an_error() -> None:
    data, index, updates, out = scatter("=", guard=False)
    feeds = {
        data: np.arange(5, dtype=np.int32),
        index: np.array([0, 2, 5, 2, 1, 0]),
        updates: np.zeros(6, np.int32),
    }
    with pytest.raises(AccessError, match=r"write of out \(dim 0\): index 5 is outside 0 <= index < 5"):
        te.evaluate([out], feeds)


def test_two_writes_of_one_iteration_keep_their_order() -> None:
    base = te.compute("base", (4,), "int64", lambda i: const(0, "int64"))
    u = te.IterVar(Var(INDEX, "u"), 3)
    puts = (te.Put((u.var,), "=", cast(u.var, "int64")), te.Put((u.var + 1,), "=", cast(u.var + 10, "int64")))
    out = te.Tensor("out", (4,), DType("int64"), te.Update(base, (te.Loop(u, puts),), ()))
    assert te.evaluate([out], {})[0].tolist() == [0, 1, 2, 12]


def test_puts_of_several_operations_run_in_turn() -> None:
    base = te.compute("base", (3,), "int64", lambda i: const(1, "int64"))
    u, v = te.IterVar(Var(INDEX, "u"), 3), te.IterVar(Var(INDEX, "v"), 2)
    puts = (te.Put((u.var,), "add", cast(v.var, "int64")), te.Put((u.var,), "mul", cast(u.var + 2, "int64")))
    guarded = te.Guard(eq(u.var, v.var), (te.Put((v.var,), "xor", cast(v.var + 7, "int64")),))
    body = te.Loop(u, (te.Loop(v, (*puts, guarded)),))
    out = te.Tensor("out", (3,), DType("int64"), te.Update(base, (body,), ()))
    expected = [1, 1, 1]
    for i in range(3):
        for j in range(2):
            expected[i] = (expected[i] + j) * (i + 2)
            if i == j:
                expected[j] ^= j + 7
    assert te.evaluate([out], {})[0].tolist() == expected


def test_extern() -> None:
    x = te.placeholder("x", (4,), "int32")

    def unique(a: Array, top: int) -> tuple[Array, Array]:
        return np.unique(a)[:top], np.array([7], np.int64)

    out = te.Tensor("out", (2,), x.dtype, te.Extern((x,), unique, (("top", 2),)))
    count = te.Tensor("count", (1,), DType("int64"), te.Extern((x,), unique, (("top", 2),), 1))
    found = te.evaluate([out, count], {x: np.array([3, 1, 3, 2], np.int32)})
    assert [f.tolist() for f in found] == [[1, 2], [7]]


def test_feeds_are_checked() -> None:
    n = dim("n")
    x, y = te.placeholder("x", (n,), "float32"), te.placeholder("y", (n,), "float32")
    out = te.compute("out", (n,), "float32", lambda i: te.read(x, i) + te.read(y, i))
    with pytest.raises(ExecutorError, match="no value is given for the input y"):
        te.evaluate([out], {x: floats(2)})
    with pytest.raises(ExecutorError, match="y: dim 0 is 3, expected 2"):
        te.evaluate([out], {x: floats(2), y: floats(3)})
    with pytest.raises(ExecutorError, match="x: expected float32, found float64"):
        te.evaluate([out], {x: floats(2).astype(np.float64), y: floats(2)})


OPS = [add, sub, mul, floordiv, floormod, truncdiv, truncmod, minimum, maximum]
DTYPES = ["int8", "int32", "int64", "uint8", "uint64", "float32", "float64"]


@given(st.data(), st.sampled_from(DTYPES), st.sampled_from([*OPS, shift_left, shift_right, div]))
@settings(max_examples=300)
def test_operations_agree_with_the_scalar_semantics(data: st.DataObject, name: str, op: Any) -> None:
    dtype = DType(name)
    if (dtype.is_float and op in (shift_left, shift_right)) or (not dtype.is_float and op is div):
        return
    if dtype.is_float:
        value: st.SearchStrategy[Any] = st.floats(width=dtype.bits) | st.sampled_from(
            [0.0, -0.0, 1.0, -2.0, 3.0]
        )
    else:
        value = st.integers(int(dtype.lowest), int(dtype.highest)) | st.integers(0, 9)
    pairs = data.draw(st.lists(st.tuples(value, value), min_size=1, max_size=6))
    a, b = te.placeholder("a", (len(pairs),), name), te.placeholder("b", (len(pairs),), name)
    out = te.compute("out", (len(pairs),), name, lambda i: op(te.read(a, i), te.read(b, i)))
    columns = [np.array(column, dtype.numpy) for column in zip(*pairs, strict=True)]
    (found,) = te.evaluate([out], {a: columns[0], b: columns[1]})
    x, y = Var(dtype, "x"), Var(dtype, "y")
    for p, q, value_found in zip(*(c.tolist() for c in columns), found.tolist(), strict=True):
        expected = evaluate_scalar(op(x, y), {x: p, y: q})
        assert value_found == expected or (value_found != value_found and expected != expected)


@given(st.data(), st.sampled_from(["float32", "float64", "int64", "bool"]), st.sampled_from(DTYPES))
@settings(max_examples=150)
def test_casts_agree_with_the_scalar_semantics(data: st.DataObject, name: str, target: str) -> None:
    source = DType(name)
    value: st.SearchStrategy[Any] = st.booleans()
    if source.is_float:
        value = st.floats(width=source.bits)
    elif source.is_int:
        value = st.integers(-(2**63), 2**63 - 1)
    column = np.array(data.draw(st.lists(value, min_size=1, max_size=6)), source.numpy)
    a = te.placeholder("a", column.shape, name)
    out = te.compute("out", column.shape, target, lambda i: cast(te.read(a, i), target))
    (found,) = te.evaluate([out], {a: column})
    x = Var(source, "x")
    for p, value_found in zip(column.tolist(), found.tolist(), strict=True):
        expected = evaluate_scalar(cast(x, target), {x: p})
        assert value_found == expected or (value_found != value_found and expected != expected)
