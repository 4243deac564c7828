"""Scans: few rows kept, what reads them in their steps, and loops for a row where positions depend on each other.

A product of a row and a constant matrix has the matrix packed before the scan, in panels of columns, and tiles of
several sequences and a panel in registers; where a step is long enough, its panels are shared among threads.  Steps
are many, and all threads meet at the end of each shared loop: what takes little longer than that stays in one.
"""

from __future__ import annotations

from .....base import Target
from .....base.arith import post_order
from .....compute.te.tensor import Reduce
from ....schedule import Rows, Schedule, Stage
from ....schedule.stages.rows import is_aligned
from ...heuristics import MIN_ROWS, USUAL_PANEL_VECTORS
from ..common.access import analyse, is_shared, likely_extent
from ..common.parameters import SCAN_PANELS, SCAN_POSITIONS, SCAN_VECTORS, SCAN_WORK
from ..common.products import contraction_of, is_constant, vars_of
from ..common.rule import WhyNot
from ..contraction.tiles import has_many_registers, in_registers, rows_of, tile_rows
from ..elementwise import schedule_elementwise
from .reductions import reduce_shape, schedule_reduction, work_of


def match_scan(schedule: Schedule, stage: Stage, target: Target) -> Stage | WhyNot:
    """A scan, whatever runs in its steps."""
    return WhyNot("is no scan") if stage.rows is None else stage


def schedule_scan(schedule: Schedule, scan: Stage, target: Target) -> list[Stage]:
    """Roll a scan and schedule what runs in its steps; gives what follows it, and what is packed for it."""
    rows = scan.rows
    assert rows is not None
    by_positions = _reduces_contiguous_rows(rows, target)
    if by_positions:
        for member in rows.members:
            schedule_reduction(member, target, attached=True)
    schedule.use_rolling_buffers(scan.tensor)
    made = [scan, *rows.members, *rows.closing]
    if by_positions:
        _parallelise_positions(rows, target)
    elif not rows.separable:
        for member in rows.members:
            packing = _schedule_product(schedule, member, target)
            if packing is None:
                _schedule_row(member, target)
            else:
                made.append(packing)
    return made


def _schedule_product(schedule: Schedule, member: Stage, target: Target) -> Stage | None:
    """Loops for a member that is a product of several rows and a constant matrix, which is packed; None for others."""
    found = contraction_of(member.loop_axes, member.body) if member.reduce_axes else None
    if found is None or len(found.columns) != 1 or not is_constant(schedule, found.packed):
        return None
    lanes, extents = target.lanes(found.packed.dtype), [axis.extent for axis in (found.row, *found.columns)]
    rows, columns = (each if isinstance(each, int) else 0 for each in extents)
    theirs = vars_of(found.packed)
    own = {axis.var for axis in (*member.loop_axes, *member.reduce_axes)}
    if rows < MIN_ROWS.value or columns < lanes or not theirs <= own:
        return None
    wide = USUAL_PANEL_VECTORS.value if has_many_registers(target) else -(-columns // lanes)
    tile = tile_rows(found.row, rows_of(target, wide))
    half = target.vectors.registers // 2  # for the sums of a tile
    most = min(SCAN_VECTORS.of(target), max(1, half // tile))
    every = (*member.loop_axes, *member.reduce_axes)
    shared = is_shared(every, likely_extent(every) // SCAN_WORK.of(target), target)
    vectors = -(-columns // lanes)
    panel = lanes * min(most, vectors, max(1, vectors // _panels(target)) if shared else vectors)
    outer = [axis for axis in member.loop_axes if axis not in (found.row, *found.columns)]
    summed = member.reduce_axes
    moving = [axis for axis in outer if axis.var in theirs]
    at = [member.loop_axes.index(axis) for axis in (found.row, *found.columns)]
    packing = schedule[schedule.pack(member, found.packed, (*moving, *summed, *found.columns), panel)]
    schedule_elementwise(packing, target)
    row, column = (member.loop_axes[n] for n in at)
    rows_outer, row_tile = member.split(row, tile)
    panels, within = member.split(column, panel)
    nest = (panels, *outer, rows_outer) if shared else (*outer, panels, rows_outer)
    member.reorder(*nest, *member.reduce_axes, row_tile, within)
    if shared:
        enough = likely_extent((panels,)) >= _panels(target)
        member.parallel(panels if enough else member.fuse(*nest))
    in_registers(member, row_tile, within, lanes)
    return packing


def _reduces_contiguous_rows(rows: Rows[Stage], target: Target) -> bool:
    """Whether members reduce lines of memory, other ones for each position: vectors go along these."""
    if not rows.aligned or not isinstance(rows.extent, int):
        return False
    for member in rows.members:
        if not isinstance(member.body, Reduce) or not member.loop_axes:
            return False
        shape = reduce_shape(member, target)
        if shape.reuse or shape.across or not shape.along:
            return False
    return True


def _parallelise_positions(rows: Rows[Stage], target: Target) -> None:
    """for step: for i: for j  -->  for step: for i_j_o: for i_j_i, of each member; that over blocks runs outside."""
    assert isinstance(rows.extent, int)
    first = rows.members[0]
    work = rows.extent * sum([_work(member, target) for member in rows.members])
    shared = is_shared(first.loop_axes, work, target)
    positions = likely_extent(first.loop_axes)
    together = SCAN_POSITIONS.of(target)
    together = min(together, -(-positions // target.num_threads)) if shared else together
    for member in rows.members:
        if is_aligned(member, first, rows.lines) and (not member.reduce_axes or member.is_scheduled):
            loop, _ = member.split(member.fuse(*member.loop_axes), together)
            if shared:
                member.parallel(loop)
        else:
            _schedule_row(member, target)


def _work(member: Stage, target: Target) -> float:
    assert member.body is not None
    return work_of(member, analyse(member.body, member.tensor.dtype).cycles(target))


def _panels(target: Target) -> int:
    """How many panels all threads share evenly enough; a loop over them alone has guards for the last one alone."""
    return SCAN_PANELS.of(target) * target.num_threads


def _schedule_row(member: Stage, target: Target) -> None:
    """Loops for one row of a member."""
    body = member.body
    assert body is not None
    if member.reduce_axes:
        schedule_reduction(member, target)
    elif not any(isinstance(node, Reduce) for node in post_order(body)):
        work = likely_extent(member.loop_axes) * analyse(body, member.tensor.dtype).cycles(target)
        shared = is_shared(member.loop_axes, work // (2 * SCAN_WORK.of(target)), target)
        schedule_elementwise(member, target, attached=not shared)
