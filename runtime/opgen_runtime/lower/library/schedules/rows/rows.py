"""Loops of outputs with what they read computed inside them: row by row, as softmax and norms are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .....base import Target
from .....base.arith import Var, post_order
from .....compute.te.tensor import IterVar, Tensor
from ....schedule import Schedule, Specialisation, Stage, constant_stages, create_schedule, specialisation
from ...heuristics import MAX_OPEN_ROWS_AT_ONCE, MAX_ROWS_AT_ONCE
from ..common.access import analyse, contiguous_groups, is_shared, likely, likely_extent, operations_of
from ..common.parameters import COLUMN_VECTORS, ROW_PARTS, ROWS_AT_ONCE
from ..common.plan import Placement, inline_cheap, place, place_in_cache, readers_of, stored_before
from ..common.prefetching import prefetch_rows
from ..common.rule import WhyNot
from ..elementwise import interleaved, schedule_elementwise, vector_shape, vectorize_inner, vectorize_residues
from .reductions import reduce_shape, schedule_reduction, wide_tile, work_of


def match_rows(schedule: Schedule, stage: Stage, target: Target) -> Placement | WhyNot:
    """An output with stages that can be computed inside its loops, while their results are still in a cache."""
    if not stage.is_output or stage.body is None or stage.reduce_axes:
        return WhyNot("is no output without reduce axes")
    stored = stored_before(schedule, stage)
    if not stored:  # as of many outputs, for each of which all stages would be gone through
        return WhyNot("reads nothing that is stored for it")
    taken = {*constant_stages(schedule), *[each for each in schedule.stages if each.rule is not None]}
    if taken >= set(stored):
        return WhyNot("reads nothing that is stored for it alone")
    readers, position = readers_of(schedule), {each: n for n, each in enumerate(schedule.stages)}
    least, most = ROW_PARTS.of(target) * target.num_threads, target.machine.l2_stage
    found = place_in_cache(schedule, stage, readers, position, taken, least, most)
    return WhyNot("shares no axis with all readers of what it reads") if found is None else found


def schedule_rows(schedule: Schedule, placement: Placement, target: Target) -> list[Stage]:
    """Loops of an output with the stages that are computed inside them; gives all of these stages."""
    schedule.specialisations.extend(_short_rows(placement, target))
    _schedule_placement(placement, target)
    return [placement.leader, *placement.stages]


def why_not_by_rows(outputs: Sequence[Tensor], target: Target) -> str | None:
    """Why a program of reductions and one output is not computed row by row of that output; None if it is.

    It is where every stored stage is computed inside the loops of the output, over rows that all threads share.  A
    vector that is too small to share is one row.
    """
    schedule = create_schedule(outputs)
    inline_cheap(schedule, target)
    stored = [s for s in schedule.stages if not s.is_placeholder and not s.inlined]
    leader = stored[-1]
    if _is_one_row(leader) and _work(stored, target) <= target.parallel_threshold:
        return None
    position = {stage: n for n, stage in enumerate(schedule.stages)}
    placement = place(schedule, leader, readers_of(schedule), position)
    if placement is None:
        return "no axis of the result is an axis of all that it is computed from"
    for stage in stored:
        if stage is not leader and stage not in placement.stages:
            return f"{stage.name} is needed whole before the first row of the result"
    rows = likely_extent(placement.axes)
    work = _work((placement.leader, *placement.stages), target)
    if rows < target.num_threads and work > target.parallel_threshold:
        return f"its {rows} rows are too few to share among {target.num_threads} threads"
    return None


def _is_one_row(leader: Stage) -> bool:
    """Whether a result is a vector, but for extents of 1."""
    return not leader.reduce_axes and sum(axis.extent != 1 for axis in leader.axes) == 1


def _work(stages: Iterable[Stage], target: Target) -> float:
    """What stages take where each reads an element and does one thing with it: cycles of elements, one by one."""
    return sum([work_of(stage, 2 * target.machine.cycles["operation"]) for stage in stages])


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
        tile = inner if not isinstance(leader.axes[-1].extent, int) else None
    else:
        tile = None
        leader.reorder(*outer, *rest)
        fused = [leader.fuse(*group) for group in contiguous_groups(rest, accesses)]
        inner = fused[-1]
    work = _work((placement.leader, *placement.stages), target)
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
        columns = vectorize_inner(leader, inner, lanes, vectors)
        if columns is not None and inner is tile and rest[:-1]:
            leader.reorder(columns, *rest[:-1])
    for stage in placement.stages:
        if stage.reduce_axes:
            schedule_reduction(stage, target, attached=True)
        else:
            schedule_elementwise(stage, target, attached=True)
        stage.compute_at(leader, at)
    prefetch_rows([leader, *placement.stages], likely_extent(placement.axes), rows, target)


def _short_rows(placement: Placement, target: Target) -> list[Specialisation]:
    """Rows of a symbolic number of elements have a schedule of their own where one vector holds them."""
    found: dict[Var, Specialisation] = {}
    for stage in placement.stages:
        extent = stage.reduce_axes[-1].extent if stage.reduce_axes else 0
        if not isinstance(extent, Var) or extent.most is not None:
            continue
        shape = reduce_shape(stage, target)
        if shape.along and not shape.across and likely(extent) > shape.lanes:
            found.setdefault(extent, specialisation(extent, 1, shape.lanes))
    return list(found.values())


def _rows_at_once(placement: Placement, axis: IterVar, threads: int, target: Target) -> int:
    """How many rows of the last axis each stage computes before the next one begins.

    A row with expensive functions waits for its maximum, its sum and their functions; meanwhile other rows go on.
    """
    is_expensive = any(
        stage.body is not None
        and operations_of(post_order(stage.body)).cycles(target.machine) >= target.machine.cycles["function"]
        for stage in placement.stages
    )
    elements = max(likely_extent((*stage.axes, *stage.reduce_axes)) for stage in placement.stages)
    total = likely_extent(placement.axes)
    fitting = target.machine.l1_row_elements * total // max(1, elements)
    if not is_expensive or fitting < 2:
        return 1
    is_open = any(isinstance(a.extent, Var) for stage in placement.stages for a in stage.reduce_axes)
    limit = (MAX_OPEN_ROWS_AT_ONCE if is_open else MAX_ROWS_AT_ONCE).value
    most = min(limit, fitting, likely(axis.extent), total // (ROW_PARTS.of(target) * threads))
    if not isinstance(axis.extent, int):
        return max(1, most)
    return next((rows for rows in range(most, 1, -1) if axis.extent % rows == 0), max(1, most))


def _column_tile(
    leader: Stage, outer: list[IterVar], reductions: list[Stage], stored_rows: bool, target: Target
) -> list[IterVar]:
    """The innermost axis of the leader belongs to the loops around: a tile of it, and of the axis before, goes inside.

    The tile is what the reductions inside work on at once; a reduction along rows needs none.  It is wide where
    nothing but accumulators must stay cached (`stored_rows` is false).
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
