"""Guards as linear forms, and the iterations of loops that these tell apart."""

from __future__ import annotations

from ....base.arith import Compare, Expr, Var, const
from ....base.arith.relax import Relaxer
from ....base.vocabulary import INDEX
from ..nodes.folding import fold_substitute
from ..nodes.nest import ZERO
from ..nodes.stmt import For, Stmt
from ..nodes.visit import map_exprs

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
