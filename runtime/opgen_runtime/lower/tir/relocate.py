"""Moves the accesses of buffers to other buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...base.arith import Expr, post_order
from .folding import rebuild_folding
from .stmt import Buffer, Load, Stmt, Store
from .visit import StmtMutator

Place = Callable[[Buffer, Expr], Expr]


class Relocator(StmtMutator):
    """Accesses of a buffer in `moved` become accesses of the buffer that it maps to, at `place(buffer, index)`.

    Buffers are one-dimensional.
    """

    def __init__(self, moved: Mapping[Buffer, Buffer], place: Place = lambda _, index: index) -> None:
        self.moved, self.place = moved, place

    def expr(self, e: Expr) -> Expr:
        done: dict[int, Expr] = {}
        for node in post_order(e):
            old = node.children()
            fresh = [done[id(child)] for child in old]
            if isinstance(node, Load) and node.buffer in self.moved:
                mask = fresh[1] if node.mask is not None else None
                index = self.place(node.buffer, fresh[0])
                done[id(node)] = Load(node.dtype, self.moved[node.buffer], (index,), mask)
            elif any(a is not b for a, b in zip(fresh, old, strict=True)):
                done[id(node)] = rebuild_folding(node, fresh)
            else:
                done[id(node)] = node
        return done[id(e)]

    def store(self, s: Store) -> Stmt:
        made = super().store(s)
        if s.buffer not in self.moved:
            return made
        assert isinstance(made, Store)
        index = self.place(s.buffer, made.indices[0])
        return Store(self.moved[s.buffer], (index,), made.value, made.mask)
