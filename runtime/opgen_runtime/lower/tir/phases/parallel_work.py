"""parallel_work: parallel loops say what an iteration of them does, so that a thread takes as many as are worth one.

parallel for i in range(64): for j in range(n): y[...] = x[...] + 1.0
-->
parallel for i in range(64) of n * 4 operations: ...

Phases behind it write the same work otherwise, which must not change the shares of threads.
"""

from __future__ import annotations

from dataclasses import replace

from ....base.arith import Expr, const
from ....base.vocabulary import INDEX
from ..analysis.cost import iteration_cost
from ..nodes.stmt import For, ForKind, PrimFunc, Stmt
from ..nodes.visit import StmtMutator


def parallel_work(func: PrimFunc) -> PrimFunc:
    """The function with the work of parallel loops written down, in element operations."""
    return func.with_body(_Work().stmt(func.body))


class _Work(StmtMutator):
    def loop(self, s: For) -> Stmt:
        made = super().loop(s)
        assert isinstance(made, For)
        if made.kind is not ForKind.PARALLEL:
            return made
        cost = iteration_cost(s.body)
        return replace(made, work=cost if isinstance(cost, Expr) else const(cost, INDEX))
