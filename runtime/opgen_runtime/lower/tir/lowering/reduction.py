"""A reduction stage: accumulators are set, updated in the loops of the reduce axes, then stored.

The loops outside the first reduce loop surround all of it.  Data loops inside reduce loops make the accumulators
a tile; a vectorized reduce loop makes each of them a vector, and the unrolled reduce loops beside it one vector
each, which are joined at the end.
"""

from __future__ import annotations

from collections.abc import Callable

from ....base.arith import Expr, cast, const, free_vars, post_order, substitute
from ....base.errors import LoweringError
from ....base.vocabulary import INDEX
from ....compute.te.tensor import IterVar, Reduce
from ...schedule import Domain, ForKind, Split, Stage
from ..nodes.nest import ZERO, guarded, loop
from ..nodes.stmt import Allocate, Load, Stmt, Store
from ..nodes.visit import block
from .accumulate import Accumulators
from .values import ValueLowering

WithAttached = Callable[[IterVar, Stmt], Stmt]


class ReductionStage:
    """Lowers one reduction stage."""

    def __init__(self, stage: Stage, domain: Domain, values: ValueLowering, attach: WithAttached) -> None:
        assert isinstance(stage.body, Reduce)
        self.stage, self.domain, self.values, self.attach = stage, domain, values, attach
        self.body = stage.body
        first = next(n for n, leaf in enumerate(stage.leaves) if leaf.kind == "reduce")
        self.outer, self.inner = stage.leaves[:first], stage.leaves[first:]
        self.tile = [leaf for leaf in self.inner if leaf.kind == "data" and self._extent(leaf) != 1]
        self.lanes = self._lane_leaf()
        self.copies = self._copies()
        self.shape = tuple(self._constant(leaf) for leaf in (*self.tile, *self.copies)) or (1,)
        self.accumulators = Accumulators(stage.body, values.local, self.shape)

    def _extent(self, leaf: IterVar) -> int | Expr:
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

    # ------------------------------------------------------------------ parts

    def lower(self) -> Stmt:
        body = block(self._start(), self._update(), self._finish())
        for buffer in reversed(self.accumulators.buffers):
            body = Allocate(buffer, body)
        for leaf in reversed(self.outer):
            body = loop(leaf, self._extent(leaf), self.stage.kind(leaf), self.attach(leaf, body))
        return body

    def _at(self) -> tuple[Expr, ...]:
        """The accumulators' indices."""
        return tuple(leaf.var for leaf in (*self.tile, *self.copies)) or (ZERO,)

    def _start(self) -> Stmt:
        body = self.accumulators.start(self._at())
        for leaf in reversed((*self.tile, *self.copies)):
            body = loop(leaf, self._extent(leaf), self.stage.kind(leaf), body)
        return body

    def _update(self) -> Stmt:
        prelude, value = self.values.lower(self.domain.simplified(self.body.value), self.domain.values)
        step = self.accumulators.step(self._at(), value, self._position(), self._in_order())
        body = prelude.around(step)
        # conditions that stand outside of the loops that they do not depend on
        outer: list[Expr] = list(self.domain.data_guards)
        if self.body.condition is not None:
            before, condition = self.values.lower(self.body.condition, self.domain.values)
            if before.stmts or any(isinstance(node, Load) for node in post_order(condition)):
                body = before.around(guarded([condition], body))
            else:
                outer.append(condition)
        body = guarded(self.domain.reduce_guards, body)
        for leaf in reversed(self.inner):
            inside = [condition for condition in outer if leaf.var in free_vars(condition)]
            if inside:
                body, outer = guarded(inside, body), [c for c in outer if c not in inside]
            body = loop(leaf, self._extent(leaf), self.stage.kind(leaf), self.attach(leaf, body))
        return guarded(outer, body)

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
        states = [self.accumulators.loads(self._at())]
        if self.lanes is None:
            return states[0][-1]
        for leaf in self.copies[:-1]:
            states = [
                [_at_step(part, leaf, step) for part in state]
                for state in states
                for step in range(self._constant(leaf))
            ]
        while len(states) > 1:
            pairs = [states[n : n + 2] for n in range(0, len(states), 2)]
            states = [self.accumulators.joined(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return self.accumulators.across_lanes(states[0], self.lanes.var, self._constant(self.lanes))


def _at_step(e: Expr, leaf: IterVar, step: int) -> Expr:
    return substitute(e, {leaf.var: const(step, INDEX)})
