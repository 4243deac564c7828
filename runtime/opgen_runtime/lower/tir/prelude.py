"""What must run before an expression is evaluated."""

from __future__ import annotations

from .stmt import Allocate, Buffer, Stmt
from .visit import block


class Prelude:
    """Statements that must run before an expression is evaluated, and the buffers they fill."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.stmts: list[Stmt] = []

    def extend(self, other: Prelude) -> None:
        """Run another prelude after this one."""
        self.buffers.extend(other.buffers)
        self.stmts.extend(other.stmts)

    def around(self, stmt: Stmt) -> Stmt:
        """The prelude, then `stmt`."""
        if not self.stmts:
            return stmt
        body = block(*self.stmts, stmt)
        for buffer in reversed(self.buffers):
            body = Allocate(buffer, body)
        return body
