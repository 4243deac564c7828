"""vectorize_loop: vectorized loops become statements over Ramp and Splat.

for i in vectorized(8): x[o*8 + i] = y[o*8 + i] + 1  -->  x[ramp(o*8, 1, 8)] = y[ramp(o*8, 1, 8)] + splat(1, 8)

A guard that differs between lanes becomes a mask.
A loop that cannot be vectorized (its inner loops' trips differ between lanes, lanes write one element, too many lanes,
...) becomes a serial loop.
"""

from __future__ import annotations

from dataclasses import replace

from ....base.arith import Binary, Const, Expr, Select, Var, const, logical_not, post_order, structural_equal
from ....base.arith.relax import Relaxer
from ....base.kernel_options import VECTORIZE_DISABLE
from ....base.vocabulary import BOOL, INDEX
from ..analysis.region import is_within
from ..nodes.combine import identity
from ..nodes.folding import fold_substitute
from ..nodes.relocate import Relocator
from ..nodes.stmt import (
    Allocate,
    Block,
    Buffer,
    For,
    ForKind,
    If,
    LetStmt,
    Load,
    Prefetch,
    PrimFunc,
    Ramp,
    Splat,
    Stmt,
    Store,
)
from ..nodes.vector import MAX_LANES, NotVectorizable, lanes_of, splat, vectorize_expr
from ..nodes.visit import StmtMutator, block, exprs, map_exprs, statements, upper_bound


def vectorize_loop(func: PrimFunc) -> PrimFunc:
    """The function without vectorized loops."""
    if not any(isinstance(s, For) and s.kind is ForKind.VECTORIZED for s in statements(func.body)):
        return func
    return func.with_body(_Vectorize(disabled=bool(func.options[VECTORIZE_DISABLE])).stmt(func.body))


class _Vectorize(StmtMutator):
    def __init__(self, disabled: bool) -> None:
        self.disabled = disabled
        self.trips: dict[Var, int | None] = {}

    def loop(self, s: For) -> Stmt:
        self.trips[s.var] = upper_bound(s)
        body = self.stmt(s.body)
        if s.kind is not ForKind.VECTORIZED:
            return s if body is s.body else For(s.var, s.minimum, s.extent, s.kind, body)
        serial = For(s.var, s.minimum, s.extent, ForKind.SERIAL, body)
        if (
            self.disabled
            or not isinstance(s.extent, Const)
            or not (isinstance(s.minimum, Const) and s.minimum.value == 0)
        ):
            return serial
        if not 1 < int(s.extent.value) <= MAX_LANES or _has_vectors(body):
            return serial
        try:
            return _Lanes(s.var, int(s.extent.value), self.trips).stmt(body, None)
        except NotVectorizable:
            return serial


def _has_vectors(s: Stmt) -> bool:
    """Whether a loop inside was vectorized already; there are no vectors of vectors."""
    nodes = (node for inner in statements(s) for e in exprs(inner) for node in post_order(e))
    return any(isinstance(node, Ramp | Splat) for node in nodes)


def _joined_or_kept(value: Expr, old: Expr, mask: Expr, lanes: int) -> Expr:
    """max(old, x) if mask else old  -->  max(old, x if mask else -inf), so that a chain of these is one of max alone"""
    if isinstance(value, Binary) and value.op in ("max", "min") and structural_equal(value.a, old):
        neutral = splat(identity(value.op, value.dtype), lanes)
        return replace(value, b=Select(value.dtype, mask, value.b, neutral))
    return Select(value.dtype, mask, value, old)


class _Lanes:
    """Runs all iterations of one loop at once."""

    def __init__(self, var: Var, lanes: int, trips: dict[Var, int | None]) -> None:
        self.var, self.lanes, self.trips = var, lanes, trips
        self.vector_vars: dict[Var, int] = {}
        self.expanded: dict[Buffer, Buffer] = {}  # buffers private to an iteration: one copy for each lane
        self.born: dict[Buffer, Expr | None] = {}  # these, with the mask under which they are allocated

    def expr(self, e: Expr) -> Expr:
        if self.expanded:
            e = Relocator(self.expanded, self._place).expr(e)
        return vectorize_expr(e, self.var, self.lanes, self.vector_vars)

    def _place(self, _: Buffer, at: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return (self._lane_of(at[0]),)

    def _lane_of(self, index: Expr) -> Expr:
        return index * self.lanes + self.var

    def wide(self, e: Expr) -> Expr:
        return e if lanes_of(e, self.vector_vars) > 1 else splat(e, self.lanes)

    def stmt(self, s: Stmt, mask: Expr | None) -> Stmt:
        if isinstance(s, Store):
            return self.store(s, mask)
        if isinstance(s, Block):
            return block(*[self.stmt(part, mask) for part in s.body])
        if isinstance(s, If):
            return self.branch(s, mask)
        if isinstance(s, For):
            return self.loop(s, mask)
        if isinstance(s, Allocate):
            return self.allocate(s, mask)
        if isinstance(s, Prefetch):  # of the first lane
            values: dict[Var, Expr] = {self.var: const(0, INDEX)}
            return map_exprs(s, lambda e: fold_substitute(e, values))
        assert isinstance(s, LetStmt), s
        return self.let(s, mask)

    def store(self, s: Store, mask: Expr | None) -> Stmt:
        if s.mask is not None:
            raise NotVectorizable
        index = s.indices[0]
        buffer = self.expanded.get(s.buffer, s.buffer)
        if buffer is not s.buffer:
            index = self._lane_of(Relocator(self.expanded, self._place).expr(index))
        index = vectorize_expr(index, self.var, self.lanes, self.vector_vars)
        value = self.expr(s.value)
        if lanes_of(index, self.vector_vars) == 1:
            if mask is not None or lanes_of(value, self.vector_vars) > 1:
                raise NotVectorizable  # all lanes write one element
            return Store(buffer, (index,), value)
        value = self.wide(value)
        if mask is None:
            return Store(buffer, (index,), value)
        reads = [node.buffer for node in post_order(value) if isinstance(node, Load)]
        if buffer.scope == "local" and self._inside(buffer, index):
            if not reads and self.born.get(buffer) is mask:  # lanes beyond the mask never held anything
                return Store(buffer, (index,), value)
            if buffer in reads:  # a masked store would keep the buffer out of registers
                old = Load(value.dtype, buffer, (index,))
                return Store(buffer, (index,), _joined_or_kept(value, old, mask, self.lanes))
        return Store(buffer, (index,), value, mask)

    def _inside(self, buffer: Buffer, index: Expr) -> bool:
        size = buffer.shape[0]
        return isinstance(size, int) and is_within(index, size, Relaxer(self.trips, {}))

    def branch(self, s: If, mask: Expr | None) -> Stmt:
        condition = self.expr(s.condition)
        if lanes_of(condition, self.vector_vars) == 1:
            if mask is not None and any(isinstance(node, Load) for node in post_order(condition)):
                condition = self.wide(condition)
            else:
                otherwise = None if s.otherwise is None else self.stmt(s.otherwise, mask)
                return If(condition, self.stmt(s.then, mask), otherwise)
        both = self._under(mask, condition)
        bound = Var(BOOL, "lanes")
        self.vector_vars[bound] = self.lanes
        parts = [self.stmt(s.then, bound)]
        made: Stmt = parts[0]
        if s.otherwise is not None:
            other = Var(BOOL, "lanes")
            self.vector_vars[other] = self.lanes
            rest = self.stmt(s.otherwise, other)
            made = LetStmt(other, self._under(mask, logical_not(condition)), block(made, rest))
        return LetStmt(bound, both, made)

    def _under(self, mask: Expr | None, condition: Expr) -> Expr:
        if mask is None:
            return condition
        return Select(BOOL, mask, condition, splat(const(False, BOOL), self.lanes))

    def loop(self, s: For, mask: Expr | None) -> Stmt:
        minimum, extent = self.expr(s.minimum), self.expr(s.extent)
        if lanes_of(minimum, self.vector_vars) > 1 or lanes_of(extent, self.vector_vars) > 1:
            raise NotVectorizable
        self.trips[s.var] = upper_bound(s)
        return For(s.var, minimum, extent, s.kind, self.stmt(s.body, mask))

    def allocate(self, s: Allocate, mask: Expr | None) -> Stmt:
        buffer = Buffer(s.buffer.name, (s.buffer.shape[0] * self.lanes,), s.buffer.dtype, s.buffer.scope)
        self.expanded[s.buffer] = buffer
        self.born[buffer] = mask
        return Allocate(buffer, self.stmt(s.body, mask))

    def let(self, s: LetStmt, mask: Expr | None) -> Stmt:
        value = self.expr(s.value)
        if lanes_of(value, self.vector_vars) > 1:
            self.vector_vars[s.var] = self.lanes
            if mask is not None:
                zero = const(0 if not value.dtype.is_bool else False, value.dtype)
                value = Select(value.dtype, mask, value, splat(zero, self.lanes))
        elif mask is not None and any(isinstance(node, Load) for node in post_order(value)):
            raise NotVectorizable
        return LetStmt(s.var, value, self.stmt(s.body, mask))
