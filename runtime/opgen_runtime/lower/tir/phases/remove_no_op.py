"""remove_no_op: statements without effect go."""

from __future__ import annotations

from ....base.arith import Const
from ..nodes.stmt import Allocate, Block, For, If, LetStmt, PrimFunc, Stmt
from ..nodes.visit import EMPTY, StmtMutator, block, is_empty


def remove_no_op(func: PrimFunc) -> PrimFunc:
    """The function without empty loops, decided branches and nested blocks."""
    return func.with_body(_Remove().stmt(func.body))


class _Remove(StmtMutator):
    def loop(self, s: For) -> Stmt:
        made = super().loop(s)
        assert isinstance(made, For)
        never = isinstance(made.extent, Const) and int(made.extent.value) <= 0
        return EMPTY if never or is_empty(made.body) else made

    def block(self, s: Block) -> Stmt:
        made = super().block(s)
        if isinstance(made, Block) and any(isinstance(part, Block) for part in made.body):
            return block(*made.body)
        return made

    def allocate(self, s: Allocate) -> Stmt:
        made = super().allocate(s)
        return made.body if isinstance(made, Allocate) and is_empty(made.body) else made

    def let(self, s: LetStmt) -> Stmt:
        made = super().let(s)
        return made.body if isinstance(made, LetStmt) and is_empty(made.body) else made

    def branch(self, s: If) -> Stmt:
        made = super().branch(s)
        assert isinstance(made, If)
        otherwise = EMPTY if made.otherwise is None else made.otherwise
        if isinstance(made.condition, Const):
            return made.then if made.condition.value else otherwise
        if is_empty(made.then) and is_empty(otherwise):
            return EMPTY
        if made.otherwise is not None and is_empty(otherwise):
            return If(made.condition, made.then)
        return made
