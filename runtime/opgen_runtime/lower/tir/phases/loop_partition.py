"""loop_partition: loops whose guards hold in all but the last iterations are split there.

for o in range(4): for i in range(16): if o*16 + i < 60: f  -->  for o in range(3): for i in range(16): f
                                                                 for i in range(16): if i < 12: f

A loop of several threads is not split: its iterations choose between the two bodies, so that threads share the tail.
The tail keeps its guards; a serial loop in it is split once more, for another guard (the corner of a matrix), so that
code grows by one copy for a guard, by two for the second.  Loops that no guard depends on stay unrolled, so that
accumulators stay in registers; so do loops that store between the lanes of vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from ....base.arith import (
    Analyzer,
    Compare,
    Const,
    Expr,
    Var,
    const,
    free_vars,
    lt,
    post_order,
    rewrite,
    structural_equal,
)
from ....base.arith.relax import Relaxer
from ....base.vocabulary import INDEX
from ..nodes.folding import fold_substitute
from ..nodes.nest import ZERO
from ..nodes.relocate import fresh_buffers
from ..nodes.stmt import Allocate, Block, Buffer, For, ForKind, If, LetStmt, Load, PrimFunc, Stmt, Store
from ..nodes.visit import EMPTY, StmtMutator, block, exprs, map_exprs, statements, trips
from ..rewriting.linear import Linear, guard_form, shifted
from ..rewriting.open_partition import Decided, Ended, WithoutGuards, cut_of, ended

_MAX_NESTED_TAILS: Final = 2  # in each other


def loop_partition(func: PrimFunc) -> PrimFunc:
    """The function with guard-free main loops."""
    guarded = any(isinstance(s, If) for s in statements(func.body))
    return func.with_body(_Partition({}).stmt(func.body)) if guarded else func


class _Partition(StmtMutator):
    def __init__(self, ranges: dict[Var, int], tails: int = 0) -> None:
        self.ranges = ranges  # extents of the loops around, all from 0
        self.tails = tails  # how many tails this stands in

    def loop(self, s: For) -> Stmt:
        extent = trips(s)
        if extent is None:
            return self._open(s)
        if s.kind is ForKind.SERIAL and (short := ended(s)) is not None:
            return super().loop(short)
        if s.kind is ForKind.PARALLEL and not self.tails:
            return self._shared(s, extent)
        inner = {**self.ranges, s.var: extent}
        whole = self._whole_iterations(s, inner)
        splits = whole is not None and 0 < whole < extent
        if self.tails and not (splits and self.tails < _MAX_NESTED_TAILS and s.kind is ForKind.SERIAL):
            return self._limited(s, extent)
        if whole is None or not splits:
            return self._with(inner, s)
        main = self._main(s, whole)
        tail = _Partition(self.ranges, self.tails + 1)
        rest = fresh_buffers(tail.stmt(shifted(s, whole, extent - whole)))
        return block(main, rest)

    def _shared(self, s: For, extent: int) -> Stmt:
        """A loop of several threads: by what its guards depend on, its var or one expression of it."""
        place, count = _place(s, extent)
        var = s.var if place is s.var else Var(INDEX, "part")
        body, room = s.body, []
        while isinstance(body, Allocate):  # memory that both take
            room.append(body.buffer)
            body = body.body
        if place is not s.var:
            body = map_exprs(body, lambda e: _replaced(e, place, var))
        ranges = {**self.ranges, s.var: extent, var: count}
        whole = self._whole_iterations(For(var, ZERO, const(count, INDEX), s.kind, body), ranges)
        if whole is None or not 0 < whole < count:
            return self._with({**self.ranges, s.var: extent}, s)
        main = _Partition({**ranges, var: whole}).stmt(body)
        start = const(whole, INDEX)
        value: Expr = start if whole + 1 == count else var + whole
        rest = map_exprs(body, lambda e: fold_substitute(e, {var: value}))
        rest = fresh_buffers(_Partition({**ranges, var: count - whole}, self.tails + 1).stmt(rest))
        main = map_exprs(main, lambda e: fold_substitute(e, {var: place}))
        rest = map_exprs(rest, lambda e: fold_substitute(e, {var: place - whole}))
        made: Stmt = If(lt(place, start), main, rest)
        for buffer in reversed(room):
            made = Allocate(buffer, made)
        return replace(s, body=made)

    def _open(self, s: For) -> Stmt:
        """A loop of symbolic extent."""
        cut = None if self.tails or not _starts_at_zero(s) else cut_of(s)
        if cut is None:
            return super().loop(s)
        main = WithoutGuards(cut.guards).stmt(s.body)
        main = Decided().stmt(For(s.var, ZERO, cut.whole, s.kind, self.stmt(main)))
        if cut.last:
            last = map_exprs(
                _Rolled(cut.guards).stmt(s.body), lambda e: fold_substitute(e, {s.var: cut.whole})
            )
            rest: Stmt = If(lt(cut.whole, s.extent), Ended().stmt(last))
        else:
            body = map_exprs(s.body, lambda e: fold_substitute(e, {s.var: s.var + cut.whole}))
            rest = For(s.var, ZERO, s.extent - cut.whole, s.kind, body)
        return block(main, fresh_buffers(rest))

    def _main(self, s: For, whole: int) -> Stmt:
        """The iterations in which every guard of the loop holds."""
        if whole == 1:
            return self.stmt(map_exprs(s.body, lambda e: fold_substitute(e, {s.var: ZERO})))
        return self._with(
            {**self.ranges, s.var: whole}, For(s.var, ZERO, const(whole, INDEX), s.kind, s.body)
        )

    def _with(self, ranges: dict[Var, int], s: For) -> Stmt:
        body = _Partition(ranges, self.tails).stmt(s.body)
        return s if body is s.body else For(s.var, s.minimum, s.extent, s.kind, body)

    def branch(self, s: If) -> Stmt:
        form = guard_form(s.condition)
        if form is not None and s.otherwise is None:
            low, high = self._bounds(form, None)
            if high < 0:
                return self.stmt(s.then)
            if low >= 0:
                return EMPTY
        return super().branch(s)

    def _bounds(
        self, form: Linear, without: Var | None, extra: dict[Var, int] | None = None
    ) -> tuple[float, float]:
        """The least and greatest value of the form over all loops, leaving out one var."""
        low: float = form[1]
        high: float = form[1]
        for var, factor in form[0].items():
            if var is without:
                continue
            extent = self.ranges.get(var) or (extra or {}).get(var)
            if extent is None:
                return float("-inf"), float("inf")
            low += min(0, factor * (extent - 1))
            high += max(0, factor * (extent - 1))
        return low, high

    def _guards(self, s: For) -> tuple[list[Linear], dict[Var, int]]:
        """The guards below the loop that depend on it, and the extents of the loops below."""
        forms: list[Linear] = []
        below: dict[Var, int] = {}
        for inner in statements(s.body):
            if isinstance(inner, For):
                extent = trips(inner)
                if extent is not None:
                    below[inner.var] = extent
            elif isinstance(inner, If) and inner.otherwise is None:
                form = guard_form(inner.condition)
                if form is not None and form[0].get(s.var, 0) > 0:
                    forms.append(form)
        return forms, below

    def _whole_iterations(self, s: For, ranges: dict[Var, int]) -> int | None:
        """In how many of the first iterations every guard holds; None where no guard depends on the loop."""
        forms, below = self._guards(s)
        found: int | None = None
        for form in forms:
            high = self._bounds(form, s.var, below)[1]
            if high == float("inf"):
                continue
            factor = form[0][s.var]
            count = max(0, (-1 - int(high)) // factor + 1)
            found = count if found is None else min(found, count)
        return found

    def _limited(self, s: For, extent: int) -> Stmt:
        """A loop of a tail: without the iterations in which no guard can hold; unrolled if no guard is left."""
        forms, below = self._guards(s)
        needed = extent
        if forms and _only_guarded(s.body, s.var):
            ends = []
            for form in forms:
                low = self._bounds(form, s.var, below)[0]
                ends.append(extent if low == float("-inf") else (-1 - int(low)) // form[0][s.var] + 1)
            needed = max(0, min(extent, max(ends)))
        whole = all(self._bounds(form, s.var, below)[1] + form[0][s.var] * (needed - 1) < 0 for form in forms)
        rolled = s.kind is ForKind.UNROLLED and not whole and not _lies_between_lanes(s)
        kind = ForKind.SERIAL if rolled else s.kind
        if needed == 0:
            return EMPTY
        if kind is ForKind.VECTORIZED:
            needed = min(extent, 1 << (needed - 1).bit_length())  # an odd width is worse than a mask
        if needed == 1:
            return self.stmt(map_exprs(s.body, lambda e: fold_substitute(e, {s.var: ZERO})))
        certain = self._whole_iterations(s, {**self.ranges, s.var: extent})
        if s.kind is ForKind.UNROLLED and certain == needed - 1:
            # vectors of a line, the last of which is not full
            return block(self._main(s, certain), fresh_buffers(self.stmt(shifted(s, certain, 1))))
        limited = For(s.var, ZERO, const(needed, INDEX), kind, s.body)
        body = _Partition({**self.ranges, s.var: needed}, self.tails).stmt(limited.body)
        return replace(limited, body=body)


class _Rolled(StmtMutator):
    """What runs once is short: loops of which a guard decides are not unrolled, but those that choose a register."""

    def __init__(self, guards: Sequence[If]) -> None:
        self.decided = {var for guard in guards for var in free_vars(guard.condition)}

    def loop(self, s: For) -> Stmt:
        made = super().loop(s)
        if s.kind is not ForKind.UNROLLED or s.var not in self.decided:
            return made
        if any(s.var in free_vars(index) for index in _in_registers(s.body)):
            return made
        assert isinstance(made, For)
        return replace(made, kind=ForKind.SERIAL)


def _in_registers(body: Stmt) -> Iterator[Expr]:
    """Where something is read or stored in buffers that may be registers: local ones of a constant size."""
    for each in statements(body):
        if isinstance(each, Store) and _is_fixed(each.buffer):
            yield from each.indices
        for e in exprs(each):
            for node in post_order(e):
                if isinstance(node, Load) and _is_fixed(node.buffer):
                    yield from node.indices


def _is_fixed(buffer: Buffer) -> bool:
    return buffer.scope == "local" and all(isinstance(extent, int) for extent in buffer.shape)


def _place(s: For, extent: int) -> tuple[Expr, int]:
    """What the guards in a loop depend on, its var or an expression of it alone, and how many values that has from 0.

    Of a loop that was fused from several it is the one that is guarded.
    """
    analyzer = Analyzer()
    analyzer.bind(s.var, 0, extent)
    for inner in statements(s.body):
        if isinstance(inner, If) and inner.otherwise is None and isinstance(inner.condition, Compare):
            if not inner.condition.a.dtype.is_int:
                continue
            found = Relaxer({}, {}).range(inner.condition.a - inner.condition.b)
            for atom in () if found is None else found[0]:
                if not isinstance(atom, Var) and set(free_vars(atom)) == {s.var}:
                    values = analyzer.interval(atom)
                    if values.lo == 0 and values.hi is not None:
                        return atom, values.hi + 1
    return s.var, extent


def _replaced(e: Expr, place: Expr, var: Var) -> Expr:
    return rewrite(e, lambda node: var if structural_equal(node, place) else None)


def _starts_at_zero(s: For) -> bool:
    return isinstance(s.minimum, Const) and s.minimum.value == 0


def _lies_between_lanes(s: For) -> bool:
    """Whether the steps of a loop store between the lanes of one vector; its number decides what each reads."""
    lanes = {
        each.var for each in statements(s.body) if isinstance(each, For) and each.kind is ForKind.VECTORIZED
    }
    for store in statements(s.body):
        form = guard_form(lt(store.indices[-1], ZERO)) if isinstance(store, Store) else None
        if form is not None and any(0 < form[0].get(s.var, 0) < form[0].get(lane, 0) for lane in lanes):
            return True
    return False


def _only_guarded(body: Stmt, var: Var) -> bool:
    """Whether every store below stands under a guard on `var`."""
    if isinstance(body, If):
        form = guard_form(body.condition)
        if form is not None and form[0].get(var, 0) > 0 and body.otherwise is None:
            return True
        return _only_guarded(body.then, var) and (
            body.otherwise is None or _only_guarded(body.otherwise, var)
        )
    if isinstance(body, Block):
        return all(_only_guarded(part, var) for part in body.body)
    if isinstance(body, For | LetStmt):
        return _only_guarded(body.body, var)
    return not isinstance(body, Store) and hasattr(body, "body") and _only_guarded(body.body, var)
