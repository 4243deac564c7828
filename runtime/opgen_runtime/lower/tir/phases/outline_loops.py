"""outline_loops: loops that fill what loops beside them read become functions of their own.

for i in range(n):                        for i in range(n):
    for j in range(m): panel[j] = ...         outlined: for j in range(m): panel[j] = ...
    for j in range(k): ... panel[j] ...       for j in range(k): ... panel[j] ...

LLVM hoists the constants of such a loop out of all loops, where they would push sums of the others out of registers.
Functions are given scalars: behind a vector that is bound in one, a loop stays in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from ....base.arith import identical, post_order
from ..analysis.cost import has_vectors, iteration_cost
from ..nodes.stmt import (
    Block,
    Buffer,
    For,
    ForKind,
    Kind,
    LetStmt,
    Load,
    Outlined,
    PrimFunc,
    Repetition,
    Stmt,
    Store,
)
from ..nodes.vector import vector_variables
from ..nodes.visit import StmtMutator, exprs, statements, trips

_MIN_OPERATIONS: Final = 1 << 11  # element operations, beside which a call is nothing


def outline_loops(func: PrimFunc) -> PrimFunc:
    """The function with loops inside of others that make in vectors what others beside them read taken out."""
    return func.with_body(_Outline(func.body).stmt(func.body))


class _Outline(StmtMutator):
    def __init__(self, body: Stmt) -> None:
        self._vectors = vector_variables(body)
        self._depth = 0  # loops around, in the function that is written
        self._around = 0  # vectors that are bound around
        self._bound = False  # whether a vector has been bound in that function, which no other can be given

    def loop(self, s: For) -> Stmt:
        if s.kind is not ForKind.PARALLEL:
            return self._iterations(s)
        with self._function():
            return self._iterations(s)

    def _iterations(self, s: For) -> Stmt:
        own = trips(s) != 1
        self._depth += own
        made = super().loop(s)
        self._depth -= own
        return made

    def let(self, s: LetStmt) -> Stmt:
        if s.var not in self._vectors:
            return super().let(s)
        self._bound = True
        self._around += 1
        made = super().let(s)
        self._around -= 1
        return made

    def repetition(self, s: Repetition) -> Stmt:
        made: list[Stmt] = []
        for kind in s.kinds:
            with self._function():
                made.append(self.stmt(kind.statement))
        if identical(made, [kind.statement for kind in s.kinds]):
            return s
        kinds = [Kind(kind.columns, new) for kind, new in zip(s.kinds, made, strict=True)]
        return Repetition(tuple(kinds), s.rows)

    @contextmanager
    def _function(self) -> Iterator[None]:
        """What is visited inside is a function of its own."""
        depth, bound = self._depth, self._bound
        self._depth, self._bound = 0, self._around > 0
        yield
        self._depth, self._bound = depth, bound

    def block(self, s: Block) -> Stmt:
        apart = _copies(s.body) if self._depth else set()
        made: list[Stmt] = []
        for part in s.body:
            if part in apart and not self._bound:
                with self._function():
                    made.append(Outlined(self.stmt(part)))
            else:
                made.append(self.stmt(part))
        return s if identical(made, s.body) else Block(tuple(made))


def _copies(block: Sequence[Stmt]) -> set[Stmt]:
    """The loops of a block that make in vectors what others beside them read, and are worth a function."""
    made = {part: _copied(part) for part in block if isinstance(part, For) and has_vectors(part)}
    if not any(made.values()) or sum([_has_loop(part) for part in block]) < 2:
        return set()
    readers: dict[Buffer, list[Stmt]] = {}
    for part in block:
        for buffer in {buffer for stmt in statements(part) for buffer in _read(stmt)}:
            readers.setdefault(buffer, []).append(part)
    return {
        loop
        for loop, buffers in made.items()
        if any([part is not loop for buffer in buffers for part in readers.get(buffer, ())])
    }


def _copied(loop: For) -> set[Buffer]:
    """What a large loop writes and does not add to; nothing where threads share a part of it."""
    cost = iteration_cost(loop)
    if not isinstance(cost, int) or cost < _MIN_OPERATIONS:
        return set()
    made: set[Buffer] = set()
    for part in statements(loop):
        if isinstance(part, For) and part.kind is ForKind.PARALLEL:
            return set()
        if isinstance(part, Store):
            made.add(part.buffer)
            if part.buffer in _read(part):
                return set()
    return made


def _has_loop(stmt: Stmt) -> bool:
    return any(isinstance(part, For) for part in statements(stmt))


def _read(stmt: Stmt) -> set[Buffer]:
    """The buffers that a statement itself loads from."""
    return {node.buffer for e in exprs(stmt) for node in post_order(e) if isinstance(node, Load)}
