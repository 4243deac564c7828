"""Rows and columns of a contraction that change places: C[.., i, j..] is read from T[.., j, i].

So it is done where the rows are constant and fill vectors better than the columns, by so much that what is saved is
more than moving the results takes; and where far less is packed then.
"""

from __future__ import annotations

from typing import Final

from ....base import Target
from ...schedule import Schedule, Stage
from .access import total_extent
from .products import LEAST_ROWS, Form, contraction_of, is_constant, prepare

_MOVED: Final = 8  # steps of an element, in whole vectors, take as long as moving it to its place
_BETTER: Final = 1.15  # so much more of the lanes is to be used before rows and columns change places


def wants_turning(schedule: Schedule, form: Form, target: Target) -> bool:
    """Whether rows fill vectors better than columns do, and lie in panels of constants that are packed in advance."""
    found = form.contraction
    lanes = target.lanes(found.fixed.dtype)
    columns, rows = total_extent(found.columns), found.row.extent
    if columns is None or columns < LEAST_ROWS or not isinstance(rows, int):
        return False
    mine, theirs = _filled(rows, lanes), _filled(columns, lanes)
    saved = form.summed * (1 / theirs - 1 / mine)  # steps of an element, each of which is moved then
    better = mine >= _BETTER * theirs and saved >= _MOVED
    return better and is_constant(schedule, found.fixed) and not is_constant(schedule, found.packed)


def fills_as_well(schedule: Schedule, form: Form, target: Target) -> bool:
    """Whether columns that are packed at each call may change places with the row: it wastes few more lanes."""
    found = form.contraction
    lanes, columns, rows = target.lanes(found.fixed.dtype), total_extent(found.columns), found.row.extent
    if columns is None or not isinstance(rows, int) or is_constant(schedule, found.packed):
        return False
    return _BETTER * _filled(rows, lanes) >= _filled(columns, lanes)


def _filled(extent: int, lanes: int) -> float:
    """Which share of the lanes is used, of vectors of so many elements side by side."""
    return extent / (-(-extent // lanes) * lanes)


def turned(schedule: Schedule, stage: Stage, form: Form, joined: bool) -> Stage:
    """C[.., i, j..] = T[.., j.., i]: the stage of T, whose columns are the rows; `joined` columns become one row."""
    made = prepare(schedule, stage, form)
    found = contraction_of(made.axes, made.body)
    assert found is not None
    at_row = made.axes.index(found.row)
    flat = schedule[schedule.flatten(made.tensor, len(found.columns))] if joined else made
    order = (*[axis for n, axis in enumerate(flat.axes) if n != at_row], flat.axes[at_row])
    changed = schedule[schedule.permute(flat.tensor, order)]
    for each in dict.fromkeys((flat, made, stage)):
        if not each.is_output:
            each.compute_inline()
    schedule.normalize()
    return changed
