"""Scans whose steps run inside the loop over positions: where no position needs another, each goes through them alone.

    for step: parallel for i: h[step % 2, i] = f(h[(step - 1) % 2, i], x[i, ...])
-->
    parallel for i: for step: h[step % 2, i] = f(h[(step - 1) % 2, i], x[i, ...])

What a position reads stays cached from step to step, and threads meet once, not in every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ....base.arith import structural_equal, substitute
from ....compute.te.tensor import IterVar
from ...schedule import ForKind, Fuse, Split, Stage
from ...schedule.stages.rows import Rows, is_aligned
from ..nodes.stmt import For, Stmt
from ..nodes.visit import block, map_exprs
from .early_exit import steps


def by_positions(rows: Rows[Stage], parts: Sequence[Stmt]) -> Stmt | None:
    """All steps at one position after the other; None where the loops of `parts`, one a member, are not over these."""
    first = parts[0]
    if not isinstance(first, For) or any(not _is_over_positions(member, rows) for member in rows.members):
        return None
    bodies = []
    for part in parts:
        if not isinstance(part, For) or not structural_equal(part.extent, first.extent):
            return None
        bodies.append(map_exprs(part.body, partial(substitute, values={part.var: first.var})))
    shared = any(isinstance(part, For) and part.kind is ForKind.PARALLEL for part in parts)
    kind = ForKind.PARALLEL if shared else ForKind.SERIAL
    return For(first.var, first.minimum, first.extent, kind, steps(rows, block(*bodies)))


def _is_over_positions(member: Stage, rows: Rows[Stage]) -> bool:
    """Whether the outermost loop of a member is over all positions, and rows are read at their own one only."""
    if not member.loop_axes or not is_aligned(member, rows.members[0], rows.lines):
        return False
    if member.kind(member.leaves[0]) not in (ForKind.SERIAL, ForKind.PARALLEL):
        return False
    return _blocked(member)[1] == _blocked(rows.members[0])[1] and _blocked(member)[0] == list(
        member.loop_axes
    )


def _blocked(stage: Stage) -> tuple[list[IterVar], int]:
    """The axes that the outermost loop is fused of, and how many of their positions it has in a block."""
    leaf = stage.leaves[0]
    for relation in stage.relations:
        if isinstance(relation, Split) and relation.outer is leaf and not relation.overlapping:
            return _fused(stage, relation.parent), relation.factor
    return _fused(stage, leaf), 1


def _fused(stage: Stage, leaf: IterVar) -> list[IterVar]:
    """The axes that a loop is fused of, in order."""
    for relation in stage.relations:
        if isinstance(relation, Fuse) and relation.fused is leaf:
            return [*_fused(stage, relation.outer), *_fused(stage, relation.inner)]
    return [leaf]
