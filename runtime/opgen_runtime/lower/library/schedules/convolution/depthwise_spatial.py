"""Depthwise convolutions, vectors along rows: loops of sums over windows, with a filter that all positions of a
plane share.

    C[.., y, x] = sum(X[.., y * a + r, x * b + s] * W[.., r, s] for .., r, s)

Where no axis moves the filter alone there is nothing to pack for it (that would be a contraction): depthwise
convolutions and their like.  A plane of the image is read once, with the padding around it, for all its windows.
A vector of columns of several rows stays in registers; the steps of the window along the rows are unrolled, so that
a line that is read serves every row of the tile.  Where lines are open all tiles are whole, and guards are around the
stores alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .....base import Target
from .....base.arith import Binary, Expr, Var, post_order
from .....base.vocabulary import dataclass
from .....compute.te.tensor import IterVar, Read, Reduce
from ....schedule import Schedule, Stage, positions, simplified, slope
from ...heuristics import MAX_OPEN_ROWS, MIN_COLUMNS
from ..common.access import Accesses, analyse, contiguous_groups, is_shared, likely, likely_extent
from ..common.parameters import WINDOW_ROWS, WINDOW_STEPS
from ..common.plan import leader_of
from ..common.products import is_plain, is_sum_of_products, vars_of
from ..common.rule import WhyNot
from ..elementwise import staged_operand_of, vectorize_inner


@dataclass(frozen=True, slots=True)
class SpatialWindow:
    """The operand that is an image, and the reduce axis that slides along its rows."""

    image: Expr
    sliding: IterVar


def match_filter(schedule: Schedule, stage: Stage, target: Target) -> Stage | WhyNot:
    """A sum over windows whose filter is shared by a plane."""
    body = stage.body
    if stage.follows is not None or len(stage.axes) < 3 or not isinstance(body, Reduce):
        return WhyNot("is no reduction with three data axes or more")
    *outer, row, column = stage.axes
    if likely(row.extent) < 2 or likely(column.extent) < MIN_COLUMNS.value:
        return WhyNot(f"has planes of {likely(row.extent)}x{likely(column.extent)}: too small")
    every = (*stage.axes, *stage.reduce_axes)
    if is_shared(every, likely_extent(every), target) and likely_extent(outer) < target.num_threads:
        return WhyNot(f"has too few planes for {target.num_threads} threads")
    found = _window_of(stage.axes, simplified(stage.axes, body), target)
    if found is None:
        return WhyNot("is no sum over windows with a filter that each plane shares")
    place = "" if is_plain(found.image) else positions(every, found.image)
    return (
        WhyNot(f"has an image that cannot be covered: {place}") if isinstance(place, str) and place else stage
    )


def _window_of(axes: tuple[IterVar, ...], body: Reduce, target: Target) -> SpatialWindow | None:
    """The window over which a body is a sum; None for any other."""
    product = body.value
    if not is_sum_of_products(body) or body.condition is not None or not isinstance(product, Binary):
        return None
    row, column = axes[-2:]
    for image, shared in ((product.a, product.b), (product.b, product.a)):
        reads = [node for node in post_order(image) if isinstance(node, Read)]
        if len(reads) != 1 or not {row.var, column.var}.isdisjoint(vars_of(shared)):
            continue
        along = [index for index in reads[0].indices if row.var in vars_of(index)]
        across = [index for index in reads[0].indices if column.var in vars_of(index)]
        if len(along) != 1 or across != [reads[0].indices[-1]] or along == across:
            continue
        step = slope(across[0], column.var)
        if step is None or not 0 < step <= target.machine.max_guarded_stride:
            continue
        sliding = [axis for axis in body.axes if _slides(along[0], row.var, axis)]
        steps = [axis for axis in body.axes if axis.var in {*vars_of(along[0]), *vars_of(across[0])}]
        if len(sliding) == 1 and any([axis.extent != 1 for axis in steps]):
            return SpatialWindow(image, sliding[0])
    return None


def _slides(index: Expr, row: Var, axis: IterVar) -> bool:
    """Whether steps of a reduce axis come to positions of other rows."""
    if axis.var not in vars_of(index) or not isinstance(axis.extent, int):
        return False
    row_step, step = slope(index, row), slope(index, axis.var)
    if not row_step or not step:
        return False
    return step % row_step == 0 or (row_step % step == 0 and row_step // step < axis.extent)


def schedule_filter(schedule: Schedule, stage: Stage, target: Target) -> list[Stage]:
    """Loops for a sum over windows; gives the stages that have loops then."""
    leader = leader_of(schedule, stage)
    schedule.simplify(stage.tensor)
    rows, lanes = _tile_of(stage, target.lanes(_accesses_of(stage).widest), target)
    stage = _in_whole_tiles(schedule, stage, _found(stage, target).image, leader, (rows, lanes))
    found = _found(stage, target)
    staging = _staged(schedule, stage, found.image, lanes, target)
    accesses = _accesses_of(stage)
    rest = [axis for axis in stage.reduce_axes if axis is not found.sliding]
    stage.reorder(*rest, found.sliding)
    if isinstance(found.sliding.extent, int) and found.sliding.extent <= WINDOW_STEPS.of(target):
        stage.unroll(found.sliding)
    every = (*stage.axes, *stage.reduce_axes)
    shared = is_shared(every, likely_extent(every), target)
    steps = [*[stage.fuse(*group) for group in contiguous_groups(rest, accesses)], found.sliding]
    around, tiles = _tile(leader, steps if leader is stage else (), rows, lanes)
    if leader is not stage:
        _tile(stage, steps, rows, lanes)
        stage.compute_at(leader, tiles)
    if staging is not None:
        staging.compute_at(leader, around)
    if shared:
        leader.parallel(around)
    return [leader, stage, *([] if staging is None else [staging])]


def _found(stage: Stage, target: Target) -> SpatialWindow:
    assert isinstance(stage.body, Reduce)
    found = _window_of(stage.axes, stage.body, target)
    assert found is not None
    return found


def _accesses_of(stage: Stage) -> Accesses:
    assert isinstance(stage.body, Reduce)
    return analyse(stage.body, stage.body.value.dtype)


def _in_whole_tiles(
    schedule: Schedule, stage: Stage, image: Expr, leader: Stage, tile: tuple[int, int]
) -> Stage:
    """The stage; where lines are open, the one that computes whole tiles, of which the leader stores what there is.

    The image is 0 beyond its end then: no step of the sum has masks, and the code of a tile is there once.  Where rows
    alone are open, their guards are branches, which take no longer.
    """
    every = (*stage.axes, *stage.reduce_axes)
    if isinstance(stage.axes[-1].extent, int) or isinstance(positions(every, image), str):
        return stage
    sizes = zip(stage.axes[-2:], tile, strict=True)
    opened = {axis: size for axis, size in sizes if not isinstance(axis.extent, int)}
    return _rounded_up(schedule, stage, opened, is_inlined=stage is not leader)


def _rounded_up(
    schedule: Schedule, stage: Stage, multiples: Mapping[IterVar, int], is_inlined: bool
) -> Stage:
    """The stage that computes so many more elements; the one that reads it has no loops of its own if `is_inlined`."""
    made = schedule[schedule.round_up(stage.tensor, multiples)]
    if is_inlined:
        stage.compute_inline()
    schedule.normalize()
    return made


def _staged(schedule: Schedule, stage: Stage, image: Expr, lanes: int, target: Target) -> Stage | None:
    """The stage that holds a plane of the image with what is around it; None for an image that is read as it lies.

    Lines of any length are whole vectors, one an iteration: most have few, and none is left over.
    """
    if is_plain(image) or isinstance(stage.axes[-1].extent, int):
        return staged_operand_of(schedule, stage, image, target)
    staging = schedule[schedule.stage_operand(stage.tensor, image)]
    made = _rounded_up(schedule, staging, {staging.axes[-1]: lanes}, is_inlined=True)
    vectorize_inner(made, made.axes[-1], lanes, 1)
    return made


def _tile_of(stage: Stage, lanes: int, target: Target) -> tuple[int, int]:
    """The rows of a tile, parts of about the same size, and the lanes of the one vector that each of them has.

    A line serves all rows while it is in a register: several vectors of it would not stay there.
    """
    row, column = (likely(axis.extent) for axis in stage.axes[-2:])
    most = WINDOW_ROWS.of(target)
    if not isinstance(stage.axes[-2].extent, int):
        most = min(most, MAX_OPEN_ROWS.value)
    return _even(row, min(most, target.vectors.registers // 2)), min(lanes, 1 << (column - 1).bit_length())


def _even(extent: int, most: int) -> int:
    return -(-extent // -(-extent // most))


def _tile(stage: Stage, steps: Collection[IterVar], rows: int, lanes: int) -> tuple[IterVar, IterVar]:
    """for i: for y: for x: for k  -->  for i: for y_o: for x_o: for k: unrolled for y_i: vectorized for x_i

    Gives the loop over planes and that over tiles.
    """
    *outer, row, column = stage.axes
    around = stage.fuse(*outer)
    row_tiles, row_tile = stage.split(row, rows)
    tiles, within = stage.split(column, lanes)
    stage.reorder(around, row_tiles, tiles, *steps, row_tile, within)
    stage.unroll(row_tile)
    stage.vectorize(within)
    return around, tiles
