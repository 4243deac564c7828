"""group_repetitions: statements that are equal but for numbers and operands become rows of a table.

out[i] = a[i], i < 4; out[i + 4] = b[i], i < 9; ...
-->
out[i + n0] = operand[i], i < n1     for (operand, n0, n1) in (a, 0, 4), (b, 4, 9), ...

A kernel of thousands of operands stays as small as one of a few; what LLVM does grows faster than what it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from ....base.arith.expr import Const, Expr, Var
from ....base.arith.structural import label
from ....base.arith.visit import identical
from ....base.vocabulary import INDEX
from ..nodes.stmt import (
    Allocate,
    Block,
    Buffer,
    For,
    ForKind,
    If,
    Kind,
    LetStmt,
    Load,
    Prefetch,
    PrimFunc,
    Ramp,
    Repetition,
    Stmt,
    Store,
)
from ..nodes.visit import StmtMutator, statements

MANY: Final = 16  # in a kernel of fewer operands, and of fewer statements in a row, each is written
_MIN_LOOPS: Final = (
    4  # loops, of as many operands, that become one; their own work is more than reading a row
)
_MIN_BARE: Final = 128  # likewise of statements without loops, which may be inside of one

_Leaf = Const | Buffer
_Values = tuple[int | Buffer, ...]


def group_repetitions(func: PrimFunc) -> PrimFunc:
    """The function with runs of statements that repeat put together, where it has many operands."""
    operands = frozenset((*func.inputs, *func.outputs))
    return func if len(operands) < MANY else func.with_body(_Group(operands).stmt(func.body))


class _Group(StmtMutator):
    """Blocks from the outside in: what is put together is looked into as one of the kernel's own statements."""

    def __init__(self, operands: frozenset[Buffer]) -> None:
        self._operands = operands

    def block(self, s: Block) -> Stmt:
        parts = tuple(_repetitions(s.body, self._operands))
        return super().block(s if identical(parts, s.body) else Block(parts))


def _repetitions(body: Sequence[Stmt], operands: frozenset[Buffer]) -> Iterator[Stmt]:
    """The statements in order, with runs of those that repeat put together."""
    if len(body) < MANY:
        yield from body
        return
    groups: dict[tuple[object, ...], list[int]] = {}
    leaves: list[tuple[_Leaf, ...]] = []
    for k, stmt in enumerate(body):
        walk = _Walk(operands)
        walk.stmt(stmt)
        groups.setdefault(tuple(walk.key), []).append(k)
        leaves.append(tuple(walk.leaves))
    found: dict[int, tuple[Kind, _Values]] = {}  # by number of the statement
    for numbers in groups.values():
        if len(numbers) >= _fewest(body[numbers[0]]):
            found.update(_grouped(body, leaves, numbers, operands))
    for repeats, run in groupby(range(len(body)), lambda k: k in found):
        numbers = list(run)
        if repeats and len(numbers) >= _MIN_LOOPS:
            yield _repetition([found[k] for k in numbers])
        else:
            yield from (body[k] for k in numbers)


def _fewest(stmt: Stmt) -> int:
    return _MIN_LOOPS if any(isinstance(s, For) for s in statements(stmt)) else _MIN_BARE


def _repetition(parts: list[tuple[Kind, _Values]]) -> Repetition:
    kinds: dict[int, int] = {}
    rows = tuple((kinds.setdefault(id(kind), len(kinds)), values) for kind, values in parts)
    by_number = {id(kind): kind for kind, _ in parts}
    return Repetition(tuple(by_number[k] for k in kinds), rows)


def _grouped(
    body: Sequence[Stmt],
    leaves: list[tuple[_Leaf, ...]],
    members: list[int],
    operands: frozenset[Buffer],
) -> Iterator[tuple[int, tuple[Kind, _Values]]]:
    """Of each member its kind and row; nothing where the members are of few operands."""
    columns: dict[tuple[object, ...], Var | Buffer] = {}
    others: list[Expr | Buffer] = []
    most = 0
    for leaf, column in zip(leaves[members[0]], zip(*(leaves[k] for k in members), strict=True), strict=True):
        values: _Values = tuple([x if isinstance(x, Buffer) else int(x.value) for x in column])
        if len(set(values)) == 1:
            others.append(leaf)
            continue
        made = columns.get(values)
        if isinstance(leaf, Buffer):
            most = max(most, len(set(values)))
            if made is None:
                made = Buffer(f"operand{len(columns)}", leaf.shape, leaf.dtype, leaf.scope)
        elif made is None:
            made = Var(INDEX, f"number{len(columns)}")
        columns[values] = made
        others.append(made)
    if most < _fewest(body[members[0]]):
        return
    statement = _Walk(operands, iter(others)).stmt(body[members[0]])
    kind = Kind(tuple(columns.values()), statement)
    rows = zip(*columns, strict=True)
    yield from zip(members, ((kind, row) for row in rows), strict=True)


class _Walk(StmtMutator):
    """A statement's structure in `key`, its numbers and operands apart in `leaves`; gives it with `others` instead."""

    def __init__(self, operands: frozenset[Buffer], others: Iterator[Expr | Buffer] | None = None) -> None:
        self.key: list[object] = []
        self.leaves: list[_Leaf] = []
        self._operands = operands
        self._others = others
        self._bound: dict[Var | Buffer, int] = {}
        self._done: dict[int, tuple[int, Expr]] = {}
        self._shared = False

    # names

    def _number(self, leaf: Const) -> Expr:
        self.leaves.append(leaf)
        if self._others is None:
            return leaf
        other = next(self._others)
        assert isinstance(other, Expr)
        return other

    def _operand(self, buffer: Buffer) -> Buffer:
        if buffer not in self._operands:
            self.key.append(self._bound.get(buffer, buffer))
            return buffer
        self.key.append(buffer.dtype)
        self.leaves.append(buffer)
        if self._others is None:
            return buffer
        other = next(self._others)
        assert isinstance(other, Buffer)
        return other

    def _bind(self, name: Var | Buffer) -> None:
        self._bound[name] = len(self._bound)

    # expressions

    def expr(self, e: Expr) -> Expr:
        if _is_number(e):
            assert isinstance(e, Const)
            return self._number(e)
        done = self._done
        stack = [e]
        while stack:
            node = stack[-1]
            if id(node) in done:
                stack.pop()
                continue
            pending = [
                c for k, c in enumerate(node.children()) if id(c) not in done and not _is_free(node, k, c)
            ]
            if pending:
                stack.extend(reversed(pending))
                continue
            stack.pop()
            done[id(node)] = (len(done), self._node(node))
        number, new = done[id(e)]
        self.key.append(number)
        return new

    def _node(self, node: Expr) -> Expr:
        if isinstance(node, Var):
            self.key.append(self._bound.get(node, node))
            return node
        buffer = None
        if isinstance(node, Load):
            self.key.append((Load, node.dtype, len(node.indices), node.mask is None))
            buffer = self._operand(node.buffer)
        else:
            self.key.append(label(node))
        children: list[Expr] = []
        for k, child in enumerate(node.children()):
            if _is_free(node, k, child):
                assert isinstance(child, Const)
                self.key.append("number")
                children.append(self._number(child))
            else:
                number, new = self._done[id(child)]
                self.key.append(number)
                children.append(new)
        if self._others is None or not children:
            return node
        rebuilt = node.rebuild(children)
        if isinstance(rebuilt, Load):
            assert buffer is not None
            return Load(rebuilt.dtype, buffer, rebuilt.indices, rebuilt.mask)
        return rebuilt

    # statements

    def stmt(self, s: Stmt) -> Stmt:
        self.key.append(type(s))
        return super().stmt(s)

    def block(self, s: Block) -> Stmt:
        self.key.append(len(s.body))
        return Block(tuple([self.stmt(part) for part in s.body]))

    def store(self, s: Store) -> Stmt:
        self.key.append((len(s.indices), s.mask is None))
        buffer = self._operand(s.buffer)
        indices = tuple([self.expr(i) for i in s.indices])
        return Store(buffer, indices, self.expr(s.value), self.optional(s.mask))

    def loop(self, s: For) -> Stmt:
        self.key.append(s.kind)
        self._bind(s.var)
        minimum, extent = self.expr(s.minimum), s.extent
        shared = self._shared
        self._shared = shared or s.kind is ForKind.PARALLEL
        if self._shared and isinstance(extent, Const):
            self.key.append(extent.value)  # threads' shares depend on it
            self.key.append(s.work.value if isinstance(s.work, Const) else s.work)
        else:
            extent = self.expr(extent)
        body = self.stmt(s.body)
        self._shared = shared
        return For(s.var, minimum, extent, s.kind, body, s.step, s.condition, s.work)

    def branch(self, s: If) -> Stmt:
        self.key.append(s.otherwise is None)
        return super().branch(s)

    def let(self, s: LetStmt) -> Stmt:
        self._bind(s.var)
        return super().let(s)

    def allocate(self, s: Allocate) -> Stmt:
        sizes = tuple(d.value if isinstance(d, Const) else d for d in s.buffer.shape)
        self.key.append((s.buffer.dtype, s.buffer.scope, sizes))
        self._bind(s.buffer)
        return super().allocate(s)

    def prefetch(self, s: Prefetch) -> Stmt:
        self.key.append(s)  # unlike any other
        return s


def _is_number(e: Expr) -> bool:
    return isinstance(e, Const) and e.dtype is INDEX


def _is_free(node: Expr, position: int, child: Expr) -> bool:
    """Whether a child is a number in which statements may differ; a vector's stride decides how it is loaded."""
    return _is_number(child) and not (isinstance(node, Ramp) and position == 1)
