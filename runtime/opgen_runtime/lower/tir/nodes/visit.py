"""Walks over statements.  Statements nest as deep as loops do, so these recurse; expressions are walked iteratively."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ....base.arith.expr import Binary, Const, Expr, Var
from ....base.arith.visit import identical
from .stmt import (
    Allocate,
    Block,
    Buffer,
    CallPacked,
    For,
    If,
    Kind,
    LetStmt,
    Load,
    Outlined,
    Prefetch,
    Repetition,
    Stmt,
    Store,
    TransposedLoad,
)

EMPTY = Block(())


class StmtMutator:
    """Rebuilds a statement bottom up; override `expr` or the method of a statement class.

    A statement whose parts stay is kept, not copied.
    """

    def expr(self, e: Expr) -> Expr:
        return e

    def optional(self, e: Expr | None) -> Expr | None:
        return None if e is None else self.expr(e)

    def stmt(self, s: Stmt) -> Stmt:
        if isinstance(s, Store):
            return self.store(s)
        if isinstance(s, For):
            return self.loop(s)
        if isinstance(s, Block):
            return self.block(s)
        if isinstance(s, Allocate):
            return self.allocate(s)
        if isinstance(s, If):
            return self.branch(s)
        if isinstance(s, Prefetch):
            return self.prefetch(s)
        if isinstance(s, LetStmt):
            return self.let(s)
        if isinstance(s, TransposedLoad):
            return self.transposed(s)
        if isinstance(s, Outlined):
            return self.outlined(s)
        if isinstance(s, CallPacked):
            return s
        assert isinstance(s, Repetition), s
        return self.repetition(s)

    def prefetch(self, s: Prefetch) -> Stmt:
        return Prefetch(s.buffer, tuple([self.expr(i) for i in s.indices]), s.shape)

    def store(self, s: Store) -> Stmt:
        indices = tuple([self.expr(i) for i in s.indices])
        value, mask = self.expr(s.value), self.optional(s.mask)
        if value is s.value and mask is s.mask and identical(indices, s.indices):
            return s
        return Store(s.buffer, indices, value, mask, s.nontemporal)

    def loop(self, s: For) -> Stmt:
        minimum, extent = self.expr(s.minimum), self.expr(s.extent)
        condition, work, body = self.optional(s.condition), self.optional(s.work), self.stmt(s.body)
        if identical(
            (minimum, extent, body, condition, work), (s.minimum, s.extent, s.body, s.condition, s.work)
        ):
            return s
        return For(s.var, minimum, extent, s.kind, body, s.step, condition, work)

    def block(self, s: Block) -> Stmt:
        parts = [self.stmt(part) for part in s.body]
        if identical(parts, s.body):
            return s
        return block(*parts)

    def allocate(self, s: Allocate) -> Stmt:
        body = self.stmt(s.body)
        return s if body is s.body else Allocate(s.buffer, body)

    def branch(self, s: If) -> Stmt:
        condition, then = self.expr(s.condition), self.stmt(s.then)
        otherwise = None if s.otherwise is None else self.stmt(s.otherwise)
        if condition is s.condition and then is s.then and otherwise is s.otherwise:
            return s
        return If(condition, then, otherwise)

    def let(self, s: LetStmt) -> Stmt:
        value, body = self.expr(s.value), self.stmt(s.body)
        return s if value is s.value and body is s.body else LetStmt(s.var, value, body)

    def transposed(self, s: TransposedLoad) -> Stmt:
        load, count, body = self.expr(s.load), self.optional(s.count), self.stmt(s.body)
        assert isinstance(load, Load), load
        if load is s.load and count is s.count and body is s.body:
            return s
        return TransposedLoad(s.variables, load, count, body)

    def outlined(self, s: Outlined) -> Stmt:
        body = self.stmt(s.body)
        return s if body is s.body else Outlined(body)

    def repetition(self, s: Repetition) -> Stmt:
        made = [self.stmt(kind.statement) for kind in s.kinds]
        if identical(made, [kind.statement for kind in s.kinds]):
            return s
        kinds = [Kind(kind.columns, each) for each, kind in zip(made, s.kinds, strict=True)]
        return Repetition(tuple(kinds), s.rows)


class ExprMapper(StmtMutator):
    """Applies a function to every expression of a statement."""

    def __init__(self, fn: Callable[[Expr], Expr]) -> None:
        self.fn = fn

    def expr(self, e: Expr) -> Expr:
        return self.fn(e)


def map_exprs(s: Stmt, fn: Callable[[Expr], Expr]) -> Stmt:
    """`s` with every expression of it replaced by `fn(expression)`."""
    return ExprMapper(fn).stmt(s)


def block(*parts: Stmt) -> Stmt:
    """The statements one after the other: nested blocks flattened, a single statement alone."""
    flat: list[Stmt] = []
    for part in parts:
        if isinstance(part, Block):
            flat.extend(part.body)
        else:
            flat.append(part)
    return flat[0] if len(flat) == 1 else Block(tuple(flat))


def is_empty(s: Stmt) -> bool:
    return isinstance(s, Block) and not s.body


def children(s: Stmt) -> tuple[Stmt, ...]:
    """The statements directly inside `s`."""
    if isinstance(s, Block):
        return s.body
    if isinstance(s, If):
        return (s.then,) if s.otherwise is None else (s.then, s.otherwise)
    if isinstance(s, For | Allocate | LetStmt | TransposedLoad | Outlined):
        return (s.body,)
    return tuple([kind.statement for kind in s.kinds]) if isinstance(s, Repetition) else ()


def bound(s: Stmt) -> tuple[Var | Buffer, ...]:
    """The variables and buffers that `s` makes for the statements inside it."""
    if isinstance(s, For | LetStmt):
        return (s.var,)
    if isinstance(s, Allocate):
        return (s.buffer,)
    if isinstance(s, TransposedLoad):
        return s.variables
    return tuple([column for kind in s.kinds for column in kind.columns]) if isinstance(s, Repetition) else ()


def exprs(s: Stmt) -> tuple[Expr, ...]:
    """The expressions of `s` itself, not of the statements inside it."""
    if isinstance(s, Store):
        return (*s.indices, s.value) if s.mask is None else (*s.indices, s.value, s.mask)
    if isinstance(s, For):
        more = tuple([e for e in (s.condition, s.work) if e is not None])
        return (s.minimum, s.extent, *more)
    if isinstance(s, If):
        return (s.condition,)
    if isinstance(s, Prefetch):
        return s.indices
    if isinstance(s, TransposedLoad):
        return (s.load,) if s.count is None else (s.load, s.count)
    return (s.value,) if isinstance(s, LetStmt) else ()


def statements(s: Stmt) -> Iterator[Stmt]:
    """Every statement of `s`, parents first, in order."""
    stack = [s]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def trips(loop: For) -> int | None:
    """The number of iterations of a loop that starts at 0; None where it is no constant."""
    if isinstance(loop.extent, Const) and isinstance(loop.minimum, Const) and loop.minimum.value == 0:
        return int(loop.extent.value)
    return None


def upper_bound(loop: For) -> int | None:
    """A constant that the variable of a loop from 0 stays below; None where none is known.

    for i in range(0, 6, 4): i is 0 and 4, below 5
    """
    if not isinstance(loop.minimum, Const) or loop.minimum.value != 0:
        return None
    most = _most(loop.extent)
    return most if most is None or most < 1 else (most - 1) // loop.step * loop.step + 1


def _most(e: Expr) -> int | None:
    if isinstance(e, Const):
        return int(e.value)
    if not isinstance(e, Binary) or e.op not in ("min", "max"):
        return None
    known = [most for most in map(_most, (e.a, e.b)) if most is not None]
    if e.op == "max":
        return max(known) if len(known) == 2 else None
    return min(known, default=None)
