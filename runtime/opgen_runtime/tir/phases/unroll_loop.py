"""unroll_loop: unrolled loops become their iterations one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from ...arith import Const, Expr, Var, const
from ...vocabulary import INDEX
from ..folding import fold_substitute
from ..stmt import For, ForKind, PrimFunc, Stmt
from ..visit import StmtMutator, block, map_exprs, statements

_MOST_STATEMENTS: Final = 512  # beyond this the loop stays, as a hint


def unroll_loop(func: PrimFunc) -> PrimFunc:
    """The function with its unrolled loops expanded, except where that would take too much code."""
    if not any(isinstance(s, For) and s.kind is ForKind.UNROLLED for s in statements(func.body)):
        return func
    return replace(func, body=_Unroll().stmt(func.body))


class _Unroll(StmtMutator):
    def loop(self, s: For) -> Stmt:
        body = self.stmt(s.body)
        if s.kind is ForKind.UNROLLED and isinstance(s.extent, Const) and isinstance(s.minimum, Const):
            start, count = int(s.minimum.value), int(s.extent.value)
            if count * sum(1 for _ in statements(body)) <= _MOST_STATEMENTS:
                return block(*[_step(body, s.var, start + step) for step in range(count)])
        return s if body is s.body else For(s.var, s.minimum, s.extent, s.kind, body)


def _step(body: Stmt, var: Var, value: int) -> Stmt:
    """The body of one iteration."""
    values: dict[Var, Expr] = {var: const(value, INDEX)}
    return map_exprs(body, lambda e: fold_substitute(e, values))
