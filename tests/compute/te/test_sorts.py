"""Sorts as tensor expressions: their text, what they are held to, regions, batches and derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime import te
from opgen_runtime.base.errors import DTypeError, LanguageError, OpgenError, ShapeError
from opgen_runtime.compute.te import Sort, Tensor
from opgen_runtime.compute.te.batching import batched
from opgen_runtime.compute.te.derivative import pullback
from opgen_runtime.compute.te.regions import Whole, needed

X = te.placeholder((2, 5), "float32", name="x")


def test_text() -> None:
    first = te.argsort(X, axis=0, descending=True, count=1, name="first")
    assert te.to_text([te.sort(X, name="y"), first]) == (
        "x: float32[2, 5]\ny: float32[2, 5] = sort(x, axis=1)\nfirst: int64[1, 5] = argsort(x, axis=0, descending)\n"
    )


VALUES = np.float32([[2, np.nan, -0.0, 0.0, 2], [np.inf, -1, 3, -np.inf, -np.nan]])


def test_values() -> None:
    """NaN is greatest, whatever its sign; zeros of either sign are equal where positions are asked."""
    outputs = [
        te.sort(X),
        te.sort(X, descending=True, count=2),
        te.argsort(X),
        te.argsort(X, descending=True),
    ]
    found = te.evaluate(outputs, {X: VALUES})
    expected = [
        [[-0.0, 0.0, 2, 2, np.nan], [-np.inf, -1, 3, np.inf, np.nan]],
        [[np.nan, 2], [np.nan, np.inf]],
        [[2, 3, 0, 4, 1], [3, 1, 2, 0, 4]],
        [[1, 0, 4, 2, 3], [4, 0, 2, 1, 3]],
    ]
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, want)
    assert np.signbit(found[0][0, 0])


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: te.sort(X, axis=2), ShapeError, "sort: x has 2 dims, there is no axis 2"),
        (
            lambda: te.sort(X, count=6),
            ShapeError,
            r"tensor sort has the shape \(2, 6\), and sorts x of the shape",
        ),
        (
            lambda: te.argsort(X, dtype="int16"),
            LanguageError,
            "holds positions as int16, expected an int of 32",
        ),
    ],
)
def test_what_is_no_sort(make: object, error: type[OpgenError], text: str) -> None:
    assert callable(make)
    with pytest.raises(error, match=text):
        make()


def test_what_is_made_by_hand_is_held_to_the_same() -> None:
    with pytest.raises(DTypeError, match="tensor y is float64, what it sorts is float32"):
        te.verify_tensors(
            [Tensor("y", (2, 5), te.const(0.0, "float64").dtype, Sort(X, 1, False, False))], "test", [X]
        )


def test_regions_are_whole_along_the_axis_alone() -> None:
    y = te.sort(X, axis=1, count=3)
    found = needed([X, y], {y: ((1, 2), (0, 2))})[X]
    assert found.region == ((1, 2), (0, 5))
    assert found.whole == {1: Whole.SORT}


def test_batches_have_one_more_axis() -> None:
    wide = te.placeholder((3, 2, 5), "float32", name="x")
    (y,), (has,) = batched([te.argsort(X, axis=0)], {X: wide}, 3)
    assert has
    data = np.random.default_rng(0).standard_normal((3, 2, 5)).astype("float32")
    np.testing.assert_array_equal(te.evaluate([y], {wide: data})[0], np.argsort(data, 1))


def test_a_derivative_goes_where_the_elements_stand() -> None:
    y, g = te.sort(X, descending=True, count=2), te.placeholder((2, 2), "float32", name="g")
    adjoint = pullback([y], [g], X)
    assert adjoint is not None
    given = np.float32([[5, 7], [11, 13]])
    (found,) = te.evaluate([adjoint], {X: VALUES, g: given})
    np.testing.assert_array_equal(found, [[7, 5, 0, 0, 0], [13, 0, 0, 0, 11]])
    assert pullback([te.argsort(X)], [None], X) is None
