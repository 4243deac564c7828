"""The loops of stream compaction (stream_compaction.py): the count stays in a register, and every step stores.

for f in range(n):                                          for o in range(n // 16):
    out[k] = v(f)                                               hits = p(o*16 .. o*16 + 15)
    k = k + (1 if p(f) else 0)                                  out[k .. k + 15] = packed(v(o*16 ..); hits)
                                                                k = k + (how many hits)

What a step stores beyond the elements that it picks, a later one overwrites; behind the last one there remains
something, which is in the buffer, since no more elements were picked than there were steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ....base import Vectors
from ....base.arith import Analyzer, Const, Expr, Var, cast, const, ge, gt, lt, post_order, select
from ....base.vocabulary import BOOL, INDEX
from ..analysis.canonical import simplified
from ..analysis.stream_compaction import Compaction, Picked
from ..nodes.folding import fold_substitute
from ..nodes.nest import ZERO, guarded
from ..nodes.stmt import Buffer, For, ForKind, HorizontalReduce, LetStmt, Load, Packed, Ramp, Stmt, Store
from ..nodes.vector import NotVectorizable, lanes_of, splat, vectorize_expr
from ..nodes.visit import block

_MIN_VECTORS: Final = 4  # of a loop that is worth it


def packing(found: Compaction, count: Buffer, vectors: Vectors | None) -> Stmt:
    """The loops that pick; afterwards `count`, of one element, holds how many there are."""
    return _Packing(found, count, vectors).stmt()


class _Packing:
    def __init__(self, found: Compaction, count: Buffer, vectors: Vectors | None) -> None:
        self.found, self.count = found, count
        self.start = 1 if found.first else 0
        self.rest = Analyzer().simplify(found.extent - self.start)  # steps of the loops
        self.lanes = _lanes(found, vectors)
        self.safe = {id(one): one.last or _is_inside(one.value, found) for one in found.picked}

    def stmt(self) -> Stmt:
        """All steps; the first one apart where it picks in any case, with what the last one leaves for `last`."""
        nothing = Store(self.count, (ZERO,), const(0, self.count.dtype))
        if not self.found.first:
            return block(nothing, self.steps())
        firsts = [
            Store(one.buffer, (const(one.column, INDEX),), self.at(one.value, ZERO))
            for one in self.found.picked
            if not one.last
        ]
        one_hit = Store(self.count, (ZERO,), const(1, self.count.dtype))
        row = self.counted() - 1
        lasts = [
            Store(one.buffer, (row * one.width + one.column,), self.at(one.value, self.found.extent - 1))
            for one in self.found.picked
            if one.last
        ]
        condition = simplified(gt(self.found.extent, 0), {})
        return block(nothing, guarded([condition], block(*firsts, one_hit, self.steps(), *lasts)))

    def steps(self) -> Stmt:
        """The steps from `start` on: vectors, then what is left of them."""
        if self.lanes == 1:
            return self.loop("step", self.rest, self.start, self.one)
        whole = Analyzer().simplify(self.rest // self.lanes)
        if isinstance(whole, Const) and whole.value < _MIN_VECTORS:
            return self.loop("step", self.rest, self.start, self.one)
        try:
            main = self.loop("part", whole, self.start, self.several, self.lanes)
        except NotVectorizable:
            return self.loop("step", self.rest, self.start, self.one)
        left = Analyzer().simplify(self.rest - whole * self.lanes)
        return block(main, self.loop("step", left, whole * self.lanes + self.start, self.one))

    def loop(
        self,
        name: str,
        extent: Expr,
        start: int | Expr,
        body: Callable[[Expr, dict[Var, int | Expr]], Stmt],
        by: int = 1,
    ) -> Stmt:
        var = Var(INDEX, name)
        return For(var, ZERO, extent, ForKind.SERIAL, body(var * by + start, {var: extent}))

    # ------------------------------------------------------------------ one step, or as many as there are lanes

    def one(self, at: Expr, ranges: dict[Var, int | Expr]) -> Stmt:
        hit = self.within(self.found.hit, at, ranges)
        row = Var(INDEX, "row")
        stores = [
            Store(one.buffer, (_row(one, row) * one.width + one.column,), self.value(one, at, hit, ranges))
            for one in self.found.picked
        ]
        dtype = self.count.dtype
        more = Store(self.count, (ZERO,), self.load() + select(hit, const(1, dtype), const(0, dtype)))
        return block(LetStmt(row, self.counted(), block(*stores)), more)

    def several(self, start: Expr, ranges: dict[Var, int | Expr]) -> Stmt:
        lane, lanes = Var(INDEX, "lane"), self.lanes
        at, inside = start + lane, {**ranges, lane: lanes}
        hits, row, dtype = Var(BOOL, "hits"), Var(INDEX, "row"), self.count.dtype
        stores: list[Stmt] = []
        for one in self.found.picked:
            value = self.wide(self.value(one, at, self.within(self.found.hit, at, inside), inside), lane)
            index = Ramp(INDEX, _row(one, row) * one.width + one.column, const(one.width, INDEX), lanes)
            stores.append(Store(one.buffer, (index,), Packed(value.dtype, value, hits)))
        each = select(hits, splat(const(1, dtype), lanes), splat(const(0, dtype), lanes))
        more = Store(self.count, (ZERO,), self.load() + HorizontalReduce(dtype, "sum", each))
        body = LetStmt(row, self.counted(), block(*stores, more))
        return LetStmt(hits, self.wide(self.within(self.found.hit, at, inside), lane), body)

    def wide(self, e: Expr, lane: Var) -> Expr:
        made = vectorize_expr(e, lane, self.lanes)
        return made if lanes_of(made) > 1 else splat(made, self.lanes)

    def value(self, one: Picked, at: Expr, hit: Expr, ranges: dict[Var, int | Expr]) -> Expr:
        """What a step picks; where it picks nothing, 0 in place of what might not be there."""
        value = self.within(one.value, at - 1 if one.last else at, ranges)
        if self.safe[id(one)]:
            return value
        return select(hit, value, const(False if value.dtype.is_bool else 0, value.dtype))

    def at(self, e: Expr, place: Expr) -> Expr:
        return self.within(e, place, {})

    def within(self, e: Expr, at: Expr, ranges: dict[Var, int | Expr]) -> Expr:
        return simplified(fold_substitute(e, {self.found.var: at}), ranges)

    def load(self) -> Expr:
        return Load(self.count.dtype, self.count, (ZERO,))

    def counted(self) -> Expr:
        return cast(self.load(), INDEX)


def _row(one: Picked, row: Expr) -> Expr:
    """Where a step stores, if so many were picked before."""
    return row - 1 if one.last else row


def _lanes(found: Compaction, vectors: Vectors | None) -> int:
    """How many steps are done at once: a vector of the widest elements; 1 where the machine cannot pack them."""
    picked = {max(8, one.value.dtype.bits) for one in found.picked}
    if vectors is None or not 0 < vectors.packed_bits <= min(picked):
        return 1
    values = [found.hit, *(one.value for one in found.picked)]
    read = {max(8, node.dtype.bits) for e in values for node in post_order(e) if isinstance(node, Load)}
    return vectors.bits // max(picked | read)


def _is_inside(e: Expr, found: Compaction) -> bool:
    """Whether all that a value reads is there in every step."""
    analyzer = Analyzer()
    analyzer.bind(found.var, 0, found.extent)
    return all(
        analyzer.prove(ge(node.indices[0], 0)) and analyzer.prove(lt(node.indices[0], node.buffer.shape[0]))
        for node in post_order(e)
        if isinstance(node, Load)
    )
