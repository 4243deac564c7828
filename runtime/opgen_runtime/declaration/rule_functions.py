"""What conditions and values of rules may call: of arrays of constants, of dtypes, of axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..base.vocabulary import DType


def _wide(a: np.ndarray) -> np.ndarray:
    """Halves in float32, in which they are computed."""
    return a.astype(np.float32) if DType(a.dtype.name).is_storage else a


def reciprocal(c: np.ndarray) -> np.ndarray:
    """1 / c in its dtype."""
    wide = _wide(c)
    return np.asarray(np.ones((), wide.dtype) / wide).astype(c.dtype)


def is_exact_reciprocal(c: np.ndarray) -> bool:
    """Whether the reciprocal of every element is exact, finite and not 0: whether all are powers of two."""
    if not DType(c.dtype.name).is_float:
        return False
    wide, back = _wide(c), _wide(reciprocal(c))
    usable = np.isfinite(back) & (back != 0) & np.isfinite(wide)
    return bool((usable & (np.abs(np.frexp(wide)[0]) == 0.5) & (back * wide == 1)).all())


def is_normal_reciprocal(c: np.ndarray) -> bool:
    """Whether the reciprocal of every element is finite and normal, or exact."""
    format_ = DType(c.dtype.name).float_format
    if format_ is None:
        return False
    wide, back = _wide(c), _wide(reciprocal(c))
    exact = (np.abs(np.frexp(wide)[0]) == 0.5) & (back * wide == 1)
    usable = np.isfinite(back) & (back != 0) & np.isfinite(wide)
    return bool((usable & (exact | (np.abs(back) >= format_.tiny))).all())


def is_all(a: np.ndarray, number: float) -> bool:
    """Whether there are elements, and each equals a number; 0 is not -0.0, and -0.0 of integers is their 0."""
    if not a.size or not (a == number).all():
        return False
    if number != 0 or not DType(a.dtype.name).is_float:
        return True
    signs = np.signbit(_wide(a))
    return bool((signs == (math.copysign(1, number) < 0)).all())


def has_all_bits(a: np.ndarray) -> bool:
    """Whether there are elements, and each has every bit set, or is true."""
    dtype = DType(a.dtype.name)
    if not a.size or dtype.is_float:
        return False
    return bool(a.all()) if dtype.is_bool else bool((a == np.array(-1).astype(a.dtype)).all())


def sides(padding: Sequence[int]) -> tuple[int, ...]:
    """Top, left, bottom and right of a padding of one, two or four numbers."""
    return tuple(padding) * (4 // len(padding))


def image_sides(pad_width: Sequence[int], layout: str) -> tuple[int, ...] | None:
    """Top, left, bottom and right of what is put around an image; None where other axes get something, too.

    `pad_width`: before and after each axis, in pairs.
    """
    pairs = dict(zip(layout, zip(pad_width[::2], pad_width[1::2], strict=True), strict=False))
    if len(pairs) != len(layout) or not {"H", "W"} <= pairs.keys() or len(pad_width) != 2 * len(layout):
        return None
    (top, bottom), (left, right) = pairs.pop("H"), pairs.pop("W")
    return None if any(map(any, pairs.values())) else (top, left, bottom, right)


def summed(a: Sequence[int], b: Sequence[int]) -> tuple[int, ...]:
    """The sums of as many numbers."""
    return tuple([x + y for x, y in zip(a, b, strict=True)])


def composed(first: Sequence[int], second: Sequence[int]) -> tuple[int, ...]:
    """The axes of two permutations, the first of which is done first."""
    return tuple([first[axis] for axis in second])


def is_identity(axes: Sequence[int]) -> bool:
    """Whether a permutation leaves every axis where it is."""
    return tuple(axes) == tuple(range(len(axes)))


def is_exact(source: DType, target: DType) -> bool:
    """Whether `target` holds every value of `source`."""
    if source is target or source.is_bool:
        return True
    if target.is_bool:
        return False
    a, b = source.float_format, target.float_format
    if b is not None:
        if a is not None:
            return (
                a.fraction <= b.fraction
                and a.least >= b.least
                and a.greatest <= b.greatest
                and a.has_infinities <= b.has_infinities
            )
        return source.bits - int(source.is_signed) <= b.fraction + 1 and b.greatest >= source.bits
    return source.is_int and source.lowest >= target.lowest and source.highest <= target.highest


def converts_as(source: DType, middle: DType, target: DType) -> bool:
    """Whether a conversion to `target` gives the same by way of `middle`: an integer wraps, a float saturates."""
    return is_exact(source, middle) and not (source.is_int and middle.is_float and target.is_int)


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    each.__name__: each
    for each in (
        reciprocal, is_exact_reciprocal, is_normal_reciprocal, is_all, has_all_bits, composed, is_identity, is_exact,
        converts_as, sides, image_sides, summed, len, min, max, abs, sum, all, any, sorted,
    )
}  # fmt: skip
"""Name -> function."""
