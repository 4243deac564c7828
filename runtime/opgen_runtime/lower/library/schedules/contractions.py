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

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ....base import Target
from ....base.arith import Var
from ....compute.te.tensor import IterVar
from ...schedule import Schedule, Stage, constant_stages, narrowing
from .access import analyse, is_shared, likely_extent
from .ahead import fills_lines, prefetch_operands, prefetch_panel
from .blocking import block_by_block, blocks_of_sum
from .dots import dotted_of, dotted_row
from .lines import lines_of, panels_at_once
from .nests import NEAR, Nest, runs_of, tile_by_tile
from .packing import (
    bytes_of,
    cover_columns,
    cover_rows,
    decided_first,
    is_close,
    is_readable,
    lie_apart,
    pack_columns,
    pack_rows,
)
from .parameters import NEAR_BYTES, PANEL_VECTORS
from .plan import leader_of
from .products import (
    LEAST_SUMMED,
    Form,
    contraction_of,
    form_of,
    is_constant,
    prepare,
    vars_of,
)
from .tiles import (
    MANY_REGISTERS,
    in_registers,
    most_rows,
    narrow_rows,
    panel_vectors,
    rows_of,
    tile_rows,
)
from .turning import turned_of, widened_of

_MOST_STEPS: Final = 4  # of k, for which a guard of a row is decided once, where there are so many registers
_FEW_STEPS: Final = 2
_FAR: Final = 4  # elements; further apart they are gathered


def schedule_contractions(schedule: Schedule, target: Target, placed: Collection[Stage]) -> set[Stage]:
    """Loops for the contractions that are large enough, and what they are computed with; gives these stages."""
    done: set[Stage] = set()
    for stage in list(schedule.stages):
        if stage in placed or stage in done or stage.inlined or stage.body is None:
            continue
        form = form_of(stage)
        if form is None and dotted_row(schedule, stage, target) is not None:
            continue
        if form is None and (widened := widened_of(schedule, stage, target)) is not None:
            stage, form = widened, form_of(widened)
        dotted = None if form is None else dotted_of(schedule, stage, form, target)
        if dotted is not None:
            stage, form = dotted, form_of(dotted)
        turned = None if form is None else turned_of(schedule, stage, form, target)
        if turned is not None:
            stage, form = turned, form_of(turned)
        if form is not None:
            leader = leader_of(schedule, stage, {*placed, *done})
            done.update(_schedule(schedule, stage, form, leader, target))
    return done


def _schedule(schedule: Schedule, stage: Stage, form: Form, leader: Stage, target: Target) -> list[Stage]:
    lanes = target.lanes(form.contraction.packed.dtype)
    lines = lines_of(schedule, form, target)
    found = lines or form.contraction
    registers = target.vectors.registers
    columns = likely_extent(found.columns)
    vectors = -(-columns // lanes)
    most = rows_of(target, vectors)
    rows = tile_rows(found.row, most)
    panel = lanes * min(vectors, PANEL_VECTORS.of(target, panel_vectors(vectors, registers, rows)))
    is_one_tile = most_rows(found.row, most) is not None
    made = prepare(schedule, stage, form)
    whole_tiles = made
    if not isinstance(found.row.extent, int) and not is_one_tile:
        # the last tile repeats a row, so that no loop inside has a guard
        same = contraction_of(made.axes, made.body)
        assert same is not None
        whole_tiles = schedule[schedule.pad(made.tensor, same.row, rows)]
    wide = cover_columns(schedule, whole_tiles, lines is not None, rows, panel, target)
    run = panels_at_once(schedule, whole_tiles, found, panel, target)
    flat = schedule[schedule.flatten(whole_tiles.tensor, len(found.columns), panel * run)]
    folded = [each for each in dict.fromkeys((whole_tiles, made, stage)) if each is not leader]
    for each in folded:
        each.compute_inline()
    schedule.normalize()
    covering, strips = cover_rows(schedule, leader, flat, target)
    whole = contraction_of(flat.axes, flat.body)
    assert whole is not None
    moving = {n for n, axis in enumerate(flat.axes[:-1]) if axis.var in vars_of(whole.packed)}
    at_row = flat.axes.index(whole.row)
    few_steps = likely_extent(flat.reduce_axes) < LEAST_SUMMED
    one = is_one_tile or whole.row.extent == rows
    readable = is_readable(schedule, flat, whole, _FAR if one else 1)
    once = readable and (lines is not None or one or few_steps or is_close(found, flat, whole, target))
    summed = decided_first(flat.reduce_axes, flat)
    long = (
        not once and not covering and lie_apart(schedule, whole) and not is_constant(schedule, whole.packed)
    )
    blocks = blocks_of_sum(flat, whole, columns, panel, target) if long else None
    packing, near = None, False
    if not once:
        most_near = NEAR_BYTES.of(target, NEAR)
        packing, near = pack_columns(schedule, flat, whole, summed, panel, most_near, blocks is not None)
    fixed = covering or pack_rows(schedule, flat, whole, summed, rows, target)
    axes = _divide_loops(leader, form.factors, stage)
    kept = axes[: len(flat.axes) - 1]
    around = tuple([axis for n, axis in enumerate(kept) if n in moving])
    still = tuple([axis for n, axis in enumerate(kept) if n not in moving and n != at_row])
    every = (*flat.axes, *flat.reduce_axes)
    shared = strips is None and is_shared(every, likely_extent(every), target)
    constant = packing is not None and packing in constant_stages(schedule)
    nest = Nest(
        leader,
        flat,
        packing,
        around,
        still,
        kept[at_row],
        leader.fuse(*axes[len(kept) :]),
        rows,
        panel,
        lanes,
        constant,
        shared,
    )
    if blocks is not None:
        at = block_by_block(nest, whole, columns, summed, blocks, target)
    else:
        at = tile_by_tile(nest, found, bytes_of(flat, whole.fixed), near, run, target)
        prefetch_operands(leader, flat, at)
        steps = _multiply(flat, whole.row, summed, rows, panel, lanes, registers if is_one_tile else 0)
        if run == 1 and not near and fills_lines(target) and (packing is None or packing.attach is not None):
            prefetch_panel(flat, found, whole, packing, steps, rows, panel)
    if isinstance(found.row.extent, Var) and not is_one_tile:
        narrow_rows(schedule, found, found.row.extent, most.alone, constant)
    if isinstance(found.columns[-1].extent, Var) and len(found.columns) == 1 and not constant:
        schedule.narrowings.append(narrowing(found.columns[-1].extent, 1, 1))
    flat.compute_at(leader, at)
    stripped = () if strips is None else strips.attach()
    others = [each for each in (wide, packing, fixed) if each is not None]
    return [leader, stage, made, whole_tiles, flat, *others, *stripped]


def _divide_loops(leader: Stage, factors: Mapping[IterVar, int], stage: Stage) -> list[IterVar]:
    """The leader's loops, those whose axes the contraction has divided in two."""
    divided = {n: factors[axis] for n, axis in enumerate(stage.axes) if axis in factors}
    loops: list[IterVar] = []
    for n, axis in enumerate(leader.axes):
        loops += leader.split(axis, divided[n]) if n in divided else (axis,)
    return loops


def _multiply(
    flat: Stage, row: IterVar, order: Sequence[IterVar], rows: int, panel: int, lanes: int, guarded: int
) -> IterVar:
    """for i: for j: for k  -->  for i_o: for j_o: for k: unrolled for i_i, vectors of j_i

    Where rows are guarded, there are `guarded` vector registers for it: each guard is decided for several steps of k.
    Gives the loop over these, or over k.
    """
    assert flat.body is not None
    accesses = analyse(flat.body, flat.tensor.dtype)
    column = flat.axes[-1]
    outer = [axis for axis in flat.axes[:-1] if axis is not row]
    flat.reorder(*order)
    summed = [flat.fuse(*run) for run in runs_of(order, accesses)]
    tiles, tile = flat.split(row, rows)
    panels, within = flat.split(column, panel)
    if guarded:
        steps, step = flat.split(summed.pop(), _MOST_STEPS if guarded >= MANY_REGISTERS else _FEW_STEPS)
        flat.unroll(step)
        flat.reorder(*outer, tiles, panels, *summed, steps, tile, step, within)
        summed.append(steps)
    else:
        flat.reorder(*outer, tiles, panels, *summed, tile, within)
        if len(summed) > 1 and summed[-1].extent == _FEW_STEPS:
            flat.unroll(summed[-1])  # each of so few would wait for the end of its loop
    in_registers(flat, tile, within, lanes)
    return summed[-1]
