"""Scalar and vector expressions of loop IR to LLVM instructions.

The walk is iterative, so that a long chain of fused operations does not exhaust the stack, and each node of a
statement is emitted once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from ...base.arith.expr import Binary, Bitcast, Call, Cast, Compare, Const, Expr, Not, Select, Table, Var
from ...base.errors import CodegenError
from ...base.vocabulary import BOOL, INDEX, UINT64
from ...lower.tir.nodes.stmt import (
    Aligned,
    Buffer,
    HorizontalReduce,
    Load,
    Packed,
    Ramp,
    Shuffle,
    Splat,
    Store,
)
from ...lower.tir.nodes.vector import MAX_LANES
from . import arithmetic, intrinsics, memory
from .conversion import bitcast, cast
from .dot_product import dot, is_dot
from .memory import Memory
from .packed import packed
from .text import FunctionText, Value, constant, ramp, register, shuffle, splat
from .text.types import memory_type


class Names(Protocol):
    """Where variables and buffers of the function being written are found."""

    def variable(self, var: Var) -> Value: ...

    def buffer(self, buffer: Buffer) -> Memory: ...


_ACCUMULATING: Final = frozenset({"add", "mul", "min", "max"})


class ExpressionEmitter:
    """Emits the expressions of one statement; a new statement may see other memory, so values start afresh."""

    def __init__(self, f: FunctionText, names: Names) -> None:
        self.f = f
        self._names = names
        self._done: dict[int, Value] = {}
        self._contracted: dict[int, str] = {}  # what LLVM may do with an operation

    def forget(self) -> None:
        """Begin a new statement."""
        self._done = {}
        self._contracted = {}

    def accumulates(self, stmt: Store) -> None:
        """Let `x[i] = x[i] + a * b` of floats use a fused multiply-add and any order: a sum has none, nor a maximum.

        Nowhere else may LLVM contract or reorder: what a formula says is what every executor computes.
        """
        value = stmt.value
        if not (isinstance(value, Binary) and value.op in _ACCUMULATING and value.dtype.is_float):
            return
        for own, other in ((value.a, value.b), (value.b, value.a)):
            if isinstance(own, Load) and own.buffer is stmt.buffer:
                # a product of products may not be reordered: the square of a factor may be too large
                self._contracted = {id(value): " reassoc contract", id(other): " contract"}

    def emit(self, expr: Expr) -> Value:
        """Emit `expr` and what it needs; gives its value."""
        done = self._done
        stack = [expr]
        while stack:
            node = stack[-1]
            if id(node) in done:
                stack.pop()
                continue
            pending = [child for child in node.children() if id(child) not in done]
            if pending:
                stack.extend(reversed(pending))
                continue
            stack.pop()
            emitter = _EMITTERS.get(type(node))
            if emitter is None:
                raise CodegenError(f"{type(node).__name__} cannot be compiled; is a lowering phase missing?")
            done[id(node)] = emitter(self, node)
        return done[id(expr)]

    def _value(self, expr: Expr) -> Value:
        return self._done[id(expr)]

    # one method a node type; operands are already emitted

    def _const(self, node: Const) -> Value:
        return constant(node.dtype, node.value)

    def _var(self, node: Var) -> Value:
        return self._names.variable(node)

    def _binary(self, node: Binary) -> Value:
        a, b = self._value(node.a), self._value(node.b)
        if node.op == "add":
            for added, to in ((node.b, a), (node.a, b)):
                if is_dot(added):
                    assert isinstance(added, Call)
                    x, y = [self._value(each) for each in added.args]
                    return dot(self.f, added.name, x, y, to)  # LLVM leaves out the one without `to`
        return arithmetic.binary(self.f, node.op, a, b, contract=self._contracted.get(id(node), ""))

    def _compare(self, node: Compare) -> Value:
        return arithmetic.compare(self.f, node.op, self._value(node.a), self._value(node.b))

    def _not(self, node: Not) -> Value:
        return arithmetic.complement(self.f, self._value(node.a))

    def _select(self, node: Select) -> Value:
        """Both sides are computed: every operation is total, and rewrite_unsafe_select has masked the reads."""
        sides = self._value(node.then), self._value(node.otherwise)
        return arithmetic.select(self.f, self._value(node.condition), *sides)

    def _cast(self, node: Cast) -> Value:
        return cast(self.f, self._value(node.a), node.dtype)

    def _bitcast(self, node: Bitcast) -> Value:
        return bitcast(self.f, self._value(node.a), node.dtype)

    def _call(self, node: Call) -> Value:
        return intrinsics.call(self.f, node.name, node.dtype, [self._value(a) for a in node.args])

    def _table(self, node: Table) -> Value:
        """A constant array in memory; lanes whose result is not used may have any index, which is clamped."""
        name = self.f.module.table(node.dtype, memory_type(node.dtype), node.values)
        constant_memory = Memory(name, name, node.dtype, ", !invariant.load !{}", "")
        index = bitcast(self.f, cast(self.f, self._value(node.index), INDEX), UINT64)
        last = constant(UINT64, len(node.values) - 1)
        position = bitcast(self.f, arithmetic.binary(self.f, "min", index, last), INDEX)
        return memory.load(self.f, constant_memory, position, None)

    def _load(self, node: Load) -> Value:
        buffer = self._names.buffer(node.buffer)
        mask = None if node.mask is None else self._value(node.mask)
        return memory.load(self.f, buffer, self._value(flat_index(node.buffer, node.indices)), mask)

    def _ramp(self, node: Ramp) -> Value:
        _check_lanes(node.lanes)
        base, stride = self._value(node.base), self._value(node.stride)
        if isinstance(stride.literal, int):
            if node.dtype == "index":
                return ramp(base, stride.literal, node.lanes)
            stride = constant(node.dtype, stride.literal)
        steps = ramp(constant(INDEX, 0), 1, node.lanes)
        scaled = arithmetic.binary(self.f, "mul", cast(self.f, steps, node.dtype), stride)
        return arithmetic.binary(self.f, "add", splat(base, node.lanes), scaled)

    def _splat(self, node: Splat) -> Value:
        _check_lanes(node.lanes)
        return splat(self._value(node.value), node.lanes)

    def _packed(self, node: Packed) -> Value:
        return packed(self.f, self._value(node.value), self._value(node.mask))

    def _shuffle(self, node: Shuffle) -> Value:
        _check_lanes(len(node.indices))
        return shuffle(tuple([self._value(each) for each in node.vectors]), node.indices)

    def _aligned(self, node: Aligned) -> Value:
        f, low = self.f, "0"
        for buffer in node.buffers:
            address = f.emit(f"ptrtoint ptr {self._names.buffer(buffer).pointer} to i64")
            low = f.emit(f"or i64 {low}, {address}")
        return register(BOOL, 1, f.emit(f"icmp eq i64 {f.emit(f'and i64 {low}, {node.bytes - 1}')}, 0"))

    def _horizontal(self, node: HorizontalReduce) -> Value:
        return arithmetic.horizontal(self.f, node.combiner, [self._value(each) for each in _combined(node)])


def _combined(node: HorizontalReduce) -> list[Expr]:
    """The vectors whose lanes a reduction combines: where combining two of them is the same as in a lane, both."""
    found: list[Expr] = []
    stack = [node.value]
    while stack:
        e = stack.pop()
        if isinstance(e, Binary) and e.op == node.combiner and e.op in ("min", "max"):
            stack.extend((e.b, e.a))
        else:
            found.append(e)
    return found


def _check_lanes(lanes: int) -> None:
    if not 1 <= lanes <= MAX_LANES:
        raise CodegenError(f"a vector of {lanes} lanes; expected at least 1 and at most {MAX_LANES}")


def flat_index(buffer: Buffer, indices: tuple[Expr, ...]) -> Expr:
    """The one index of a flattened access."""
    if len(indices) != 1:
        raise CodegenError(
            f"buffer {buffer.name} is accessed with {len(indices)} indices; storage_flatten must leave one"
        )
    return indices[0]


_EMITTERS: Final[dict[type[Expr], Callable[[ExpressionEmitter, Expr], Value]]] = {}


def _register() -> None:
    table: tuple[tuple[type[Expr], Callable[..., Value]], ...] = (
        (Const, ExpressionEmitter._const),
        (Var, ExpressionEmitter._var),
        (Binary, ExpressionEmitter._binary),
        (Compare, ExpressionEmitter._compare),
        (Not, ExpressionEmitter._not),
        (Select, ExpressionEmitter._select),
        (Cast, ExpressionEmitter._cast),
        (Bitcast, ExpressionEmitter._bitcast),
        (Call, ExpressionEmitter._call),
        (Table, ExpressionEmitter._table),
        (Load, ExpressionEmitter._load),
        (Ramp, ExpressionEmitter._ramp),
        (Splat, ExpressionEmitter._splat),
        (HorizontalReduce, ExpressionEmitter._horizontal),
        (Packed, ExpressionEmitter._packed),
        (Shuffle, ExpressionEmitter._shuffle),
        (Aligned, ExpressionEmitter._aligned),
    )
    _EMITTERS.update(table)


_register()
