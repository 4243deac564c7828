"""rewrite_unsafe_select: after it, a Select may evaluate both of its branches.

A load in a branch of a Select, or in the value of a masked store, that is not certainly inside its buffer gets the
condition as its mask.  Every other operation is total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...arith import (
    Expr,
    Select,
    Table,
    Var,
    const,
    logical_and,
    logical_not,
    post_order,
    select,
    structural_equal,
    structural_hash,
)
from ..folding import rebuild_folding
from ..region import is_within
from ..stmt import Buffer, For, HorizontalReduce, LetStmt, Load, PrimFunc, Stmt, Store
from ..vector import lanes_of, splat
from ..visit import StmtMutator, trips


def rewrite_unsafe_select(func: PrimFunc) -> PrimFunc:
    """The function with masked loads wherever a condition guards a load."""
    return replace(func, body=_Rewrite().stmt(func.body))


class _Rewrite(StmtMutator):
    def __init__(self) -> None:
        self.trips: dict[Var, int | None] = {}
        self.vector_vars: dict[Var, int] = {}
        self.done: dict[int | None, dict[int, Expr]] = {}  # by condition, then by node: within one statement
        self.unsafe: dict[int, bool] = {}
        self.settled: set[int] = set()  # loads that need no further mask
        self.alive: list[Expr] = []

    def loop(self, s: For) -> Stmt:
        self.trips[s.var] = trips(s)
        return super().loop(s)

    def let(self, s: LetStmt) -> Stmt:
        value = self.expr(s.value)
        lanes = lanes_of(value, self.vector_vars)
        if lanes > 1:
            self.vector_vars[s.var] = lanes
        self.trips[s.var] = None
        body = self.stmt(s.body)
        return s if value is s.value and body is s.body else LetStmt(s.var, value, body)

    def store(self, s: Store) -> Stmt:
        indices = tuple(self.expr(i) for i in s.indices)
        if s.mask is None:
            value = self.expr(s.value)
            return s if value is s.value and indices[0] is s.indices[0] else Store(s.buffer, indices, value)
        mask = self.expr(s.mask)
        self.reset()
        known = _Known()
        known.add(s.indices[0], s.buffer)
        return Store(s.buffer, indices, self.wanted(s.value, mask, known), mask)

    def reset(self) -> None:
        self.done, self.unsafe, self.alive, self.settled = {}, {}, [], set()

    def expr(self, e: Expr) -> Expr:
        self.reset()
        if not self._has_unsafe(e) or not any(isinstance(node, Select) for node in post_order(e)):
            return e
        return self.wanted(e, None, _Known())

    def wanted(self, e: Expr, mask: Expr | None, known: _Known) -> Expr:
        """`e`, wanted where `mask` holds; `known` has indices that are inside buffers there.

        What is read outside of all choices is inside wherever the value is wanted, and so is what is read at the same
        index elsewhere: the mask of the statement is enough for it, whatever choice it stands in.
        """
        if not self._has_unsafe(e):
            return e
        for node in _order(e, {}):
            if isinstance(node, Load):
                known.add(node.indices[0], node.buffer)
        done: dict[int, Expr] = {}
        for node in post_order(e):
            old = node.children()
            fresh = [done[id(child)] for child in old]
            changed = any(a is not b for a, b in zip(fresh, old, strict=True))
            made = rebuild_folding(node, fresh) if changed else node
            if isinstance(node, Load) and not self._inside(node) and known.is_inside(node):
                made = made if mask is None else self._masked(node, fresh, mask)
                self.settled.add(id(made))
                self.alive.append(made)
            done[id(node)] = made
        settled = done[id(e)]
        self.unsafe = {}
        return self.under(settled, mask) if self._has_unsafe(settled) else settled

    def under(self, e: Expr, condition: Expr | None) -> Expr:
        """`e` where it is evaluated everywhere but wanted only where `condition` holds."""
        done = self.done.setdefault(None if condition is None else id(condition), {})
        for node in _order(e, done):
            if isinstance(node, Select):
                done[id(node)] = self._select(node, done[id(node.condition)], condition)
                continue
            old = node.children()
            fresh = [done[id(child)] for child in old]
            if condition is not None and isinstance(node, Load) and not self._inside(node):
                done[id(node)] = self._masked(node, fresh, condition)
            elif condition is not None and isinstance(node, Table) and not self._indexed(node):
                done[id(node)] = self._clipped(node, fresh[0], condition)
            elif any(a is not b for a, b in zip(fresh, old, strict=True)):
                done[id(node)] = rebuild_folding(node, fresh)
            else:
                done[id(node)] = node
        return done[id(e)]

    def _select(self, node: Select, chosen: Expr, outer: Expr | None) -> Expr:
        then = self._branch(node.then, chosen, False, outer)
        otherwise = self._branch(node.otherwise, chosen, True, outer)
        if chosen is node.condition and then is node.then and otherwise is node.otherwise:
            return node
        return select(chosen, then, otherwise)

    def _branch(self, branch: Expr, chosen: Expr, inverted: bool, outer: Expr | None) -> Expr:
        if not self._has_unsafe(branch):
            return branch
        holds = logical_not(chosen) if inverted else chosen
        condition = holds if outer is None else self._both(outer, holds)
        self.alive.append(condition)
        return self.under(branch, condition)

    def _both(self, a: Expr, b: Expr) -> Expr:
        lanes = max(lanes_of(a, self.vector_vars), lanes_of(b, self.vector_vars))
        return logical_and(self._wide(a, lanes), self._wide(b, lanes))

    def _wide(self, e: Expr, lanes: int) -> Expr:
        return splat(e, lanes) if lanes > 1 and lanes_of(e, self.vector_vars) == 1 else e

    def _masked(self, node: Load, fresh: list[Expr], condition: Expr) -> Expr:
        mask = condition if node.mask is None else self._both(fresh[1], condition)
        lanes = lanes_of(mask, self.vector_vars)
        index = fresh[0]
        own = lanes_of(index, self.vector_vars)
        if lanes == own:
            return Load(node.dtype, node.buffer, (index,), mask)
        if lanes == 1:
            return Load(node.dtype, node.buffer, (index,), splat(mask, own))
        # a scalar under a mask of lanes: wanted if any lane is
        return Load(node.dtype, node.buffer, (index,), HorizontalReduce(mask.dtype, "or", mask))

    def _clipped(self, node: Table, index: Expr, condition: Expr) -> Expr:
        lanes, own = lanes_of(condition, self.vector_vars), lanes_of(index, self.vector_vars)
        if lanes > own:
            condition = HorizontalReduce(condition.dtype, "or", condition)
        zero = self._wide(const(0, index.dtype), own)
        return Table(node.dtype, node.values, Select(index.dtype, self._wide(condition, own), index, zero))

    # ------------------------------------------------------------------ what is certainly inside

    def _has_unsafe(self, e: Expr) -> bool:
        """Whether `e` reads where it may be outside; remembered for every node below."""
        unsafe = self.unsafe
        for node in _order(e, unsafe, whole=True):
            own = (isinstance(node, Load) and not self._inside(node)) or (
                isinstance(node, Table) and not self._indexed(node)
            )
            unsafe[id(node)] = own or any(unsafe[id(child)] for child in node.children())
        return unsafe[id(e)]

    def _indexed(self, node: Table) -> bool:
        return is_within(node.index, len(node.values), self.trips)

    def _inside(self, node: Load) -> bool:
        if id(node) in self.settled:
            return True
        size = node.buffer.shape[0]
        return isinstance(size, int) and is_within(node.indices[0], size, self.trips)


class _Known:
    """Indices that lie in 0 <= index < size, each with the least size."""

    def __init__(self) -> None:
        self.sizes: dict[int, list[tuple[Expr, int]]] = {}  # by structural hash
        self.hashes: dict[int, tuple[Expr, int]] = {}  # by identity

    def _hash(self, index: Expr) -> int:
        found = self.hashes.get(id(index))
        if found is None:
            found = self.hashes[id(index)] = (index, structural_hash(index))
        return found[1]

    def add(self, index: Expr, buffer: Buffer) -> None:
        """An access of the buffer at the index is inside."""
        size = buffer.shape[0]
        if isinstance(size, int) and not any(known <= size for known in self._of(index)):
            self.sizes.setdefault(self._hash(index), []).append((index, size))

    def is_inside(self, node: Load) -> bool:
        """Whether the load reads inside its buffer, by what was added."""
        size = node.buffer.shape[0]
        return isinstance(size, int) and any(known <= size for known in self._of(node.indices[0]))

    def _of(self, index: Expr) -> list[int]:
        bucket = self.sizes.get(self._hash(index), [])
        return [size for known, size in bucket if known is index or structural_equal(known, index)]


def _order(e: Expr, done: Mapping[int, object], whole: bool = False) -> list[Expr]:
    """The nodes that are not done yet in post order, without the branches of Selects unless `whole`."""
    order: list[Expr] = []
    seen: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(e, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif id(node) not in seen and id(node) not in done:
            seen.add(id(node))
            children = (node.condition,) if isinstance(node, Select) and not whole else node.children()
            stack.append((node, True))
            stack.extend([(child, False) for child in reversed(children)])
    return order
