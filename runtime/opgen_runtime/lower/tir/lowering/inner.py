"""A reduction inside an expression, in loops of its own before it.

    ... sum(x[i, k] * y[k] for k in range(n)) ...
-->
    for k in range(n): sum1[0] = sum1[0] + x[i, k] * y[k]
    ... sum1[0] ...

Where the elements lie side by side, each lane of a vector has a partial result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ....base.arith import Binary, Const, Expr, Var, cast, const, logical_not, lt, post_order
from ....base.vocabulary import BOOL, INDEX, POSITIONAL
from ....compute.te.tensor import IterVar, Read, Reduce
from ...schedule import ForKind
from ..nodes.nest import ZERO, as_index
from ..nodes.stmt import Allocate, For, If, Load, Stmt, Store
from ..nodes.visit import block
from .accumulate import Accumulators
from .prelude import Prelude, Values

AT: Final = (ZERO,)
_Loop = tuple[Var, Prelude, Expr]  # its var, what must run before it, its trips
_VECTOR_BYTES: Final = 64
_MIN_MASKED_ELEMENT_BYTES: Final = 4  # bytes of elements that may be read under a mask


class InnerReduction:
    """Lowers one reduction: `buffers` are what `starts` sets and `run` fills; then `value` is the result."""

    def __init__(
        self,
        values: Values,
        reduce: Reduce,
        env: Mapping[Var, Expr],
        given: Mapping[int, Expr],
        lanes: bool,
    ) -> None:
        self.values, self.reduce, self.env, self.given = values, reduce, env, given
        self.lanes = self._lanes() if lanes else 1
        if reduce.combiner == "first":
            found, kept = values.local("found", BOOL), values.local("value", reduce.dtype)
            self.buffers = [found, kept]
            nothing = const(0 if not kept.dtype.is_bool else False, kept.dtype)
            self.starts: Stmt = block(Store(found, AT, const(False, BOOL)), Store(kept, AT, nothing))
            self.value: Expr = Load(kept.dtype, kept, AT)
            return
        self.whole = Accumulators(reduce, values.local)
        self.buffers = self.whole.buffers
        self.starts = self.whole.start(AT)
        self.value = cast(self.whole.loads(AT)[-1], reduce.dtype)

    def _lanes(self) -> int:
        """How many partial results; 1 where elements do not lie side by side."""
        reduce = self.reduce
        if not reduce.axes:
            return 1
        last = reduce.axes[-1]
        own = {axis.var for axis in reduce.axes}
        fixed = reduce.combiner in POSITIONAL  # positions are computed from constant extents
        for axis in reduce.axes:
            extent = axis.extent
            if isinstance(extent, Expr) and (fixed or any(node in own for node in post_order(extent))):
                return 1
        if reduce.combiner == "first":
            return 1
        parts = [part for part in (reduce.value, reduce.condition) if part is not None]
        nodes = [node for part in parts for node in post_order(part, self.given)]
        reads = [node for node in nodes if isinstance(node, Read)]
        widths = [read.dtype.itemsize for read in reads]
        if (
            any(isinstance(node, Reduce) for node in nodes)
            or min(widths, default=0) < _MIN_MASKED_ELEMENT_BYTES
        ):
            return 1
        slopes = [_slopes(read, last.var) for read in reads]
        if [1] not in [slope[-1:] for slope in slopes]:
            return 1
        if any(slope[-1:] not in ([0], [1]) or any(s != 0 for s in slope[:-1]) for slope in slopes if slope):
            return 1
        lanes = _VECTOR_BYTES // max(widths)
        return 1 if isinstance(last.extent, int) and last.extent < 2 * lanes else lanes

    def run(self) -> Stmt:
        """The loops, after `starts`."""
        if self.lanes > 1:
            return self._in_lanes()
        env = dict(self.env)
        loops = [self._loop(axis, env) for axis in self.reduce.axes]
        if self.reduce.combiner == "first":
            return self._first(env, loops)
        if self.reduce.combiner not in POSITIONAL:
            return _nest(loops, self._element(env, lambda value: self.whole.step(AT, value, ZERO, True)))
        # the position counts the elements in row-major order, also where an extent depends on other axes
        count = self.values.local("count", INDEX)
        position = Load(INDEX, count, AT)
        step = self._element(env, lambda value: self.whole.step(AT, value, position, True))
        body = _nest(loops, block(step, Store(count, AT, position + 1)))
        return Allocate(count, block(Store(count, AT, ZERO), body))

    def _loop(self, axis: IterVar, env: dict[Var, Expr]) -> _Loop:
        """The loop over an axis, whose var gets its value in `env`."""
        prelude, trips = self.values.lower(as_index(axis.extent), env, self.given)
        var = env[axis.var] = Var(INDEX, axis.var.name)
        return var, prelude, cast(trips, INDEX)

    def _element(self, env: Mapping[Var, Expr], step: Callable[[Expr], Stmt]) -> Stmt:
        """What one element does."""
        prelude, value = self.values.lower(self.reduce.value, env, self.given)
        made = prelude.around(step(value))
        if self.reduce.condition is None:
            return made
        prelude, condition = self.values.lower(self.reduce.condition, env, self.given)
        return prelude.around(If(condition, made))

    def _first(self, env: dict[Var, Expr], loops: list[_Loop]) -> Stmt:
        """The loops, which rest as soon as something is found, then the default if nothing was."""
        found, kept = self.buffers
        missing = logical_not(Load(BOOL, found, AT))
        body = self._element(
            env, lambda value: block(Store(kept, AT, value), Store(found, AT, const(True, BOOL)))
        )
        assert self.reduce.default is not None
        prelude, default = self.values.lower(self.reduce.default, self.env, self.given)
        return block(_nest(loops, If(missing, body)), If(missing, prelude.around(Store(kept, AT, default))))

    # ------------------------------------------------------------------ partial results in lanes

    def _in_lanes(self) -> Stmt:
        env = dict(self.env)
        *outer, (_, prelude, trips) = [self._loop(axis, env) for axis in self.reduce.axes]
        lanes, last = self.lanes, self.reduce.axes[-1].var
        parts = Accumulators(self.reduce, self.values.local, (lanes,))
        vector, lane = Var(INDEX, last.name), Var(INDEX, "lane")
        at = (lane,)

        def step(k: Expr) -> Stmt:
            env[last] = k
            position = self._position(env)
            return self._element(env, lambda value: parts.step(at, value, position, True))

        def across(body: Stmt) -> Stmt:
            return For(lane, ZERO, const(lanes, INDEX), ForKind.VECTORIZED, body)

        whole, rest = trips // lanes, trips % lanes
        body: Stmt = For(vector, ZERO, whole, ForKind.SERIAL, across(step(vector * lanes + lane)))
        if not (isinstance(rest, Const) and rest.value == 0):
            k = whole * lanes + lane
            body = block(body, across(If(lt(k, trips), step(k))))
        body = _nest(outer, prelude.around(body))
        result = parts.across_lanes(parts.loads(at), lane, lanes)
        buffer = self.buffers[-1]
        body = block(across(parts.start(at)), body, Store(buffer, AT, cast(result, buffer.dtype)))
        for made in reversed(parts.buffers):
            body = Allocate(made, body)
        return body

    def _position(self, env: Mapping[Var, Expr]) -> Expr:
        """The row-major position of the element."""
        total: Expr = ZERO
        for axis in self.reduce.axes:
            total = total * axis.extent + env[axis.var]
        return total


def _nest(loops: list[_Loop], body: Stmt) -> Stmt:
    for var, prelude, trips in reversed(loops):
        body = prelude.around(For(var, ZERO, trips, ForKind.SERIAL, body))
    return body


def _slopes(read: Read, var: Var) -> list[int | None]:
    """By how much each index grows with `var`; None where that is not one number."""
    return [_slope(index, var) for index in read.indices]


def _slope(e: Expr, var: Var) -> int | None:
    done: dict[int, int | None] = {}
    for node in post_order(e):
        known = [done[id(child)] for child in node.children()]
        if node is var:
            done[id(node)] = 1
        elif all(slope == 0 for slope in known):
            done[id(node)] = 0
        elif isinstance(node, Binary) and node.op in ("add", "sub") and None not in known:
            a, b = known
            assert a is not None
            assert b is not None
            done[id(node)] = a + b if node.op == "add" else a - b
        else:
            done[id(node)] = None
    return done[id(e)]
