"""Versions of statements, chosen outside of the loops that do not decide which is taken.

for k: y[k] = x[k]; if m >= 16: <fast> else: <slow>
-->
if m >= 16: for k: y[k] = x[k]; <fast>
else: for k: y[k] = x[k]; <slow>

The body of a loop has no branch then, so that code generation moves what stays the same out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ....base.arith import Expr, Var, free_vars, structural_equal
from ...schedule import ForKind
from ..nodes.relocate import fresh_buffers
from ..nodes.stmt import Allocate, Block, For, If, LetStmt, Stmt
from ..nodes.visit import StmtMutator, block


class Unswitch(StmtMutator):
    """Rebuilds a statement; versions are chosen around the outermost serial loop that does not decide their condition.

    What stands beside a version in that loop is copied, what stands beside the loop is not.
    """

    def __init__(self) -> None:
        self._versions: dict[int, If] = {}
        self._depth = 0  # of loops

    def unswitched(self, s: Stmt) -> Stmt:
        """The statement, each version of which allocates buffers of its own."""
        return _Separate(self._versions).stmt(self.stmt(s))

    def version(self, condition: Expr, then: Stmt, otherwise: Stmt) -> Stmt:
        """One of two statements that do the same; the condition reads no buffers."""
        made = If(condition, then, otherwise)
        self._versions[id(made)] = made
        return made

    def loop(self, s: For) -> Stmt:
        self._depth += 1
        made = super().loop(s)
        self._depth -= 1
        assert isinstance(made, For)
        if made.kind is ForKind.PARALLEL:
            return made
        return self._outside(made.body, lambda body: replace(made, body=body), made.var) or made

    def let(self, s: LetStmt) -> Stmt:
        made = super().let(s)
        assert isinstance(made, LetStmt)
        return self._outside(made.body, lambda body: replace(made, body=body), made.var) or made

    def allocate(self, s: Allocate) -> Stmt:
        made = super().allocate(s)
        assert isinstance(made, Allocate)
        inside = self._depth > 0
        return (inside and self._outside(made.body, lambda body: replace(made, body=body))) or made

    def branch(self, s: If) -> Stmt:
        made = super().branch(s)
        assert isinstance(made, If)
        sides = [made.then] if made.otherwise is None else [made.then, made.otherwise]
        return self._outside_of_all(sides, lambda sides: If(made.condition, *sides)) or made

    def block(self, s: Block) -> Stmt:
        made = super().block(s)
        if self._depth == 0 or not isinstance(made, Block):
            return made
        return self._outside_of_all(made.body, lambda parts: block(*parts)) or made

    def _outside(self, body: Stmt, around: Callable[[Stmt], Stmt], var: Var | None = None) -> Stmt | None:
        """A version around what is around a version; None where there is none, or it depends on a variable."""
        found = self._versions.get(id(body))
        if found is None or found.otherwise is None or var in free_vars(found.condition):
            return None
        return self.version(found.condition, around(found.then), around(found.otherwise))

    def _outside_of_all(self, parts: Sequence[Stmt], around: Callable[[list[Stmt]], Stmt]) -> Stmt | None:
        """A version around statements of which some are versions: those of the condition of the first are chosen."""
        found = [self._versions.get(id(part)) for part in parts]
        first = next((each for each in found if each is not None), None)
        if first is None:
            return None
        same = [
            each if each is not None and structural_equal(each.condition, first.condition) else None
            for each in found
        ]
        then = [part if each is None else each.then for part, each in zip(parts, same, strict=True)]
        otherwise = [
            part if each is None or each.otherwise is None else each.otherwise
            for part, each in zip(parts, same, strict=True)
        ]
        return self.version(first.condition, around(then), around(otherwise))


class _Separate(StmtMutator):
    """A statement whose versions have no buffers in common that they allocate."""

    def __init__(self, versions: dict[int, If]) -> None:
        self._versions = versions

    def branch(self, s: If) -> Stmt:
        made = super().branch(s)
        assert isinstance(made, If)
        if id(s) not in self._versions or made.otherwise is None:
            return made
        return If(made.condition, made.then, fresh_buffers(made.otherwise))
