"""What contractions copy before they read it: columns in panels, the rows of a tile, what windows read."""

from __future__ import annotations

from collections.abc import Sequence

from .....base import Target
from .....base.arith import Expr
from .....compute.te.tensor import IterVar, Read
from ....schedule import Schedule, Stage, positions
from ...heuristics import MIN_GUARDED_STEPS
from ..common.access import analyse, is_shared, likely, likely_extent
from ..common.prefetching import fills_cache_lines
from ..common.products import (
    Contraction,
    Product,
    contiguous_elements,
    contraction_of,
    is_constant,
    is_plain,
    vars_of,
)
from ..elementwise import schedule_elementwise
from .row_strips import RowStrips, row_strips_of


def pack_columns(
    schedule: Schedule, product: Product, panel: int, most: int, several: bool
) -> tuple[Stage, bool]:
    """Lines of the columns, one for each element of k; and whether all of them, up to `most` bytes, stay cached.

    What is constant, or stays cached, and is packed before the first row, lies in panels, one after the other, and
    so do `several` that are packed together.
    """
    flat, whole = product.flat, product.whole
    theirs = vars_of(whole.packed)
    outer = [axis for axis in flat.axes[:-1] if axis.var in theirs]
    axes = (*outer, *product.steps, flat.axes[-1])
    size = likely_extent(axes) * whole.packed.dtype.itemsize
    constant = is_constant(schedule, whole.packed)
    is_cached = not constant and not several and size <= most
    lines = panel if is_cached or constant or several else None
    return schedule[schedule.pack(flat.tensor, whole.packed, axes, lines)], is_cached


def pack_rows(schedule: Schedule, product: Product, rows: int, target: Target) -> Stage | None:
    """The rows of a tile side by side, for each element of k; None where they are read as they lie."""
    flat, whole = product.flat, product.whole
    if lie_apart(schedule, whole):
        return None
    mine = vars_of(whole.fixed)
    outer = [axis for axis in flat.axes[:-1] if axis.var in mine and axis is not whole.row]
    extent = whole.row.extent
    tiles = rows if isinstance(extent, int) else None
    axes = (*outer, *product.steps, whole.row)
    packing = schedule[schedule.pack(flat.tensor, whole.fixed, axes, tiles)]
    if tiles is not None and tiles < target.lanes(packing.tensor.dtype):
        packing.unroll(packing.axes[-1])  # parts of vectors, gathered under a mask, take longer
    else:
        schedule_elementwise(packing, target)
    return packing


def lie_apart(schedule: Schedule, whole: Contraction) -> bool:
    """Whether rows are read as they lie, each of a tile from elsewhere: nothing is computed or known of them before."""
    return is_plain(whole.fixed) and not is_constant(schedule, whole.fixed)


def stage_rows(
    schedule: Schedule, leader: Stage, flat: Stage, target: Target
) -> tuple[Stage | None, RowStrips | None]:
    """What the rows read, with what is around it, where they are windows, and strips that fit the second-level
    cache.
    """
    whole = contraction_of(flat.axes, flat.body)
    assert whole is not None
    staging = _stage_windows(schedule, flat, whole.fixed)
    if staging is None:
        return None, None
    strips = row_strips_of(schedule, leader, flat, staging, target)
    schedule_elementwise(staging, target, attached=strips is not None)
    return staging, strips


def _stage_windows(schedule: Schedule, stage: Stage, operand: Expr) -> Stage | None:
    """What an operand reads, with what is around it, where these are windows with none left out between them.

    None where they are not.  Conditions are decided once for each position, of which elements lie side by side.
    """
    if is_plain(operand) or is_constant(schedule, operand):
        return None
    every, mine = (*stage.axes, *stage.reduce_axes), vars_of(operand)
    found, read = positions(every, operand), [axis for axis in every if axis.var in mine]
    if isinstance(found, str) or len(found[0]) >= len(read) or likely_extent(found[0]) > likely_extent(read):
        return None
    return schedule[schedule.stage_operand(stage.tensor, operand)]


def stage_columns(
    schedule: Schedule, stage: Stage, by_rows: bool, rows: int, panel: int, target: Target
) -> Stage | None:
    """What the columns read, where they do not lie side by side, or are lines of it; before they become one axis.

    What one tile of `rows` reads, of lines that are neither a vector nor a `panel` each, is read as it lies where each
    guard is decided once for many steps.
    """
    whole = contraction_of(stage.axes, stage.body)
    assert whole is not None
    assert stage.body is not None
    if not by_rows:
        if contiguous_elements(whole) > 1:
            return None
        used = analyse(stage.body, stage.tensor.dtype).used
        steps = likely_extent([axis for axis in stage.reduce_axes if axis.var not in used])
        whole_vectors = likely(whole.columns[-1].extent) in (panel, target.lanes(whole.packed.dtype))
        if whole.row.extent == rows and not whole_vectors and steps >= MIN_GUARDED_STEPS.value:
            return None
    staging = _stage_windows(schedule, stage, whole.packed)
    if staging is not None:
        schedule_elementwise(staging, target)
    return staging


def pack_all(packing: Stage, target: Target) -> None:
    """Loops for columns that are packed before the first row."""
    assert packing.body is not None
    accesses = analyse(packing.body, packing.tensor.dtype)
    if packing.axes[-1].var not in accesses.used or likely(packing.axes[-1].extent) < target.lanes(
        accesses.widest
    ):
        schedule_elementwise(packing, target)
        return
    outer = pack_a_panel(packing, target)
    if is_shared(packing.axes, likely_extent(packing.axes) * accesses.cycles(target), target):
        packing.parallel(outer)


def pack_a_panel(packing: Stage, target: Target) -> IterVar:
    """Loops over what conditions depend on come first, so that they are decided once for all others; the outermost."""
    assert packing.body is not None
    accesses = analyse(packing.body, packing.tensor.dtype)
    column = packing.axes[-1]
    lanes = target.lanes(accesses.widest)
    part, lane = packing.split(column, lanes)
    rest = decided_first(packing.axes[:-1], packing)
    decided = [axis for axis in rest if axis.var in accesses.used]
    line = target.machine.line // (lanes * accesses.widest.itemsize)
    if line > 1 and likely(part.extent) > 1:  # vectors of one line of the cache are read together
        part, together = packing.split(part, line)
        packing.reorder(*decided, part, *rest[len(decided) :], together, lane)
        packing.unroll(together)
    else:
        packing.reorder(*decided, part, *rest[len(decided) :], lane)
    packing.vectorize(lane)
    return packing.leaves[0]


def decided_first(axes: Sequence[IterVar], stage: Stage) -> list[IterVar]:
    """The axes on which conditions of the stage depend, then the others: conditions are decided once for all these."""
    assert stage.body is not None
    used = analyse(stage.body, stage.tensor.dtype).used
    return [*[axis for axis in axes if axis.var in used], *[axis for axis in axes if axis.var not in used]]


def is_readable(schedule: Schedule, product: Product, far: int) -> bool:
    """Whether lines of the columns can be read as they lie: by elements side by side, or `far` from each other.

    Where they are read again for other rows they lie side by side: others are brought together once.
    """
    packed, column = product.whole.packed, product.flat.axes[-1].var
    accesses = analyse(packed, packed.dtype)
    is_cached = all(
        far > 1 if column in read.entangled else read.strides.get(column, 1) <= far for read in accesses.reads
    )
    return is_cached and not is_constant(schedule, packed)


def bytes_of(stage: Stage, operand: Expr) -> int:
    """Of what an operand is over the loops of a stage."""
    mine = vars_of(operand)
    axes = [axis for axis in (*stage.axes, *stage.reduce_axes) if axis.var in mine]
    return likely_extent(axes) * operand.dtype.itemsize


def is_close(product: Product, target: Target) -> bool:
    """Whether the columns lie in the first-level cache as they are, and vectors so short that few cross its lines."""
    if not isinstance(product.found.packed, Read) or fills_cache_lines(target):
        return False
    flat, packed = product.flat, product.whole.packed
    theirs = vars_of(packed)
    again = [axis for axis in flat.axes[:-1] if axis.var in theirs]
    return bytes_of(flat, packed) <= target.machine.l1_columns * likely_extent(again)
