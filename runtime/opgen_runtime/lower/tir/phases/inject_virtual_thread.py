"""inject_virtual_thread: the iterations of a virtual loop run interleaved, each statement for all of them in turn.

for v in virtual(2): allocate t; t[0] = a[v]; for k: t[0] = t[0] * b[k]; c[v] = t[0]
-->
allocate t[2]; t[0] = a[0]; t[1] = a[1]; for k: t[0] = t[0] * b[k]; t[1] = t[1] * b[k]
c[0] = t[0]; c[1] = t[1]
"""

from __future__ import annotations

from ....base.arith import Const, Expr, Var, const, post_order
from ....base.vocabulary import INDEX
from ..nodes.folding import fold_substitute
from ..nodes.relocate import Relocator
from ..nodes.stmt import Allocate, Block, Buffer, For, ForKind, If, LetStmt, Load, PrimFunc, Stmt
from ..nodes.visit import StmtMutator, block, exprs, map_exprs, statements


def inject_virtual_thread(func: PrimFunc) -> PrimFunc:
    """The function without virtual loops; one whose extent is no constant becomes serial."""
    if not any(isinstance(s, For) and s.kind is ForKind.VIRTUAL for s in statements(func.body)):
        return func
    return func.with_body(_Inject().stmt(func.body))


class _Inject(StmtMutator):
    def loop(self, s: For) -> Stmt:
        body = self.stmt(s.body)
        if s.kind is not ForKind.VIRTUAL:
            return s if body is s.body else For(s.var, s.minimum, s.extent, s.kind, body)
        if not isinstance(s.extent, Const) or not isinstance(s.minimum, Const):
            return For(s.var, s.minimum, s.extent, ForKind.SERIAL, body)
        return _Interleave(s.var, int(s.minimum.value), int(s.extent.value)).stmt(body)


class _Interleave:
    def __init__(self, var: Var, start: int, count: int) -> None:
        self.var, self.start, self.count = var, start, count
        self.private: dict[Buffer, Buffer] = {}

    def stmt(self, s: Stmt) -> Stmt:
        """The statement run once for each iteration, interleaved as far inside as it may be."""
        if isinstance(s, Block):
            return block(*[self.stmt(part) for part in s.body])
        if isinstance(s, Allocate):
            buffer = s.buffer
            size = buffer.shape[0] * self.count
            self.private[buffer] = Buffer(buffer.name, (size,), buffer.dtype, buffer.scope)
            return Allocate(self.private[buffer], self.stmt(s.body))
        if isinstance(s, For) and not self._differs(s):
            return For(s.var, s.minimum, s.extent, s.kind, self.stmt(s.body))
        if isinstance(s, If) and not self._differs(s) and not _has_loads(s.condition):
            otherwise = None if s.otherwise is None else self.stmt(s.otherwise)
            return If(s.condition, self.stmt(s.then), otherwise)
        if isinstance(s, LetStmt) and not self._differs(s) and not _has_loads(s.value):
            return LetStmt(s.var, s.value, self.stmt(s.body))
        return block(*[self._copy(s, step) for step in range(self.count)])

    def _differs(self, s: Stmt) -> bool:
        """Whether an expression of the statement itself differs between iterations."""
        return any(
            node is self.var or (isinstance(node, Load) and node.buffer in self.private)
            for e in exprs(s)
            for node in post_order(e)
        )

    def _copy(self, s: Stmt, step: int) -> Stmt:
        values: dict[Var, Expr] = {self.var: const(self.start + step, INDEX)}
        own = Relocator(self.private, lambda b, at: (at[0] + b.shape[0] * step,)).stmt(s)
        return map_exprs(own, lambda e: fold_substitute(e, values))


def _has_loads(e: Expr) -> bool:
    return any(isinstance(node, Load) for node in post_order(e))
