"""A reduction stage: accumulators are set, updated in the loops of the reduce axes, then stored.

The loops outside the first reduce loop surround all of it.  Data loops inside reduce loops make the accumulators
a tile; a vectorized reduce loop makes each of them a vector, and the unrolled reduce loops beside it one vector
each, which are joined at the end.
"""

from __future__ import annotations

from collections.abc import Callable

from ...base.arith import Expr, Var, cast, const, eq, ge, logical_and, logical_or, lt, select, substitute
from ...base.errors import LoweringError
from ...base.vocabulary import BOOL, INDEX
from ...compute.te.tensor import IterVar, Reduce
from ..schedule import ForKind, Split, Stage
from .bound import Domain, Extent
from .combine import (
    accumulator_dtype,
    identity,
    is_positional,
    join,
    join_positions,
    position_dtype,
    reduce_lanes,
    same,
    wins,
)
from .nest import ZERO, guarded, loop
from .stmt import Allocate, Buffer, LetStmt, Load, Stmt, Store
from .values import ValueLowering
from .vector import vectorize_expr
from .visit import block

WithAttached = Callable[[IterVar, Stmt], Stmt]


class ReductionStage:
    """Lowers one reduction stage."""

    def __init__(self, stage: Stage, domain: Domain, values: ValueLowering, attach: WithAttached) -> None:
        assert isinstance(stage.body, Reduce)
        self.stage, self.domain, self.values, self.attach = stage, domain, values, attach
        self.body = stage.body
        self.combiner = stage.body.combiner
        first = next(n for n, leaf in enumerate(stage.leaves) if leaf.kind == "reduce")
        self.outer, self.inner = stage.leaves[:first], stage.leaves[first:]
        self.tile = [leaf for leaf in self.inner if leaf.kind == "data" and self._extent(leaf) != 1]
        # Where every reduction has an element, one that beats no other (all are -inf) is the first: position 0.
        counts = [axis.extent for axis in stage.reduce_axes]
        self.never_empty = stage.body.condition is None and all(isinstance(n, int) and n > 0 for n in counts)
        self.lanes = self._lane_leaf()
        self.copies = self._copies()
        self.shape = tuple(self._constant(leaf) for leaf in (*self.tile, *self.copies)) or (1,)
        self.buffers = self._accumulators()

    def _extent(self, leaf: IterVar) -> Extent:
        return self.domain.extents[leaf]

    def _constant(self, leaf: IterVar) -> int:
        extent = self._extent(leaf)
        if not isinstance(extent, int):
            raise LoweringError(
                f"stage {self.stage.name}: loop {leaf.var.name} stands inside a reduce loop, "
                "so it needs a constant extent"
            )
        return extent

    def _lane_leaf(self) -> IterVar | None:
        kinds = self.stage.kinds
        found = [n for n in self.inner if n.kind == "reduce" and kinds.get(n) is ForKind.VECTORIZED]
        return found[0] if found and self._extent(found[0]) != 1 else None

    def _copies(self) -> list[IterVar]:
        """The reduce loops with accumulators of their own, the vectorized one last."""
        if self.lanes is None:
            return []
        unrolled = [
            leaf
            for leaf in self.inner
            if leaf.kind == "reduce" and self.stage.kind(leaf) is ForKind.UNROLLED and self._extent(leaf) != 1
        ]
        return [*unrolled, self.lanes]

    def _accumulators(self) -> list[Buffer]:
        dtype = accumulator_dtype(self.combiner, self.body.value.dtype)
        best = self.values.local(self.combiner, dtype, self.shape)
        if not is_positional(self.combiner):
            return [best]
        count: Extent = 1
        for axis in self.stage.reduce_axes:
            count = count * axis.extent
        return [best, self.values.local("position", position_dtype(count, dtype), self.shape)]

    # ------------------------------------------------------------------ parts

    def lower(self) -> Stmt:
        body = block(self._start(), self._update(), self._finish())
        for buffer in reversed(self.buffers):
            body = Allocate(buffer, body)
        for leaf in reversed(self.outer):
            body = loop(leaf, self._extent(leaf), self.stage.kind(leaf), self.attach(leaf, body))
        return body

    def _at(self, fixed: dict[IterVar, Expr] | None = None) -> tuple[Expr, ...]:
        """The accumulator's indices."""
        given = fixed or {}
        indices = tuple(given.get(leaf, leaf.var) for leaf in (*self.tile, *self.copies))
        return indices or (ZERO,)

    def _start(self) -> Stmt:
        starts: list[Stmt] = [
            Store(self.buffers[0], self._at(), identity(self.combiner, self.buffers[0].dtype))
        ]
        for buffer in self.buffers[1:]:
            starts.append(Store(buffer, self._at(), const(0 if self.never_empty else -1, buffer.dtype)))
        body = block(*starts)
        for leaf in reversed((*self.tile, *self.copies)):
            body = loop(leaf, self._extent(leaf), self.stage.kind(leaf), body)
        return body

    def _update(self) -> Stmt:
        prelude, value = self.values.lower(self.body.value, self.domain.values)
        body = prelude.around(self._step(value))
        if self.body.condition is not None:
            before, condition = self.values.lower(self.body.condition, self.domain.values)
            body = before.around(guarded([condition], body))
        body = guarded([*self.domain.data_guards, *self.domain.reduce_guards], body)
        for leaf in reversed(self.inner):
            body = loop(leaf, self._extent(leaf), self.stage.kind(leaf), self.attach(leaf, body))
        return body

    def _step(self, value: Expr) -> Stmt:
        at = self._at()
        now = [Load(buffer.dtype, buffer, at) for buffer in self.buffers]
        if not is_positional(self.combiner):
            return Store(self.buffers[0], at, join(self.combiner, now[0], cast(value, now[0].dtype)))
        best, position = self.buffers
        fresh, better = Var(value.dtype, "candidate"), Var(BOOL, "better")
        here = cast(self._position(), position.dtype)
        wins_now = wins(self.combiner, fresh, now[0])
        if not self._in_order():  # of equal values the earliest wins, whichever comes first
            wins_now = logical_or(wins_now, logical_and(same(fresh, now[0]), lt(here, now[1])))
        if not self.never_empty:
            wins_now = logical_or(lt(now[1], 0), wins_now)
        take = block(
            Store(best, at, select(better, fresh, now[0])), Store(position, at, select(better, here, now[1]))
        )
        return LetStmt(fresh, value, LetStmt(better, wins_now, take))

    def _in_order(self) -> bool:
        """Whether every accumulator meets its elements in row-major order."""
        order = list(self.stage.reduce_axes)
        for relation in self.stage.relations:
            if isinstance(relation, Split):
                if relation.parent in order:
                    place = order.index(relation.parent)
                    order[place : place + 1] = [relation.outer, relation.inner]
            elif relation.outer in order:
                place = order.index(relation.outer)
                if order[place + 1 : place + 2] != [relation.inner]:
                    return False
                order[place : place + 2] = [relation.fused]
        loops = [leaf for leaf in self.inner if leaf.kind == "reduce" and leaf not in self.copies]
        return loops == [leaf for leaf in order if leaf not in self.copies]

    def _position(self) -> Expr:
        """The row-major position of the element over the reduce axes."""
        total: Expr = ZERO
        for axis in self.body.axes:
            total = total * axis.extent + self.domain.values[axis.var]
        return total

    def _finish(self) -> Stmt:
        stage, domain = self.stage, self.domain
        buffer = self.values.buffers[stage.tensor]
        indices = self.values.position(stage.tensor, [domain.values[axis.var] for axis in stage.axes])
        body = guarded(domain.data_guards, Store(buffer, indices, cast(self._result(), buffer.dtype)))
        for leaf in reversed(self.tile):
            body = loop(leaf, self._extent(leaf), stage.kind(leaf), body)
        return body

    def _result(self) -> Expr:
        states = [self._loads({})]
        if self.lanes is not None:
            for leaf in self.copies[:-1]:
                states = [
                    [_at_step(part, leaf, step) for part in state]
                    for state in states
                    for step in range(self._constant(leaf))
                ]
            while len(states) > 1:
                pairs = [states[n : n + 2] for n in range(0, len(states), 2)]
                states = [self._joined(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
            return self._across_lanes(states[0])
        return states[0][-1]

    def _loads(self, fixed: dict[IterVar, Expr]) -> list[Expr]:
        return [Load(buffer.dtype, buffer, self._at(fixed)) for buffer in self.buffers]

    def _joined(self, a: list[Expr], b: list[Expr]) -> list[Expr]:
        if is_positional(self.combiner):
            return list(join_positions(self.combiner, (a[0], a[1]), (b[0], b[1]), self.never_empty))
        return [join(self.combiner, a[0], b[0])]

    def _across_lanes(self, state: list[Expr]) -> Expr:
        """The scalar result of one vector of accumulators."""
        assert self.lanes is not None
        lane, lanes = self.lanes.var, self._constant(self.lanes)
        best = reduce_lanes(self.combiner, vectorize_expr(state[0], lane, lanes))
        if not is_positional(self.combiner):
            return best
        # the least position among the lanes that hold the best value; lanes without an element hold -1
        none = const(state[1].dtype.highest, state[1].dtype)
        holds = same(state[0], best)
        if not self.never_empty:
            holds = logical_and(ge(state[1], 0), holds)
        found = reduce_lanes("min", vectorize_expr(select(holds, state[1], none), lane, lanes))
        return select(eq(found, none), -1, found)


def _at_step(e: Expr, leaf: IterVar, step: int) -> Expr:
    return substitute(e, {leaf.var: const(step, INDEX)})
