"""rewrite_unsafe_select: after it, a Select may evaluate both of its branches.

A load in a branch of a Select, or in the value of a masked store, that is not certainly inside its buffer gets a mask:
the condition under which it is wanted or, where several conditions lead to it, that its index is inside.  Each node is
rewritten once, so that values which many choices share stay one.  Every other operation is total.

z[i] = m[i - 1] if i >= 1 else m[i]  -->  z[i] = m[i - 1; i >= 1] if i >= 1 else m[i]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from ....base.arith import (
    Expr,
    Select,
    Table,
    ValueNumbers,
    Var,
    cast,
    const,
    identical,
    logical_and,
    logical_not,
    lt,
    post_order,
    select,
)
from ....base.arith.relax import Relaxer
from ....base.contract import Rule
from ....base.vocabulary import UINT64
from ..analysis.guards import SEVERAL, Guard, guards_of
from ..analysis.region import is_within
from ..nodes.contract import View
from ..nodes.folding import rebuild_folding
from ..nodes.relocate import instance
from ..nodes.stmt import (
    Buffer,
    For,
    HorizontalReduce,
    LetStmt,
    Load,
    PrimFunc,
    Repetition,
    Stmt,
    Store,
    TransposedLoad,
)
from ..nodes.vector import Lanes, splat
from ..nodes.visit import StmtMutator, upper_bound

R = TypeVar("R", bound=Expr)


def rewrite_unsafe_select(func: PrimFunc) -> PrimFunc:
    """The function with masked loads wherever a condition guards a load."""
    return func.with_body(_Rewrite().stmt(func.body))


class _Rewrite(StmtMutator):
    def __init__(self) -> None:
        self.trips: dict[Var, int | None] = {}
        self.relaxer = Relaxer(self.trips, {})
        self.vector_vars: dict[Var, int] = {}

    def loop(self, s: For) -> Stmt:
        self._takes(s.var, upper_bound(s))
        return super().loop(s)

    def _takes(self, var: Var, count: int | None) -> None:
        self.trips[var] = count
        self.relaxer = Relaxer(self.trips, {})

    def let(self, s: LetStmt) -> Stmt:
        value = self.expr(s.value)
        lanes = Lanes(self.vector_vars).of(value)
        if lanes > 1:
            self.vector_vars[s.var] = lanes
        self._takes(s.var, None)
        body = self.stmt(s.body)
        return s if value is s.value and body is s.body else LetStmt(s.var, value, body)

    def store(self, s: Store) -> Stmt:
        indices = tuple(self.expr(i) for i in s.indices)
        if s.mask is None:
            value = self.expr(s.value)
            return s if value is s.value and indices[0] is s.indices[0] else Store(s.buffer, indices, value)
        mask = self.expr(s.mask)
        inside = _Inside()
        inside.add(s.indices[0], s.buffer)
        value = _Value(self.relaxer, self.vector_vars, mask, inside).rewritten(s.value)
        return Store(s.buffer, indices, value, mask)

    def expr(self, e: Expr) -> Expr:
        return _Value(self.relaxer, self.vector_vars, None, _Inside()).rewritten(e)


def _why_not_safe(view: View) -> str | None:
    look = _Look(view)
    look.stmt(view.func.body)
    return look.reason


SAFE: Final = Rule("choices are safe", _why_not_safe)
"""The rule that what may be outside its buffer is read under a mask."""


class _Look(_Rewrite):
    """Changes nothing; finds the first read that may be outside, in a branch or a masked store, and has no mask."""

    def __init__(self, view: View) -> None:
        super().__init__()
        self.view = view
        self.reason: str | None = None
        self._instances: list[Stmt] = []  # kept, as the view knows statements by their id

    def store(self, s: Store) -> Stmt:
        if s.mask is None and not any([isinstance(node, Select) for node in self.view.nodes(s)]):
            return s  # all that it reads is wanted wherever it runs
        inside = _Inside()
        if s.mask is not None:
            inside.add(s.indices[0], s.buffer)
        self._find(s.value, s.mask, inside)
        return s

    def expr(self, e: Expr) -> Expr:
        self._find(e, None, _Inside())
        return e

    def transposed(self, s: TransposedLoad) -> Stmt:
        self.vector_vars.update(dict.fromkeys(s.variables, len(s.variables)))
        return super().transposed(s)

    def repetition(self, s: Repetition) -> Stmt:
        """What is inside depends on all numbers of a row."""
        for number, values in s.rows:
            self._instances.append(instance(s.kinds[number], values))
            self.stmt(self._instances[-1])
        return s

    def _find(self, e: Expr, mask: Expr | None, inside: _Inside) -> None:
        for node in _Value(self.relaxer, self.vector_vars, mask, inside).unmasked(e):
            self.reason = self.reason or f"{node} may be read outside of its buffer"


class _Value:
    """Rewrites one expression, which is wanted where `mask` holds (None: everywhere); each node once."""

    def __init__(
        self, relaxer: Relaxer, vector_vars: dict[Var, int], mask: Expr | None, inside: _Inside
    ) -> None:
        self.relaxer, self.mask, self.inside = relaxer, mask, inside
        self.lanes = Lanes(vector_vars)
        self.masks: dict[int, Guard | None] = {}  # what guards a read that may be outside; None: `mask` alone
        self.done: dict[int, Expr] = {}  # by node; by guard, its condition

    def rewritten(self, e: Expr) -> Expr:
        """The expression with masks.

        What is read outside of all choices is inside wherever the value is wanted, and so is what is read at the same
        index elsewhere: the mask of the statement is enough for it, whatever choice it stands in.  Not so an index
        that reads under masks of its own choices itself: where it is not wanted, it is another number.
        """
        order = post_order(e)
        if self._is_wanted_whole(order):
            return e
        guards = guards_of(order)
        reads = [node for node in order if isinstance(node, Load | Table)]
        unsafe = {id(node): node for node in self._unsafe(reads, guards)}
        shared = {id(node.indices[0]) for node in self._wanted_loads(unsafe.values(), guards)}
        masked: set[int] = set()  # nodes whose values hang on the masks of choices
        for node in order:
            if any([id(child) in masked for child in node.children()]):
                masked.add(id(node))
            if id(node) not in unsafe:
                continue
            guard = guards[id(node)]
            if isinstance(node, Load) and self.inside.has(node.indices[0], node.buffer):
                index = id(node.indices[0])
                guard = None if index in shared or index not in masked else guard
            if guard is not None:
                masked.add(id(node))
            if guard is not None or self.mask is not None:
                self.masks[id(node)] = guard
        return self._rebuilt(e) if self.masks else e

    def _wanted_loads(self, unsafe: Iterable[Expr], guards: Mapping[int, Guard | None]) -> list[Load]:
        """The loads outside of all choices, whose indices are inside from now on."""
        found = [node for node in unsafe if isinstance(node, Load) and guards[id(node)] is None]
        for node in found:
            self.inside.add(node.indices[0], node.buffer)
        return found

    def unmasked(self, e: Expr) -> list[Load]:
        """The loads that `rewritten` would give their first mask."""
        order = post_order(e)
        loads = [node for node in order if isinstance(node, Load)]
        if all([node.mask is not None for node in loads]) or self._is_wanted_whole(order):
            return []
        guards = guards_of(order)
        unsafe = self._unsafe(loads, guards)
        self._wanted_loads(unsafe, guards)
        return [
            node
            for node in unsafe
            if node.mask is None
            and (
                self.mask is not None
                or not (guards[id(node)] is None or self.inside.has(node.indices[0], node.buffer))
            )
        ]

    def _is_wanted_whole(self, order: Sequence[Expr]) -> bool:
        """Whether all that an expression reads is wanted wherever it runs: no read is proved inside in vain."""
        return self.mask is None and not any([isinstance(node, Select) for node in order])

    def _unsafe(self, reads: Sequence[R], guards: Mapping[int, Guard | None]) -> list[R]:
        """The reads that may be outside; none where all such are wanted wherever the value is."""
        free = [] if self.mask is not None else [node for node in reads if guards[id(node)] is None]
        known = {id(node) for node in free}
        found = [node for node in reads if id(node) not in known and self._is_unsafe(node)]
        return [*found, *[node for node in free if self._is_unsafe(node)]] if found else []

    def _is_unsafe(self, node: Expr) -> bool:
        """Whether the node reads where it may be outside."""
        if isinstance(node, Load):
            size = node.buffer.shape[0]
            return not (isinstance(size, int) and is_within(node.indices[0], size, self.relaxer))
        return isinstance(node, Table) and not is_within(node.index, len(node.values), self.relaxer)

    def _rebuilt(self, e: Expr) -> Expr:
        stack: list[Expr | Guard] = [e]
        while stack:
            item = stack[-1]
            if id(item) in self.done:
                stack.pop()
                continue
            pending = [part for part in self._needs(item) if id(part) not in self.done]
            if pending:
                stack.extend(reversed(pending))
                continue
            stack.pop()
            self.done[id(item)] = self._condition(item) if isinstance(item, Guard) else self._node(item)
        return self.done[id(e)]

    def _needs(self, item: Expr | Guard) -> list[Expr | Guard]:
        """What is made before: no condition holds what it guards (guards_of), so there is an order."""
        if isinstance(item, Guard):
            return [item.condition] if item.outer is None else [item.outer, item.condition]
        guard = self.masks.get(id(item))
        return [*item.children()] if guard is None or guard is SEVERAL else [*item.children(), guard]

    def _condition(self, guard: Guard) -> Expr:
        chosen = self.done[id(guard.condition)]
        holds = logical_not(chosen) if guard.inverted else chosen
        outer = self.mask if guard.outer is None else self.done[id(guard.outer)]
        return holds if outer is None else self._both(outer, holds)

    def _node(self, node: Expr) -> Expr:
        old = node.children()
        fresh = [self.done[id(child)] for child in old]
        if id(node) in self.masks:
            guard = self.masks[id(node)]
            if isinstance(node, Load):
                return self._masked(node, fresh, guard)
            assert isinstance(node, Table)
            return self._clipped(node, fresh[0], guard)
        if identical(fresh, old):
            return node
        return select(*fresh) if isinstance(node, Select) else rebuild_folding(node, fresh)

    def _wanted(self, guard: Guard | None, index: Expr, size: int | Expr) -> Expr:
        """A condition that holds wherever the guarded read is wanted, and under which its index is inside."""
        if guard is SEVERAL:
            end = const(size, UINT64) if isinstance(size, int) else cast(size, UINT64)
            return lt(cast(index, UINT64), self._wide(end, self.lanes.of(index)))
        if guard is not None:
            return self.done[id(guard)]
        assert self.mask is not None
        return self.mask

    def _both(self, a: Expr, b: Expr) -> Expr:
        lanes = max(self.lanes.of(a), self.lanes.of(b))
        return logical_and(self._wide(a, lanes), self._wide(b, lanes))

    def _wide(self, e: Expr, lanes: int) -> Expr:
        return splat(e, lanes) if lanes > 1 and self.lanes.of(e) == 1 else e

    def _masked(self, node: Load, fresh: list[Expr], guard: Guard | None) -> Expr:
        index = fresh[0]
        condition = self._wanted(guard, index, node.buffer.shape[0])
        mask = condition if node.mask is None else self._both(fresh[1], condition)
        lanes, own = self.lanes.of(mask), self.lanes.of(index)
        if lanes == own:
            return Load(node.dtype, node.buffer, (index,), mask)
        if lanes == 1:
            return Load(node.dtype, node.buffer, (index,), splat(mask, own))
        # a scalar under a mask of lanes: wanted if any lane is
        return Load(node.dtype, node.buffer, (index,), HorizontalReduce(mask.dtype, "or", mask))

    def _clipped(self, node: Table, index: Expr, guard: Guard | None) -> Expr:
        condition = self._wanted(guard, index, len(node.values))
        lanes, own = self.lanes.of(condition), self.lanes.of(index)
        if lanes > own:
            condition = HorizontalReduce(condition.dtype, "or", condition)
        zero = self._wide(const(0, index.dtype), own)
        return Table(node.dtype, node.values, Select(index.dtype, self._wide(condition, own), index, zero))


class _Inside:
    """Indices that lie in 0 <= index < size, each with the least size."""

    def __init__(self) -> None:
        self.numbers = ValueNumbers()
        self.sizes: dict[int, int] = {}

    def add(self, index: Expr, buffer: Buffer) -> None:
        """An access of the buffer at the index is inside."""
        size = buffer.shape[0]
        if isinstance(size, int):
            number = self.numbers.of(index)
            self.sizes[number] = min(size, self.sizes.get(number, size))

    def has(self, index: Expr, buffer: Buffer) -> bool:
        """Whether an access of the buffer at the index is inside, by what was added."""
        size = buffer.shape[0]
        least = self.sizes.get(self.numbers.of(index)) if self.sizes else None
        return least is not None and isinstance(size, int) and least <= size
