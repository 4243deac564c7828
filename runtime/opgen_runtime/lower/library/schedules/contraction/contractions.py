"""Loops of contractions: sums of products of two operands, recognised from which axes each of them moves with.

    C[.., i, j..] = sum(X[.., i, k..] * Y[.., j.., k..] for k..)

A row axis i moves X alone, the column axes j, the last ones of the result, Y alone: matrix products, dense layers,
convolutions of channels that come before the positions.  The columns become one axis, cut in panels; the part of Y
that a panel needs is packed: read once, whatever it is computed from (padding, strides, casts), into lines of one
element of k each.  Where Y is constant all of it is packed, panel by panel, once and for all.  A tile of rows and a
panel of columns stay in registers over all of k.  What reads the result element by element runs where the tile is
stored.

Where rows fill vectors better than the columns, or these are windows that overlap, the two may change places
(`turning`): C[.., i, j..] is read from T[.., j.., i], and where that is large, in `strips`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .....base import Target
from .....base.vocabulary import dataclass
from .....compute.te.tensor import IterVar
from ....schedule import Schedule, Stage, constant_stages
from ...heuristics import MIN_ROW_SUM_VECTORS, MIN_SUM_VECTORS, MIN_SUMMED_STEPS, RESERVED_REGISTERS
from ..common.access import analyse, is_shared, likely_extent
from ..common.parameters import PACKED_BYTES
from ..common.plan import leader_of
from ..common.prefetching import fills_cache_lines, prefetch_operands
from ..common.products import (
    Contraction,
    Form,
    Product,
    as_contraction,
    contraction_of,
    form_of,
    is_constant,
    vars_of,
)
from ..common.rule import WhyNot
from .blocking import Blocks, block_by_block, blocks_of_staged, blocks_of_sum, stage_by_block
from .contiguous_rows import contiguous_rows_of, panels_at_once
from .dot_products import dotted_of
from .interchange import interchanged_of, permute_through, widened_order
from .nests import Nest, runs_of, tile_by_tile
from .packing import (
    decided_first,
    is_close,
    is_readable,
    lie_apart,
    pack_columns,
    pack_rows,
    stage_columns,
    stage_rows,
)
from .panel_prefetch import prefetch_panel
from .tiles import Tile, in_registers, specialise_few_rows, tile_of


@dataclass(frozen=True, slots=True)
class Matched:
    """A stage that is a contraction in its `form`, or else with its axes in another `order`."""

    stage: Stage
    form: Form | None
    order: tuple[IterVar, ...] = ()


def match_contraction(schedule: Schedule, stage: Stage, target: Target) -> Matched | WhyNot:
    """A contraction that is large enough for columns to be packed, as it stands or with its axes permuted."""
    form = form_of(stage)
    if isinstance(form, Form):
        if _goes_along(schedule, stage, form, target):
            return WhyNot("has so few rows that sums along the lines of both operands are faster")
        return Matched(stage, form)
    order = widened_order(stage, target)
    return form if order is None else Matched(stage, None, tuple(order))


def schedule_contraction(schedule: Schedule, matched: Matched, target: Target) -> list[Stage]:
    """Loops for a contraction, of words where the target has them, rows and columns interchanged where that pays.

    Gives the stages that have loops then, also those that it is computed with.
    """
    stage, form = matched.stage, matched.form
    if matched.order:
        stage, form = _again(permute_through(schedule, stage, matched.order))
    for change in (dotted_of, interchanged_of):
        changed = None if form is None else change(schedule, stage, form, target)
        if changed is not None:
            stage, form = _again(changed)
    return [] if form is None else _schedule(schedule, stage, form, leader_of(schedule, stage), target)


def _again(stage: Stage) -> tuple[Stage, Form | None]:
    form = form_of(stage)
    return stage, form if isinstance(form, Form) else None


def _goes_along(schedule: Schedule, stage: Stage, form: Form, target: Target) -> bool:
    """Whether columns that are packed anew serve so few rows that sums along lines of both operands are faster."""
    found = form.contraction
    if form.conditional or is_constant(schedule, found.packed) or len(form.body.axes) > 1:
        return False
    summed, theirs = form.body.axes[-1], vars_of(found.packed)
    rows = likely_extent([axis for axis in form.axes if axis.var not in theirs])
    if rows > target.vectors.registers - RESERVED_REGISTERS.value:
        return False
    vectors = likely_extent((summed,)) // target.lanes(found.packed.dtype)
    least = MIN_ROW_SUM_VECTORS if rows <= vectors else MIN_SUM_VECTORS
    if vectors < least.value:
        return False
    reads = [read for each in (found.fixed, found.packed) for read in analyse(each, each.dtype).reads]
    return all([read.strides.get(summed.var) == 1 for read in reads])


def _schedule(schedule: Schedule, stage: Stage, form: Form, leader: Stage, target: Target) -> list[Stage]:
    """Loops for one contraction, whose result a leader stores; gives the stages that have loops then."""
    lines = contiguous_rows_of(schedule, form, target)
    found = lines or form.contraction
    tile = tile_of(found, stage.reduce_axes, target)
    # columns as one axis, of what lies side by side
    made = _make(schedule, stage, form, tile)
    wide = stage_columns(schedule, made[-1], lines is not None, tile.rows, tile.panel, target)
    run = panels_at_once(schedule, made[-1], found, tile.panel, target)
    flat = _flatten(schedule, made, found, tile.panel * run, leader)
    # copies of what columns and rows read
    staging, strips = stage_rows(schedule, leader, flat, target)
    product = _product(flat, found)
    apart = staging is None and lie_apart(schedule, product.whole)
    columns = _read_columns(schedule, product, tile, lines is not None, apart, target)
    fixed = staging or pack_rows(schedule, product, tile.rows, target)
    # the leader's loops, and in them the product's
    loops = _divide_loops(leader, form.factors, stage)
    nest = _nest(schedule, leader, loops, product, tile, columns.packing, strips is None, target)
    parts = None if staging is None or strips is not None else blocks_of_staged(nest, staging, target)
    if parts is not None and staging is not None:
        stage_by_block(nest, staging, parts)
    else:
        flat.compute_at(leader, _compute(nest, columns, run, target))
    specialise_few_rows(schedule, found, tile, nest.constant)
    stripped = () if strips is None else strips.attach()
    others = [each for each in (wide, columns.packing, fixed) if each is not None]
    return [leader, *made, flat, *others, *stripped]


def _make(schedule: Schedule, stage: Stage, form: Form, tile: Tile) -> list[Stage]:
    """The stage, and what becomes of it: the contraction itself, and in whole tiles, if rows are of a symbolic number.

    The last tile repeats a row then, so that no loop inside has a guard.
    """
    made = as_contraction(schedule, stage, form)
    row = form.contraction.row
    if isinstance(row.extent, int) or tile.alone:
        return [stage, made]
    same = contraction_of(made.axes, made.body)
    assert same is not None
    return [stage, made, schedule[schedule.pad(made.tensor, same.row, tile.rows)]]


def _flatten(
    schedule: Schedule, made: Sequence[Stage], found: Contraction, size: int, leader: Stage
) -> Stage:
    """The stage whose columns are one axis, a multiple of `size` long; what it is made of is inlined, but no leader."""
    flat = schedule[schedule.flatten(made[-1].tensor, len(found.columns), size)]
    for each in dict.fromkeys(reversed(made)):
        if each is not leader:
            each.compute_inline()
    schedule.normalize()
    return flat


def _product(flat: Stage, found: Contraction) -> Product:
    whole = contraction_of(flat.axes, flat.body)
    assert whole is not None
    return Product(flat, found, whole, tuple(decided_first(flat.reduce_axes, flat)))


@dataclass(frozen=True, slots=True)
class _Columns:
    """How columns are read: as they lie, or packed; these stay `is_cached`, or a long sum is cut in `blocks`."""

    packing: Stage | None = None
    is_cached: bool = False
    blocks: Blocks | None = None


def _read_columns(
    schedule: Schedule, product: Product, tile: Tile, by_rows: bool, apart: bool, target: Target
) -> _Columns:
    """Columns are read as they lie where that is done once, or they are cached; else they are packed.

    `by_rows`: they are lines by themselves; `apart`: rows are read as they lie, each of a tile from elsewhere.
    """
    flat, whole = product.flat, product.whole
    once = tile.alone or whole.row.extent == tile.rows
    if is_readable(schedule, product, target.machine.max_stride if once else 1):
        few_steps = likely_extent(flat.reduce_axes) < MIN_SUMMED_STEPS.value
        if by_rows or once or few_steps or is_close(product, target):
            return _Columns()
    long = apart and not is_constant(schedule, whole.packed)
    blocks = blocks_of_sum(product, tile.panel, target) if long else None
    most = PACKED_BYTES.of(target, target.machine.l2_streaming)
    packing, is_cached = pack_columns(schedule, product, tile.panel, most, several=blocks is not None)
    return _Columns(packing, is_cached, blocks)


def _nest(
    schedule: Schedule,
    leader: Stage,
    loops: Sequence[IterVar],
    product: Product,
    tile: Tile,
    packing: Stage | None,
    shareable: bool,
    target: Target,
) -> Nest:
    """The leader's loops: those that move with the columns, the others, that over rows, and one over all columns."""
    flat, theirs = product.flat, vars_of(product.whole.packed)
    outer = dict(zip(flat.axes[:-1], loops, strict=False))
    row = outer.pop(product.whole.row)
    every = (*flat.axes, *flat.reduce_axes)
    return Nest(
        leader,
        product,
        tile,
        packing,
        around=tuple([loop for axis, loop in outer.items() if axis.var in theirs]),
        still=tuple([loop for axis, loop in outer.items() if axis.var not in theirs]),
        row=row,
        columns=leader.fuse(*loops[len(flat.axes) - 1 :]),
        constant=packing is not None and packing in constant_stages(schedule),
        shared=shareable and is_shared(every, likely_extent(every), target),
    )


def _compute(nest: Nest, columns: _Columns, run: int, target: Target) -> IterVar:
    """Loops of the leader and of the product; gives the loop of the leader in which the product is computed."""
    if columns.blocks is not None:
        return block_by_block(nest, columns.blocks, target)
    packing, product, tile = nest.packing, nest.product, nest.tile
    at = tile_by_tile(nest, columns.is_cached, run, target)
    prefetch_operands(nest.leader, product.flat, at, target)
    step = _multiply(product, tile, target)
    in_panels = packing is None or packing.attach is not None
    if run == 1 and not columns.is_cached and fills_cache_lines(target) and in_panels:
        prefetch_panel(product, packing, step, tile, target)
    return at


def _divide_loops(leader: Stage, factors: Mapping[IterVar, int], stage: Stage) -> list[IterVar]:
    """The leader's loops, those whose axes the contraction has divided in two."""
    divided = {n: factors[axis] for n, axis in enumerate(stage.axes) if axis in factors}
    loops: list[IterVar] = []
    for n, axis in enumerate(leader.axes):
        loops += leader.split(axis, divided[n]) if n in divided else (axis,)
    return loops


def _multiply(product: Product, tile: Tile, target: Target) -> IterVar:
    """for i: for j: for k  -->  for i_o: for j_o: for k: unrolled for i_i, vectors of j_i.  Gives the loop over k."""
    flat, row = product.flat, product.whole.row
    assert flat.body is not None
    accesses = analyse(flat.body, flat.tensor.dtype)
    column = flat.axes[-1]
    outer = [axis for axis in flat.axes[:-1] if axis is not row]
    flat.reorder(*product.steps)
    summed = [flat.fuse(*run) for run in runs_of(product.steps, accesses)]
    tiles, rows = flat.split(row, tile.rows)
    panels, within = flat.split(column, tile.panel)
    flat.reorder(*outer, tiles, panels, *summed, rows, within)
    if len(summed) > 1 and summed[-1].extent == 2:
        flat.unroll(summed[-1])  # each of two would wait for the end of its loop
    in_registers(flat, rows, within, tile.lanes)
    return summed[-1]
