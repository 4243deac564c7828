"""Loops of reductions over overlapping windows: along the other axes first, for all positions of a line at once."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from ....base import Target
from ....compute.te.tensor import IterVar
from ...schedule import Schedule, Stage, why_not_separable
from .access import is_shared, likely, likely_extent

_MOST_UNROLLED: Final = 8
_FEWEST_LANES: Final = 4
_NEAR: Final = 1 << 13  # bytes of lines that stay in the first-level cache beside what they are made of


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
        if min(lanes, likely(data.extent)) < _FEWEST_LANES:
            continue
        lines = schedule[schedule.separate(stage.tensor, data, window)]
        rows = _loops(stage, lanes, _rows_at_once(stage, lines))
        every = (*lines.axes, *lines.reduce_axes)
        if is_shared(every, likely_extent(every), target):
            stage.parallel(rows)
        _loops(lines, lanes, 1)
        lines.compute_at(stage, rows)
        done.update((stage, lines))
    return done


def _rows_at_once(stage: Stage, lines: Stage) -> int:
    """Of how many rows lines are made before any is read: a load of parts of what two stores just left must wait."""
    rows, line = max(1, likely(stage.axes[-2].extent)), max(1, likely(lines.axes[-1].extent))
    most = max(1, _NEAR // (line * lines.tensor.dtype.bits // 8))
    return -(-rows // -(-rows // most))


def _loops(stage: Stage, lanes: int, rows: int) -> IterVar:
    """for i: for j: for k  -->  for i, j_o: for j_i: for k_o: unrolled for r: vectorized for k_i; the loop over i, j_o

    There are `rows` of j_i.
    """
    *outer, last = stage.axes
    within: tuple[IterVar, ...] = ()
    if rows > 1:
        outer[-1], inner = stage.split(outer[-1], rows)
        within = (inner,)
    loop = stage.fuse(*outer)
    # a short line is stored at once
    lanes = min(lanes, 1 << (likely(last.extent) - 1).bit_length())
    part, lane = stage.split(last, lanes)
    stage.reorder(loop, *within, part, *stage.reduce_axes, lane)
    stage.vectorize(lane)
    for axis in stage.reduce_axes:
        if isinstance(axis.extent, int) and axis.extent <= _MOST_UNROLLED:
            stage.unroll(axis)
    return loop
