"""Moves the accesses of buffers to other buffers, and gives copies of statements buffers or values of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ....base.arith import Const, Expr, Var, const, identical, post_order, substitute
from ....base.arith.expr import Dim
from ....base.vocabulary import INDEX
from .folding import fold_substitute, rebuild_folding
from .stmt import Aligned, Allocate, Buffer, Kind, Load, Prefetch, Repetition, Stmt, Store
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
            elif isinstance(node, Aligned):
                buffers = tuple([self.moved.get(buffer, buffer) for buffer in node.buffers])
                done[id(node)] = Aligned(node.dtype, buffers, node.bytes)
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
        indices = self.place(s.buffer, made.indices)
        return replace(made, buffer=self.moved[s.buffer], indices=indices)

    def prefetch(self, s: Prefetch) -> Stmt:
        made = super().prefetch(s)
        if s.buffer not in self.moved:
            return made
        assert isinstance(made, Prefetch)
        return Prefetch(self.moved[s.buffer], self.place(s.buffer, made.indices), made.shape)

    def repetition(self, s: Repetition) -> Stmt:
        """Its rows name parameters of a kernel, which stay parameters with indices as they are."""
        made = super().repetition(s)
        assert isinstance(made, Repetition)
        rows = [
            (number, tuple([self.moved.get(v, v) if isinstance(v, Buffer) else v for v in values]))
            for number, values in made.rows
        ]
        return Repetition(made.kinds, tuple(rows))


def substituted_dim(dim: Dim, values: Mapping[Var, Expr]) -> Dim:
    """A dim with vars replaced; what becomes constant is a number."""
    found = dim if isinstance(dim, int) else fold_substitute(dim, values)
    return int(found.value) if isinstance(found, Const) else found


class Adopted(Relocator):
    """A statement over other parameters, and with expressions for some variables."""

    def __init__(self, moved: dict[Buffer, Buffer], dims: Mapping[Var, Expr]) -> None:
        super().__init__(moved)
        self.dims = dims

    def expr(self, e: Expr) -> Expr:
        return substitute(super().expr(e), self.dims) if self.dims else super().expr(e)

    def allocate(self, s: Allocate) -> Stmt:
        shape = tuple([substituted_dim(dim, self.dims) for dim in s.buffer.shape])
        if identical(shape, s.buffer.shape):
            return super().allocate(s)
        self.moved = {**self.moved, s.buffer: replace(s.buffer, shape=shape)}
        return Allocate(self.moved[s.buffer], self.stmt(s.body))


def instance(kind: Kind, values: Sequence[int | Buffer]) -> Stmt:
    """The statement of a kind with the values of a row."""
    moved: dict[Buffer, Buffer] = {}
    numbers: dict[Var, Expr] = {}
    for column, value in zip(kind.columns, values, strict=True):
        if isinstance(column, Buffer) and isinstance(value, Buffer):
            moved[column] = value
        elif isinstance(column, Var) and isinstance(value, int):
            numbers[column] = const(value, INDEX)
    return Adopted(moved, numbers).stmt(kind.statement)


def fresh_buffers(stmt: Stmt) -> Stmt:
    """A copy of a statement that allocates buffers of its own."""
    moved = {s.buffer: replace(s.buffer) for s in statements(stmt) if isinstance(s, Allocate)}
    return _Fresh(moved).stmt(stmt) if moved else stmt


class _Fresh(Relocator):
    def allocate(self, s: Allocate) -> Stmt:
        return Allocate(self.moved[s.buffer], self.stmt(s.body))
