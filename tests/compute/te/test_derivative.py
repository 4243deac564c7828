"""Adjoints of tensor expressions: whole expressions, index maps turned around, and the traps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opgen_runtime import te as dsl
from opgen_runtime.base.arith import Binary, Compare, Expr, Var, call, eq, floordiv, floormod, select
from opgen_runtime.base.arith.intrinsics import INTRINSICS
from opgen_runtime.base.errors import LanguageError
from opgen_runtime.base.vocabulary import FLOAT64, INDEX
from opgen_runtime.compute import te
from opgen_runtime.compute.te.derivative import local, pullback
from opgen_runtime.compute.te.derivative.inverse import invert
from opgen_runtime.compute.te.evaluation import evaluate


def adjoint(out: te.Tensor, wrt: te.Tensor, **options: Any) -> te.Tensor:
    g = te.placeholder("g", out.shape, out.dtype)
    found = pullback([out], [g], wrt, **options)
    assert found is not None
    operands = [t for t in te.tensor_order([found]) if isinstance(t.op, te.Placeholder)]
    te.verify_tensors([found], "an adjoint", frozenset(operands))
    return found


def text(out: te.Tensor, wrt: te.Tensor) -> str:
    return te.to_text([adjoint(out, wrt)]).splitlines()[-1]


def x_of(*shape: int, dtype: str = "float64") -> te.Tensor:
    return te.placeholder("x", shape, dtype)


def test_a_product_of_matrices_is_gathered() -> None:
    a, b = te.placeholder("a", (2, 3), "float32"), te.placeholder("b", (3, 4), "float32")
    k = dsl.reduce_axis((0, 3), name="k")
    out = dsl.compute((2, 4), lambda i, j: dsl.sum(a[i, k] * b[k, j], axis=k), name="out")
    assert text(out, a) == "d_a[i0, i1]: float32[2, 3] = sum(g[i0, j] * b[i1, j] for j in range(4))"
    assert text(out, b) == "d_b[i0, i1]: float32[3, 4] = sum(g[i, i1] * a[i, i0] for i in range(2))"


def test_what_counts_where_a_remainder_is_0_is_gathered_in_strides() -> None:
    """A transposed convolution along one line: the gradients run over what counts alone."""
    x, w, k = x_of(4), te.placeholder("w", (3,), "float64"), dsl.reduce_axis((0, 3), name="k")

    def body(i: Any) -> Any:
        at = (i + 1 - k) // 2
        element = dsl.if_then_else((at >= 0) & (at < 4), x[at], 0.0)
        return dsl.sum(element * w[k], axis=k, where=eq((i + 1 - k) % 2, 0))

    out = dsl.compute((7,), body, name="out")
    assert text(out, x) == (
        "d_x[i0]: float64[4] = "
        "sum(g[i0 * 2 + k - 1] * w[k] for k in range(3) if i0 * 2 + k - 1 >= 0 and i0 * 2 + k - 1 < 7)"
    )
    assert text(out, w) == (
        "d_w[i0]: float64[3] = "
        "sum(g[i0 + q * 2 - 1] * x[q] for q in range(4) if i0 + q * 2 - 1 >= 0 and i0 + q * 2 - 1 < 7)"
    )


@pytest.mark.parametrize(
    ("shape", "result", "body", "wanted"),
    [
        ((4, 6), (6, 4), lambda x: lambda i, j: x[j, i], "g[i1, i0]"),
        ((5,), (5,), lambda x: lambda i: x[4 - i], "g[4 - i0]"),
        ((2, 6), (3, 4), lambda x: lambda i, j: x[(i * 4 + j) // 6, (i * 4 + j) % 6],
         "g[(i0 * 6 + i1) // 4, (i1 + i0 * 2) % 4]"),
        ((4,), (12,), lambda x: lambda i: x[i // 3], "sum(g[i0 * 3 + r] for r in range(3))"),
        ((4,), (12,), lambda x: lambda i: x[i % 4], "sum(g[i0 + q * 4] for q in range(3))"),
        ((7,), (3,), lambda x: lambda i: x[2 * i + 1],
         "g[i0 // 2] if (i0 + 1) % 2 == 0 and (i0 + 1) // 2 >= 1 else float64(0.0)"),
        ((3,), (2, 3), lambda x: lambda i, j: x[j], "sum(g[i, i0] for i in range(2))"),
    ],
)  # fmt: skip
def test_index_maps_are_turned_around(
    shape: tuple[int, ...], result: tuple[int, ...], body: Callable[[Any], Any], wanted: str
) -> None:
    x = x_of(*shape)
    out = dsl.compute(result, body(x), name="out")
    found = adjoint(out, x)
    array = np.random.default_rng(0).normal(size=result)
    places = np.arange(math.prod(shape), dtype=float).reshape(shape)
    (read,) = evaluate([out], {x: places})
    expected = np.zeros(shape)
    np.add.at(expected.reshape(-1), read.astype(int), array)
    (g,) = [t for t in te.tensor_order([found]) if t.name == "g"]
    np.testing.assert_allclose(evaluate([found], {g: array})[0], expected)
    assert not any(isinstance(t.op, te.Update) for t in te.tensor_order([found]))
    if "//" not in wanted:
        assert te.to_text([found]).splitlines()[-1].partition(" = ")[2] == wanted


def test_which_variable_is_left_over_does_not_hang_on_addresses() -> None:
    """s = a + b of two variables with one name and one extent: the first becomes the loop, wherever they lie."""
    for _ in range(64):
        (a, b), s = (Var(INDEX, "k"), Var(INDEX, "k")), Var(INDEX, "s")
        found = invert([a + b], [(s, 9)], {a: 5, b: 5})
        (loop,) = found.loops
        assert found.values[a] is loop.var, "the second became the loop"


def test_every_index_map_has_the_inverse_that_enumeration_finds() -> None:
    """Random sums, quotients and remainders of up to three variables."""
    random = np.random.default_rng(1)
    for _ in range(150):
        domain = [Var(INDEX, name) for name in "ijk"[: random.integers(1, 4)]]
        extents = {var: int(random.integers(1, 5)) for var in domain}
        indices: list[Expr] = []
        for _ in range(random.integers(1, 3)):
            index: Expr = domain[0] * 0 + int(random.integers(0, 3))
            for var in domain:
                index = index + var * int(random.integers(-2, 4))
            kind = random.integers(0, 3)
            divisor = int(random.integers(2, 5))
            indices.append([index, floordiv(index, divisor), floormod(index, divisor)][kind])
        check_inverse(indices, extents, [])
        rest = indices[0] + domain[-1] * int(random.integers(0, 2)) + int(random.integers(0, 3))
        equal = eq(floormod(rest, int(random.integers(2, 5))), int(random.integers(0, 2)))
        if isinstance(equal, Compare):  # not decided by itself
            check_inverse(indices, extents, [equal])


def check_inverse(indices: list[Expr], extents: dict[Var, int], equalities: list[Compare]) -> None:
    """`equalities`: what holds of the points that count."""
    from opgen_runtime.base.arith import evaluate_scalar, free_vars

    every = [dict(zip(extents, point, strict=True)) for point in np.ndindex(*extents.values())]
    points = [p for p in every if all([evaluate_scalar(each, p) for each in equalities])]
    if not points:
        return
    read = [tuple(int(evaluate_scalar(e, p)) for e in indices) for p in points]
    sizes = [max(1, max(r[d] for r in read) + 1) for d in range(len(indices))]
    positions = [(Var(INDEX, f"s{d}"), size) for d, size in enumerate(sizes)]
    found = invert(indices, positions, extents, equalities)
    loops = [axis.var for axis in found.loops]
    for at in np.ndindex(*sizes):
        wanted = sorted(tuple(p.values()) for p, r in zip(points, read, strict=True) if r == at)
        met = []
        for steps in np.ndindex(*[int(axis.extent) for axis in found.loops]):  # type: ignore[arg-type]  # ints
            env = {
                **dict(zip([p for p, _ in positions], at, strict=True)),
                **dict(zip(loops, steps, strict=True)),
            }
            if found.condition is None or evaluate_scalar(found.condition, env):
                met.append(tuple(int(evaluate_scalar(found.values[v], env)) for v in extents))
        assert sorted(met) == wanted, (list(map(str, indices)), extents, at)
    assert all(set(free_vars(v)) <= {*loops, *[p for p, _ in positions]} for v in found.values.values())


def value(out: te.Tensor, x: te.Tensor, array: Any, g: Any, **options: Any) -> np.ndarray:
    found = adjoint(out, x, **options)
    feeds = {
        t: {"x": array, "g": g}[t.name] for t in te.tensor_order([found]) if isinstance(t.op, te.Placeholder)
    }
    return evaluate([found], feeds)[0]


def test_what_is_not_chosen_is_not_multiplied_by_zero() -> None:
    x = x_of(3)
    out = dsl.compute((3,), lambda i: dsl.if_then_else(x[i] > 0.0, dsl.sqrt(x[i]), 0.0), name="out")
    np.testing.assert_array_equal(value(out, x, np.array([4.0, 0.0, -1.0]), np.ones(3)), [0.25, 0.0, 0.0])
    both = dsl.compute((2,), lambda i: dsl.if_then_else(x[i] > 0.0, dsl.log(x[i]), dsl.exp(x[i])), name="out")
    np.testing.assert_allclose(
        value(both, x, np.array([2.0, -1.0, 7.0]), np.ones(2)), [0.5, math.exp(-1.0), 0.0]
    )


@pytest.mark.parametrize("name", sorted([*local._BINARY, *local._CALLS]))
def test_the_rule_of_an_element_function(name: str) -> None:
    """Each operand's adjoint is the difference; among them the rules that no op needs."""
    count = 2 if name in local._BINARY else INTRINSICS[name].arity
    xs = [te.placeholder(f"x{k}", (6,), "float64") for k in range(count)]

    def body(i: Any) -> Expr:
        operands = [x[i] for x in xs]
        return Binary(FLOAT64, name, *operands) if name in local._BINARY else call(name, *operands)

    out = dsl.compute((6,), body, name="out")
    random = np.random.default_rng(1)
    arrays = [random.uniform(0.1, 0.9, 6) + (1.0 if name == "acosh" else 0.0) for _ in xs]
    for k, x in enumerate(xs):
        if name == "copysign" and k == 1:
            continue  # constant almost everywhere
        ends = []
        for step in (1e-6, -1e-6):
            moved = [array + step * (k == j) for j, array in enumerate(arrays)]
            ends.append(evaluate([out], dict(zip(xs, moved, strict=True)))[0])
        found = adjoint(out, x)
        feeds = dict(zip(xs, arrays, strict=True))
        for tensor in te.tensor_order([found]):
            if tensor.name == "g":
                feeds[tensor] = np.ones(6)
        feeds = {t: feeds[t] for t in te.tensor_order([found]) if t in feeds}
        np.testing.assert_allclose(
            evaluate([found], feeds)[0], (ends[0] - ends[1]) / 2e-6, rtol=1e-7, atol=1e-9
        )


def test_ties_share_equally_or_the_first_takes_all() -> None:
    x = x_of(4)
    k = dsl.reduce_axis((0, 4), name="k")
    out = dsl.compute((), lambda: dsl.max(x[k], axis=k), name="out")
    array = np.array([1.0, 3.0, 0.0, 3.0])
    np.testing.assert_array_equal(value(out, x, array, np.asarray(1.0)), [0, 0.5, 0, 0.5])
    np.testing.assert_array_equal(value(out, x, array, np.asarray(1.0), first=True), [0, 1.0, 0, 0])
    array = np.array([1.0, np.nan, 0.0, np.nan])  # the greatest of all
    np.testing.assert_array_equal(value(out, x, array, np.asarray(1.0)), [0, 0.5, 0, 0.5])


@pytest.mark.parametrize("window", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5])
def test_the_first_of_a_window_gets_everything(window: int, stride: int) -> None:
    """Windows of one, two or four elements that lie apart are gathered, others may update."""
    x, k = x_of(2, 3 * stride + window), dsl.reduce_axis((0, window), name="k")
    out = dsl.compute((2, 4), lambda i, j: dsl.max(x[i, j * stride + k], axis=k), name="out")
    array = np.random.default_rng(0).integers(0, 3, x.shape).astype(float)  # with ties
    given = np.arange(1.0, 9.0).reshape(2, 4)
    expected = np.zeros(x.shape)
    for i, j in np.ndindex(2, 4):
        at = j * stride
        expected[i, at + np.argmax(array[i, at : at + window])] += given[i, j]
    np.testing.assert_array_equal(value(out, x, array, given, first=True), expected)
    updates = any(isinstance(t.op, te.Update) for t in te.tensor_order([adjoint(out, x, first=True)]))
    assert not (updates and window <= stride and stride in (1, 2, 4))


def test_products_with_zeros() -> None:
    x = x_of(3)
    k = dsl.reduce_axis((0, 3), name="k")
    out = dsl.compute((), lambda: dsl.prod(x[k], axis=k), name="out")
    np.testing.assert_array_equal(value(out, x, np.array([2.0, 0.0, 5.0]), np.asarray(1.0)), [0, 10, 0])
    np.testing.assert_array_equal(value(out, x, np.array([0.0, 0.0, 5.0]), np.asarray(1.0)), [0, 0, 0])


def test_products_before_and_after_lie_as_the_factors_do() -> None:
    x = x_of(3, 4)
    k = dsl.reduce_axis((0, 3), name="k")
    columns = dsl.compute((4,), lambda i: dsl.prod(x[k, i], axis=k), name="out")
    assert te.to_text([adjoint(columns, x)]).splitlines()[2:4] == [
        "scan i0 in range(3) upwards:",
        "    out_before[i0, i1]: float64[3, 4] = "
        "float64(1.0) if i0 == 0 else out_before[i0 - 1, i1] * x[i0 - 1, i1]",
    ]
    j = dsl.reduce_axis((0, 4), name="j")
    whole = dsl.compute((), lambda: dsl.prod(x[k, j], axis=[k, j]), name="out")
    lines = te.to_text([adjoint(whole, x)]).splitlines()
    assert [line for line in lines if line.startswith("scan")] == [  # of the lines, then along each
        "scan i0 in range(3) upwards:",
        "scan i0 in range(3) downwards:",
        "scan i1 in range(4) upwards:",
        "scan i1 in range(4) downwards:",
    ]


def test_what_data_decides_is_scattered_once_for_all_products() -> None:
    x, at, w = x_of(500), te.placeholder("at", (6,), "int64"), te.placeholder("w", (2, 3), "float64")
    k = dsl.reduce_axis((0, 3), name="k")

    def body(o: Any, y: Any) -> Any:
        return dsl.sum(x[dsl.minimum(dsl.maximum(at[y + k], 0), 499)] * w[o, k], axis=k)

    out = dsl.compute((2, 4), body, name="out")
    assert te.to_text([adjoint(out, x)]).splitlines()[-4:] == [
        "d_x: float64[500] = d_x, then",
        "    for y in range(4):",
        "        for k in range(3):",
        "            d_x[min(max(at[y + k], int64(0)), int64(499))] += d_out_at[y, k]",
    ]


def test_a_norm_at_zero_and_a_root_at_zero() -> None:
    x = x_of(2)
    k = dsl.reduce_axis((0, 2), name="k")
    square = dsl.compute((), lambda: dsl.sum(x[k] * x[k], axis=k), name="square")
    norm = dsl.compute((), lambda: dsl.sqrt(square()), name="norm")
    np.testing.assert_array_equal(value(norm, x, np.zeros(2), np.asarray(1.0)), [0, 0])
    root = dsl.compute((2,), lambda i: dsl.sqrt(x[i]), name="root")
    with np.errstate(divide="ignore"):
        assert np.isinf(value(root, x, np.zeros(2), np.ones(2))).all()


def test_halves_accumulate_in_float32_and_round_once() -> None:
    x = x_of(3, dtype="float16")
    out = te.widen([dsl.compute((4096, 3), lambda i, j: x[j], name="out")])[0]
    found = adjoint(out, x)
    assert found.dtype == "float16"
    (inner,) = found.op.inputs()
    assert inner.dtype == "float32"
    g = np.ones((4096, 3), "float16")
    np.testing.assert_array_equal(value(out, x, None, g), np.full(3, 4096, "float16"))


def test_reads_that_data_decides_are_scattered() -> None:
    x, at = x_of(20), te.placeholder("g2", (5,), "int64")
    body = lambda i: select(dsl.all(at[i] >= 0, at[i] < 20), x[dsl.minimum(dsl.maximum(at[i], 0), 19)], 0.0)  # noqa: E731
    out = dsl.compute((5,), body, name="out")
    found = adjoint(out, x)
    assert isinstance(found.op, te.Update)
    feeds = {t: {"g": np.arange(5.0), "g2": np.array([2, 0, 2, -1, 20])}[t.name]
             for t in te.tensor_order([found]) if isinstance(t.op, te.Placeholder)}  # fmt: skip
    np.testing.assert_array_equal(evaluate([found], feeds)[0], [1.0, 0.0, 2.0, *[0.0] * 17])


def test_python_functions_are_refused_by_name() -> None:
    x = x_of(3)
    out = dsl.extern((3,), [x], np.sort, name="ordered")
    with pytest.raises(LanguageError, match="ordered is a Python function"):
        adjoint(out, x)


def test_what_elements_have_in_common_is_taken_out_of_a_sum() -> None:
    x, s = x_of(3, 4), te.placeholder("s", (3,), "float64")
    k = dsl.reduce_axis((0, 4), name="k")
    scaled = dsl.compute((3, 4), lambda i, j: x[i, j] * s[i] / 5.0, name="scaled")
    assert te.to_text([adjoint(scaled, s)]).splitlines()[-2:] == [
        "d_s[i0]: float64[3] = sum(g[i0, j] * x[i0, j] for j in range(4))",
        "d_s[i0]: float64[3] = d_s[i0] / float64(5.0)",
    ]
    square = dsl.compute((3,), lambda i: dsl.sum((x[i, k] - s[i]) * (x[i, k] - s[i]), axis=k), name="square")
    assert text(square, s) == "d_s[i0]: float64[3] = d_s[i0] * (g[i0] * float64(-1.0) * float64(2.0))"


def test_a_factor_of_a_sum_of_nothing_is_not_multiplied() -> None:
    """The slope is infinite where no element takes part: the condition, not the factor, decides."""
    x, s = x_of(2, 3), te.placeholder("s", (2,), "float64")
    body = lambda i, j: select(x[i, j] > 0.0, x[i, j] * call("sqrt", s[i]), 0.0)  # noqa: E731
    found = adjoint(dsl.compute((2, 3), body, name="out"), s)
    operands = {t.name: t for t in te.tensor_order([found])}
    given = {
        operands["x"]: np.array([[-1.0, -2.0, -3.0], [1.0, -2.0, 3.0]]),
        operands["s"]: np.array([0.0, 4.0]),
        operands["g"]: np.ones((2, 3)),
    }
    np.testing.assert_allclose(evaluate([found], given)[0], [0.0, 1.0])


def test_axes_of_one_element_are_no_loops_and_loops_run_as_lines_do() -> None:
    x = x_of(6, 5)
    k = dsl.reduce_axis((0, 5), name="k")
    kept = dsl.compute((6, 1), lambda i, j: dsl.sum(x[i, k], axis=k), name="kept")
    assert text(kept, x) == "d_x[i0, i1]: float64[6, 5] = g[i0, 0]"
    s = te.placeholder("s", (2,), "float64")
    groups = dsl.compute((6, 5), lambda i, j: x[i, j] * s[i // 3], name="groups")
    wanted = "sum(g[i0 * 3 + r, j] * x[i0 * 3 + r, j] for r in range(3) for j in range(5))"
    assert text(groups, s) == f"d_s[i0]: float64[2] = {wanted}"
