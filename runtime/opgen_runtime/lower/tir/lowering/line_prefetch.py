"""Prefetches of cache lines that a later tile needs, one or few in each step of a sum.

for k: prefetch x[k, j + 48 + min(t, 1) * 16 ..]; ..      (tile t = 0, 1; later ones repeat the hint of the first step)

Lines that lie in many planes are asked for by steps of work, which hides how long they take, and not all at once.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....base.arith import Expr, Select, Var, const, floordiv, lt, minimum, post_order, substitute
from ....base.vocabulary import INDEX
from ....compute.te.tensor import Read
from ...schedule import Domain, Schedule, Stage
from ...schedule.stages.line_prefetch import LinePrefetch
from ..nodes.nest import ZERO
from ..nodes.stmt import Prefetch, Stmt
from .values import ValueLowering


def line_prefetches(
    schedule: Schedule, stage: Stage, hint: LinePrefetch, domain: Domain, values: ValueLowering
) -> Iterator[Stmt]:
    """The hints of one iteration; none for what is computed inside a loop itself, which is not there before."""
    inside = stage.leaves[stage.leaves.index(hint.axis) + 1 :]
    first: dict[Var, Expr] = {leaf.var: ZERO for leaf in inside}
    at = {var: substitute(value, first) for var, value in domain.values.items()}
    turns = hint.lines // hint.each
    turn = floordiv(at[hint.row.var], hint.rows)
    step = Select(INDEX, lt(turn, const(turns, INDEX)), hint.axis.var, ZERO)
    line = minimum(turn, const(turns - 1, INDEX)) * hint.each
    for n in range(hint.each):
        column = at[hint.column.var] + hint.offset + (line + n) * hint.step
        here = {**at, hint.column.var: column}
        here = {var: substitute(value, {hint.axis.var: step}) for var, value in here.items()}
        for read in _sources(schedule, stage, hint):
            if read.tensor in values.buffers and schedule[read.tensor].attach is None:
                indices = [substitute(index, here) for index in read.indices]
                yield Prefetch(
                    values.buffers[read.tensor], values.position(read.tensor, indices), (1,) * len(indices)
                )


def _sources(schedule: Schedule, stage: Stage, hint: LinePrefetch) -> list[Read]:
    """What is read, in terms of the stage's axes: by the tensor's own stage where it is computed inside a loop."""
    assert stage.body is not None
    reads = [e for e in post_order(stage.body) if isinstance(e, Read) and e.tensor is hint.tensor]
    maker = schedule[hint.tensor]
    if maker.attach is None or maker.body is None:
        return reads
    made: list[Read] = []
    for read in reads:
        theirs = {axis.var: index for axis, index in zip(maker.axes, read.indices, strict=True)}
        for e in post_order(maker.body):
            if isinstance(e, Read):
                made.append(Read(e.dtype, e.tensor, tuple([substitute(i, theirs) for i in e.indices])))
    return made
