"""Staging of non-affine operands of reductions, each position read once: rings, edges that repeat or mirror.

    C[i] = sum(X[(i - j) % n] * W[j] for j)  -->  P[p] = X[(p - m) % n]; C[i] = sum(P[i - j + m] * W[j] for j)

What is divided, limited or chosen depends on one even position, i - j, of which there are far fewer than steps of the
reduction.  Behind it, windows are windows of a plain tensor, whatever schedule they get.  Innermost loops over P are
left whole: lowering splits them where the position jumps, and copies what is between.
"""

from __future__ import annotations

from .....base import Target
from .....base.arith import Analyzer, free_vars, post_order
from .....compute.te.access import why_not_inside
from .....compute.te.tensor import IterVar, Read, Reduce
from ....schedule import Schedule, Stage, positions, slope
from ...heuristics import MIN_STEPS_A_STAGED_POSITION
from ..common.access import is_shared, likely_extent
from ..common.rule import WhyNot


def match_uneven(schedule: Schedule, stage: Stage, target: Target) -> Stage | WhyNot:
    """A reduction with an operand that is read at positions that move unevenly."""
    if stage.follows is not None or not isinstance(stage.body, Reduce):
        return WhyNot("is no reduction")
    if _uneven_read(stage) is None:
        return WhyNot("reads at positions that move evenly, or are hardly fewer than its steps")
    return stage


def cover_uneven(schedule: Schedule, stage: Stage, target: Target) -> list[Stage]:
    """Stages for the operands of a reduction that are read at non-affine positions; gives these."""
    made: list[Stage] = []
    while (read := _uneven_read(stage)) is not None:
        staging = schedule[schedule.stage_operand(stage.tensor, read)]
        *outer, _ = staging.axes
        if outer and is_shared(staging.axes, likely_extent(staging.axes), target):
            staging.parallel(staging.fuse(*outer))
        made.append(staging)
    return made


def _uneven_read(stage: Stage) -> Read | None:
    """The first read for which it pays to be covered."""
    assert stage.body is not None
    reads = [node for node in post_order(stage.body) if isinstance(node, Read)]
    return next((read for read in reads if _pays(stage, read)), None)


def _pays(stage: Stage, read: Read) -> bool:
    """Whether some index of a read is not affine in axes of which there are far more steps than positions.

    A quotient that is 0 throughout, as of the one group of a convolution, moves with nothing.
    """
    axes = (*stage.axes, *stage.reduce_axes)
    analyzer = Analyzer()
    for axis in axes:
        analyzer.bind(axis.var, 0, axis.extent)
    simple = analyzer.simplify(read)
    if not isinstance(simple, Read):
        return False  # an axis has no steps: anything holds of what is read there
    read = simple
    used = [axis for axis in axes if any(axis.var in free_vars(index) for index in read.indices)]
    if all(_is_even(read, axis) for axis in used):
        return False
    found = positions(axes, read)
    if isinstance(found, str):
        return False
    made, body, _ = found
    assert isinstance(body, Read)
    if all([slope(index, axis.var) is not None for index in body.indices for axis in made]):
        return False  # a copy: nothing is divided, limited or chosen
    if not made or MIN_STEPS_A_STAGED_POSITION.value * likely_extent(made) > likely_extent(used):
        return False
    extents = {axis.var: axis.extent for axis in made}
    return all(
        why_not_inside(body.tensor.name, n, index, extent, extents, ()) is None
        for n, (index, extent) in enumerate(zip(body.indices, body.tensor.shape, strict=True))
    )


def _is_even(read: Read, axis: IterVar) -> bool:
    """Whether every index of a read moves by one number with an axis."""
    return all(
        axis.var not in free_vars(index) or slope(index, axis.var) is not None for index in read.indices
    )
