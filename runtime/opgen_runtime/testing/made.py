"""Values that words ask for (`declaration/operands.py`): sorted ones, permutations, offsets, definite matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from ..base.vocabulary import DType

Limits = tuple[float, float] | None


def made(
    words: tuple[str, ...], dtype: DType, shape: tuple[int, ...], limits: Limits, random: np.random.Generator
) -> np.ndarray:
    """An array of what `words` ask, which suit dtype and shape.

    Raises ValueError where the range holds too few values.
    """
    maker = _MAKERS["unique" if "unique" in words else words[0]]
    values = np.asarray(maker(dtype, shape, limits, random)).astype(dtype.numpy)
    if "sorted" in words:
        values = np.sort(values, axis=-1)
    return values


def _rows(shape: tuple[int, ...], row: Callable[[int], np.ndarray]) -> np.ndarray:
    """`row(extent)` for each row along the last dim."""
    count = math.prod(shape[:-1])
    return np.array([row(shape[-1]) for _ in range(count)]).reshape(shape)


def _range(dtype: DType, extent: int, limits: Limits) -> tuple[float, float]:
    """The range of `limits`; without them one around 0 that holds at least `extent` integers."""
    if limits is not None:
        return limits
    half = max(9, extent)
    return (-half, half + 1) if dtype.kind != "u" else (0, 2 * half + 1)


def _sorted(dtype: DType, shape: tuple[int, ...], limits: Limits, random: np.random.Generator) -> np.ndarray:
    low, high = _range(dtype, 9, limits)
    if dtype.is_float:
        values = np.asarray(random.uniform(low, high, shape))
        equal = np.round(2 * values) / 2  # every other one, so that some are equal
        return np.where((random.random(shape) < 0.5) & (equal >= low) & (equal < high), equal, values)
    return np.asarray(random.integers(math.ceil(low), math.ceil(high), shape))


def _unique(dtype: DType, shape: tuple[int, ...], limits: Limits, random: np.random.Generator) -> np.ndarray:
    """Floats lie at least a quarter of the mean distance apart, so that no quotient of differences explodes."""
    low, high = _range(dtype, shape[-1], limits)

    def row(extent: int) -> np.ndarray:
        if dtype.is_float:
            step = (high - low) / max(extent, 1)
            return random.permutation(low + (np.arange(extent) + random.uniform(0.125, 0.875, extent)) * step)
        first, last = math.ceil(low), math.ceil(high)
        if last - first < extent:
            raise ValueError(f"{first}..{last} has no {extent} different integers")
        return first + random.choice(last - first, extent, replace=False)

    return _rows(shape, row)


def _permutation(
    dtype: DType, shape: tuple[int, ...], limits: Limits, random: np.random.Generator
) -> np.ndarray:
    return _rows(shape, random.permutation)


def _offsets(dtype: DType, shape: tuple[int, ...], limits: Limits, random: np.random.Generator) -> np.ndarray:
    assert limits is not None
    low, last = math.ceil(limits[0]), math.ceil(limits[1]) - 1

    def row(extent: int) -> np.ndarray:
        inner = random.integers(low, last + 1, max(extent - 2, 0))
        return np.array([low, *np.sort(inner), last][:extent], np.int64)

    return _rows(shape, row)


def _one_hot(dtype: DType, shape: tuple[int, ...], limits: Limits, random: np.random.Generator) -> np.ndarray:
    return _rows(shape, lambda extent: np.arange(extent) == random.integers(0, max(extent, 1)))


def _probabilities(
    dtype: DType, shape: tuple[int, ...], limits: Limits, random: np.random.Generator
) -> np.ndarray:
    parts = random.uniform(0.1, 1.1, shape)
    return np.asarray(parts / parts.sum(axis=-1, keepdims=True))


def _spd(dtype: DType, shape: tuple[int, ...], limits: Limits, random: np.random.Generator) -> np.ndarray:
    """B B^T / n + I: its least eigenvalue is at least 1, so that its factors are well conditioned."""
    n = shape[-1]
    factor = random.normal(0.0, 1.0, shape)
    return np.asarray(factor @ np.swapaxes(factor, -1, -2) / max(n, 1) + np.eye(n))


_MAKERS: Final = {
    "sorted": _sorted,
    "unique": _unique,
    "permutation": _permutation,
    "offsets": _offsets,
    "one_hot": _one_hot,
    "probabilities": _probabilities,
    "spd": _spd,
}
