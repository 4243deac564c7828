"""Contiguous rows of contractions' results: those that are columns by themselves, and how far a tile goes along
them.
"""

from __future__ import annotations

from .....base import Target
from ....schedule import Schedule, Stage, positions
from ...heuristics import (
    FEW_PACKED_STEPS,
    MAX_EMPTY_STEPS,
    MIN_PANELS_AN_EMPTY_ONE,
    MIN_PANELS_AT_ONCE,
    USUAL_PANEL_VECTORS,
)
from ..common.access import is_shared, likely_extent, total_extent
from ..common.parameters import TASKS
from ..common.prefetching import fills_cache_lines
from ..common.products import (
    Contraction,
    Form,
    contiguous_elements,
    contraction_of,
    is_constant,
    is_plain,
    vars_of,
)
from .tiles import rows_of, tile_rows


def contiguous_rows_of(schedule: Schedule, form: Form, target: Target) -> Contraction | None:
    """The contraction whose columns are the last axis alone, where windows are read as they lie then; None elsewhere.

    A line of windows that slide by one is a line of their staged copy.  Panels of it are not full: that must take less
    than packing the windows of several lines together.  One tile of rows would read them as they lie in any case, with
    guards, which take little where vectors fill lines of the cache.
    """
    found = form.contraction
    *before, last = found.columns
    if not before or not isinstance(last.extent, int) or is_constant(schedule, found.packed):
        return None
    if last.extent == 1 or contiguous_elements(found) != last.extent or not moves_evenly(form):
        return None
    lanes = target.lanes(found.packed.dtype)
    wide = USUAL_PANEL_VECTORS.value
    if found.row.extent == tile_rows(found.row, rows_of(target, wide)) and fills_cache_lines(target):
        return None
    steps, panel = likely_extent(form.body.axes), wide * lanes
    empty = -last.extent % panel
    unpacked = likely_extent((found.row,)) * empty <= MAX_EMPTY_STEPS.value * last.extent
    size = steps * panel * found.packed.dtype.itemsize
    if steps > FEW_PACKED_STEPS.value and (not unpacked or size > target.machine.l1_panels):
        return None
    return Contraction((*found.outer, *before), found.row, (last,), found.fixed, found.packed)


def moves_evenly(form: Form) -> bool:
    """Whether the columns are read as they lie, or once they are staged."""
    packed = form.contraction.packed
    return is_plain(packed) or not isinstance(positions((*form.axes, *form.body.axes), packed), str)


def panels_at_once(schedule: Schedule, stage: Stage, found: Contraction, panel: int, target: Target) -> int:
    """How many panels of columns a tile of rows goes along before the next one does: as many as fit the
    first-level cache.

    Results of few steps are stored in long lines then, where one panel after the other would store a part of each.
    `found` is the contraction as its columns are, `stage` what it is of.
    """
    whole, columns = contraction_of(stage.axes, stage.body), total_extent(found.columns)
    assert whole is not None
    if columns is None or is_constant(schedule, whole.packed) or not is_plain(whole.packed):
        return 1
    panels = -(-columns // panel)
    size = likely_extent(stage.reduce_axes) * panel * found.packed.dtype.itemsize
    most = min(panels, target.machine.l1_panels // size)
    if is_shared(stage.axes, likely_extent((*stage.axes, *stage.reduce_axes)), target):
        around = likely_extent([axis for axis in found.outer if axis.var in vars_of(found.packed)])
        most = min(most, panels * around // (TASKS.of(target) * target.num_threads))
    if most < MIN_PANELS_AT_ONCE.value:
        return 1
    best = min(range(most, most // 2, -1), key=lambda n: -panels % n)
    return best if -panels % best * MIN_PANELS_AN_EMPTY_ONE.value <= panels else 1
