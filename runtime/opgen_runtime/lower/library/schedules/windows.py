"""Loops of reductions over overlapping windows: along the other axes first, for all positions of a line at once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from ....base import Target
from ....compute.te.tensor import IterVar
from ...schedule import Schedule, Stage, why_not_separable
from .access import total_extent

_MOST_UNROLLED: Final = 8
_FEWEST_LANES: Final = 4


def schedule_windows(schedule: Schedule, target: Target, placed: Collection[Stage]) -> set[Stage]:
    """Loops for the reductions whose last reduce axis slides along the last data axis; gives these stages."""
    done: set[Stage] = set()
    for stage in list(schedule.stages):
        if stage in placed or stage.inlined or len(stage.reduce_axes) < 2 or len(stage.axes) < 2:
            continue
        data, window = stage.axes[-1], stage.reduce_axes[-1]
        if data.extent == 1 or window.extent == 1 or why_not_separable(stage, data, window) is not None:
            continue
        lanes = target.lanes(stage.tensor.dtype)
        if min(lanes, int(data.extent)) < _FEWEST_LANES:
            continue
        lines = schedule[schedule.separate(stage.tensor, data, window)]
        work = total_extent((*lines.axes, *lines.reduce_axes)) or 0
        row = _row(stage, lanes)
        if target.num_threads > 1 and work > target.parallel_threshold:
            stage.parallel(row)
        _row(lines, lanes)
        lines.compute_at(stage, row)
        done.update((stage, lines))
    return done


def _row(stage: Stage, lanes: int) -> IterVar:
    """for i: for j: for k  -->  for i: for j_o: unrolled for k: vectorized for j_i; the loop over rows"""
    *outer, last = stage.axes
    row = stage.fuse(*outer)
    assert isinstance(last.extent, int)
    # a short line is stored at once, and read soon after
    lanes = min(lanes, 1 << (last.extent - 1).bit_length())
    part, lane = stage.split(last, lanes)
    stage.reorder(row, part, *stage.reduce_axes, lane)
    stage.vectorize(lane)
    for axis in stage.reduce_axes:
        if isinstance(axis.extent, int) and axis.extent <= _MOST_UNROLLED:
            stage.unroll(axis)
    return row
