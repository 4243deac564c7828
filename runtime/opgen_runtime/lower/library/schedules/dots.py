"""Contractions of narrow ints: several steps of the sum at once, where the machine has an instruction for it.

    C[.., i, j..] = sum(X[.., i, k] * Y[.., j.., k] for k)
-->
    D[.., i, j..] = sum(dot4(A[.., i, k], B[.., j.., k]) for k // 4)

A and B are words that hold the numbers of several steps; what is summed of them is a contraction like others, of a
quarter or half of the steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from ....base import Target
from ....base.arith import Binary, Expr, post_order
from ....base.errors import ScheduleError
from ....base.vocabulary import INT32
from ....compute.te.tensor import IterVar, Read, Reduce
from ...schedule import Schedule, Stage
from .access import likely, likely_extent
from .products import LEAST_SUMMED, Form, is_constant, vars_of

_STEPS: Final = (4, 2)
_FULL: Final = 0.7  # of the words, at least
_AGAIN: Final = 2  # times


def dotted_of(schedule: Schedule, stage: Stage, form: Form, target: Target) -> Stage | None:
    """The stage that sums words for the given one; None where there are none."""
    possible = [steps for steps in _STEPS if target.dot(steps, target.vector_bits) is not None]
    if form.body.dtype is not INT32 or not possible:
        return None
    schedule.simplify(stage.tensor)
    body = stage.body
    assert isinstance(body, Reduce)
    if not isinstance(body.value, Binary) or body.value.op != "mul":
        return None
    factors = (body.value.a, body.value.b)
    turned = 0 if is_constant(schedule, factors[1]) else 1
    again = _read_again(schedule, stage, factors)
    for steps, before in [(steps, before) for steps in possible for before in (*again, None)]:
        axis = _axis_of(body, steps)
        if axis is None or likely_extent(body.axes) < LEAST_SUMMED * steps:
            continue
        try:
            made = schedule[schedule.dot(stage.tensor, axis, steps, turned, before)]
        except ScheduleError:
            continue
        if not stage.is_output:
            stage.compute_inline()
            schedule.normalize()
        return made
    return None


def _read_again(schedule: Schedule, stage: Stage, factors: Sequence[Expr]) -> list[int]:
    """The numbers of the factors that read elements several times, as windows that overlap do."""
    found = []
    for n, factor in enumerate(factors):
        mine = vars_of(factor)
        steps = likely_extent([axis for axis in (*stage.axes, *stage.reduce_axes) if axis.var in mine])
        reads = {node.tensor: node.tensor.shape for node in post_order(factor) if isinstance(node, Read)}
        most = max(
            [math.prod([likely(extent) for extent in shape]) for shape in reads.values()], default=steps
        )
        if steps >= _AGAIN * most and not is_constant(schedule, factor):
            found.append(n)
    return found


def _axis_of(body: Reduce, steps: int) -> IterVar | None:
    """The reduce axis of which words are most full, the first of several."""

    def full(axis: IterVar) -> float:
        extent = likely(axis.extent)
        return extent / (-(-extent // steps) * steps)

    found = max(body.axes, key=full)
    return found if full(found) >= _FULL else None
