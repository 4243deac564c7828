"""Values: tensor reads become loads, and reductions inside expressions become loops over local accumulators."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...base.arith import Expr, Select, Var, cast, const, logical_not, lt, select
from ...base.errors import LoweringError
from ...base.vocabulary import BOOL, INDEX, DType
from ...compute.te.tensor import Read, Reduce, Tensor
from ..schedule import ForKind
from ..schedule.inline import order_of
from .combine import accumulator_dtype, identity, is_positional, join, wins
from .stmt import Allocate, Buffer, For, If, LetStmt, Load, Stmt, Store
from .visit import block

Env = Mapping[Var, Expr]
Place = Callable[[tuple[Expr, ...]], tuple[Expr, ...]]
_ZERO = const(0, INDEX)


class Prelude:
    """Statements that must run before an expression is evaluated, and the buffers they fill."""

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.stmts: list[Stmt] = []

    def around(self, stmt: Stmt) -> Stmt:
        """The prelude, then `stmt`."""
        if not self.stmts:
            return stmt
        body = block(*self.stmts, stmt)
        for buffer in reversed(self.buffers):
            body = Allocate(buffer, body)
        return body


class ValueLowering:
    """Lowers scalar expressions over tensors to expressions over buffers.

    `origins` gives the index of the first element that the buffer of an attached stage holds; `places` tells where
    the buffer of a tensor of which a few rows are kept holds an element.
    """

    def __init__(self, buffers: dict[Tensor, Buffer], origins: dict[Tensor, tuple[Expr, ...]]) -> None:
        self.buffers = buffers
        self.origins = origins
        self.places: dict[Tensor, Place] = {}
        self._count = 0

    def lower(self, e: Expr, env: Env) -> tuple[Prelude, Expr]:
        """`e` with vars replaced by `env`, and what must run before."""
        prelude = Prelude()
        return prelude, self._value(e, env, prelude)

    def _value(self, e: Expr, env: Env, prelude: Prelude) -> Expr:
        if isinstance(e, Var):
            return env.get(e, e)
        order = order_of(e)
        if any(isinstance(node, Reduce) for node in order):
            return self._with_reductions(e, env, prelude, {})
        done: dict[int, Expr] = {}
        for node in order:
            done[id(node)] = self._node(node, [done[id(child)] for child in node.children()], env)
        return done[id(e)]

    def _node(self, node: Expr, fresh: list[Expr], env: Env) -> Expr:
        if isinstance(node, Var):
            return env.get(node, node)
        if isinstance(node, Read):
            return self.load(node.tensor, fresh)
        old = node.children()
        for a, b in zip(fresh, old, strict=True):
            if a is not b:
                return node.rebuild(fresh)
        return node

    def position(self, tensor: Tensor, indices: list[Expr]) -> tuple[Expr, ...]:
        """Indices into the buffer of `tensor`."""
        whole = [index if index.dtype is INDEX else cast(index, INDEX) for index in indices]
        origin = self.origins.get(tensor)
        if origin is not None:
            whole = [index - first for index, first in zip(whole, origin, strict=True)]
        place = self.places.get(tensor)
        return tuple(whole) if place is None else place(tuple(whole))

    def load(self, tensor: Tensor, indices: list[Expr]) -> Expr:
        buffer = self.buffers.get(tensor)
        if buffer is None:
            raise LoweringError(
                f"tensor {tensor.name} is read before it is computed; is its stage placed after its reader?"
            )
        return Load(buffer.dtype, buffer, self.position(tensor, indices))

    # ------------------------------------------------------------------ reductions inside expressions

    def _with_reductions(self, e: Expr, env: Env, prelude: Prelude, done: dict[int, Expr]) -> Expr:
        """Like `_value`; what lies under a Select runs under its condition alone."""
        found = done.get(id(e))
        if found is not None:
            return found
        if isinstance(e, Reduce):
            made = self.reduction(e, env, prelude)
        elif isinstance(e, Select) and (_reduces(e.then) or _reduces(e.otherwise)):
            condition = self._with_reductions(e.condition, env, prelude, done)
            branches = []
            for branch, holds in ((e.then, condition), (e.otherwise, logical_not(condition))):
                inner = Prelude()
                branches.append(self._with_reductions(branch, env, inner, dict(done)))
                prelude.buffers.extend(inner.buffers)
                if inner.stmts:
                    prelude.stmts.append(If(holds, block(*inner.stmts)))
            made = select(condition, branches[0], branches[1])
        else:
            fresh = [self._with_reductions(child, env, prelude, done) for child in e.children()]
            made = self._node(e, fresh, env)
        done[id(e)] = made
        return made

    def local(self, name: str, dtype: DType, shape: tuple[int | Expr, ...] = (1,)) -> Buffer:
        """A fresh buffer, private to an iteration."""
        self._count += 1
        return Buffer(f"{name}{self._count}", shape, dtype, "local")

    def reduction(self, e: Reduce, env: Env, prelude: Prelude) -> Expr:
        """Run `e` in loops of its own before the expression that holds it."""
        inner_env: dict[Var, Expr] = dict(env)
        loops: list[tuple[Var, Prelude, Expr]] = []
        for axis in e.axes:
            before = Prelude()
            extent = axis.extent
            trip = const(extent, INDEX) if isinstance(extent, int) else self._value(extent, inner_env, before)
            var = Var(INDEX, axis.var.name)
            inner_env[axis.var] = var
            loops.append((var, before, cast(trip, INDEX)))
        state = self._states(e)
        prelude.buffers.extend(buffer for buffer, _ in state)
        prelude.stmts.extend(Store(buffer, (_ZERO,), start) for buffer, start in state)
        body = self._element(e, inner_env, [buffer for buffer, _ in state])
        for var, before, trip in reversed(loops):
            body = before.around(For(var, _ZERO, trip, ForKind.SERIAL, body))
        prelude.stmts.append(body)
        last = [Load(buffer.dtype, buffer, (_ZERO,)) for buffer, _ in state]
        if e.combiner == "first":
            assert e.default is not None
            return select(last[0], last[1], self._with_reductions(e.default, env, prelude, {}))
        return cast(last[-1], e.dtype)

    def _states(self, e: Reduce) -> list[tuple[Buffer, Expr]]:
        dtype = accumulator_dtype(e.combiner, e.value.dtype)
        if e.combiner == "first":
            zero = const(0 if not dtype.is_bool else False, dtype)
            return [(self.local("found", BOOL), const(False, BOOL)), (self.local("value", dtype), zero)]
        best = (self.local(e.combiner, dtype), identity(e.combiner, dtype))
        if is_positional(e.combiner):
            # the position counts the elements in row-major order, also where an extent depends on other axes
            return [
                (self.local("count", INDEX), _ZERO),
                best,
                (self.local("position", INDEX), const(-1, INDEX)),
            ]
        return [best]

    def _element(self, e: Reduce, env: Env, state: list[Buffer]) -> Stmt:
        """What one element does to the state."""
        prelude, value = self.lower(e.value, env)
        now = [Load(buffer.dtype, buffer, (_ZERO,)) for buffer in state]
        if e.combiner == "first":
            found, kept = state
            step: Stmt = block(Store(kept, (_ZERO,), value), Store(found, (_ZERO,), const(True, BOOL)))
        elif is_positional(e.combiner):
            count, best, position = state
            step = self._best(e.combiner, value, count, best, position)
        else:
            step = Store(state[0], (_ZERO,), join(e.combiner, now[0], cast(value, state[0].dtype)))
        step = prelude.around(step)
        if e.condition is not None:
            before, condition = self.lower(e.condition, env)
            step = before.around(If(condition, step))
        if e.combiner == "first":
            step = If(logical_not(now[0]), step)
        if is_positional(e.combiner):
            step = block(step, Store(state[0], (_ZERO,), now[0] + 1))
        return step

    def _best(self, combiner: str, value: Expr, count: Buffer, best: Buffer, position: Buffer) -> Stmt:
        fresh = Var(value.dtype, "candidate")
        kept, at = Load(best.dtype, best, (_ZERO,)), Load(INDEX, position, (_ZERO,))
        better = select(lt(at, 0), True, wins(combiner, fresh, kept))
        take = block(Store(best, (_ZERO,), fresh), Store(position, (_ZERO,), Load(INDEX, count, (_ZERO,))))
        return LetStmt(fresh, value, If(better, take))


def _reduces(e: Expr) -> bool:
    return any(isinstance(node, Reduce) for node in order_of(e))
