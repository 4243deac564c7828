"""Contractions of narrow ints: several steps of the sum at once, where the machine has an instruction for it.

    C[.., i, j..] = sum(X[.., i, k] * Y[.., j.., k] for k)
-->
    D[.., i, j..] = sum(dot4(A[.., i, k], B[.., j.., k]) for k // 4)

A and B are words that hold the numbers of several steps; what is summed of them is a contraction like others, of a
quarter or half of the steps.
"""

from __future__ import annotations

from typing import Final

from ....base import Target
from ....base.arith import Binary
from ....base.errors import ScheduleError
from ....base.vocabulary import INT32
from ....compute.te.tensor import IterVar
from ...schedule import Schedule, Stage
from .access import likely, likely_extent
from .products import LEAST_SUMMED, Form, is_constant

_STEPS: Final = (4, 2)
_FULL: Final = 0.7  # of the words, at least


def dotted_of(schedule: Schedule, stage: Stage, form: Form, target: Target) -> Stage | None:
    """The stage that sums words for the given one; None where there are none."""
    value, summed = form.body.value, likely_extent(form.body.axes)
    if form.body.dtype is not INT32 or not isinstance(value, Binary):
        return None
    for steps in _STEPS:
        axis = _axis_of(form, steps)
        if axis is None or summed < LEAST_SUMMED * steps or target.dot(steps, target.vector_bits) is None:
            continue
        turned = 0 if is_constant(schedule, value.b) else 1
        try:
            made = schedule[schedule.dot(stage.tensor, axis, steps, turned)]
        except ScheduleError:
            continue
        if not stage.is_output:
            stage.compute_inline()
            schedule.normalize()
        return made
    return None


def _axis_of(form: Form, steps: int) -> IterVar | None:
    """The reduce axis of which words are most full, the first of several."""

    def full(axis: IterVar) -> float:
        extent = likely(axis.extent)
        return extent / (-(-extent // steps) * steps)

    found = max(form.body.axes, key=full)
    return found if full(found) >= _FULL else None
