"""Moves the accesses of buffers to other buffers, and gives copies of statements buffers of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from ....base.arith import Expr, identical, post_order
from .folding import rebuild_folding
from .stmt import Allocate, Buffer, Load, Prefetch, Stmt, Store
from .visit import StmtMutator, statements

Indices = tuple[Expr, ...]
Place = Callable[[Buffer, Indices], Indices]


class Relocator(StmtMutator):
    """Accesses of a buffer in `moved` become accesses of the buffer that it maps to, at `place(buffer, indices)`."""

    def __init__(self, moved: Mapping[Buffer, Buffer], place: Place = lambda _, indices: indices) -> None:
        self.moved, self.place = moved, place

    def expr(self, e: Expr) -> Expr:
        done: dict[int, Expr] = {}
        for node in post_order(e):
            old = node.children()
            fresh = [done[id(child)] for child in old]
            if isinstance(node, Load) and node.buffer in self.moved:
                count = len(node.indices)
                mask = fresh[count] if node.mask is not None else None
                indices = self.place(node.buffer, tuple(fresh[:count]))
                done[id(node)] = Load(node.dtype, self.moved[node.buffer], indices, mask)
            elif not identical(fresh, old):
                done[id(node)] = rebuild_folding(node, fresh)
            else:
                done[id(node)] = node
        return done[id(e)]

    def store(self, s: Store) -> Stmt:
        made = super().store(s)
        if s.buffer not in self.moved:
            return made
        assert isinstance(made, Store)
        return Store(self.moved[s.buffer], self.place(s.buffer, made.indices), made.value, made.mask)

    def prefetch(self, s: Prefetch) -> Stmt:
        made = super().prefetch(s)
        if s.buffer not in self.moved:
            return made
        assert isinstance(made, Prefetch)
        return Prefetch(self.moved[s.buffer], self.place(s.buffer, made.indices), made.shape)


def fresh_buffers(stmt: Stmt) -> Stmt:
    """A copy of a statement that allocates buffers of its own."""
    moved = {s.buffer: replace(s.buffer) for s in statements(stmt) if isinstance(s, Allocate)}
    return _Fresh(moved).stmt(stmt) if moved else stmt


class _Fresh(Relocator):
    def allocate(self, s: Allocate) -> Stmt:
        return Allocate(self.moved[s.buffer], self.stmt(s.body))
