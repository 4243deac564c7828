"""Operand interchange: rows and columns of contractions change places, C[.., i, j..] = T[.., j.., i], where T has
the rows as its columns.

So it is where the rows fill vectors better, where columns are too few, and where they are windows that overlap.
These would be packed, each element as often as it is read, and lie in vectors; as rows they are read one by one from
a staged copy, beside vectors of what were the rows, and T is transposed in squares when it is stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from .....base import Target
from .....base.arith import Binary
from .....compute.te.tensor import IterVar, Reduce
from ....schedule import Schedule, Stage, permuted, positions, simplified
from ...heuristics import (
    MAX_INTERCHANGE_LOSS,
    MIN_CONTIGUOUS_ELEMENTS,
    MIN_INTERCHANGE_FILL,
    MIN_INTERCHANGE_GAIN,
    MIN_PANEL_FILL,
    MIN_ROWS,
    USUAL_PANEL_VECTORS,
)
from ..common.access import analyse, likely, likely_extent
from ..common.plan import readers_of
from ..common.products import (
    Contraction,
    Form,
    as_contraction,
    contiguous_elements,
    contraction_of,
    form_of,
    is_constant,
    is_sum_of_products,
    vars_of,
    why_not_large_enough,
)
from .contiguous_rows import moves_evenly


def interchanged_of(schedule: Schedule, stage: Stage, form: Form, target: Target) -> Stage | None:
    """The stage whose rows are the columns of the given one; None where it stays as it is."""
    found = form.contraction
    lanes, columns, rows = target.lanes(found.fixed.dtype), likely_extent(found.columns), found.row.extent
    if not isinstance(rows, int) or is_constant(schedule, found.packed):
        return None
    now, then = _filled_share(columns, lanes), _filled_share(rows, lanes)
    constant = is_constant(schedule, found.fixed)
    if _takes_less(form, constant, lanes, now, then, target):
        return _interchange(schedule, stage, form, joined=False)
    saved = likely_extent(form.body.axes) * (
        1 / now - 1 / then
    )  # steps of an element, each of which is moved then
    if (
        constant
        and columns >= MIN_ROWS.value
        and then >= MIN_INTERCHANGE_FILL.value * now
        and saved >= target.machine.cycles["move"]
    ):
        return _interchange(schedule, stage, form, joined=True)
    return None


def widened_order(stage: Stage, target: Target) -> list[IterVar] | None:
    """The order of the axes in which the rows of a stage that has too few columns are these; None where there is none.

    Sums over short lines alone: long ones are read in vectors as they lie.
    """
    body = stage.body
    if not is_sum_of_products(body) or not isinstance(body, Reduce) or not stage.reduce_axes:
        return None
    if likely_extent(body.axes[-1:]) >= target.lanes(body.dtype):
        return None
    value = simplified(stage.axes, body).value
    if not isinstance(value, Binary):
        return None
    for rows, columns in ((value.a, value.b), (value.b, value.a)):
        alone = vars_of(columns) - vars_of(rows)
        moved = [axis for axis in stage.axes if axis.var in alone]
        order = [*[axis for axis in stage.axes if axis not in moved], *moved]
        if not moved or order == list(stage.axes):
            continue
        tensor, _ = permuted(stage, order)
        if isinstance(form_of(Stage((tensor,), tensor.op)), Form):
            return order
    return None


def _takes_less(form: Form, constant: bool, lanes: int, now: float, then: float, target: Target) -> bool:
    """Whether it takes less time, all in all, if the row were the columns, though its elements are stored apart then.

    In cycles of the machine, for as many vectors as there are elements.  So it is where columns are windows that
    overlap.  `now` and `then`: shares of the lanes that are used; `constant`: the rows are; vectors have `lanes`.
    """
    found, axes = form.contraction, form.axes
    rows = [axis for axis in axes if axis.var in vars_of(found.packed)]
    row = max(rows, key=lambda axis: likely(axis.extent))
    interchanged = Contraction(tuple(rows), row, (found.row,), found.packed, found.fixed)
    if (
        form.conditional
        or MAX_INTERCHANGE_LOSS.value * then < now
        or why_not_large_enough(interchanged, form.body) is not None
    ):
        return False
    cycles = target.machine.cycles
    to_pack, elements = _reads_of_packing(found, form, cycles["element"]), likely_extent(axes)
    packed = cycles["pack"] * to_pack
    stored = cycles["pack"] * cycles["element"] * elements
    packing = 0.0 if constant else cycles["pack"] * _reads_of_packing(interchanged, form, cycles["element"])
    staged = _staged_elements(form)
    if staged is None:
        count, panel = likely(found.row.extent), USUAL_PANEL_VECTORS.value * lanes
        again = -(-count // panel) - 1  # all of the rows is read once for each panel
        if constant and contiguous_elements(found) < MIN_CONTIGUOUS_ELEMENTS.value and moves_evenly(form):
            # each element would be packed alone
            return 2 * stored + again * cycles["read_apart"] * to_pack <= packed
        if _filled_share(count, panel) < MIN_PANEL_FILL.value or _are_pages_apart(form, target.machine.page):
            return False
        return 2 * (packing + stored) + again * cycles["read_apart"] * to_pack <= packed
    if contiguous_elements(found) < MIN_CONTIGUOUS_ELEMENTS.value:
        long = contiguous_elements(found, target.machine.max_stride) >= MIN_CONTIGUOUS_ELEMENTS.value
        packed *= cycles["every_other" if long else "short_line"] / cycles["element"]
    products = elements * likely_extent(form.body.axes)
    moved = cycles["stage_operand"] * staged + cycles["store_transposed"] * elements
    changed = packing + moved + products / then
    return MIN_INTERCHANGE_GAIN.value * changed <= packed + products / now


def _are_pages_apart(form: Form, page: int) -> bool:
    """Whether lines of the columns lie one or several pages apart."""
    packed = form.contraction.packed
    strides = [
        read.strides.get(k.var, 0) for read in analyse(packed, packed.dtype).reads for k in form.body.axes
    ]
    return any(stride and stride * packed.dtype.itemsize % page == 0 for stride in strides)


def _reads_of_packing(found: Contraction, form: Form, apart: float) -> float:
    """How many elements are read to pack the columns: each counts `apart` times where none lie side by side."""
    theirs = vars_of(found.packed)
    axes = [axis for axis in (*found.outer, *form.body.axes, *found.columns) if axis.var in theirs]
    return likely_extent(axes) * (1 if contiguous_elements(found) >= MIN_CONTIGUOUS_ELEMENTS.value else apart)


def _staged_elements(form: Form) -> int | None:
    """How many elements the columns read, where they are windows that overlap; None where they are not."""
    packed = form.contraction.packed
    every, theirs = (*form.axes, *form.body.axes), vars_of(packed)
    found = positions(every, packed)
    if isinstance(found, str):
        return None
    count = likely_extent(found[0])
    return count if count < likely_extent([axis for axis in every if axis.var in theirs]) else None


def _filled_share(extent: int, lanes: int) -> float:
    """Which share of the lanes is used, of vectors of so many elements side by side."""
    return extent / (-(-extent // lanes) * lanes)


def _interchange(schedule: Schedule, stage: Stage, form: Form, joined: bool) -> Stage:
    """C[.., i, j..] = T[.., j.., i]: the stage of T, whose columns are the rows; `joined` columns become one row."""
    made = as_contraction(schedule, stage, form)
    found = contraction_of(made.axes, made.body)
    assert found is not None
    at_row = made.axes.index(found.row)
    flat = schedule[schedule.flatten(made.tensor, len(found.columns))] if joined else made
    order = (*[axis for n, axis in enumerate(flat.axes) if n != at_row], flat.axes[at_row])
    return permute_through(schedule, flat, order, made, stage)


def permute_through(schedule: Schedule, stage: Stage, order: Sequence[IterVar], *others: Stage) -> Stage:
    """The stage with its axes in another order; it and others that it is read through are inlined.

    Not what scans read: it lies in a buffer.
    """
    readers = readers_of(schedule)
    interchanged = schedule[schedule.permute(stage.tensor, order)]
    for each in dict.fromkeys((stage, *others)):
        if not each.is_output and all([reader.body is not None for reader in readers.get(each, ())]):
            each.compute_inline()
    schedule.normalize()
    return interchanged
