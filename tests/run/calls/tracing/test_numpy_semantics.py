"""Corners of numpy's functions: `jit` gives the value, the dtype and the shape that numpy gives, or raises as it does.

Each row was wrong once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime.base.errors import CallError

BYTES = np.array([[1, -127, 100], [7, 0, -128]], np.int8)
WORDS = np.array([0, 2**64 - 1, 5], np.uint64)
FLOATS = np.array([[1.0, -2.5, np.nan], [0.5, np.inf, -0.0]], np.float32)
TRUTHS = np.array([[True, False, True], [False, False, True]])
EMPTY = np.zeros((0, 3), np.int16)
NUMBER = np.array(7, np.int32)

VALUES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    # Differences of ints would wrap, those of bools are not there.
    (lambda a: np.isclose(a, np.int8(-127)), (BYTES,)),
    (lambda a, b: np.isclose(a, b), (WORDS, WORDS[::-1].copy())),
    (lambda a: np.isclose(a, a), (TRUTHS,)),
    (lambda a: np.isclose(a, [1.00001, -2.5, np.nan], equal_nan=True), (FLOATS,)),
    (lambda a: np.allclose(a, a, equal_nan=True), (FLOATS,)),
    # Outer products of what is empty.
    (lambda a, b: np.add.outer(a, b), (EMPTY, BYTES)),
    (lambda a: np.logical_and.outer(a, a), (EMPTY,)),
    # Truth values as positions are 0 and 1.
    (lambda a: np.take(a, np.array([True, False])), (BYTES,)),
    (lambda a: a.take(np.array([True, True, False]), axis=1), (BYTES,)),
    (lambda a: np.take(a, []), (BYTES,)),
    (lambda a: np.take_along_axis(a, np.array([4, 0]), axis=None), (BYTES,)),
    # The dtype bool of sums and products.
    (lambda a: np.sum(a, dtype=bool), (BYTES,)),
    (lambda a: a.prod(axis=1, dtype=bool), (BYTES,)),
    (lambda a: np.cumsum(a, axis=1, dtype=bool), (BYTES,)),
    (lambda a: np.cumprod(a, axis=0, dtype=bool), (BYTES,)),
    (lambda a: np.add.reduce(a, dtype=bool, initial=True), (TRUTHS,)),
    # What reductions begin with, and which elements they take.
    (lambda a: np.sum(a, axis=0, initial=3, where=a > 0), (BYTES,)),
    (lambda a: np.prod(a, where=np.array([True, False, True])), (BYTES,)),
    (lambda a: np.max(a, axis=1, initial=-5, where=a < 0), (BYTES,)),
    (lambda a: a.min(initial=2.5), (BYTES,)),
    (lambda a: np.max(a, axis=0, initial=4, keepdims=True), (EMPTY,)),
    (lambda a: np.any(a, axis=1, where=np.array([False, True, False])), (BYTES,)),
    (lambda a: np.logical_and.reduce(a, axis=0, initial=False), (TRUTHS,)),
    (lambda a: np.var(a, correction=1), (BYTES,)),
    # Quotients by infinity.
    (lambda a: np.floor_divide(a, float("inf")), (BYTES,)),
    (lambda a: np.remainder(a, np.float32(np.inf)), (BYTES,)),
    # Numbers as vectors, and vectors as rows of squares.
    (lambda a: np.argsort(a), (NUMBER,)),
    (lambda a: np.squeeze(a, axis=-1), (NUMBER,)),
    (lambda a: np.triu(a, 1), (WORDS,)),
    # Kinds of sorts that numpy knows: all are stable.
    (lambda a: np.argsort(a, axis=0, kind="stable"), (TRUTHS,)),
    (lambda a: np.sort(a, axis=True, stable=True), (BYTES,)),
    # An ellipsis that names no axis stands between indices all the same.
    (lambda a: a[None, np.array([1, 0]), ..., 1], (BYTES,)),
    # Numbers that join arrays, or are chosen, wrap.
    (lambda a: np.concatenate([a, -5], axis=None), (WORDS,)),
    (lambda a: np.where(a > 0, 300, a), (BYTES,)),
    (lambda a: np.full_like(a, 2.9), (BYTES,)),
    (lambda a: np.pad(a, 1), (TRUTHS,)),
    (lambda a: a.clip(True, 3), (FLOATS,)),
    (lambda a: a**2, (TRUTHS,)),
    (lambda a: a ** np.int64(-2), (EMPTY,)),
    (lambda a: a.reshape(3, -2), (BYTES,)),
    # One float as a position is cut; nothing is taken from anywhere where the result is empty.
    (lambda a: np.take(a, np.float32(1.7)), (BYTES,)),
    (lambda a: a.take(1.0, 0), (BYTES,)),
    (lambda a: np.take(a, [1.0, 0.5]), (BYTES,)),
    # Powers of ten of roundings are products; a negative int begins a product of uint64 as it wraps.
    (lambda a: np.round(a, -30), (np.array([0.0, np.nan, np.finfo(np.float64).max]),)),
    (lambda a: np.prod(a, initial=np.int32(-9)), (WORDS.astype(np.uint32),)),
    (lambda a: np.take(a, 7, axis=1), (EMPTY,)),
    (lambda a: a.take([1, 2], 2, mode="clip"), (np.zeros((0, 1, 0), np.int8),)),
    (lambda a: a[np.array([5]), np.zeros((0, 1), np.int64)], (BYTES,)),
    # Ints beyond every dtype of ints are compared as floats; what begins a reduction of truths is one.
    (lambda a: np.isclose(2**64 - 1, a), (BYTES,)),
    (lambda a: np.isclose(2**63, a, atol=0.5), (FLOATS,)),
    (lambda a: np.min(a, initial=2**64), (TRUTHS,)),
    (lambda a: np.var(a, axis=0, ddof=-1), (EMPTY,)),
    (lambda a: np.std(a, axis=0, ddof=-1), (EMPTY,)),
]  # fmt: skip

REFUSED: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
    (lambda a: np.less(a, -1, dtype=np.uint16), (WORDS.astype(np.uint8),), "gives bool, found the dtype|No loop"),
    (lambda a: np.minimum.reduce(a, initial=np.int64(-(2**40))), (BYTES,), "does not fit dtype int8"),
    (lambda a: np.take(a, np.array([0.0, 1.0])), (BYTES,), "Cannot cast array data from float64 to int64"),
    (lambda a: np.pad(a, 1, constant_values=300), (BYTES,), "300 (does not fit dtype int8|out of bounds for int8)"),
    (lambda a: np.max(a, axis=0, where=np.ones((2, 0), bool), initial=2), (np.zeros((0,), np.float32),), ".+"),
    (lambda a: np.multiply.accumulate(a, axis=True), (BYTES,), "an integer is required"),
    (lambda a: np.take(a, np.array(0.0)), (BYTES,), "Cannot cast (scalar|array data) from"),
    (lambda a: np.take(a, 9.0, axis=1), (BYTES,), "index 9 is out of bounds for axis 1"),
    (lambda a: np.take(a, [[0], [0]], axis=0), (np.zeros((0, 0)),), "index 0 is out of bounds for axis 0 with size 0"),
    (lambda a: np.take(a, np.array([False, True]), axis=0), (np.zeros((1, 0)),), "index 1 is out of bounds"),
    (lambda a: np.take_along_axis(a, np.zeros((2, 1)), axis=1), (BYTES,), "must be an integer array"),
    (lambda a: np.take_along_axis(a, np.array([[3], [0]]), axis=1), (BYTES,), "index 3 is out of bounds for axis 1"),
    (lambda a: a ** np.int8(-1), (WORDS.astype(np.uint8),), "negative integer powers"),
    (lambda a: np.power(a, np.array([1, -1, 2])), (BYTES,), "negative integer powers"),
    (lambda a: np.sum(a, axis=True), (BYTES,), "an integer is required for the axis"),
    (lambda a: np.vsplit(a[0], 2), (BYTES,), "vsplit only works on arrays of 2 or more dimensions"),
    (lambda a: np.dsplit(a, 2), (BYTES,), "dsplit only works on arrays of 3 or more dimensions"),
    (lambda a: np.hsplit(a, 1), (NUMBER,), "hsplit only works on arrays of 1 or more dimensions"),
    (lambda a: np.cumulative_sum(a), (BYTES,), "``axis`` argument is required"),
    (lambda a: np.cumulative_prod(a, axis=None), (BYTES,), "``axis`` argument is required"),
    (lambda a: np.median(a, axis=(0, 2)), (BYTES,), "axis 2 is out of bounds"),
    (lambda a: np.median(a, axis=()), (np.zeros((0, 3)),), "cannot reshape array of size 0"),
    (lambda a: np.max(a, axis=[0]), (BYTES,), "'list' object cannot be interpreted as an integer"),
    (lambda a: np.max(a, keepdims=np.True_), (BYTES,), "cannot be interpreted as an integer"),
    (lambda a: np.std(a, keepdims=np.True_), (NUMBER,), "cannot be interpreted as an integer"),
    (lambda a: np.mean(a, axis=0), (NUMBER,), "axis 0 is out of bounds"),
    (lambda a: np.sort(a), (NUMBER,), "axis -1 is out of bounds"),
    (lambda a: np.sort(a, kind="bubble"), (BYTES,), "sort kind must be one of quicksort"),
    (lambda a: np.moveaxis(a, None, None), (BYTES,), "NoneType"),
    (lambda a: np.stack([a, a], axis=None), (BYTES,), "NoneType"),
    (lambda a: np.diff(a, n=-1), (BYTES,), "order must be non-negative but got -1"),
    (lambda a: np.roll(a, 1, 0), (NUMBER,), "np.roll along an axis"),
    (lambda a: np.round(a, 1.0), (FLOATS,), "cannot be interpreted as an integer"),
    (lambda a: np.max(a, where=a > 0), (BYTES,), "one has to specify 'initial'"),
    (lambda a: np.sum(a, where=np.ones(3, np.int8)), (BYTES,), "`where` is a mask"),
    (lambda a: np.logical_xor(a, a, dtype=np.int32), (BYTES,), "gives bool, found the dtype"),
    (lambda a: np.einsum("ii", a), (BYTES[:1],), "axes of one letter have different extents"),
    (lambda a: np.linalg.norm(a, ord="fro"), (NUMBER,), "Improper number of dimensions"),
    (lambda a: np.full_like(a, 2**63), (TRUTHS,), "does not fit dtype int64"),
    (lambda a: a.std(correction=1), (FLOATS,), "correction"),
    (lambda a: np.clip(a, np.int16(0), 2**64 - 1), (TRUTHS,), "does not fit dtype int16"),
]  # fmt: skip


def _numpy(function: Callable[..., Any], arrays: tuple[Any, ...]) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*arrays)


@pytest.mark.parametrize(("function", "arrays"), VALUES)
def test_values(function: Callable[..., Any], arrays: tuple[Any, ...]) -> None:
    wanted = np.asarray(_numpy(function, arrays))
    found = rt.jit(function)(*arrays)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("function", "arrays", "message"), REFUSED)
def test_what_numpy_refuses(function: Callable[..., Any], arrays: tuple[Any, ...], message: str) -> None:
    with pytest.raises((TypeError, ValueError, IndexError, OverflowError)):
        _numpy(function, arrays)
    with pytest.raises((TypeError, ValueError, IndexError), match=message):
        rt.jit(function)(*arrays)


def test_the_average_of_no_line() -> None:
    def average(a: Any) -> Any:
        return np.average(a, axis=-1)

    for call in (average, rt.jit(average)):
        with pytest.raises(ZeroDivisionError):
            call(np.zeros((0, 1)))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a: np.repeat(a, 2.0), "np.repeat while a function is traced takes ints, found 2.0"),
        (lambda a: np.triu(a, 1.0), "np.triu while a function is traced takes ints, found 1.0"),
        (lambda a: np.mean(a, dtype=np.int8), "np.mean while a function is traced takes a dtype of floats"),
        (lambda a: np.pad(a, 1, lambda *_: None), "takes modes of numpy, found a function"),
    ],
)
def test_what_is_not_there_is_refused_by_name(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(CallError, match=message):
        rt.jit(function)(BYTES)


def test_floats_that_nothing_computes_with() -> None:
    """A Python float among the arguments, of which the program makes no use, is no operand of the compiled program."""
    for function in (lambda a, s: -a, lambda s, a: -a, lambda a, s: {"negative": -a}):  # type: ignore[misc]
        jitted = rt.jit(function)
        for value in (0.5, 2.0, 0.5):
            found = jitted(a=FLOATS, s=value)
            np.testing.assert_array_equal(found["negative"] if isinstance(found, dict) else found, -FLOATS)
    by_place = rt.jit(lambda a, s: a.T)
    for value in (0.5, 2.0, 0.5):
        np.testing.assert_array_equal(by_place(FLOATS, value), FLOATS.T)
