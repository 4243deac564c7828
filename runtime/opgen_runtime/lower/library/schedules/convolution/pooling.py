"""Pooling: loops of reductions over overlapping windows, along the other axes first, for all positions of a line
at once.
"""

from __future__ import annotations

from .....base import Target
from .....compute.te.tensor import IterVar
from ....schedule import Schedule, Stage, why_not_separable
from ...heuristics import MIN_COLUMNS
from ..common.access import is_shared, likely, likely_extent
from ..common.parameters import POOL_STEPS
from ..common.rule import WhyNot


def match_windows(schedule: Schedule, stage: Stage, target: Target) -> Stage | WhyNot:
    """A reduction whose last reduce axis slides along the last data axis."""
    if len(stage.reduce_axes) < 2 or len(stage.axes) < 2:
        return WhyNot("has fewer than two reduce axes and two data axes")
    data, window = stage.axes[-1], stage.reduce_axes[-1]
    if data.extent == 1 or window.extent == 1:
        return WhyNot("has one position or one step along its lines")
    why_not = why_not_separable(stage, data, window)
    if why_not is not None:
        return WhyNot(f"is not separable: {why_not}")
    lanes = min(target.lanes(stage.tensor.dtype), likely(data.extent))
    return WhyNot(f"fills {lanes} lanes of a vector") if lanes < MIN_COLUMNS.value else stage


def schedule_pooling(schedule: Schedule, stage: Stage, target: Target) -> list[Stage]:
    """Loops for a reduction over windows, and for the lines that it is separated into; gives these stages."""
    lanes = target.lanes(stage.tensor.dtype)
    lines = schedule[schedule.separate_reduction(stage.tensor, stage.axes[-1], stage.reduce_axes[-1])]
    rows = _loops(stage, lanes, _rows_at_once(stage, lines, target), target)
    every = (*lines.axes, *lines.reduce_axes)
    if is_shared(every, likely_extent(every), target):
        stage.parallel(rows)
    _loops(lines, lanes, 1, target)
    lines.compute_at(stage, rows)
    return [stage, lines]


def _rows_at_once(stage: Stage, lines: Stage, target: Target) -> int:
    """Of how many rows lines are made before any is read: a load of parts of what two stores just left must wait."""
    rows, line = max(1, likely(stage.axes[-2].extent)), max(1, likely(lines.axes[-1].extent))
    most = max(1, target.machine.l1_window // (line * lines.tensor.dtype.bits // 8))
    return -(-rows // -(-rows // most))


def _loops(stage: Stage, lanes: int, rows: int, target: Target) -> IterVar:
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
        if isinstance(axis.extent, int) and axis.extent <= POOL_STEPS.of(target):
            stage.unroll(axis)
    return loop
