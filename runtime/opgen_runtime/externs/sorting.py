"""Stable sorts along an axis, in either direction."""

from __future__ import annotations

import numpy as np


def order(data: np.ndarray, axis: int, is_ascend: bool) -> np.ndarray:
    """The positions (int64) that sort `data` along `axis`; of equal elements the first comes first, NaN is greatest."""
    if is_ascend:
        return np.argsort(data, axis=axis, kind="stable").astype(np.int64)
    backwards = np.argsort(np.flip(data, axis), axis=axis, kind="stable")
    return np.asarray(data.shape[axis] - 1 - np.flip(backwards, axis), np.int64)


def sort(data: np.ndarray, *, axis: int, is_ascend: bool) -> np.ndarray:
    """`data` sorted along `axis`."""
    return np.ascontiguousarray(np.take_along_axis(data, order(data, axis, is_ascend), axis))


def argsort(data: np.ndarray, *, axis: int, is_ascend: bool, dtype: str) -> np.ndarray:
    """The positions that sort `data` along `axis`."""
    return np.ascontiguousarray(order(data, axis, is_ascend).astype(dtype))


def topk(
    data: np.ndarray, *, k: int, axis: int, is_ascend: bool, dtype: str
) -> tuple[np.ndarray, np.ndarray]:
    """The first `k` elements of `data` sorted along `axis`, and where they stand."""
    places = np.take(order(data, axis, is_ascend), np.arange(k), axis)
    return np.ascontiguousarray(np.take_along_axis(data, places, axis)), np.ascontiguousarray(
        places.astype(dtype)
    )
