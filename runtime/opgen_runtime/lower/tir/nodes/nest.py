"""Building blocks of loop nests."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.arith import Const, Expr, const
from ....base.vocabulary import INDEX
from ....compute.te.tensor import IterVar
from ...schedule import ForKind
from .stmt import For, If, Stmt
from .visit import EMPTY

ZERO = const(0, INDEX)


def as_index(extent: int | Expr) -> Expr:
    """An extent as an expression."""
    return const(extent, INDEX) if isinstance(extent, int) else extent


def loop(axis: IterVar, extent: int | Expr, kind: ForKind, body: Stmt) -> Stmt:
    """The loop over an axis; a loop of one iteration is its body (where the axis' var stands for 0 already)."""
    if extent == 0:
        return EMPTY
    return body if extent == 1 else For(axis.var, ZERO, as_index(extent), kind, body)


def guarded(conditions: Sequence[Expr], body: Stmt) -> Stmt:
    """The statement where all conditions hold."""
    for condition in reversed(conditions):
        if isinstance(condition, Const):
            if not condition.value:
                return EMPTY
            continue
        body = If(condition, body)
    return body
