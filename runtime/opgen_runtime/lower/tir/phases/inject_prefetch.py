"""inject_prefetch: a hint about a region becomes hints of one cache line each.

prefetch 4x32 a[i*4, 0]  -->  for p0 in range(4): for p1 in range(2): prefetch a[i*4 + p0, p1*16]     (float32)
"""

from __future__ import annotations

from ....base.arith import Expr, Var, const
from ....base.vocabulary import INDEX
from ..nodes.stmt import For, ForKind, Prefetch, PrimFunc, Stmt
from ..nodes.visit import StmtMutator, statements


def inject_prefetch(func: PrimFunc) -> PrimFunc:
    """The function with hints of single elements."""
    if not any(isinstance(s, Prefetch) for s in statements(func.body)):
        return func
    return func.with_body(_Inject(func.machine.line).stmt(func.body))


class _Inject(StmtMutator):
    def __init__(self, line: int) -> None:
        self.line = line  # bytes

    def prefetch(self, s: Prefetch) -> Stmt:
        indices: list[Expr] = list(s.indices)
        loops: list[tuple[Var, int]] = []
        for position, extent in enumerate(s.shape):
            last = position == len(s.shape) - 1
            step = max(1, self.line // s.buffer.dtype.itemsize) if last else 1
            count = -(-extent // step)
            if count > 1:
                var = Var(INDEX, f"p{position}")
                indices[position] = indices[position] + var * step
                loops.append((var, count))
        body: Stmt = Prefetch(s.buffer, tuple(indices), (1,) * len(s.shape))
        for var, count in reversed(loops):
            body = For(var, const(0, INDEX), const(count, INDEX), ForKind.SERIAL, body)
        return body
