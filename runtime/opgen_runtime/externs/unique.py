"""Distinct entries of a tensor, by a stable sort of its slices."""

from __future__ import annotations

import numpy as np


def unique(
    data: np.ndarray, *, axis: int | None, is_sorted: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The distinct slices of `data` along `axis` (None: its distinct elements), where they first occur, which of
    them each slice is, and how often each occurs.

    Shapes: the first result is that of `data` with the number of distinct slices on `axis` (None: a vector); the
    second and fourth are vectors of that length, the third one of the length of `axis`; all but the first are
    int64.  Slices are ordered by their elements in row-major order (NaN, equal to NaN, comes last), or by
    occurrence unless `is_sorted`.
    """
    slices = data.reshape(-1) if axis is None else np.moveaxis(data, axis, 0)
    length = slices.shape[0]
    rows = slices.reshape(length, int(np.prod(slices.shape[1:], dtype=np.int64)))
    # lexsort is stable: of equal slices the first comes first.
    order = np.lexsort(rows.T[::-1]) if rows.shape[1] else np.arange(length)
    group_of_sorted = np.cumsum(_starts_a_group(rows[order])) - 1
    firsts = order[np.unique(group_of_sorted, return_index=True)[1]]
    group = np.empty(length, np.int64)
    group[order] = group_of_sorted
    if not is_sorted:
        by_occurrence = np.argsort(firsts, kind="stable")
        rank = np.empty_like(by_occurrence)
        rank[by_occurrence] = np.arange(by_occurrence.size)
        firsts, group = firsts[by_occurrence], rank[group]
    counts = np.bincount(group, minlength=firsts.size)
    distinct = slices[firsts] if axis is None else np.moveaxis(slices[firsts], 0, axis)
    return (
        np.ascontiguousarray(distinct),
        firsts.astype(np.int64),
        group.astype(np.int64),
        counts.astype(np.int64),
    )


def _starts_a_group(rows: np.ndarray) -> np.ndarray:
    """Whether each of the sorted rows differs from the one before it."""
    before, after = rows[:-1], rows[1:]
    differs = (before != after) & ~((before != before) & (after != after))
    return np.concatenate([np.ones(min(rows.shape[0], 1), bool), differs.any(axis=1)])
