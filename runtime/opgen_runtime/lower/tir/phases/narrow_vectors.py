"""Accumulators of a tail are computed in their active lanes, in vectors no wider than these need.

unrolled for u in range(2): vectorized for l in range(16): s[u*16 + l] = ..; out[..] = s[ramp(0, 1, 4)]
-->
vectorized for l in range(4): s[l] = ..; out[..] = s[ramp(0, 1, 4)]

So it is done for buffers in registers whose rows of lanes are written whole, in such loops alone: of a row so much is
computed as is read elsewhere, up to the next width of vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from ....base.arith import Expr, Var, const, post_order
from ....base.arith.relax import Relaxer
from ....base.vocabulary import INDEX, dataclass
from ..nodes.folding import fold_substitute
from ..nodes.nest import ZERO
from ..nodes.stmt import Allocate, Buffer, For, ForKind, Load, PrimFunc, Stmt, Store
from ..nodes.visit import StmtMutator, block, children, exprs, map_exprs, statements, trips

_MIN_VECTOR_BITS: Final = 128  # bits of a vector


@dataclass(frozen=True, slots=True)
class _AccumulatorRow:
    """A row of accumulators: `parts` vectors of `lanes`."""

    parts: int
    lanes: int

    @property
    def extent(self) -> int:
        return self.parts * self.lanes


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a row an access is: the loops over parts and lanes, and the first and the last element."""

    part: Var | None
    lane: Var | None
    first: int
    last: int


def narrow_vectors(func: PrimFunc) -> PrimFunc:
    """The function whose accumulators in registers have no lanes at the end of rows that nothing reads."""
    return func.with_body(_Vectors(_excluded(func.body)).stmt(func.body))


class _Vectors(StmtMutator):
    """`excluded`: allocations, by id, of which it is known that nothing is to be had."""

    def __init__(self, excluded: Collection[int]) -> None:
        self.excluded = excluded

    def allocate(self, s: Allocate) -> Stmt:
        found = None if id(s) in self.excluded else _active_elements(s)
        if found is None:
            return super().allocate(s)
        row, active, buffers = found
        return _Narrow(row, active, buffers).stmt(s)


def _excluded(body: Stmt) -> Collection[int]:
    """The allocations inside which, or for which, a buffer is in memory or is stored otherwise than by rows.

    Found in one walk, so that many allocations in one another are not gone through for each of them.
    """
    single = {
        each.buffer
        for each, loops in _within(body)
        if isinstance(each, Store)
        and (each.buffer.scope != "local" or each.mask is not None or not _is_in_rows(each, loops))
    }
    found: set[int] = set()

    def holds(s: Stmt) -> bool:
        known = isinstance(s, Allocate) and (s.buffer.scope != "local" or s.buffer in single)
        for each in children(s):
            known = holds(each) or known
        if known and isinstance(s, Allocate):
            found.add(id(s))
        return known

    holds(body)
    return found


def _is_in_rows(s: Store, loops: Mapping[Var, For]) -> bool:
    return s.buffer.shape[0] != 1 and _row_of(s.indices[0], loops) is not None


def _active_elements(s: Allocate) -> tuple[_AccumulatorRow, int, frozenset[Buffer]] | None:
    """The rows of the buffers inside, and how much of each is read; None where all is, or that is not known."""
    buffers = frozenset([each.buffer for each in statements(s) if isinstance(each, Allocate)])
    row: _AccumulatorRow | None = None
    accesses: list[tuple[Stmt, Mapping[Var, For]]] = []
    for each, loops in _within(s):
        if not any([_loads(e, buffers) for e in exprs(each)]) and not _stores(each, buffers):
            continue
        if not isinstance(each, Store) or each.mask is not None:
            return None
        accesses.append((each, loops))
        if each.buffer in buffers:
            own = _row_of(each.indices[0], loops)
            if own is None or (row is not None and own != row):
                return None
            row = own
    if row is None:
        return None
    active = 0
    for each, loops in accesses:
        assert isinstance(each, Store)
        own_place = _place(each.indices[0], loops, row) if each.buffer in buffers else None
        for load in _loads(each.value, buffers):
            place = _place(load.indices[0], loops, row)
            if place is None or load.mask is not None:
                return None
            if each.buffer not in buffers:
                active = max(active, place.last + 1)
            elif place != own_place:
                return None
    return (row, active, buffers) if 0 < active < row.extent else None


def _within(s: Stmt) -> Iterator[tuple[Stmt, Mapping[Var, For]]]:
    """Every statement, with the loops around it."""
    stack: list[tuple[Stmt, Mapping[Var, For]]] = [(s, {})]
    while stack:
        each, loops = stack.pop()
        yield each, loops
        inner = {**loops, each.var: each} if isinstance(each, For) else loops
        stack += [(part, inner) for part in reversed(children(each))]


def _stores(s: Stmt, buffers: Collection[Buffer]) -> bool:
    return isinstance(s, Store) and s.buffer in buffers


def _loads(e: Expr, buffers: Collection[Buffer]) -> list[Load]:
    return [node for node in post_order(e) if isinstance(node, Load) and node.buffer in buffers]


def _linear(index: Expr) -> tuple[dict[Var, int], int] | None:
    found = Relaxer({}, {}).range(index)
    if found is None or found[2] != 1 or not all([isinstance(atom, Var) for atom in found[0]]):
        return None
    return {atom: factor for atom, factor in found[0].items() if isinstance(atom, Var)}, found[1]


def _row_of(index: Expr, loops: Mapping[Var, For]) -> _AccumulatorRow | None:
    """The row that a store goes through from its begin to its end; None where it does not."""
    form = _linear(index)
    if form is None:
        return None
    factors, _ = form
    lane = [var for var, factor in factors.items() if factor == 1 and var in loops]
    lanes = trips(loops[lane[0]]) if lane and loops[lane[0]].kind is ForKind.VECTORIZED else None
    if lanes is None or lanes < 2:
        return None
    part = [var for var, factor in factors.items() if factor == lanes and var in loops]
    parts = trips(loops[part[0]]) if part and loops[part[0]].kind is ForKind.UNROLLED else 1
    row = _AccumulatorRow(1 if parts is None else parts, lanes)
    place = _place(index, loops, row)
    return row if place is not None and (place.first, place.last) == (0, row.extent - 1) else None


def _place(index: Expr, loops: Mapping[Var, For], row: _AccumulatorRow) -> _Place | None:
    """Where an access is in its row; None where that is not one place in every row."""
    form = _linear(index)
    if form is None:
        return None
    factors, constant = form
    found: dict[int, Var | None] = {1: None, row.lanes: None} if row.parts > 1 else {1: None}
    first = last = constant % row.extent
    for var, factor in factors.items():
        if factor % row.extent == 0:
            continue
        extent = trips(loops[var]) if var in loops else None
        if factor not in found or found[factor] is not None or extent is None:
            return None
        found[factor] = var
        last += factor * (extent - 1)
    if last >= row.extent:
        return None
    return _Place(found.get(row.lanes), found[1], first, last)


class _Narrow(StmtMutator):
    """A statement in which `active` elements of each row of some buffers are computed."""

    def __init__(self, row: _AccumulatorRow, active: int, buffers: Collection[Buffer]) -> None:
        self.row, self.active, self.buffers = row, active, buffers
        self.narrowest = _MIN_VECTOR_BITS // min([buffer.dtype.bits for buffer in buffers])

    def loop(self, s: For) -> Stmt:
        step = self._step(s)
        if step == 1:
            return self._times(s, self._width(self.active)) if self.row.parts == 1 else s
        if step != self.row.lanes or self.row.parts == 1:
            return super().loop(s)
        whole, rest = divmod(self.active, self.row.lanes)
        made = [self._times(s, whole)] if whole else []
        if rest:
            last = map_exprs(s.body, lambda e: fold_substitute(e, {s.var: const(whole, INDEX)}))
            made.append(_Narrow(_AccumulatorRow(1, self.row.lanes), rest, self.buffers).stmt(last))
        return block(*made)

    def _step(self, s: For) -> int | None:
        """By how much what is stored below moves with a loop; None where other buffers are stored, too."""
        found: set[int] = set()
        for each in statements(s.body):
            if isinstance(each, Store):
                form = _linear(each.indices[0]) if each.buffer in self.buffers else None
                if form is None:
                    return None
                found.add(form[0].get(s.var, 0))
        return next(iter(found)) if len(found) == 1 else None

    def _width(self, count: int) -> int:
        """The lanes of the narrowest vector of so many elements."""
        return min(self.row.lanes, max(self.narrowest, 1 << (count - 1).bit_length()))

    @staticmethod
    def _times(s: For, count: int) -> Stmt:
        if count == 1:
            return map_exprs(s.body, lambda e: fold_substitute(e, {s.var: ZERO}))
        return For(s.var, s.minimum, const(count, INDEX), s.kind, s.body)
