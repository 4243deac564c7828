"""The accumulators of a reduction: what they start from, what an element does to them, what they give.

A reduction stage and a reduction inside an expression share them; they differ in their loops.
"""

from __future__ import annotations

from collections.abc import Callable

from ....base.arith import Expr, Var, cast, const, eq, ge, logical_and, logical_or, lt, select
from ....base.vocabulary import BOOL, POSITIONAL, DType
from ....compute.te.tensor import Reduce
from ..nodes.combine import (
    accumulator_dtype,
    identity,
    join,
    join_positions,
    position_dtype,
    reduce_lanes,
    same,
    wins,
)
from ..nodes.stmt import Buffer, LetStmt, Load, Stmt, Store
from ..nodes.vector import vectorize_expr
from ..nodes.visit import block

Local = Callable[[str, DType, tuple[int, ...]], Buffer]
At = tuple[Expr, ...]


class Accumulators:
    """Buffers of `shape` for partial results; argmax and argmin have a second one, for positions.

    Where every reduction has an element, one that beats no other (all are -inf) is the first: position 0, else -1.
    """

    def __init__(self, reduce: Reduce, local: Local, shape: tuple[int, ...] = (1,)) -> None:
        self.combiner = reduce.combiner
        extents = [axis.extent for axis in reduce.axes]
        self.never_empty = reduce.condition is None and all(isinstance(n, int) and n > 0 for n in extents)
        dtype = accumulator_dtype(self.combiner, reduce.value.dtype)
        self.buffers = [local(self.combiner, dtype, shape)]
        if self.combiner in POSITIONAL:
            count: int | Expr = 1
            for extent in extents:
                count = count * extent
            self.buffers.append(local("position", position_dtype(count, dtype), shape))

    def start(self, at: At) -> Stmt:
        """No element was met."""
        starts = [Store(self.buffers[0], at, identity(self.combiner, self.buffers[0].dtype))]
        for buffer in self.buffers[1:]:
            starts.append(Store(buffer, at, const(0 if self.never_empty else -1, buffer.dtype)))
        return block(*starts)

    def step(self, at: At, value: Expr, position: Expr, in_order: bool) -> Stmt:
        """An element joins; `in_order` tells that each accumulator meets its elements in row-major order."""
        now = self.loads(at)
        if self.combiner not in POSITIONAL:
            return Store(self.buffers[0], at, join(self.combiner, now[0], cast(value, now[0].dtype)))
        best, place = self.buffers
        fresh, better = Var(value.dtype, "candidate"), Var(BOOL, "better")
        here = cast(position, place.dtype)
        wins_now = wins(self.combiner, fresh, now[0])
        if not in_order:  # of equal values the earliest wins, whichever comes first
            wins_now = logical_or(wins_now, logical_and(same(fresh, now[0]), lt(here, now[1])))
        if not self.never_empty:
            wins_now = logical_or(lt(now[1], 0), wins_now)
        take = block(
            Store(best, at, select(better, fresh, now[0])), Store(place, at, select(better, here, now[1]))
        )
        return LetStmt(fresh, value, LetStmt(better, wins_now, take))

    def loads(self, at: At) -> list[Expr]:
        """The state as it is; its last part is the result."""
        return [Load(buffer.dtype, buffer, at) for buffer in self.buffers]

    def joined(self, a: list[Expr], b: list[Expr]) -> list[Expr]:
        """The state after the elements of both."""
        if self.combiner in POSITIONAL:
            return list(join_positions(self.combiner, (a[0], a[1]), (b[0], b[1]), self.never_empty))
        return [join(self.combiner, a[0], b[0])]

    def across_lanes(self, state: list[Expr], lane: Var, lanes: int) -> Expr:
        """The scalar result of one vector of states, that is `state` for lane = 0 .. lanes - 1."""
        best = reduce_lanes(self.combiner, vectorize_expr(state[0], lane, lanes))
        if self.combiner not in POSITIONAL:
            return best
        # the least position among the lanes that hold the best value; lanes without an element hold -1
        none = const(state[1].dtype.highest, state[1].dtype)
        holds = same(state[0], best)
        if not self.never_empty:
            holds = logical_and(ge(state[1], 0), holds)
        found = reduce_lanes("min", vectorize_expr(select(holds, state[1], none), lane, lanes))
        return select(eq(found, none), -1, found)
