"""Innermost loops whose ends read elsewhere than their middle are split there, so that the middle reads in order.

for x in range(9): f(a[x - 1 if x > 0 else 8])  -->  f(a[8])
                                                     for x in range(8): f(a[x])
"""

from __future__ import annotations

from ...base.arith import Compare, Expr, Select, Var, const, lt, post_order
from ...base.arith.relax import Relaxer
from ...base.vocabulary import INDEX
from .folding import fold_substitute
from .nest import ZERO
from .relocate import fresh_buffers
from .stmt import For, ForKind, Stmt
from .visit import StmtMutator, block, exprs, map_exprs, statements, trips

Linear = tuple[dict[Var, int], int]  # coefficients and constant of `sum < 0`


def guard_form(condition: Expr) -> Linear | None:
    """`condition` as `sum of coefficient * var + constant < 0`; None where it is no such comparison."""
    if not isinstance(condition, Compare) or condition.op != "lt" or not condition.a.dtype.is_int:
        return None
    found = Relaxer({}, {}).range(condition.a - condition.b)
    if found is None or found[2] != 1 or not all(isinstance(atom, Var) for atom in found[0]):
        return None
    return {atom: factor for atom, factor in found[0].items() if isinstance(atom, Var)}, found[1]


def shifted(s: For, start: int, extent: int) -> Stmt:
    """The iterations from `start` on, as a loop from 0."""
    if extent == 1:
        return map_exprs(s.body, lambda e: fold_substitute(e, {s.var: const(start, INDEX)}))
    body = map_exprs(s.body, lambda e: fold_substitute(e, {s.var: s.var + start}))
    return For(s.var, ZERO, const(extent, INDEX), s.kind, body)


class EdgePartition(StmtMutator):
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
        return block(*[fresh_buffers(shifted(s, start, end - start)) for start, end in parts if start < end])


def _cuts(s: For, extent: int) -> set[int]:
    """Where the loop changes between the alternatives of a position: the first iteration of the later one."""
    found = {
        _cut(node.condition, s.var)
        for each in statements(s.body)
        for e in exprs(each)
        for node in post_order(e)
        if isinstance(node, Select) and node.dtype is INDEX
    }
    return {cut for cut in found if cut is not None and 0 < cut < extent}


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
