"""storage_flatten: every buffer gets one dim, every access one index (row-major)."""

from __future__ import annotations

from dataclasses import replace

from ....base.arith import Expr, const, identical, post_order
from ....base.vocabulary import INDEX
from ..nodes.folding import rebuild_folding
from ..nodes.stmt import Allocate, Buffer, Load, Prefetch, PrimFunc, Ramp, Stmt, Store
from ..nodes.visit import StmtMutator


def storage_flatten(func: PrimFunc) -> PrimFunc:
    """The function over one-dim buffers."""
    flattener = _Flattener()
    inputs = tuple(flattener.buffer(b) for b in func.inputs)
    outputs = tuple(flattener.buffer(b) for b in func.outputs)
    return replace(func, inputs=inputs, outputs=outputs, body=flattener.stmt(func.body))


class _Flattener(StmtMutator):
    def __init__(self) -> None:
        self.made: dict[Buffer, Buffer] = {}
        self.positions: dict[
            tuple[int, ...], Expr
        ] = {}  # by buffer and indices: reads at one place share the index
        self.alive: list[object] = []

    def buffer(self, b: Buffer) -> Buffer:
        found = self.made.get(b)
        if found is None:
            total: int | Expr = 1
            for extent in b.shape:
                total = total * extent
            found = self.made[b] = Buffer(b.name, (total,), b.dtype, b.scope)
        return found

    def position(self, shape: tuple[int | Expr, ...], indices: tuple[Expr, ...]) -> Expr:
        """The row-major position; nested sums of products (Horner), so that every dim is multiplied once."""
        key = (*[d if isinstance(d, int) else id(d) for d in shape[1:]], -1, *map(id, indices))
        found = self.positions.get(key)
        if found is None:
            if indices and isinstance(indices[-1], Ramp):
                ramp = indices[-1]
                outer = self._sum(shape, (*indices[:-1], ramp.base))
                found = Ramp(INDEX, outer, ramp.stride, ramp.lanes)
            else:
                found = self._sum(shape, indices)
            self.positions[key] = found
            self.alive.append((shape, indices))
        return found

    @staticmethod
    def _sum(shape: tuple[int | Expr, ...], indices: tuple[Expr, ...]) -> Expr:
        total: Expr = const(0, INDEX)
        for extent, index in zip(shape, indices, strict=True):
            total = total * extent + index
        return total

    def expr(self, e: Expr) -> Expr:
        done: dict[int, Expr] = {}
        for node in post_order(e):
            old = node.children()
            fresh = [done[id(child)] for child in old]
            if isinstance(node, Load):
                n = len(node.indices)
                mask = fresh[n] if node.mask is not None else None
                index = self.position(node.buffer.shape, tuple(fresh[:n]))
                done[id(node)] = Load(node.dtype, self.buffer(node.buffer), (index,), mask)
            elif not identical(fresh, old):
                done[id(node)] = rebuild_folding(node, fresh)
            else:
                done[id(node)] = node
        return done[id(e)]

    def store(self, s: Store) -> Stmt:
        index = self.position(s.buffer.shape, tuple(self.expr(i) for i in s.indices))
        return Store(self.buffer(s.buffer), (index,), self.expr(s.value), self.optional(s.mask))

    def prefetch(self, s: Prefetch) -> Stmt:
        index = self.position(s.buffer.shape, tuple(self.expr(i) for i in s.indices))
        return Prefetch(self.buffer(s.buffer), (index,), (1,))

    def allocate(self, s: Allocate) -> Stmt:
        return Allocate(self.buffer(s.buffer), self.stmt(s.body))
