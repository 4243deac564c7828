"""early_exit: a loop over `if c: ...`, where no iteration but one that runs changes `c`, ends where `c` fails.

for i in range(n): if count[0] < 9: count[0] = count[0] + 1
-->
for i in range(n) while count[0] < 9: count[0] = count[0] + 1
"""

from __future__ import annotations

from dataclasses import replace

from ....base.arith import post_order
from ..nodes.stmt import For, If, PrimFunc, Stmt
from ..nodes.visit import StmtMutator, trips


def early_exit(func: PrimFunc) -> PrimFunc:
    """The function with loops that end with the first iteration that does nothing, since all later ones do nothing."""
    return func.with_body(_EarlyExit().stmt(func.body))


class _EarlyExit(StmtMutator):
    def loop(self, s: For) -> Stmt:
        made = super().loop(s)
        assert isinstance(made, For)
        inner = made.body
        if not isinstance(inner, If) or inner.otherwise is not None or made.condition is not None:
            return made
        if trips(made) == 1 or made.var in post_order(inner.condition):
            return made
        return replace(made, body=inner.then, condition=inner.condition)
