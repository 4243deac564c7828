"""Dot products of narrow integers: several steps of the sum at once, where the machine has an instruction for it.

    C[.., i, j..] = sum(X[.., i, k] * Y[.., j.., k] for k)
-->
    D[.., i, j..] = sum(dot4(A[.., i, k], B[.., j.., k]) for k // 4)

A and B are words that hold the numbers of several steps; what is summed of them is a contraction like others, of a
quarter or half of the steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .....base import Target
from .....base.arith import Binary, Expr, post_order
from .....base.vocabulary import INT32, dataclass
from .....compute.te.tensor import IterVar, Read, Reduce
from ....schedule import Schedule, Stage
from ....schedule.rewriting.dot_product import why_not_dot
from ...heuristics import MIN_DOT_FILL, MIN_REUSE, MIN_SUMMED_STEPS
from ..common.access import analyse, likely, likely_extent
from ..common.products import Form, form_of, is_constant, vars_of
from ..common.rule import WhyNot


@dataclass(frozen=True, slots=True)
class Dot:
    """How a stage is summed in words: arguments of the primitive `dot`."""

    stage: Stage
    axis: IterVar
    steps: int
    sign_flipped: int
    before: int | None


def dotted_of(schedule: Schedule, stage: Stage, form: Form, target: Target) -> Stage | None:
    """The stage that sums words for the given one; None where there are none."""
    if form.body.dtype is not INT32 or not _steps_of(target):
        return None
    schedule.simplify(stage.tensor)
    factors = _factors(stage)
    if factors is None:
        return None
    found = _dot_of(schedule, stage, factors, [*_read_again(schedule, stage, factors), None], target)
    return None if found is None else _dotted(schedule, found)


def match_dotted_row(schedule: Schedule, stage: Stage, target: Target) -> Dot | WhyNot:
    """One row of narrow ints by constant columns that lie side by side.

    It is no contraction, but the words of what is constant are made once and for all.
    """
    factors = _factors(stage)
    if factors is None or not stage.axes:
        return WhyNot("is no sum of products in int32")
    if not _steps_of(target):
        return WhyNot("has no dot product instruction on this target")
    if likely_extent(stage.axes[:-1]) > 1 or likely_extent(stage.axes[-1:]) < target.lanes(INT32):
        return WhyNot("has several rows, or fewer columns than a vector has lanes")
    column = stage.axes[-1].var
    constant = [n for n, factor in enumerate(factors) if is_constant(schedule, factor)]
    if len(constant) != 1 or column in vars_of(factors[1 - constant[0]]):
        return WhyNot("has no constant columns")
    accesses = analyse(factors[constant[0]], INT32)
    if any(read.strides.get(column) != 1 or column in read.entangled for read in accesses.reads[:1]):
        return WhyNot("has columns that do not lie side by side")
    if isinstance(form_of(stage), Form):
        return WhyNot("is a contraction")
    found = _dot_of(schedule, stage, factors, constant, target)
    return WhyNot("has factors whose words cannot be made") if found is None else found


def dot_row(schedule: Schedule, matched: Dot, target: Target) -> tuple[Stage, ...]:
    """Sum words; the loops of what sums them are made by the rules that follow."""
    _dotted(schedule, matched)
    return ()


def _dot_of(
    schedule: Schedule, stage: Stage, factors: tuple[Expr, Expr], before: Sequence[int | None], target: Target
) -> Dot | None:
    """How words are summed; words of the first of `before` that may be so are made before."""
    body = stage.body
    assert isinstance(body, Reduce)
    sign_flipped = 0 if is_constant(schedule, factors[1]) else 1
    for steps, first in [(steps, first) for steps in _steps_of(target) for first in before]:
        axis = _axis_of(body, steps)
        if axis is None or likely_extent(body.axes) < MIN_SUMMED_STEPS.value * steps:
            continue
        if why_not_dot(stage, axis, steps, sign_flipped, first) is None:
            return Dot(stage, axis, steps, sign_flipped, first)
    return None


def _dotted(schedule: Schedule, dot: Dot) -> Stage:
    """The stage that sums words; what reads the given one reads it."""
    made = schedule[schedule.dot(dot.stage.tensor, dot.axis, dot.steps, dot.sign_flipped, dot.before)]
    if not dot.stage.is_output:
        dot.stage.compute_inline()
        schedule.normalize()
    return made


def _steps_of(target: Target) -> list[int]:
    """How many numbers a word of 32 bits may hold, most first."""
    return [steps for steps in (4, 2) if target.dot(steps, target.vector_bits) is not None]


def _factors(stage: Stage) -> tuple[Expr, Expr] | None:
    """The factors of a sum of products in int32."""
    body = stage.body
    if not isinstance(body, Reduce) or body.dtype is not INT32 or body.combiner != "sum":
        return None
    value = body.value
    return (value.a, value.b) if isinstance(value, Binary) and value.op == "mul" else None


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
        if steps >= MIN_REUSE.value * most and not is_constant(schedule, factor):
            found.append(n)
    return found


def _axis_of(body: Reduce, steps: int) -> IterVar | None:
    """The reduce axis of which words are most full, the first of several."""

    def full(axis: IterVar) -> float:
        extent = likely(axis.extent)
        return extent / (-(-extent // steps) * steps)

    found = max(body.axes, key=full)
    return found if full(found) >= MIN_DOT_FILL.value else None
