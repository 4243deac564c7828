"""Accumulators of which some lanes are never read accumulate in all lanes: inactive lanes need no mask.

s[ramp] = select(m, s[ramp] + a * b, s[ramp]) ..; out[ramp; m] = s[ramp]  -->  s[ramp] = s[ramp] + a * b ..

So a tail takes as many operations as a whole vector: a multiply-add that keeps some lanes is two, and one in memory
waits for the masked store before it.  What might be read outside of its buffer is read as 0 in the other lanes, and so
is what might not be written there; of what lies in registers, where a mask would put it in memory, no such lanes are
read.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ....base.arith import (
    Analyzer,
    Compare,
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
from ..nodes.stmt import Allocate, Buffer, For, If, LetStmt, Load, PrimFunc, Ramp, Splat, Stmt, Store
from ..nodes.vector import is_multiple, lanes_of
from ..nodes.visit import StmtMutator, children, exprs, statements, upper_bound


def unmask_accumulators(func: PrimFunc) -> PrimFunc:
    """The function in which no accumulator keeps lanes that nobody reads."""
    room = 0 if func.vectors is None else func.vectors.bits * func.vectors.registers
    return func.with_body(_Accumulators(_partly_written(func.body), room).stmt(func.body))


class _Accumulators(StmtMutator):
    """A statement in which no accumulator keeps lanes that nobody reads."""

    def __init__(self, partly: set[Buffer], room: int) -> None:
        self.trips: dict[Var, int | None] = {}
        self.keeping: set[int] = set()  # stores that keep such lanes
        self.leaving: set[int] = set()  # those that do not write them
        self.partly = partly  # what stores write in some lanes alone, or where a condition holds
        self.room = room  # bits of all vector registers

    def loop(self, s: For) -> Stmt:
        self.trips[s.var] = upper_bound(s)
        return super().loop(s)

    def allocate(self, s: Allocate) -> Stmt:
        if s.buffer.scope == "local" and s.buffer.shape != (1,):  # one element is no vector
            keeping, leaving = _keeping(s)
            self.keeping.update(map(id, keeping))
            self.leaving.update(map(id, leaving))
        return super().allocate(s)

    def store(self, s: Store) -> Stmt:
        if id(s) in self.leaving and s.mask is not None and self._is_inside(s):
            value = self._everywhere(s.value, s.mask, s.buffer)
            return s if value is None else Store(s.buffer, s.indices, value)
        if id(s) not in self.keeping:
            return s
        assert isinstance(s.value, Select)
        value = self._everywhere(s.value.then, s.value.condition, s.buffer)
        return s if value is None else Store(s.buffer, s.indices, value)

    def _is_inside(self, s: Store) -> bool:
        size = s.buffer.shape[0]
        return isinstance(size, int) and is_within(s.indices[0], size, Relaxer(self.trips, {}))

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
            if lanes == 1 or (partly and self._may_be_in_registers(node.buffer)):
                return None
            if node.mask is None:
                unsafe[id(node)] = replace(node, mask=mask)
        return rewrite(value, lambda node: unsafe.get(id(node)))

    def _may_be_in_registers(self, buffer: Buffer) -> bool:
        size = buffer.shape[0]
        if buffer.scope != "local" or not isinstance(size, int):
            return False
        return not self.room or size * buffer.dtype.bits <= self.room


def _partly_written(body: Stmt) -> set[Buffer]:
    """What stores write in some lanes alone or where a condition holds, but what one of them writes whole."""
    found: set[Buffer] = set()
    whole: set[Buffer] = set()
    left = [(body, False)]
    while left:
        s, guarded = left.pop()
        if isinstance(s, Store) and (guarded or s.mask is not None):
            found.add(s.buffer)
        elif isinstance(s, Store) and lanes_of(s.indices[0]) == s.buffer.shape[0]:
            whole.add(s.buffer)
        left += [(each, guarded or isinstance(s, If)) for each in children(s)]
    return found - whole


def _keeping(s: Allocate) -> tuple[list[Store], list[Store]]:
    """The stores that keep lanes of the buffer which are read nowhere else, and those that do not write such lanes.

    None of either where not all that is said of the buffer is known.
    """
    lets: dict[Var, Expr] = {}
    inner: set[Var] = set()  # what varies while the buffer lives
    masks: list[tuple[Expr, Expr]] = []  # under which elements at a place are asked for
    found: list[Store] = []
    leaving: list[Store] = []
    left: list[tuple[Expr, Expr]] = []  # the masks of these
    lanes: set[int] = set()
    for each in statements(s.body):
        if isinstance(each, For | LetStmt):
            inner.add(each.var)
        if isinstance(each, LetStmt):
            lets[each.var] = substitute(each.value, lets)
        loads = [load for e in exprs(each) for load in _loads(e, s.buffer)]
        if not loads:
            if isinstance(each, Store) and each.buffer is s.buffer and each.mask is not None:
                leaving.append(each)
                left.append((substitute(each.mask, lets), each.indices[0]))
            continue
        if not isinstance(each, Store) or not all(_is_aligned(load) for load in loads):
            return [], []
        lanes.update(lanes_of(load) for load in loads)
        if each.buffer is not s.buffer:
            if each.mask is None:
                return [], []
            masks += [(substitute(each.mask, lets), load.indices[0]) for load in loads]
            continue
        if each.mask is not None or not all(
            structural_equal(load.indices[0], each.indices[0]) for load in loads
        ):
            return [], []
        value = each.value
        if isinstance(value, Select) and any(load is value.otherwise for load in loads):
            if _loads(value.condition, s.buffer):
                return [], []
            masks.append((substitute(value.condition, lets), each.indices[0]))
            found.append(each)
    if len(lanes) != 1 or not masks or not _is_one(masks, inner):
        return [], []
    alike = all(_lies_side_by_side(place) for _, place in left) and _is_one([*masks, *left], inner)
    return found, leaving if alike else []


def _is_one(masks: Sequence[tuple[Expr, Expr]], inner: Collection[Var]) -> bool:
    """Whether masks, each of a vector at a place, say the same of each element as long as `inner` alone vary.

    So do masks that are equal, and those that let the elements of a buffer in up to one end.
    """
    whole = [mask for mask, _ in masks]
    ends = [_end(mask, place) for mask, place in masks]
    return any(
        first is not None
        and set(inner).isdisjoint(free_vars(first))
        and all(each is not None and structural_equal(each, first) for each in alike)
        for first, alike in ((whole[0], whole), (ends[0], ends))
    )


def _end(mask: Expr, place: Expr) -> Expr | None:
    """The end of the elements that a mask lets in, as a place in the buffer; None for another kind of mask."""
    if (
        not isinstance(mask, Compare)
        or mask.op != "lt"
        or not isinstance(mask.a, Ramp)
        or not isinstance(place, Ramp)
    ):
        return None
    if not isinstance(mask.b, Splat) or not isinstance(mask.a.stride, Const) or mask.a.stride.value != 1:
        return None
    return Analyzer().simplify(mask.b.value - mask.a.base + place.base)


def _loads(e: Expr, buffer: Buffer) -> list[Load]:
    return [node for node in post_order(e) if isinstance(node, Load) and node.buffer is buffer]


def _is_aligned(load: Load) -> bool:
    """Whether a vector has elements side by side, each in the lane that it has in every such vector."""
    return load.mask is None and _lies_side_by_side(load.indices[0])


def _lies_side_by_side(place: Expr) -> bool:
    if not isinstance(place, Ramp) or not isinstance(place.stride, Const) or place.stride.value != 1:
        return False
    return is_multiple(place.base, place.lanes)
