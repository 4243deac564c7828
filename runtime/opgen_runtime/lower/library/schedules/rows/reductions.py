"""Loops of reduction stages.

Along: memory is contiguous along the last reduce axis (a row sum); that axis is vectorized, with several vectors of
accumulators.  Across: it is contiguous along the last data axis (a column sum, a matrix product); that axis is
vectorized, and the accumulators are a tile, in registers where elements are used again for other outputs.
"""

from __future__ import annotations

import math

from .....base import Target
from .....base.vocabulary import POSITIONAL, dataclass
from .....compute.te.tensor import IterVar, Read, Reduce, Tensor
from ....schedule import Schedule, Stage
from ...heuristics import MAX_ADDER_CYCLES, MAX_REGISTER_STEPS, MAX_REMAINDERS, REGISTERS_A_VECTOR
from ..common.access import (
    Accesses,
    analyse,
    contiguous_groups,
    is_shared,
    leading_axis,
    likely,
    likely_extent,
    total_extent,
)
from ..common.parameters import PARTS, SLIDING_VECTORS, SUM_ROWS, SUM_STEPS, SUM_VECTORS, WIDE_TILE
from ..common.prefetching import prefetch_sequential
from ..common.rule import WhyNot
from ..elementwise import divided_axes


@dataclass(frozen=True, slots=True)
class ReduceShape:
    """How a reduction goes through memory.  `reuse` is a data axis along which some read does not move."""

    accesses: Accesses
    across: bool
    along: bool
    reuse: tuple[IterVar, ...]
    lanes: int


def reduce_shape(stage: Stage, target: Target) -> ReduceShape:
    """The shape of a reduction stage, from the strides of its reads."""
    body = stage.body
    assert isinstance(body, Reduce)
    accesses = analyse(body, body.value.dtype)
    last_data = leading_axis(stage.loop_axes) if stage.loop_axes else None
    last_reduce = stage.reduce_axes[-1]
    steps = [read.strides for read in accesses.reads]
    lanes, most = target.lanes(accesses.widest), target.machine.max_guarded_stride
    along = any(s.get(last_reduce.var, 0) == 1 for s in steps)
    moved = [last_reduce] if along else stage.reduce_axes
    across = (
        last_data is not None
        and any(0 < s.get(last_data.var, 0) <= most and any(s.get(axis.var) for axis in moved) for s in steps)
        and likely(last_data.extent) >= min(4, lanes)
    )
    reuse = tuple(
        axis
        for axis in stage.loop_axes
        if axis.extent != 1
        and any(
            not s.get(axis.var) and axis.var not in r.entangled
            for s, r in zip(steps, accesses.reads, strict=True)
        )
        and any(s.get(axis.var) for s in steps)
    )
    return ReduceShape(accesses, across, along, reuse, lanes)


def work_of(stage: Stage, cycles: float) -> float:
    """What all elements of a stage take, of `cycles` each, one by one, for the hints of symbolic dims."""
    return likely_extent((*stage.loop_axes, *stage.reduce_axes)) * cycles


def split_among_threads(schedule: Schedule, stage: Stage, target: Target) -> Stage | None:
    """Partial results for each thread, where a large reduction has too few elements to share; the partial stage."""
    body = stage.body
    assert isinstance(body, Reduce)
    shape = reduce_shape(stage, target)
    work = work_of(stage, shape.accesses.cycles(target))
    elements = likely_extent(stage.loop_axes)
    if target.num_threads < 2 or work <= 2 * target.parallel_threshold:
        return None
    columns = likely(stage.loop_axes[-1].extent) if shape.across else 1
    column_tiles = elements // columns * -(-columns // wide_tile(target))
    if column_tiles >= target.num_threads or body.combiner in POSITIONAL:
        return None
    axis = max(stage.reduce_axes, key=lambda a: a.extent if isinstance(a.extent, int) else 0)
    parts = PARTS.of(target) * target.num_threads
    if not isinstance(axis.extent, int) or axis.extent < 4 * parts:
        return None
    outer, _ = stage.split(axis, nparts=parts)
    return schedule[schedule.rfactor(stage.tensor, outer)]


def match_reduction(schedule: Schedule, stage: Stage, target: Target) -> Stage | WhyNot:
    """Any stage with reduce axes."""
    return stage if stage.reduce_axes else WhyNot("has no reduce axes")


def reduce_whole(schedule: Schedule, stage: Stage, target: Target) -> list[Stage]:
    """Loops for a reduction that is computed whole, in parts for each thread where its results are few."""
    if stage.follows is None and _has_decided_steps(stage):
        schedule.simplify(stage.tensor)
    made = [stage]
    partial = split_among_threads(schedule, stage, target)
    if partial is not None:
        schedule_reduction(partial, target)
        made.append(partial)
    schedule_reduction(stage, target)
    return made


def _has_decided_steps(stage: Stage) -> bool:
    """Whether conditions use axes of a sum that has several steps; a single one is no axis at all when simplified."""
    assert stage.body is not None
    several = any([axis.extent != 1 for axis in stage.reduce_axes])
    return several and bool(analyse(stage.body, stage.tensor.dtype).used)


def schedule_reduction(stage: Stage, target: Target, attached: bool = False) -> None:
    """Loops for a reduction stage.  An attached one is not shared among threads: its surroundings are."""
    shape = reduce_shape(stage, target)
    work = work_of(stage, shape.accesses.cycles(target))
    shared = not attached and is_shared((*stage.loop_axes, *stage.reduce_axes), work, target)
    if shape.across:
        outer = _across(stage, shape, target, attached)
    elif shape.along:
        outer = _along(stage, shape, target, attached)
    else:
        outer = list(stage.loop_axes)
    if shared and outer:
        stage.parallel(stage.fuse(*outer))


def _fused_reduction(stage: Stage, accesses: Accesses) -> list[IterVar]:
    return [stage.fuse(*group) for group in contiguous_groups(stage.reduce_axes, accesses)]


def _along(stage: Stage, shape: ReduceShape, target: Target, attached: bool) -> list[IterVar]:
    """for i: for k  -->  for i: for k_o: unrolled for k_u: vectorized for k_l; returns the loops that may be shared."""
    data = list(stage.loop_axes)
    reduce_loops = _fused_reduction(stage, shape.accesses)
    inner = reduce_loops[-1]
    lanes = _fitting(shape.lanes, inner)
    if lanes < 2:
        return data
    tiles: list[IterVar] = []
    rows = SUM_ROWS.of(target)
    for axis in [a for a in shape.reuse if a in data][-2:]:
        if isinstance(axis.extent, int) and axis.extent >= rows:
            outer, tile = stage.split(axis, rows)
            data[data.index(axis)] = outer
            tiles.append(tile)
    rest, lane = (None, inner) if inner.extent == lanes else stage.split(inner, lanes)
    vectors = 1 if tiles else _vectors(rest, SUM_VECTORS.of(target, _adders(stage, shape.accesses, target)))
    steps: list[IterVar] = []
    if rest is not None:
        if vectors > 1:
            rest, step = stage.split(rest, vectors)
            stage.unroll(step)
            steps = [step]
        reduce_loops[-1] = rest
    else:
        reduce_loops.pop()
    for tile in tiles:
        stage.unroll(tile)
    stage.vectorize(lane)
    stage.reorder(*data, *reduce_loops, *tiles, *steps, lane)
    if not attached and rest is not None and _exceeds_caches(stage, target):
        prefetch_sequential(stage, rest, lanes * vectors, target)
    return data


def _fitting(lanes: int, axis: IterVar) -> int:
    return min(lanes, 1 << max(0, likely(axis.extent).bit_length() - 1))


def _adders(stage: Stage, accesses: Accesses, target: Target) -> int:
    """How many vectors of accumulators keep the adders busy; argmax and argmin have two for each."""
    assert isinstance(stage.body, Reduce)
    few = accesses.cycles(target) <= MAX_ADDER_CYCLES.value
    return 4 if few and stage.body.combiner not in POSITIONAL else 2


def _exceeds_caches(stage: Stage, target: Target) -> bool:
    """Whether a stage sums up what no cache holds, and does no more with it."""
    assert isinstance(stage.body, Reduce)
    value = stage.body.value
    far = isinstance(value, Read) and _bytes(value.tensor) >= target.machine.llc_operand
    return stage.body.combiner == "sum" and far


def _bytes(tensor: Tensor) -> int:
    return math.prod([likely(extent) for extent in tensor.shape]) * tensor.dtype.itemsize


def _vectors(rest: IterVar | None, wanted: int) -> int:
    return 1 if rest is None else max(1, min(wanted, likely(rest.extent)))


def wide_tile(target: Target) -> int:
    """How many elements a tile of accumulators in memory has."""
    return WIDE_TILE.of(target, target.machine.l1_tile_elements)


def _column_tile(column: IterVar, lanes: int, target: Target) -> int:
    """How many columns a tile of accumulators in memory has: as many as others, and tiles for all threads alike."""
    most = max(lanes, wide_tile(target) // lanes * lanes)
    if not isinstance(column.extent, int) or column.extent <= most:
        return most
    tiles = -(-column.extent // most)
    tiles = -(-tiles // target.num_threads) * target.num_threads
    return -(-column.extent // (tiles * lanes)) * lanes


def _reuses_vectors(axis: IterVar, column: IterVar, shape: ReduceShape) -> bool:
    """Whether a vector that is read along `column` serves several positions of `axis`."""
    reads = [read.strides for read in shape.accesses.reads if read.strides.get(column.var)]
    return any(not strides.get(axis.var) for strides in reads)


def _stays_in_l1(stage: Stage, shape: ReduceShape, target: Target) -> bool:
    """Whether all steps of many read lines that overlap and stay in the first-level cache, as a window that slides."""
    body = stage.body
    assert isinstance(body, Reduce)
    if body.combiner in POSITIONAL or (total_extent(stage.reduce_axes) or 0) <= MAX_REGISTER_STEPS.value:
        return False
    for read in shape.accesses.reads:
        if read.symbolic or any(axis.var in read.entangled for axis in stage.reduce_axes):
            return False
        apart = [abs(read.strides.get(axis.var, 0)) * (likely(axis.extent) - 1) for axis in stage.reduce_axes]
        if sum(apart) * read.tensor.dtype.itemsize > target.machine.l1_window:
            return False
    return True


def _unroll_remainders(stage: Stage, data: list[IterVar], accesses: Accesses) -> None:
    """for y  -->  for y_o: unrolled for y_i, of rows whose remainder by a number says which steps count at all."""
    for axis, factor in divided_axes(stage, accesses).items():
        if axis in data[:-1] and factor <= MAX_REMAINDERS.value:
            at = data.index(axis)
            data[at : at + 1] = stage.split(axis, factor)
            stage.unroll(data[at + 1])


def _across(stage: Stage, shape: ReduceShape, target: Target, attached: bool) -> list[IterVar]:
    """for i: for j: for k  -->  for i: for j_o: for k: for j_i, the last vectorized.

    Columns of several axes that lie side by side are one, where no stage around asks for a part of them.
    """
    data = list(stage.loop_axes)
    line = data.index(leading_axis(data))
    columns = data[line:] if attached else contiguous_groups(data, shape.accesses)[-1]
    reuse = sorted(
        (axis for axis in shape.reuse if axis not in columns),
        key=lambda axis: _reuses_vectors(axis, columns[-1], shape),
    )
    data[-len(columns) :] = [stage.fuse(*columns)]
    column = data[-1]
    lanes = _fitting(shape.lanes, column)
    reduce_loops = _fused_reduction(stage, shape.accesses)
    tiles: list[IterVar] = []
    steps: list[IterVar] = []
    few, sliding, unrolled = MAX_REGISTER_STEPS.value, SLIDING_VECTORS.of(target), SUM_STEPS.of(target)
    if reuse and isinstance(reuse[-1].extent, int) and reuse[-1].extent > 1:
        row = reuse[-1]
        outer, tile = stage.split(row, SUM_ROWS.of(target))
        data[data.index(row)] = outer
        stage.unroll(tile)
        tiles.append(tile)
        vectors = target.vectors.registers // REGISTERS_A_VECTOR.value
        column_outer, inner = stage.split(column, lanes * vectors)
        vector, lane = stage.split(inner, lanes)
        stage.unroll(vector)
    elif _stays_in_l1(stage, shape, target) and likely(column.extent) >= lanes * sliding:
        column_outer, inner = stage.split(column, lanes * sliding)
        vector, lane = stage.split(inner, lanes)
        stage.unroll(vector)
    elif (total_extent(reduce_loops) or few + 1) <= few:
        data[-1], lane = stage.split(column, lanes)
        for each in reduce_loops:
            stage.unroll(each)
        stage.vectorize(lane)
        _unroll_remainders(stage, data, shape.accesses)
        stage.reorder(*data, *reduce_loops, lane)
        return data
    else:
        column_outer, inner = stage.split(column, _column_tile(column, lanes, target))
        vector, lane = stage.split(inner, lanes)
        last = reduce_loops[-1]
        if likely(last.extent) > unrolled:
            reduce_loops[-1], step = stage.split(last, unrolled)
            stage.unroll(step)
            steps.append(step)
    stage.vectorize(lane)
    data[-1] = column_outer
    stage.reorder(*data, *reduce_loops, *tiles, vector, *steps, lane)
    return data
