"""Reductions into stages of their own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from opgen_runtime.base.arith import Expr, add, cast, const, dim, eq, ge, logical_and, lt, minimum, ne, select
from opgen_runtime.compute import te
from opgen_runtime.compute.te import read, reduce
from tests.fuzz import selects

X = te.placeholder("x", (4, 3), "float32")
K = te.reduce_axis(3, "k")
VALUE = np.arange(12, dtype=np.float32).reshape(4, 3)


def test_a_root_reduction_stays() -> None:
    out = te.compute("out", (4,), "float32", lambda i: reduce("sum", K, read(X, i, K.var)))
    assert te.normalize([out]) == (out,)


def test_the_condition_of_a_choice_joins_the_stage() -> None:
    def body(i: Expr) -> Expr:
        shifted = reduce("sum", K, read(X, i - 2, K.var), ge(K.var, 1))
        return select(logical_and(ge(i, 2), lt(i, 6)), shifted, 0.0)

    made = te.normalize([te.compute("out", (8,), "float32", body)])
    assert te.to_text(made) == (
        "x: float32[4, 3]\n"
        "out_sum[i0]: float32[8] = "
        "sum(x[i0 - 2, k] for k in range(3) if (i0 >= 2) & (i0 < 6) and k >= 1)\n"
        "out[i0]: float32[8] = out_sum[i0] if (i0 >= 2) & (i0 < 6) else 0.0\n"
    )
    np.testing.assert_array_equal(te.evaluate(made, {X: VALUE})[0], [0, 0, 3, 9, 15, 21, 0, 0])


W = te.placeholder("w", (5, 3), "float32")
LENS = te.placeholder("lens", (4,), "int32")


def products(place: Callable[[Expr], Expr], wanted: Callable[[Expr, Expr], Expr]) -> te.Tensor:
    """Rows of X by those of W, where they are wanted."""

    def body(i: Expr, j: Expr) -> Expr:
        return select(wanted(i, j), reduce("sum", K, read(X, place(i), K.var) * read(W, j, K.var)), -1.0)

    return te.compute("out", (4, 5), "float32", body)


@pytest.mark.parametrize(
    ("place", "wanted", "text"),
    [
        (lambda i: i, lambda i, j: lt(0, read(LENS, i)), "x[i0, k] * w[i1, k] for k in range(3)"),
        (
            lambda i: read(LENS, i) - 1,
            lambda i, j: logical_and(lt(0, read(LENS, i)), lt(read(LENS, i), 4)),
            "(x[lens[i0] - int32(1), k] if (int32(0) < lens[i0]) & (lens[i0] < int32(4)) else 0.0) * w[i1, k]"
            " for k in range(3)",
        ),
        (
            lambda i: i,
            lambda i, j: lt(j, read(LENS, i)),
            "x[i0, k] * w[i1, k] for k in range(3) if cast(i1, int64) < cast(lens[i0], int64)",
        ),
        (lambda i: i, lambda i, j: lt(i, 2), "x[i0, k] * w[i1, k] for k in range(3) if i0 < 2"),
    ],
    ids=["rows", "rows that are elsewhere", "rows and columns", "no element decides"],
)
def test_rows_that_elements_choose_are_computed_with_the_others(
    place: Callable[[Expr], Expr], wanted: Callable[[Expr, Expr], Expr], text: str
) -> None:
    out = products(place, wanted)
    made = te.normalize([out])
    line = next(each for each in te.to_text(made).splitlines() if each.startswith("out_sum"))
    assert line == f"out_sum[i0, i1]: float32[4, 5] = sum({text})"
    w = np.arange(15, dtype=np.float32).reshape(5, 3)
    w[4] = np.inf  # 0 * inf is used nowhere
    feeds = {X: VALUE + 1, W: w, LENS: np.array([2, 0, 3, 1], np.int32)}
    np.testing.assert_array_equal(te.evaluate(made, feeds)[0], te.evaluate([out], feeds)[0])


def test_rows_of_batches_that_elements_choose_are_computed_with_the_others() -> None:
    """As the rows of an attention whose scores are not all masked."""
    a, b = te.placeholder("a", (2, 4, 3), "float32"), te.placeholder("b", (2, 3, 5), "float32")
    total = te.placeholder("total", (2, 4), "float32")

    def body(n: Expr, i: Expr, j: Expr) -> Expr:
        row = reduce("sum", K, read(a, n, i, K.var) * read(b, n, K.var, j))
        return select(ne(read(total, n, i), 0.0), row / read(total, n, i), 0.0)

    out = te.compute("out", (2, 4, 5), "float32", body)
    made = te.normalize([out])
    line = next(each for each in te.to_text(made).splitlines() if each.startswith("out_sum"))
    assert line == (
        "out_sum[i0, i1, i2]: float32[2, 4, 5] = sum(a[i0, i1, k] * b[i0, k, i2] for k in range(3))"
    )
    feeds = {
        tensor: np.arange(np.prod(tensor.shape), dtype=np.float32).reshape(tensor.shape)
        for tensor in (a, b, total)
    }
    np.testing.assert_array_equal(te.evaluate(made, feeds)[0], te.evaluate([out], feeds)[0])


def test_only_the_axes_that_matter() -> None:
    out = te.compute(
        "out", (4, 3), "float32", lambda i, j: read(X, i, j) - reduce("max", K, read(X, i, K.var))
    )
    assert te.to_text(te.normalize([out])) == (
        "x: float32[4, 3]\n"
        "out_max[i0]: float32[4] = max(x[i0, k] for k in range(3))\n"
        "out[i0, i1]: float32[4, 3] = x[i0, i1] - out_max[i0]\n"
    )


def test_equal_reductions_become_one_stage() -> None:
    def total(i: Expr) -> Expr:
        k = te.reduce_axis(3, "k")
        return reduce("sum", k, read(X, i, k.var))

    made = te.normalize([te.compute("out", (4,), "float32", lambda i: total(i) * total(i) + total(i))])
    assert te.to_text(made) == (
        "x: float32[4, 3]\n"
        "out_sum[i0]: float32[4] = sum(x[i0, k] for k in range(3))\n"
        "out[i0]: float32[4] = out_sum[i0] * out_sum[i0] + out_sum[i0]\n"
    )


def test_a_reduction_in_another_stays_inside_it() -> None:
    inner = te.reduce_axis(3, "l")

    def body(i: Expr) -> Expr:
        part = reduce("sum", inner, read(X, i, inner.var), lt(inner.var, K.var))
        return reduce("max", K, part)

    out = te.compute("out", (4,), "float32", body)
    assert te.normalize([out]) == (out,)


def test_a_guarded_reduction_that_another_also_uses() -> None:
    """Inside the other one it is needed where its own guard does not hold."""

    def body(i: Expr) -> Expr:
        shared = reduce("max", K, read(X, i, K.var))
        other = te.reduce_axis(3, "l")
        return add(select(eq(i, 0), shared, 0.0), reduce("sum", other, read(X, i, other.var) - shared))

    out = te.compute("out", (4,), "float32", body)
    expected = np.where(np.arange(4) == 0, VALUE.max(1), 0) + (VALUE - VALUE.max(1, keepdims=True)).sum(1)
    np.testing.assert_array_equal(te.evaluate(te.normalize([out]), {X: VALUE})[0], expected)


def test_choices_on_dims_go_where_the_axes_around_them_decide() -> None:
    """Around a term of a sum its axis has elements; beside the sum it may have none."""
    n = dim("n")
    x, k = te.placeholder("x", (n,), "int32"), te.reduce_axis(n, "k")

    def count() -> Expr:
        return select(ge(n, 1), cast(n, "int32"), const(1, "int32"))

    total = reduce("sum", k, read(x, select(eq(n, 1), 0, k.var)) // count())
    out = te.compute("out", (4,), "int32", lambda i: total + count())
    assert te.to_text(te.normalize([out])) == (
        "x: int32[n]\n"
        "out_sum[()]: int32[] = sum(x[k] // cast(n, int32) for k in range(n))\n"
        "out[i0]: int32[4] = out_sum[()] + (cast(n, int32) if n >= 1 else int32(1))\n"
    )


def test_extents_under_a_guard_are_guarded() -> None:
    lens = te.placeholder("lens", (2,), "int64")

    def body(i: Expr) -> Expr:
        k = te.reduce_axis(minimum(read(lens, i), 3), "k")
        return select(lt(i, 2), reduce("sum", k, read(X, i, k.var)), -1.0)

    out = te.compute("out", (4,), "float32", body)
    feeds = {X: VALUE, lens: np.array([2, 3])}
    assert te.evaluate(te.normalize([out]), feeds)[0].tolist() == [1, 12, -1, -1]


def test_nested_choices_take_linear_work() -> None:
    """A seed of the campaign, in which each phase is held to the growth of its calls with the depth."""
    selects.case(77000000)
