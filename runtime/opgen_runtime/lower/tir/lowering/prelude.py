"""What must run before an expression is evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ....base.arith import Expr, Var
from ....base.vocabulary import DType
from ..nodes.stmt import Allocate, Buffer, Stmt
from ..nodes.visit import block


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


class Values(Protocol):
    """What lowers values, as the lowering of reductions inside them uses it."""

    def lower(
        self, e: Expr, env: Mapping[Var, Expr], given: Mapping[int, Expr] = ..., lanes: bool = ...
    ) -> tuple[Prelude, Expr]:
        """`e` with vars replaced by `env`, and what must run before; `given` are values by the ids of nodes."""

    def node(self, node: Expr, fresh: Sequence[Expr], env: Mapping[Var, Expr]) -> Expr:
        """A node, no reduction, over the values of its children."""

    def local(self, name: str, dtype: DType, shape: tuple[int, ...] = ...) -> Buffer:
        """A fresh buffer, private to an iteration."""
