"""Nests that fill the rows of an output, limited to the rows that callers see.

for i in range(64): vectorized for l in range(16): out[i*16 + l] = f
-->
for i in range(64):
    if i*16 + 15 < seen: vectorized for l in range(16): out[i*16 + l] = f
    else: if i*16 < seen: vectorized for l in range(16): if i*16 + l < seen: out[i*16 + l] = f
"""

from __future__ import annotations

from ....base.arith import Analyzer, Const, Expr, lt, post_order
from ....base.arith import polynomial as poly
from ..nodes.folding import fold_substitute
from ..nodes.nest import ZERO
from ..nodes.stmt import Allocate, Buffer, For, ForKind, If, Load, Stmt, Store
from ..nodes.visit import StmtMutator, exprs, statements, trips


def output_of(nest: Stmt) -> Buffer | None:
    """The buffer that a loop nest fills, and that it does not read; None where it does something else."""
    inside = list(statements(nest))
    stored = {s.buffer for s in inside if isinstance(s, Store)}
    if not isinstance(nest, For) or len(stored) != 1 or any(isinstance(s, Allocate) for s in inside):
        return None
    (buffer,) = stored
    return None if any(load.buffer is buffer for load in loads_of(nest)) else buffer


def loads_of(s: Stmt) -> list[Load]:
    """All that a statement reads."""
    return [n for each in statements(s) for e in exprs(each) for n in post_order(e) if isinstance(n, Load)]


def reads_behind(nest: Stmt, buffer: Buffer) -> bool:
    """Whether each element that a nest stores is made of elements of `buffer` at its place or before it."""
    stores = [s for s in statements(nest) if isinstance(s, Store)]
    of_stores = [
        (s.indices[0], n)
        for s in stores
        for n in post_order(s.value)
        if isinstance(n, Load) and n.buffer is buffer
    ]
    for place, load in of_stores:
        behind = Analyzer().simplify(load.indices[0] - place)
        if not isinstance(behind, Const) or behind.value > 0:
            return False
    reading = {id(load) for _, load in of_stores}
    return all(id(load) in reading for load in loads_of(nest) if load.buffer is buffer)


def limited(nest: Stmt, seen: Expr) -> Stmt:
    """A nest that stores the elements below `seen` alone."""
    return _Limited(seen).stmt(nest)


class _Limited(StmtMutator):
    def __init__(self, seen: Expr) -> None:
        self.seen = seen

    def loop(self, s: For) -> Stmt:
        found = self._vector(s) if s.kind is ForKind.VECTORIZED else None
        return super().loop(s) if found is None else found

    def store(self, s: Store) -> Stmt:
        return If(lt(s.indices[0], self.seen), s)

    def _vector(self, s: For) -> Stmt | None:
        """A vector as a whole, or in part; None where its elements do not lie side by side."""
        count = trips(s)
        stores = [each for each in statements(s.body) if isinstance(each, Store)]
        if count is None or len(stores) != 1 or any(isinstance(each, For) for each in statements(s.body)):
            return None
        index = stores[0].indices[0]
        factors, entangled = Analyzer().coefficients(index)
        if s.var in entangled or poly.as_constant(factors.get(s.var, poly.ZERO)) != 1:
            return None
        start = Analyzer().simplify(fold_substitute(index, {s.var: ZERO}))
        part = If(lt(start, self.seen), super().loop(s))
        return If(lt(start + (count - 1), self.seen), s, part)
