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
from ....base.arith import Expr, Var
from ....compute.te.tensor import IterVar
from ...schedule import Schedule, Stage, constant_stages, narrowing, positions
from .access import analyse, contiguous_groups, is_shared, likely, likely_extent, total_extent
from .ahead import prefetch_operands, prefetch_panel
from .elementwise import schedule_elementwise
from .parameters import NEAR_BYTES, PANEL_VECTORS, TILE_ROWS
from .plan import leader_of
from .products import (
    LEAST_ROWS,
    LEAST_SUMMED,
    Contraction,
    Form,
    contraction_of,
    form_of,
    is_constant,
    is_plain,
    line_of,
    prepare,
    vars_of,
)
from .shares import blocks_of
from .strips import Strips, strips_of
from .turning import turned_of

_VECTORS: Final = 2  # a panel has so many
_MANY_REGISTERS: Final = 32  # vector registers
_MANY_ROWS: Final = 8  # of a tile where there are so many
_FEW_ROWS: Final = 4  # and where there are fewer
_MOST_STEPS: Final = 4  # of k, for which a guard of a row is decided once, where there are so many registers
_FEW_STEPS: Final = 2
_MANY_STEPS: Final = 12  # beside these, a guard that is decided once takes little
_NEAR: Final = 1 << 18  # bytes that stay in the second-level cache beside what goes by
_FAR: Final = 4  # elements; further apart they are gathered


def schedule_contractions(schedule: Schedule, target: Target, placed: Collection[Stage]) -> set[Stage]:
    """Loops for the contractions that are large enough, and what they are computed with; gives these stages."""
    done: set[Stage] = set()
    for stage in list(schedule.stages):
        if stage in placed or stage in done or stage.inlined or stage.body is None:
            continue
        form = form_of(stage)
        turned = None if form is None else turned_of(schedule, stage, form, target)
        if turned is not None:
            stage, form = turned, form_of(turned)
        if form is not None:
            leader = leader_of(schedule, stage, {*placed, *done})
            done.update(_schedule(schedule, stage, form, leader, target))
    return done


def _schedule(schedule: Schedule, stage: Stage, form: Form, leader: Stage, target: Target) -> list[Stage]:
    found = form.contraction
    lanes = target.lanes(found.packed.dtype)
    registers = target.vectors.registers
    vectors = -(-likely_extent(found.columns) // lanes)
    most = TILE_ROWS.of(target, _MANY_ROWS if registers >= _MANY_REGISTERS else _FEW_ROWS)
    rows = tile_rows(found.row, most)
    panel = lanes * min(vectors, PANEL_VECTORS.of(target, _panel_vectors(vectors, registers, rows)))
    is_one_tile = _most_rows(found.row, most) is not None
    made = prepare(schedule, stage, form)
    whole_tiles = made
    if not isinstance(found.row.extent, int) and not is_one_tile:
        # the last tile repeats a row, so that no loop inside has a guard
        same = contraction_of(made.axes, made.body)
        assert same is not None
        whole_tiles = schedule[schedule.pad(made.tensor, same.row, rows)]
    wide = _cover_columns(schedule, whole_tiles, rows, panel, target)
    flat = schedule[schedule.flatten(whole_tiles.tensor, len(found.columns), panel)]
    folded = [each for each in dict.fromkeys((whole_tiles, made, stage)) if each is not leader]
    for each in folded:
        each.compute_inline()
    schedule.normalize()
    covering, strips = _cover_rows(schedule, leader, flat, target)
    whole = contraction_of(flat.axes, flat.body)
    assert whole is not None
    moving = {n for n, axis in enumerate(flat.axes[:-1]) if axis.var in vars_of(whole.packed)}
    at_row = flat.axes.index(whole.row)
    few_steps = likely_extent(flat.reduce_axes) < LEAST_SUMMED
    one = is_one_tile or whole.row.extent == rows
    once = (one or few_steps) and _is_readable(schedule, flat, whole, _FAR if one else 1)
    summed = _decided_first(flat.reduce_axes, flat)
    packing, near = (
        (None, False) if once else _pack(schedule, flat, whole, summed, panel, NEAR_BYTES.of(target, _NEAR))
    )
    fixed = covering or _pack_rows(schedule, flat, whole, summed, rows, target)
    axes = _divide_loops(leader, form.factors, stage)
    kept, columns = axes[: len(flat.axes) - 1], axes[len(flat.axes) - 1 :]
    around = [axis for n, axis in enumerate(kept) if n in moving]
    still = [axis for n, axis in enumerate(kept) if n not in moving and n != at_row]
    panels, within = leader.split(leader.fuse(*columns), panel)
    tiles, tile = leader.split(kept[at_row], rows)
    every = (*flat.axes, *flat.reduce_axes)
    shared = strips is None and is_shared(every, likely_extent(every), target)
    constant = packing is not None and packing in constant_stages(schedule)
    blocks = None if near else 1  # of rows, each of which packs its panels; None where all is packed first
    if packing is None or constant:
        blocks = None
    elif shared and not (near and _bytes(flat, whole.fixed) > _NEAR):
        rest = (likely_extent(found.columns) - 1) % panel + 1
        last = -(-rest // lanes) * lanes / panel
        number = likely_extent((*around, panels))
        blocks = blocks_of(number, last, tiles.extent, likely(found.row.extent), target.num_threads)
    nest = (*around, *still, tiles, panels) if near and blocks is None else (*around, panels, *still, tiles)
    leader.reorder(*nest, tile, within)
    in_registers(leader, tile, within, lanes)
    if packing is None or blocks is None:
        if packing is not None:
            _pack_all(packing, target)
        at = leader.fuse(*nest) if shared else nest[-1]
        if shared:
            leader.parallel(at)
    else:
        cut = []
        if blocks > 1:
            assert isinstance(tiles.extent, int)
            block, tiles = leader.split(tiles, tiles.extent // blocks)
            leader.reorder(*around, panels, block, *still, tiles)
            cut = [block]
        task = leader.fuse(*around, panels, *cut)
        at = tiles
        _pack_a_panel(packing, target)
        packing.compute_at(leader, task)
        if shared:
            leader.parallel(task)
    prefetch_operands(leader, flat, at)
    steps = _multiply(flat, whole.row, summed, rows, panel, lanes, registers if is_one_tile else 0)
    if not near and (packing is None or packing.attach is not None):
        prefetch_panel(flat, found, whole, packing, steps, rows, panel)
    if isinstance(found.row.extent, Var) and not is_one_tile:
        _narrow_rows(schedule, found, found.row.extent, _one_tile(most), constant)
    if isinstance(found.columns[-1].extent, Var) and len(found.columns) == 1 and not constant:
        schedule.narrowings.append(narrowing(found.columns[-1].extent, 1, 1))
    flat.compute_at(leader, at)
    stripped = () if strips is None else strips.attach()
    others = [each for each in (wide, packing, fixed) if each is not None]
    return [leader, stage, made, whole_tiles, flat, *others, *stripped]


def _bytes(stage: Stage, operand: Expr) -> int:
    """Of what an operand is over the loops of a stage."""
    mine = vars_of(operand)
    axes = [axis for axis in (*stage.axes, *stage.reduce_axes) if axis.var in mine]
    return likely_extent(axes) * operand.dtype.itemsize


def _is_readable(schedule: Schedule, flat: Stage, whole: Contraction, far: int) -> bool:
    """Whether lines of the columns can be read as they lie: by elements side by side, or `far` from each other.

    Where they are read again for other rows they lie side by side: others are brought together once.
    """
    accesses = analyse(whole.packed, whole.packed.dtype)
    column = flat.axes[-1].var
    near = all(
        far > 1 if column in read.entangled else read.strides.get(column, 1) <= far for read in accesses.reads
    )
    return near and not is_constant(schedule, whole.packed)


def _panel_vectors(vectors: int, registers: int, rows: int) -> int:
    """How many vectors a panel has: two, three where that leaves none over and there are registers for all rows."""
    wide = _VECTORS + 1
    fits = registers >= _MANY_REGISTERS and wide * (rows + 1) < registers
    if fits and vectors % _VECTORS and vectors % wide == 0:
        return wide
    return min(_VECTORS, vectors)


def _decided_first(axes: Sequence[IterVar], stage: Stage) -> list[IterVar]:
    """The axes on which conditions of the stage depend, then the others: conditions are decided once for all these."""
    assert stage.body is not None
    used = analyse(stage.body, stage.tensor.dtype).used
    return [*[axis for axis in axes if axis.var in used], *[axis for axis in axes if axis.var not in used]]


def _pack(
    schedule: Schedule, flat: Stage, whole: Contraction, summed: Sequence[IterVar], panel: int, most: int
) -> tuple[Stage, bool]:
    """Lines of the columns, one for each element of k; and whether all of them, up to `most` bytes, stay near.

    What is constant, or stays near, lies in panels, one after the other, and is packed before the first row.
    """
    theirs = vars_of(whole.packed)
    outer = [axis for axis in flat.axes[:-1] if axis.var in theirs]
    axes = (*outer, *summed, flat.axes[-1])
    size = likely_extent(axes) * whole.packed.dtype.itemsize
    constant = is_constant(schedule, whole.packed)
    near = not constant and size <= most
    lines = panel if near or constant else None
    return schedule[schedule.pack(flat.tensor, whole.packed, axes, lines)], near


def _cover_rows(
    schedule: Schedule, leader: Stage, flat: Stage, target: Target
) -> tuple[Stage | None, Strips | None]:
    """What the rows read, with what is around it, where they are windows, and strips that stay near."""
    whole = contraction_of(flat.axes, flat.body)
    assert whole is not None
    covering = _cover(schedule, flat, whole.fixed)
    if covering is None:
        return None, None
    strips = strips_of(schedule, leader, flat, covering, target)
    schedule_elementwise(covering, target, attached=strips is not None)
    return covering, strips


def _cover(schedule: Schedule, stage: Stage, operand: Expr) -> Stage | None:
    """What an operand reads, with what is around it, where these are windows with none left out between them.

    None where they are not.  Conditions are decided once for each position, of which elements lie side by side.
    """
    if is_plain(operand) or is_constant(schedule, operand):
        return None
    every, mine = (*stage.axes, *stage.reduce_axes), vars_of(operand)
    found, read = positions(every, operand), [axis for axis in every if axis.var in mine]
    if isinstance(found, str) or len(found[0]) >= len(read) or likely_extent(found[0]) > likely_extent(read):
        return None
    return schedule[schedule.cover(stage.tensor, operand)]


def _cover_columns(schedule: Schedule, stage: Stage, rows: int, panel: int, target: Target) -> Stage | None:
    """What the columns read, where they do not lie side by side; before they become one axis.

    What one tile of `rows` reads, of lines that are not a `panel` each, is read as it lies where each guard is decided
    once for many steps.
    """
    whole = contraction_of(stage.axes, stage.body)
    assert whole is not None
    assert stage.body is not None
    if line_of(whole) > 1:
        return None
    used = analyse(stage.body, stage.tensor.dtype).used
    steps = likely_extent([axis for axis in stage.reduce_axes if axis.var not in used])
    is_panel = likely(whole.columns[-1].extent) == panel
    if whole.row.extent == rows and not is_panel and steps >= _MANY_STEPS:
        return None
    covering = _cover(schedule, stage, whole.packed)
    if covering is not None:
        schedule_elementwise(covering, target)
    return covering


def _pack_rows(
    schedule: Schedule,
    flat: Stage,
    whole: Contraction,
    summed: Sequence[IterVar],
    rows: int,
    target: Target,
) -> Stage | None:
    """The rows of a tile side by side, for each element of k; None where they are read as they lie."""
    if is_plain(whole.fixed) and not is_constant(schedule, whole.fixed):
        return None
    mine = vars_of(whole.fixed)
    outer = [axis for axis in flat.axes[:-1] if axis.var in mine and axis is not whole.row]
    extent = whole.row.extent
    tiles = rows if isinstance(extent, int) and extent % rows == 0 else None
    axes = (*outer, *summed, whole.row)
    packing = schedule[schedule.pack(flat.tensor, whole.fixed, axes, tiles)]
    if tiles is not None and tiles < target.lanes(packing.tensor.dtype):
        packing.unroll(packing.axes[-1])  # parts of vectors, gathered under a mask, take longer
    else:
        schedule_elementwise(packing, target)
    return packing


def _divide_loops(leader: Stage, factors: Mapping[IterVar, int], stage: Stage) -> list[IterVar]:
    """The leader's loops, those whose axes the contraction has divided in two."""
    divided = {n: factors[axis] for n, axis in enumerate(stage.axes) if axis in factors}
    loops: list[IterVar] = []
    for n, axis in enumerate(leader.axes):
        loops += leader.split(axis, divided[n]) if n in divided else (axis,)
    return loops


def _one_tile(most: int) -> int:
    """How many rows are computed at once, if there are no others: half as many again as in one of several tiles."""
    return most * 3 // 2


def _most_rows(row: IterVar, most: int) -> int | None:
    """How many rows there are at most, where they are of a symbolic number and one tile; None for others."""
    found = row.extent.most if isinstance(row.extent, Var) else None
    return found if found is not None and found <= _one_tile(most) else None


def _narrow_rows(schedule: Schedule, found: Contraction, count: Var, rows: int, constant: bool) -> None:
    """Few rows have schedules of their own: one row, which is no contraction, and up to `rows`, which are one tile.

    Packed constants are prepared for all: one row is computed with them, too.  Columns of a symbolic number have so
    many rests of their own that guarded rows beside them would take longer to compile than they save.
    """
    if not constant:
        schedule.narrowings.append(narrowing(count, 1, 1))
    if total_extent(found.columns) is not None:
        schedule.narrowings.append(narrowing(count, 1 if constant else LEAST_ROWS, rows))


def tile_rows(row: IterVar, most: int) -> int:
    """How many rows a tile has: as many as fit, fewer where that leaves none over."""
    rows = row.extent
    if not isinstance(rows, int):
        return _most_rows(row, most) or most
    if rows <= _one_tile(most):
        return rows
    even = -(-rows // -(-rows // most))  # as many tiles as are needed, of about the same size
    return next((n for n in range(most, most // 2, -1) if rows % n == 0), even)


def in_registers(stage: Stage, tile: IterVar, within: IterVar, lanes: int) -> None:
    stage.unroll(tile)
    if within.extent == lanes:
        stage.vectorize(within)
        return
    part, lane = stage.split(within, lanes)
    stage.unroll(part)
    stage.vectorize(lane)


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
    decided = [axis for axis in order if axis.var in accesses.used]
    rest = [axis for axis in order if axis not in decided]
    summed = [*decided, *[flat.fuse(*group) for group in contiguous_groups(rest, accesses)]]
    tiles, tile = flat.split(row, rows)
    panels, within = flat.split(column, panel)
    if guarded:
        steps, step = flat.split(summed.pop(), _MOST_STEPS if guarded >= _MANY_REGISTERS else _FEW_STEPS)
        flat.unroll(step)
        flat.reorder(*outer, tiles, panels, *summed, steps, tile, step, within)
        summed.append(steps)
    else:
        flat.reorder(*outer, tiles, panels, *summed, tile, within)
        if len(summed) > 1 and summed[-1].extent == _FEW_STEPS:
            flat.unroll(summed[-1])  # each of so few would wait for the end of its loop
    in_registers(flat, tile, within, lanes)
    return summed[-1]


def _pack_all(packing: Stage, target: Target) -> None:
    """Loops for columns that are packed before the first row."""
    assert packing.body is not None
    accesses = analyse(packing.body, packing.tensor.dtype)
    if packing.axes[-1].var not in accesses.used or likely(packing.axes[-1].extent) < target.lanes(
        accesses.widest
    ):
        schedule_elementwise(packing, target)
        return
    outer = _pack_a_panel(packing, target)
    if is_shared(packing.axes, likely_extent(packing.axes) * accesses.cost, target):
        packing.parallel(outer)


def _pack_a_panel(packing: Stage, target: Target) -> IterVar:
    """Loops over what conditions depend on come first, so that they are decided once for all others; the outermost."""
    assert packing.body is not None
    accesses = analyse(packing.body, packing.tensor.dtype)
    column = packing.axes[-1]
    lanes = target.lanes(accesses.widest)
    part, lane = packing.split(column, lanes)
    rest = _decided_first(packing.axes[:-1], packing)
    decided = [axis for axis in rest if axis.var in accesses.used]
    packing.reorder(*decided, part, *rest[len(decided) :], lane)
    packing.vectorize(lane)
    return packing.leaves[0]
