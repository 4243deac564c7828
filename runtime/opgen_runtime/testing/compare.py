"""How close a computed result must be to the reference.

Bools and ints are equal.  For floats |found - expected| <= atol + rtol * |expected|, where

    rtol = 16 eps for float32 and float64, 4 eps for float16 and bfloat16 (whose references
           round after every step), times growth
    atol = 4 eps * (the greatest input up to 10,000, at least 1) * growth

`eps` is the spacing of the dtype at 1.  The growth is 1 for ops without reductions, else 1 plus the square root of the
number of terms of its sums (as its structure says, or the elements read for each result element where those are more):
the order of float sums is unspecified, and rounding errors add up as steps of a random walk.  NaN and infinities stand
in the same places.  Zeros have the same sign where an op of one operand maps element by element, unless it takes a
minimum or maximum, of which zeros of both signs may give either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.vocabulary import DType, OpPattern, is_float_array
from ..declaration.structure import Structure
from ..operator import TensorType, TupleType, Type

__tracebackhide__ = True  # pytest shows the line of the suite that fails, not what checks it

_SCALE_LIMIT = 1e4
_SHOWN = 5  # differences listed in a message
_PLAIN = Structure()


def assert_close(
    found: Any,
    expected: Any,
    type_: Type,
    inputs: Sequence[np.ndarray],
    pattern: OpPattern,
    what: str,
    structure: Structure = _PLAIN,
) -> None:
    """Raises AssertionError, listing places, unless `found` (values or a tuple of them) is right."""
    if isinstance(type_, TupleType):
        assert isinstance(expected, tuple | list), (
            f"{what}: the reference gives one array, the op {len(type_.fields)}"
        )
        assert len(expected) == len(found) == len(type_.fields), f"{what}: {len(expected)} results expected"
        for k, (one, wanted, field) in enumerate(zip(found, expected, type_.fields, strict=True)):
            assert_close(one, wanted, field, inputs, pattern, f"{what}, result {k}", structure)
        return
    assert isinstance(type_, TensorType)
    array, wanted = found.numpy(), np.asarray(expected)
    assert array.dtype.name == type_.dtype, f"{what}: the result has dtype {array.dtype}, its type is {type_}"
    static = tuple([d for d in type_.shape if isinstance(d, int)])
    assert len(static) < type_.ndim or array.shape == static, (
        f"{what}: shape {array.shape}, its type is {type_}"
    )
    assert array.shape == wanted.shape, f"{what}: shape {array.shape}, the reference gives {wanted.shape}"
    if type_.dtype.is_complex:
        array, wanted = _parts(array), _parts(wanted)
    wrong = _wrong(array, wanted, *_tolerances(array, inputs, pattern, structure.terms))
    if structure.zero_signs and is_float_array(array.dtype):
        wrong |= (array == 0) & (wanted == 0) & (np.signbit(array) != np.signbit(wanted))
    if wrong.any():
        raise AssertionError(_report(array, wanted, wrong, inputs, what))


def _parts(array: np.ndarray) -> np.ndarray:
    """A complex array as floats with a last axis of two; any other as it is."""
    return np.stack([array.real, array.imag], axis=-1) if array.dtype.kind == "c" else array


def _tolerances(
    array: np.ndarray, inputs: Sequence[np.ndarray], pattern: OpPattern, terms: int
) -> tuple[float, float]:
    """(atol, rtol)."""
    if not is_float_array(array.dtype):
        return 0.0, 0.0
    dtype = DType(array.dtype.name)
    assert dtype.float_format is not None
    eps = dtype.float_format.epsilon
    growth = 1.0
    if pattern > OpPattern.INJECTIVE:
        reads = max([given.size for given in inputs], default=1) / max(array.size, 1)
        growth = 1.0 + math.sqrt(max(reads, terms))
    scale = 1.0
    for given in map(_parts, inputs):
        if is_float_array(given.dtype):
            sizes = np.abs(given.astype(np.float64))
            scale = max([scale, *sizes[sizes <= _SCALE_LIMIT].reshape(-1)])
    return 4 * eps * scale * growth, (4 if dtype.is_storage else 16) * eps * growth


def _wrong(array: np.ndarray, wanted: np.ndarray, atol: float, rtol: float) -> np.ndarray:
    """Where the result is wrong."""
    if not is_float_array(array.dtype):
        return np.asarray(array != wanted)
    a, b = array.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= atol + rtol * np.abs(b)
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | (near & np.isfinite(a) & np.isfinite(b))
    return np.asarray(~same)


def _report(
    array: np.ndarray, wanted: np.ndarray, wrong: np.ndarray, inputs: Sequence[np.ndarray], what: str
) -> str:
    lines = [f"{what}: {int(wrong.sum())} of {array.size} elements are wrong"]
    for place in np.argwhere(wrong)[:_SHOWN]:
        at = tuple(map(int, place))
        read = ", ".join([repr(given[at]) for given in inputs if given.shape == array.shape])
        operands = f"  (operands there: {read})" if read else ""
        lines.append(f"  at {at}: found {array[at]!r}, expected {wanted[at]!r}{operands}")
    if (
        is_float_array(array.dtype)
        and np.isfinite(wanted[wrong]).all()
        and not np.isfinite(array[wrong]).any()
    ):
        lines.append(
            f"  Does an intermediate overflow {array.dtype}, but not the reference's wider dtype? Then compute the "
            "reference in the operands' dtype, or limit an operand: `float32[3] in -100..100`."
        )
    return "\n".join(lines)
