"""Accumulators of which some lanes are never read accumulate in all lanes: inactive lanes need no mask.

s[ramp] = select(m, s[ramp] + a * b, s[ramp]) ..; out[ramp; m] = s[ramp]  -->  s[ramp] = s[ramp] + a * b ..

So a tail takes as many operations as a whole vector: a multiply-add that keeps some lanes is two.  What might be read
outside of its buffer is read as 0 in the other lanes, and so is what might not be written there; of what lies in
registers, where a mask would put it in memory, no such lanes are read.
"""

from __future__ import annotations

from dataclasses import replace

from ....base.arith import (
    Const,
    Expr,
    Select,
    Var,
    free_vars,
    post_order,
    rewrite,
    structural_equal,
    substitute,
)
from ....base.arith.relax import Relaxer
from ..analysis.region import is_within
from ..nodes.stmt import Allocate, Buffer, For, If, LetStmt, Load, PrimFunc, Ramp, Stmt, Store
from ..nodes.vector import is_multiple, lanes_of
from ..nodes.visit import StmtMutator, children, exprs, statements, trips


def unmask_accumulators(func: PrimFunc) -> PrimFunc:
    """The function in which no accumulator keeps lanes that nobody reads."""
    return func.with_body(_Accumulators(_partly_written(func.body)).stmt(func.body))


class _Accumulators(StmtMutator):
    """A statement in which no accumulator keeps lanes that nobody reads."""

    def __init__(self, partly: set[Buffer]) -> None:
        self.trips: dict[Var, int | None] = {}
        self.keeping: set[int] = set()  # stores that keep such lanes
        self.partly = partly  # what stores write in some lanes alone, or where a condition holds

    def loop(self, s: For) -> Stmt:
        self.trips[s.var] = trips(s)
        return super().loop(s)

    def allocate(self, s: Allocate) -> Stmt:
        if s.buffer.scope == "local":
            self.keeping.update(map(id, _keeping(s)))
        return super().allocate(s)

    def store(self, s: Store) -> Stmt:
        if id(s) not in self.keeping:
            return s
        assert isinstance(s.value, Select)
        value = self._everywhere(s.value.then, s.value.condition, s.buffer)
        return s if value is None else Store(s.buffer, s.indices, value)

    def _everywhere(self, value: Expr, mask: Expr, own: Buffer) -> Expr | None:
        """A value that was wanted where `mask` holds, for all lanes; None where something is read for all at once."""
        relaxer = Relaxer(self.trips, {})
        unsafe: dict[int, Expr] = {}
        for node in post_order(value):
            if not isinstance(node, Load) or node.buffer is own:
                continue
            size, lanes, partly = node.buffer.shape[0], lanes_of(node.indices[0]), node.buffer in self.partly
            if not partly and isinstance(size, int) and is_within(node.indices[0], size, relaxer):
                continue
            if lanes == 1 or (partly and node.buffer.scope == "local"):
                return None
            if node.mask is None:
                unsafe[id(node)] = replace(node, mask=mask)
        return rewrite(value, lambda node: unsafe.get(id(node)))


def _partly_written(body: Stmt) -> set[Buffer]:
    found: set[Buffer] = set()
    left = [(body, False)]
    while left:
        s, guarded = left.pop()
        if isinstance(s, Store) and (guarded or s.mask is not None):
            found.add(s.buffer)
        left += [(each, guarded or isinstance(s, If)) for each in children(s)]
    return found


def _keeping(s: Allocate) -> list[Store]:
    """The stores that keep lanes of the buffer which are read nowhere else, if all that is said of it is known."""
    lets: dict[Var, Expr] = {}
    inner: set[Var] = set()  # what varies while the buffer lives
    masks: list[Expr] = []
    found: list[Store] = []
    lanes: set[int] = set()
    for each in statements(s.body):
        if isinstance(each, For | LetStmt):
            inner.add(each.var)
        if isinstance(each, LetStmt):
            lets[each.var] = substitute(each.value, lets)
        loads = [load for e in exprs(each) for load in _loads(e, s.buffer)]
        if not loads:
            continue
        if not isinstance(each, Store) or not all(_is_aligned(load) for load in loads):
            return []
        lanes.update(lanes_of(load) for load in loads)
        if each.buffer is not s.buffer:
            if each.mask is None:
                return []
            masks.append(substitute(each.mask, lets))
            continue
        if each.mask is not None or not all(
            structural_equal(load.indices[0], each.indices[0]) for load in loads
        ):
            return []
        value = each.value
        if isinstance(value, Select) and any(load is value.otherwise for load in loads):
            if _loads(value.condition, s.buffer):
                return []
            masks.append(substitute(value.condition, lets))
            found.append(each)
    if not found or len(lanes) > 1 or not all(structural_equal(mask, masks[0]) for mask in masks):
        return []
    return [] if not inner.isdisjoint(free_vars(masks[0])) else found


def _loads(e: Expr, buffer: Buffer) -> list[Load]:
    return [node for node in post_order(e) if isinstance(node, Load) and node.buffer is buffer]


def _is_aligned(load: Load) -> bool:
    """Whether a vector has elements side by side, each in the lane that it has in every such vector."""
    place = load.indices[0]
    if not isinstance(place, Ramp) or not isinstance(place.stride, Const) or place.stride.value != 1:
        return False
    return load.mask is None and is_multiple(place.base, place.lanes)
