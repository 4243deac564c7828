"""Innermost loops whose ends read elsewhere than their middle are split there, so that the middle reads in order.

for x in range(9): f(a[x - 1 if x > 0 else 8])  -->  f(a[8])
                                                     for x in range(8): f(a[x])

So it is where a remainder starts again, and a quotient grows: a[(x + 8) % 9] is split at the same place.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ....base.arith import Binary, Compare, Const, Expr, Select, Var, const, lt, post_order, rewrite
from ....base.arith.relax import Relaxer
from ....base.vocabulary import INDEX
from ..nodes.relocate import fresh_buffers
from ..nodes.stmt import For, ForKind, PrimFunc, Stmt
from ..nodes.visit import StmtMutator, block, exprs, map_exprs, statements, trips
from ..rewriting.linear import guard_form, shifted

_MAX_WRAPS: Final = 2


def partition_edges(func: PrimFunc) -> PrimFunc:
    """The function with the ends of innermost loops apart that read elsewhere than their middle."""
    return func.with_body(_Edges().stmt(func.body))


class _Edges(StmtMutator):
    """A statement in which no position in the middle of an innermost loop depends on how far it has come."""

    def loop(self, s: For) -> Stmt:
        inner = [each for each in statements(s.body) if isinstance(each, For)]
        extent = trips(s)
        if inner or extent is None or s.kind is not ForKind.SERIAL:
            return super().loop(s)
        cuts = _cuts(s, extent)
        low = max((cut for cut in cuts if 2 * cut <= extent), default=0)
        high = min((cut for cut in cuts if 2 * cut > extent), default=extent)
        if not cuts or 2 * (high - low) < extent:
            return s
        parts = [(0, low), (low, high), (high, extent)]
        return block(
            *[
                fresh_buffers(shifted(_divided(s, start, end), start, end - start))
                for start, end in parts
                if start < end
            ]
        )


def _divided(s: For, start: int, end: int) -> For:
    """The loop without remainders and quotients whose quotient is one number from `start` to `end`."""

    def known(node: Expr) -> Expr | None:
        form = _quotient_form(node, s.var)
        if form is None:
            return None
        factor, constant, divisor = form
        first, last = ((factor * x + constant) // divisor for x in (start, end - 1))
        if first != last:
            return None
        assert isinstance(node, Binary)
        return const(first, INDEX) if node.op == "floordiv" else node.a - first * divisor

    return replace(s, body=map_exprs(s.body, lambda e: rewrite(e, known)))


def _cuts(s: For, extent: int) -> set[int]:
    """Where the loop changes between the alternatives of a position: the first iteration of the later one."""
    found: set[int | None] = set()
    for each in statements(s.body):
        for e in exprs(each):
            for node in post_order(e):
                if isinstance(node, Select) and node.dtype is INDEX:
                    found.add(_cut(node.condition, s.var))
                else:
                    found.update(_wraps(node, s.var, extent))
    return {cut for cut in found if cut is not None and 0 < cut < extent}


def _quotient_form(node: Expr, var: Var) -> tuple[int, int, int] | None:
    """A quotient or remainder of `factor * var + constant` by a divisor, as these three; None for anything else."""
    if not isinstance(node, Binary) or node.op not in ("floordiv", "floormod") or node.dtype is not INDEX:
        return None
    if not isinstance(node.b, Const) or node.b.value <= 0:
        return None
    found = Relaxer({}, {}).range(node.a)
    if found is None or found[2] != 1 or found[0].keys() != {var}:
        return None
    return found[0][var], found[1], int(node.b.value)


def _wraps(node: Expr, var: Var, extent: int) -> list[int]:
    """The iterations in which the quotient of a node is another one than before, where these are few."""
    form = _quotient_form(node, var)
    if form is None:
        return []
    factor, constant, divisor = form
    if factor < 0:  # the quotient falls after the last iteration of the one before
        factor, constant = -factor, divisor - 1 - constant
    first, last = constant // divisor, (factor * (extent - 1) + constant) // divisor
    if last - first > _MAX_WRAPS:
        return []
    return [-((constant - quotient * divisor) // factor) for quotient in range(first + 1, last + 1)]


def _cut(condition: Expr, var: Var) -> int | None:
    """The first value of `var` after the last at which the condition is what it is at first."""
    if not isinstance(condition, Compare) or condition.op not in ("lt", "ge", "gt", "le"):
        return None
    a, b = condition.a, condition.b
    form = guard_form(lt(a, b) if condition.op in ("lt", "ge") else lt(b, a))  # or its contrary
    if form is None or form[0].keys() != {var}:
        return None
    factor, constant = form[0][var], form[1]
    return -(constant // factor) if factor > 0 else constant // -factor + 1
