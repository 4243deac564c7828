"""Mutants that mean the same as the original, with the reason.  Each entry: op, part, beginning of the change."""

from __future__ import annotations

from typing import Final

EQUIVALENT: Final[dict[tuple[str, str, str], str]] = {
    ("argwhere", "compute", "0 -> 1 in `out[r, d] = 0`"): "the rows from `n` on are cut off",
    ("avg_pool2d_grad", "relation", "Mult -> Add in `2 * _l.len(S)`"): "an image has two spatial axes",
    (
        "batch_to_space_nd",
        "relation",
        "all -> any in `_l.all((_l.greater_equal(n, 0) for n in _l.each(kept)))`",
    ): "a negative extent of the result is refused anyway, with the same error",
    (
        "concatenate",
        "compute",
        "0 -> 1 in `cast(0, T)`",
    ): "some tensor holds every position, so the default is never taken",
    ("conv2d_backward_weight", "relation", "Mult -> Add in `2 * _l.len(S)`"): "an image has two spatial axes",
    (
        "conv2d_transpose",
        "relation",
        "both -> either in `_l.both(_l.greater_equal(OH, 0), lambda: _l.greater_equal(OW, 0))`",
    ): "a negative extent of the result is refused anyway, with the same error",
    (
        "deformable_conv2d",
        "compute",
        "Sub -> Add in `D - 1`",
    ): "every tap has its offset below D; the clip is for the proof",
    (
        "get_valid_counts",
        "compute",
        "Lt -> LtE in `0 <= p < B`",
    ): "`p` counts boxes before another one, so it is less than B; the guard is for the proof",
    (
        "logsumexp",
        "compute",
        "0 -> 1 in `top[*i,] if isfinite(top[*i,]) else 0`",
    ): "where the greatest element is infinite or NaN any finite base gives that element again",
    ("masked_select", "compute", "0 -> 1 in `cast(0, T)`"): "the elements from `n` on are cut off",
    (
        "matrix_set_diag",
        "compute",
        "GtE -> Gt in `d >= 0`",
    ): "no diagonal is longer than the main one: no shift",
    (
        "matrix_set_diag",
        "reference",
        "GtE -> Gt in `d >= 0`",
    ): "no diagonal is longer than the main one: no shift",
    ("max_pool2d_grad", "relation", "Mult -> Add in `2 * _l.len(S)`"): "an image has two spatial axes",
    (
        "multibox_transform_loc",
        "compute",
        "Lt -> LtE in `0 <= p < A`",
    ): "`p` counts anchors before this one, so it is less than A; the guard is for the proof",
    ("resize1d", "reference", "1 -> 2 in `int(2 / g) + 1`"): "a wider window only adds weights of 0",
    ("resize1d", "reference", "2 -> 3 in `2 / g`"): "a wider window only adds weights of 0",
    ("resize1d", "relation", "all -> any in"): "a signal has one spatial axis",
    (
        "roi_align",
        "compute",
        "Sub -> Add in `H - 1`",
    ): "beyond the last row both rows between which is interpolated are the last one",
    (
        "roi_align",
        "compute",
        "Sub -> Add in `W - 1`",
    ): "beyond the last column both columns between which is interpolated are the last one",
    (
        "shape_of",
        "compute",
        "0 -> 1 in `next((n for k, n in enumerate(data.shape) if k == d), 0)`",
    ): "every position is an axis, so the default is never taken",
    (
        "stack",
        "compute",
        "0 -> 1 in `cast(0, T)`",
    ): "some tensor holds every position, so the default is never taken",
}


def why_equivalent(op: str, part: str, change: str) -> str | None:
    """Why a change of an op means the same; None if it does not."""
    for (name, where, start), reason in EQUIVALENT.items():
        if op == name and part == where and change.startswith(start):
            return reason
    return None
