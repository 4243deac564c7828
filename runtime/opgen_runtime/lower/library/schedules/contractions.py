"""Loops of contractions: sums of products of two operands, recognised from which axes each of them moves with.

    C[.., i, j..] = sum(X[.., i, k..] * Y[.., j.., k..] for k..)

A row axis i moves X alone, the column axes j, the last ones of the result, Y alone: matrix products, dense layers,
convolutions of channels that come before the positions.  The columns become one axis, cut in panels; the part of Y
that a panel needs is packed: read once, whatever it is computed from (padding, strides, casts), into lines of one
element of k each.  Where Y is constant all of it is packed, panel by panel, once and for all.  A tile of rows and a
panel of columns stay in registers over all of k.  What reads the result element by element runs where the tile is
stored.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from ....base.arith import Analyzer, Binary, Cast, Const, Expr, Var, lt, post_order
from ....base.target import Target
from ....compute.te.tensor import IterVar, Read, Reduce
from ...schedule import Schedule, Stage, constant_stages
from .access import analyse, contiguous_groups, total_extent
from .elementwise import schedule_elementwise
from .plan import readers_of

_LEAST_ROWS: Final = 8
_LEAST_COLUMNS: Final = 16
_LEAST_SUMMED: Final = 8
_VECTORS: Final = 2  # a panel has so many
_MANY_REGISTERS: Final = 8  # rows of a tile where there are 32 vector registers
_FEW_REGISTERS: Final = 4  # and where there are 16
_PANELS_PER_THREAD: Final = 4  # fewer are shared among threads by tiles of rows


@dataclass(frozen=True, slots=True)
class Contraction:
    """The axes of a contraction, and its operands: `fixed` moves with the row, `packed` with the columns."""

    outer: tuple[IterVar, ...]
    row: IterVar
    columns: tuple[IterVar, ...]
    fixed: Expr
    packed: Expr


def schedule_contractions(schedule: Schedule, target: Target, placed: Collection[Stage]) -> set[Stage]:
    """Loops for the contractions that are large enough, and what they are computed with; gives these stages."""
    done: set[Stage] = set()
    for stage in list(schedule.stages):
        if stage in placed or stage in done or stage.inlined or not _is_sum_of_products(stage):
            continue
        _simplify(stage)
        found = contraction_of(stage)
        if found is not None and _pays(found, stage):
            done.update(_schedule(schedule, stage, found, _leader(schedule, stage, {*placed, *done}), target))
    return done


def _is_sum_of_products(stage: Stage) -> bool:
    body = stage.body
    return (
        isinstance(body, Reduce)
        and bool(stage.reduce_axes)
        and body.combiner == "sum"
        and body.condition is None
        and isinstance(body.value, Binary)
        and body.value.op == "mul"
    )


def contraction_of(stage: Stage) -> Contraction | None:
    """The contraction that a stage is as it stands; None for any other."""
    body = stage.body
    if not _is_sum_of_products(stage) or not isinstance(body, Reduce) or not isinstance(body.value, Binary):
        return None
    for fixed, packed in ((body.value.a, body.value.b), (body.value.b, body.value.a)):
        mine, theirs = _vars(fixed), _vars(packed)
        axes = list(stage.axes)
        columns: list[IterVar] = []
        while axes and axes[-1].var not in mine and (axes[-1].var in theirs or axes[-1].extent == 1):
            columns.insert(0, axes.pop())
        moves = any(axis.var in theirs for axis in columns)
        if moves and axes and axes[-1].var in mine and axes[-1].var not in theirs:
            return Contraction(tuple(axes[:-1]), axes[-1], tuple(columns), fixed, packed)
    return None


def _vars(e: Expr) -> set[Var]:
    return {node for node in post_order(e) if isinstance(node, Var)}


def _simplify(stage: Stage) -> None:
    """Indices by the extents of the axes: with one group, `o // O * C + c` does not move with o."""
    analyzer = Analyzer()
    for axis in (*stage.axes, *stage.reduce_axes):
        analyzer.bind(axis.var, 0, axis.extent)
    body = stage.body
    assert isinstance(body, Reduce)
    stage.set_compute(stage.axes, Reduce(body.dtype, body.combiner, body.axes, analyzer.simplify(body.value)))


def _pays(found: Contraction, stage: Stage) -> bool:
    """Whether extents are constant and large enough, and the rows' operand is read as it lies."""
    rows, columns, summed, outer = (
        total_extent(axes) for axes in ((found.row,), found.columns, stage.reduce_axes, found.outer)
    )
    if rows is None or columns is None or summed is None or not outer:
        return False
    fixed = found.fixed.a if isinstance(found.fixed, Cast) else found.fixed
    return (
        rows >= _LEAST_ROWS
        and columns >= _LEAST_COLUMNS
        and summed >= _LEAST_SUMMED
        and isinstance(fixed, Read)
    )


def _leader(schedule: Schedule, stage: Stage, placed: Collection[Stage]) -> Stage:
    """The stage in whose loops the contraction runs: the one reader, if it reads element by element, or itself."""
    readers = [each for each in readers_of(schedule).get(stage, ()) if not each.inlined]
    if stage.is_output or len(readers) != 1:
        return stage
    (reader,) = readers
    if reader in placed or reader.body is None or reader.reduce_axes or reader.follows is not None:
        return stage
    order = post_order(reader.body)
    same = (
        [axis.extent for axis in reader.axes] == [axis.extent for axis in stage.axes]
        and not any(isinstance(node, Reduce) for node in order)
        and all(
            _is_own(node, reader) for node in order if isinstance(node, Read) and node.tensor is stage.tensor
        )
    )
    return reader if same else stage


def _is_own(read: Read, stage: Stage) -> bool:
    """Whether a stage reads the element of its own position."""
    return all(
        index is axis.var or (axis.extent == 1 and isinstance(index, Const))
        for index, axis in zip(read.indices, stage.axes, strict=True)
    )


def _schedule(
    schedule: Schedule, stage: Stage, found: Contraction, leader: Stage, target: Target
) -> list[Stage]:
    lanes = target.lanes(found.packed.dtype)
    count = total_extent(found.columns)
    assert count is not None
    panel = lanes * min(_VECTORS, -(-count // lanes))
    rows = _tile_rows(found.row, _MANY_REGISTERS if target.vector_bits >= 512 else _FEW_REGISTERS)
    flat = schedule[schedule.flatten(stage.tensor, len(found.columns), panel)]
    if leader is not stage:
        stage.compute_inline()
        schedule.normalize()
    whole = contraction_of(flat)
    assert whole is not None
    column = flat.axes[-1]
    moving = [axis.var in _vars(whole.packed) for axis in flat.axes[:-2]]
    outer = [axis for axis, moves in zip(flat.axes, moving, strict=False) if moves]
    inside = None if column.extent == count else lt(column.var, count)
    lines = panel if _is_constant(schedule, whole.packed) else None
    axes = (*outer, *flat.reduce_axes, column)
    packing = schedule[schedule.pack(flat.tensor, whole.packed, axes, inside, lines)]

    around, still = _loops(leader, moving)
    panels, within = leader.split(leader.fuse(*leader.axes[len(moving) + 1 :]), panel)
    tiles, tile = leader.split(leader.axes[len(moving)], rows)
    leader.reorder(*around, panels, *still, tiles, tile, within)
    _in_registers(leader, tile, within, lanes)
    work = total_extent((*flat.axes, *flat.reduce_axes)) or 0
    shared = target.num_threads > 1 and work > target.parallel_threshold
    parts = total_extent((*around, panels))
    if lines is not None and packing in constant_stages(schedule):
        schedule_elementwise(packing, target)
        at = leader.fuse(*around, panels, *still, tiles) if shared else tiles
        if shared:
            leader.parallel(at)
    elif shared and parts is not None and parts < _PANELS_PER_THREAD * target.num_threads:
        at = leader.fuse(*around, panels, *still, tiles)
        schedule_elementwise(packing, target)
        leader.parallel(at)
    else:
        panels = leader.fuse(*around, panels)
        at = tiles
        _pack_a_panel(packing, target)
        packing.compute_at(leader, panels)
        if shared:
            leader.parallel(panels)
    _multiply(flat, rows, panel, lanes)
    flat.compute_at(leader, at)
    return [leader, stage, flat, packing]


def _is_constant(schedule: Schedule, operand: Expr) -> bool:
    """Whether all that an expression reads is constant."""
    constant = constant_stages(schedule)
    reads = [node for node in post_order(operand) if isinstance(node, Read)]
    return bool(reads) and all(schedule[read.tensor] in constant for read in reads)


def _tile_rows(row: IterVar, most: int) -> int:
    """How many rows a tile has: as many as fit, fewer where that leaves none over."""
    rows = row.extent
    assert isinstance(rows, int)
    return next((n for n in range(most, most // 2, -1) if rows % n == 0), most)


def _loops(leader: Stage, moving: list[bool]) -> tuple[list[IterVar], list[IterVar]]:
    """The leader's outer axes: those with which the packed operand moves, and the others."""
    outer = list(zip(leader.axes, moving, strict=False))
    return [axis for axis, moves in outer if moves], [axis for axis, moves in outer if not moves]


def _in_registers(stage: Stage, tile: IterVar, within: IterVar, lanes: int) -> None:
    stage.unroll(tile)
    if within.extent == lanes:
        stage.vectorize(within)
        return
    part, lane = stage.split(within, lanes)
    stage.unroll(part)
    stage.vectorize(lane)


def _multiply(flat: Stage, rows: int, panel: int, lanes: int) -> None:
    """for i: for j: for k  -->  for i_o: for j_o: for k: unrolled for i_i, vectors of j_i"""
    assert flat.body is not None
    accesses = analyse(flat.body, flat.tensor.dtype)
    row, column = flat.axes[-2:]
    summed = [flat.fuse(*group) for group in contiguous_groups(flat.reduce_axes, accesses)]
    tiles, tile = flat.split(row, rows)
    panels, within = flat.split(column, panel)
    flat.reorder(*flat.axes[:-2], tiles, panels, *summed, tile, within)
    _in_registers(flat, tile, within, lanes)


def _pack_a_panel(packing: Stage, target: Target) -> None:
    """Loops over what conditions depend on come first, so that they are decided once for all others."""
    assert packing.body is not None
    accesses = analyse(packing.body, packing.tensor.dtype)
    column = packing.axes[-1]
    lanes = target.lanes(accesses.widest)
    part, lane = packing.split(column, lanes)
    rest = list(packing.axes[:-1])
    decided = [axis for axis in rest if axis.var in accesses.used]
    packing.reorder(*decided, part, *[axis for axis in rest if axis not in decided], lane)
    packing.vectorize(lane)
