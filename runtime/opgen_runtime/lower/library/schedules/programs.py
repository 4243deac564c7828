"""Schedules of whole programs."""

from __future__ import annotations

from collections.abc import Sequence

from ....base import Target
from ....base.arith import Var, post_order
from ....compute.te.tensor import IterVar, Tensor
from ...schedule import Narrowing, Schedule, Stage, constant_stages, create_schedule, narrowing
from ..heuristics import MAX_OPEN_ROWS_AT_ONCE, MAX_ROWS_AT_ONCE
from .access import Cost, analyse, contiguous_groups, cost_of, is_shared, likely, likely_extent
from .ahead import prefetch_rows
from .channels import schedule_channels
from .congruences import solve_congruences
from .contractions import schedule_contractions
from .correlations import schedule_correlations
from .elementwise import (
    interleaved,
    schedule_elementwise,
    schedule_tiles,
    vector_shape,
    vectorize_inner,
    vectorize_residues,
)
from .filters import schedule_filters
from .parameters import COLUMN_VECTORS, ROW_PARTS, ROWS_AT_ONCE, check_tuned
from .plan import Placement, inline_cheap, place, place_near, readers_of
from .reductions import reduce_shape, schedule_reduction, split_among_threads, wide_tile, work_of
from .scans import schedule_scans
from .scattering import scatter_products
from .uneven import schedule_uneven
from .windows import schedule_windows


def injective(outputs: Sequence[Tensor], target: Target) -> Schedule:
    """A program without reductions: inlined into the outputs, each of which is one linear sweep.

    Only costly stages of which elements are read again, such as a function of a broadcast operand, are stored.
    """
    return generic(outputs, target)


def reduction(outputs: Sequence[Tensor], target: Target) -> Schedule:
    """A program with reductions; what feeds them is inlined, what follows runs where their results are still near."""
    return generic(outputs, target)


def generic(outputs: Sequence[Tensor], target: Target) -> Schedule:
    """Any program: cheap stages inlined, stages that one output alone needs computed inside its loops.

    Raises StrategyError for a target that is tuned to what there is not.
    """
    check_tuned(target)
    schedule = create_schedule(outputs)
    inline_cheap(schedule)
    scatter_products(schedule, target)
    solve_congruences(schedule)
    placed = set(schedule_scans(schedule, target))
    placed |= schedule_tiles(schedule, target, placed)
    placed |= schedule_uneven(schedule, target)
    placed |= schedule_channels(schedule, target, placed)
    placed |= schedule_correlations(schedule, target, placed)
    placed |= schedule_contractions(schedule, target, placed)
    placed |= schedule_filters(schedule, target, placed)
    placed |= schedule_windows(schedule, target, placed)
    constant = constant_stages(schedule)
    readers, position = readers_of(schedule), {stage: n for n, stage in enumerate(schedule.stages)}
    for stage in [s for s in schedule.stages if s.is_output and s.body is not None and s not in placed]:
        least = ROW_PARTS.of(target) * target.num_threads
        most, taken = target.machine.l2_stage, {*placed, *constant}
        placement = place_near(schedule, stage, readers, position, taken, least, most)
        if placement is not None:
            placed.update((stage, *placement.stages))
            schedule.narrowings.extend(_short_rows(placement, target))
            _schedule_placement(placement, target)
    for stage in list(schedule.stages):
        if stage in placed or stage.body is None or stage.inlined:
            continue
        if not stage.reduce_axes:
            schedule_elementwise(stage, target)
            continue
        if stage.follows is None and _has_decided_steps(stage):
            schedule.simplify(stage.tensor)
        partial = split_among_threads(schedule, stage, target)
        if partial is not None:
            schedule_reduction(partial, target)
        schedule_reduction(stage, target)
    return schedule


def _has_decided_steps(stage: Stage) -> bool:
    """Whether conditions use axes of a sum that has several steps; a single one is no axis at all when simplified."""
    assert stage.body is not None
    several = any([axis.extent != 1 for axis in stage.reduce_axes])
    return several and bool(analyse(stage.body, stage.tensor.dtype).used)


def why_not_by_rows(outputs: Sequence[Tensor], target: Target) -> str | None:
    """Why a program of reductions and one output is not computed row by row of that output; None if it is.

    It is where every stored stage is computed inside the loops of the output, over rows that all threads share.  A
    vector that is too small to share is one row.
    """
    schedule = create_schedule(outputs)
    inline_cheap(schedule)
    stored = [s for s in schedule.stages if not s.is_placeholder and not s.inlined]
    leader = stored[-1]
    if _is_one_row(leader) and sum(work_of(s, 2) for s in stored) <= target.parallel_threshold:
        return None
    position = {stage: n for n, stage in enumerate(schedule.stages)}
    placement = place(schedule, leader, readers_of(schedule), position)
    if placement is None:
        return "no axis of the result is an axis of all that it is computed from"
    for stage in stored:
        if stage is not leader and stage not in placement.stages:
            return f"{stage.name} is needed whole before the first row of the result"
    rows = likely_extent(placement.axes)
    if rows < target.num_threads and _work(placement) > target.parallel_threshold:
        return f"its {rows} rows are too few to share among {target.num_threads} threads"
    return None


def _is_one_row(leader: Stage) -> bool:
    """Whether a result is a vector, but for extents of 1."""
    return not leader.reduce_axes and sum(axis.extent != 1 for axis in leader.axes) == 1


def _work(placement: Placement) -> int:
    """Element operations of a leader and the stages inside it."""
    return sum(work_of(stage, 2) for stage in (placement.leader, *placement.stages))


def _schedule_placement(placement: Placement, target: Target) -> None:
    """Loops of a leader with the stages that are computed inside them."""
    leader = placement.leader
    assert leader.body is not None
    outer = list(placement.axes)
    rest = [axis for axis in leader.axes if axis not in outer]
    accesses = analyse(leader.body, leader.tensor.dtype)
    reductions = [s for s in placement.stages if s.reduce_axes]
    if leader.axes[-1] in outer:
        rest = [
            *rest,
            *_column_tile(leader, outer, reductions, len(reductions) < len(placement.stages), target),
        ]
        leader.reorder(*outer, *rest)
        inner = rest[-1] if rest else None
    else:
        leader.reorder(*outer, *rest)
        fused = [leader.fuse(*group) for group in contiguous_groups(rest, accesses)]
        inner = fused[-1]
    work = _work(placement)
    several = likely_extent(placement.axes) > 1
    every = (*leader.axes, *(a for s in reductions for a in s.reduce_axes))
    shared = several and is_shared(every, work, target)
    threads = target.num_threads if shared else 1
    rows = ROWS_AT_ONCE.of(target, _rows_at_once(placement, outer[-1], threads, target))
    if rows > 1 and not any(reduce_shape(s, target).across for s in reductions):
        outer[-1], row = leader.split(
            outer[-1], rows
        )  # rows of one axis, so that they are seen to lie together
        inner = row if inner is None else inner
    at = leader.fuse(*outer)
    if shared:
        leader.parallel(at)
    factor = interleaved(leader, accesses, target).get(inner) if inner in leader.axes else None
    if inner is not None and factor is not None:
        vectorize_residues(leader, inner, factor, accesses, target)
    elif inner is not None:
        lanes, vectors = vector_shape(inner, accesses, target)
        vectorize_inner(leader, inner, lanes, vectors)
    for stage in placement.stages:
        if stage.reduce_axes:
            schedule_reduction(stage, target, attached=True)
        else:
            schedule_elementwise(stage, target, attached=True)
        stage.compute_at(leader, at)
    prefetch_rows([leader, *placement.stages], likely_extent(placement.axes), rows, target)


def _short_rows(placement: Placement, target: Target) -> list[Narrowing]:
    """Rows of a symbolic number of elements have a schedule of their own where one vector holds them."""
    found: dict[Var, Narrowing] = {}
    for stage in placement.stages:
        extent = stage.reduce_axes[-1].extent if stage.reduce_axes else 0
        if not isinstance(extent, Var) or extent.most is not None:
            continue
        shape = reduce_shape(stage, target)
        if shape.along and not shape.across and likely(extent) > shape.lanes:
            found.setdefault(extent, narrowing(extent, 1, shape.lanes))
    return list(found.values())


def _rows_at_once(placement: Placement, axis: IterVar, threads: int, target: Target) -> int:
    """How many rows of the last axis each stage computes before the next one begins.

    A row with dear functions waits for its maximum, its sum and their functions; meanwhile other rows go on.
    """
    dear = any(
        stage.body is not None and cost_of(post_order(stage.body)) >= Cost.FUNCTION
        for stage in placement.stages
    )
    elements = max(likely_extent((*stage.axes, *stage.reduce_axes)) for stage in placement.stages)
    total = likely_extent(placement.axes)
    near = target.machine.l1_row_elements * total // max(1, elements)
    if not dear or near < 2:
        return 1
    is_open = any(isinstance(a.extent, Var) for stage in placement.stages for a in stage.reduce_axes)
    limit = (MAX_OPEN_ROWS_AT_ONCE if is_open else MAX_ROWS_AT_ONCE).value
    most = min(limit, near, likely(axis.extent), total // (ROW_PARTS.of(target) * threads))
    if not isinstance(axis.extent, int):
        return max(1, most)
    return next((rows for rows in range(most, 1, -1) if axis.extent % rows == 0), max(1, most))


def _column_tile(
    leader: Stage, outer: list[IterVar], reductions: list[Stage], stored_rows: bool, target: Target
) -> list[IterVar]:
    """The innermost axis of the leader belongs to the loops around: a tile of it, and of the axis before, goes inside.

    The tile is what the reductions inside work on at once; a reduction along rows needs none.  It is wide where
    nothing but accumulators must stay near (`stored_rows` is false).
    """
    shapes = [reduce_shape(s, target) for s in reductions]
    across = next((s for s in shapes if s.across), None)
    tiled = next((s for s in shapes if s.reuse), None)
    inside: list[IterVar] = []
    if tiled is not None and len(outer) > 1:
        position = len(outer) - 2
        outer[position], tile = leader.split(outer[position], 4)
        inside.append(tile)
    if across is not None or tiled is not None:
        width = 4 if across is None else across.lanes * COLUMN_VECTORS.of(target)
        if across is not None and tiled is None and not stored_rows and isinstance(outer[-1].extent, int):
            width = max(
                width, min(wide_tile(target), outer[-1].extent // (2 * target.num_threads) // width * width)
            )
        outer[-1], tile = leader.split(outer[-1], width)
        inside.append(tile)
    return inside
