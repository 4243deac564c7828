"""How indices move with variables."""

from __future__ import annotations

from ....base.arith import Analyzer, Const, Expr, Var, substitute


def slope(e: Expr, var: Var) -> int | None:
    """By how much an index grows with `var`; None where that is not one number."""
    grown = Analyzer().simplify(substitute(e, {var: var + 1}) - e)
    return int(grown.value) if isinstance(grown, Const) else None
