"""inject_double_buffer: a buffer of scope "double" is filled for the next iteration while this one reads it.

for i in range(n): allocate b; fill b(i); read b
-->
allocate b twice as large; fill b(0) in its first half
for i in range(n): if i + 1 < n: fill b(i + 1) in the half (i + 1) % 2;  read the half i % 2
"""

from __future__ import annotations

from ....base.arith import Expr, Var, const, lt, post_order
from ....base.vocabulary import INDEX
from ..nodes.folding import fold_substitute
from ..nodes.relocate import Relocator
from ..nodes.stmt import Allocate, Block, Buffer, For, ForKind, If, Load, PrimFunc, Stmt, Store
from ..nodes.visit import StmtMutator, block, exprs, map_exprs, statements


def inject_double_buffer(func: PrimFunc) -> PrimFunc:
    """The function with doubled buffers; where the filling needs results of the same iteration, they stay single."""
    if not any(isinstance(s, Allocate) and s.buffer.scope == "double" for s in statements(func.body)):
        return func
    return func.with_body(_Single().stmt(_Double().stmt(func.body)))


class _Double(StmtMutator):
    def loop(self, s: For) -> Stmt:
        made = super().loop(s)
        assert isinstance(made, For)
        if made.kind is not ForKind.SERIAL or not isinstance(made.body, Allocate):
            return made
        allocate = made.body
        if allocate.buffer.scope != "double" or not isinstance(allocate.body, Block):
            return made
        fill, rest = _parts(allocate.body, allocate.buffer)
        inside = {inner.buffer for inner in statements(made.body) if isinstance(inner, Allocate)}
        if not fill or _reads(fill) & inside:
            return made
        return _pipelined(made, allocate.buffer, block(*fill), block(*rest))


def _parts(body: Block, buffer: Buffer) -> tuple[list[Stmt], list[Stmt]]:
    """The statements up to the last that writes the buffer, and those after it."""
    writes = [
        any(isinstance(inner, Store) and inner.buffer is buffer for inner in statements(part))
        for part in body.body
    ]
    end = len(writes) - writes[::-1].index(True) if True in writes else 0
    return list(body.body[:end]), list(body.body[end:])


def _reads(parts: list[Stmt]) -> set[Buffer]:
    return {
        node.buffer
        for part in parts
        for inner in statements(part)
        for e in exprs(inner)
        for node in post_order(e)
        if isinstance(node, Load)
    }


def _pipelined(loop: For, buffer: Buffer, fill: Stmt, rest: Stmt) -> Stmt:
    size = buffer.shape[0]
    double = Buffer(buffer.name, (size * 2,), buffer.dtype, "local")

    def in_half(s: Stmt, iteration: Expr) -> Stmt:
        offset = (iteration - loop.minimum) % 2 * size
        return Relocator({buffer: double}, lambda _, at: (at[0] + offset,)).stmt(s)

    def at(s: Stmt, value: Expr) -> Stmt:
        values: dict[Var, Expr] = {loop.var: value}
        return map_exprs(s, lambda e: fold_substitute(e, values))

    following = loop.var + 1
    ahead = If(lt(following, loop.minimum + loop.extent), at(in_half(fill, loop.var), following))
    first = If(lt(const(0, INDEX), loop.extent), at(in_half(fill, loop.var), loop.minimum))
    body = block(ahead, in_half(rest, loop.var))
    return Allocate(double, block(first, For(loop.var, loop.minimum, loop.extent, loop.kind, body)))


class _Single(StmtMutator):
    """Gives buffers that stay single the scope "local"."""

    def allocate(self, s: Allocate) -> Stmt:
        if s.buffer.scope != "double":
            return super().allocate(s)
        local = Buffer(s.buffer.name, s.buffer.shape, s.buffer.dtype, "local")
        return Allocate(local, self.stmt(Relocator({s.buffer: local}).stmt(s.body)))
