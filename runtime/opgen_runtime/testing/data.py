"""Data for tests from specs such as `"float32[2, 1, 3]"`: seeded, with the values that break kernels.

    spec  = dtype "[" extents "]" word* ["in" low ".." high]        low <= value < high
    word  = "sorted" | "unique" | "permutation" | ...             see declaration/operands.py

Each spec gives two arrays: `ordinary` values (small numbers of both signs, about half of them multiples of 0.5, so
that operands meet each other, zero and the thresholds of attrs) and `special` ones, in which floats also hold NaN,
infinities and -0.0, for ops without reductions also denormals and extremes, ints their extremes; special arrays are not
contiguous.  Where words ask for more than a range, the special values are others of the same kind.  The same case gives
the same data in every process.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ..base.vocabulary import DTYPES, DType, dataclass
from ..declaration.operands import WORDS, why_not_words
from ..operator import TensorType
from .made import made

_SPEC: Final = re.compile(
    rf"\s*(\w+)\s*\[([\d,\s]*)\]((?:\s+(?:{'|'.join(WORDS)}))*)"
    r"\s*(?:in\s+(-?[\d.e+-]+?)\s*\.\.\s*(-?[\d.e+-]+)\s*)?"
)


@dataclass(frozen=True, slots=True)
class Spec:
    """A tensor: dtype, shape, the range low <= value < high of its values, or None, and what else is asked of them."""

    dtype: DType
    shape: tuple[int, ...]
    limits: tuple[float, float] | None = None
    words: tuple[str, ...] = ()

    @staticmethod
    def parse(text: str) -> Spec:
        """Raises ValueError for text that is no spec."""
        match = _SPEC.fullmatch(text)
        if match is None or match[1] not in DTYPES:
            raise ValueError(
                f"{text!r} is no spec; expected for example 'float32[2, 3]' or 'int64[3] in 0..4'"
            )
        shape = tuple([int(extent) for extent in match[2].split(",") if extent.strip()])
        limits = None if match[4] is None else (float(match[4]), float(match[5]))
        return Spec(DType(match[1]), shape, limits, tuple(match[3].split()))

    @property
    def type(self) -> TensorType:
        return TensorType(self.shape, self.dtype)

    def __str__(self) -> str:
        limits = "" if self.limits is None else f" in {self.limits[0]:g}..{self.limits[1]:g}"
        words = "".join(f" {word}" for word in self.words)
        return f"{self.dtype}[{','.join(map(str, self.shape))}]{words}{limits}"


def ordinary(spec: Spec, seed: str) -> np.ndarray:
    """Small values of both signs, some of them equal or zero, or values as the spec says; C-contiguous.

    Raises ValueError where the spec's words do not suit it.
    """
    if spec.dtype.is_complex:
        return _of_parts(spec, lambda part, name: ordinary(part, f"{name} {seed}"))
    random = np.random.default_rng(zlib.crc32(f"{seed} {spec}".encode()))
    dtype = spec.dtype.numpy
    if spec.words:
        reason = why_not_words(spec.dtype, spec.shape, spec.limits is not None, spec.words)
        if reason is not None:
            raise ValueError(f"{spec}: {reason}")
        return made(spec.words, spec.dtype, spec.shape, spec.limits, random)
    if spec.limits is not None:
        low, high = spec.limits
        if spec.dtype.is_float:
            return np.asarray(random.uniform(low, high, spec.shape)).astype(dtype)
        return np.asarray(random.integers(math.ceil(low), math.ceil(high), spec.shape)).astype(dtype)
    if spec.dtype.is_bool:
        return np.asarray(random.integers(0, 2, spec.shape)).astype(dtype)
    if spec.dtype.is_float:
        values = random.normal(0.0, 1.5, spec.shape)
        halves = np.round(2 * values) / 2
        return np.asarray(np.where(random.random(spec.shape) < 0.5, halves, values)).astype(dtype)
    low, high = (-9, 10) if spec.dtype.is_signed else (0, 19)
    return np.asarray(random.integers(low, high, spec.shape)).astype(dtype)


def special(spec: Spec, seed: str, extremes: bool, finite: bool = False) -> np.ndarray:
    """`ordinary` values with special ones among them, as far as the spec's range admits them; not contiguous.

    `extremes`: with the greatest and least finite numbers and denormals too, whose sums and products depend on
    the order.  `finite`: floats hold large numbers (100 and -100, whose exponentials overflow) and no others.
    """
    if spec.dtype.is_complex:
        return _of_parts(spec, lambda part, name: special(part, f"{name} {seed}", extremes, finite))
    values = ordinary(spec, f"special {seed}")
    if spec.words:
        return scattered(values)
    random = np.random.default_rng(zlib.crc32(f"places {seed} {spec}".encode()))
    choices = _special_values(spec, extremes, finite)
    count = min(max(values.size // 4, min(values.size // 2, choices.size), 1), values.size)
    if choices.size and count:
        places = random.permutation(values.size)[:count]
        chosen = np.concatenate([choices[:2], random.permutation(choices[2:])])  # NaN and -0.0 in any case
        values.reshape(-1)[places] = np.resize(chosen, count)
    return scattered(values)


def _of_parts(spec: Spec, make: Callable[[Spec, str], np.ndarray]) -> np.ndarray:
    """Complex numbers whose parts are made each by itself, as floats."""
    values = np.empty(spec.shape, spec.dtype.numpy)
    part = replace(spec, dtype=spec.dtype.part)
    values.real, values.imag = make(part, "real"), make(part, "imag")
    return values


def _special_values(spec: Spec, extremes: bool, finite: bool) -> np.ndarray:
    dtype: Any = spec.dtype.numpy
    if spec.dtype.is_bool:
        return np.zeros(0, dtype)
    found = spec.dtype.float_format
    if found is not None:
        listed = [100.0, -100.0] if finite else [np.nan, -0.0, np.inf, -np.inf]
        if extremes and not finite:
            listed += [
                found.step,
                -found.step,
                found.highest,
                -found.highest,
                found.tiny,
                88.0,
                -104.0,
                1e4,
            ]
        values = np.array(listed, dtype)
    else:
        limits = np.iinfo(dtype)
        values = np.array([limits.max, limits.min, 0, 1], dtype)  # sums and products of ints wrap
    if spec.limits is None:
        return values
    return values[(values >= spec.limits[0]) & (values < spec.limits[1])]


def scattered(values: np.ndarray) -> np.ndarray:
    """The same values in memory that is neither contiguous nor, for wider elements, aligned."""
    if values.ndim == 0:
        return values
    raw = np.zeros(values.size * 2 * values.itemsize + 1, np.uint8)
    wide = raw[1:].view(values.dtype).reshape((*values.shape[:-1], values.shape[-1] * 2))
    view = wide[..., ::2]
    view[...] = values
    return view
