"""An interpreter of loop IR: a slow and literal oracle for tests of lowering and phases, on tiny shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ....base.arith import Expr, Select, Var, evaluate_scalar, post_order
from ....base.arith.semantics import Number, binary
from ....base.errors import LoweringError
from ..nodes.stmt import (
    Aligned,
    Allocate,
    Block,
    Buffer,
    CallPacked,
    For,
    HorizontalReduce,
    If,
    LetStmt,
    Load,
    Outlined,
    Packed,
    Prefetch,
    PrimFunc,
    Ramp,
    Repetition,
    Shuffle,
    Splat,
    Stmt,
    Store,
    TransposedLoad,
)
from ..nodes.vector import lanes_of

_JOIN = {"sum": "add", "prod": "mul", "min": "min", "max": "max", "and": "and", "or": "or"}


def interpret(
    func: PrimFunc, arrays: Sequence[np.ndarray], sizes: Mapping[Var, int] | None = None, eager: bool = False
) -> list[np.ndarray]:
    """Run a kernel on copies of `arrays`, one per input, and return its outputs, flat.

    `sizes` gives symbolic dims.  With `eager`, both branches of every Select and all lanes of masked stores are
    evaluated, as code after rewrite_unsafe_select may, and elements that were never written read as 0.  Raises
    LoweringError for an access outside a buffer, for a read of an element that was never written (unless `eager`),
    and for an output element that is left unwritten; of those that callers do not see, such a one is 0.
    """
    run = _Run(dict(sizes or {}), eager)
    for buffer, array in zip(func.inputs, arrays, strict=True):
        run.allocate(buffer)
        run.memory[buffer] = [item.item() for item in np.ascontiguousarray(array).reshape(-1)]
    for buffer in func.outputs:
        run.allocate(buffer)
    run.stmt(func.body)
    for seen in func.seen:
        run.end(func.outputs[seen.output], func.outputs[seen.count], seen.width)
    return [run.result(buffer) for buffer in func.outputs]


class _Run:
    def __init__(self, env: dict[Var, int], eager: bool) -> None:
        self.env: dict[Var, Number | list[Number]] = dict(env)
        self.eager = eager
        self.memory: dict[Buffer, list[Number | None]] = {}
        self.shapes: dict[Buffer, tuple[int, ...]] = {}

    def allocate(self, buffer: Buffer) -> None:
        shape = tuple(d if isinstance(d, int) else int(self.scalar(d)) for d in buffer.shape)
        self.shapes[buffer] = shape
        self.memory[buffer] = [None] * int(np.prod(shape, dtype=np.int64))

    def end(self, buffer: Buffer, count: Buffer, width: int | Expr) -> None:
        """Fill what lies beyond the last row that is seen."""
        rows = self.memory[count][0]
        data, zero = self.memory[buffer], False if buffer.dtype.is_bool else 0
        start = int(rows or 0) * (width if isinstance(width, int) else int(self.scalar(width)))
        data[start:] = [zero if item is None else item for item in data[start:]]

    def result(self, buffer: Buffer) -> np.ndarray:
        data = self.memory[buffer]
        if any(item is None for item in data):
            raise LoweringError(f"output {buffer.name}: element {data.index(None)} was never written")
        return np.array(data, dtype=buffer.dtype.numpy)

    # ------------------------------------------------------------------ statements

    def stmt(self, s: Stmt) -> None:
        if isinstance(s, Block):
            for part in s.body:
                self.stmt(part)
        elif isinstance(s, Store):
            self.store(s)
        elif isinstance(s, For):
            start = int(self.scalar(s.minimum))
            for value in range(start, start + int(self.scalar(s.extent)), s.step):
                self.env[s.var] = value
                if s.condition is not None and not self.scalar(s.condition):
                    break
                self.stmt(s.body)
        elif isinstance(s, If):
            if self.scalar(s.condition):
                self.stmt(s.then)
            elif s.otherwise is not None:
                self.stmt(s.otherwise)
        elif isinstance(s, Allocate):
            self.allocate(s.buffer)
            self.stmt(s.body)
        elif isinstance(s, LetStmt):
            lanes = self.lanes(s.value)
            self.env[s.var] = self.vector(s.value, lanes) if lanes > 1 else self.scalar(s.value)
            self.stmt(s.body)
            del self.env[s.var]
        elif isinstance(s, CallPacked):
            self.call(s)
        elif not isinstance(s, Prefetch):
            self.last(s)

    def last(self, s: Stmt) -> None:
        """A statement that only the last phases make."""
        if isinstance(s, TransposedLoad):
            self.transposed(s)
        elif isinstance(s, Repetition):
            self.repetition(s)
        else:
            assert isinstance(s, Outlined), s
            self.stmt(s.body)

    def call(self, s: CallPacked) -> None:
        arrays = [self.result(operand).reshape(self.shapes[operand]) for operand in s.operands]
        made = s.function(*arrays)
        found = np.asarray(made[s.output] if isinstance(made, tuple) else made)
        if found.shape != self.shapes[s.target]:
            raise LoweringError(f"{s.name} gave {list(found.shape)}, expected {list(self.shapes[s.target])}")
        self.memory[s.target] = [item.item() for item in found.reshape(-1)]

    def store(self, s: Store) -> None:
        lanes = max(self.lanes(e) for e in (*s.indices, s.value))
        masks = [True] * lanes if s.mask is None else self.vector(s.mask, lanes)
        values = self._masked_values(s.value, lanes, masks)
        for lane in range(lanes):
            if masks[lane]:
                place = self.place(s.buffer, s.indices, lane)
                self.memory[s.buffer][place] = values[lane]

    def transposed(self, s: TransposedLoad) -> None:
        """Each column as a load of its own, so many elements further."""
        (index,), lanes = s.load.indices, len(s.variables)
        count = lanes if s.count is None else int(self.scalar(s.count))
        for k, var in enumerate(s.variables):
            column = Load(s.load.dtype, s.load.buffer, (index + k,), s.load.mask)
            self.env[var] = self.vector(column, lanes) if k < count else [_zero(column)] * lanes
        self.stmt(s.body)
        for var in s.variables:
            del self.env[var]

    def repetition(self, s: Repetition) -> None:
        for number, values in s.rows:
            for column, value in zip(s.kinds[number].columns, values, strict=True):
                if isinstance(column, Buffer):
                    assert isinstance(value, Buffer)
                    self.memory[column], self.shapes[column] = self.memory[value], self.shapes[value]
                else:
                    assert isinstance(value, int)
                    self.env[column] = value
            self.stmt(s.kinds[number].statement)

    def _masked_values(self, e: Expr, lanes: int, masks: Sequence[Number]) -> list[Number]:
        """The value in every lane; without `eager`, only where it is stored."""
        return [self.lane(e, k) if masks[k] or self.eager else 0 for k in range(lanes)]

    # ------------------------------------------------------------------ expressions

    def lanes(self, e: Expr) -> int:
        return lanes_of(e, {v: len(x) for v, x in self.env.items() if isinstance(x, list)})

    def scalar(self, e: Expr) -> Number:
        return self.lane(e, 0)

    def vector(self, e: Expr, lanes: int) -> list[Number]:
        return [self.lane(e, k) for k in range(lanes)]

    def lane(self, e: Expr, lane: int) -> Number:
        """The value of one lane."""
        values = {
            var: x[lane] if isinstance(x, list) else x
            for var, x in self.env.items()
            if not isinstance(x, list) or lane < len(x)  # lanes of a shuffle may be more than a vector has
        }

        def leaf(node: Expr) -> Number | None:
            if isinstance(node, Load):
                return self.load(node, lane)
            if isinstance(node, Ramp):
                return int(self.lane(node.base, lane)) + lane * int(self.lane(node.stride, lane))
            if isinstance(node, Splat):
                return self.lane(node.value, lane)
            if isinstance(node, Packed):
                return self.packed(node, lane)
            if isinstance(node, Shuffle):
                return self.shuffled(node, lane)
            if isinstance(node, Aligned):
                return True  # the other case computes the same
            return self.across(node) if isinstance(node, HorizontalReduce) else None

        if self.eager:
            for node in post_order(e):
                if isinstance(node, Select):
                    evaluate_scalar(node.then, values, leaf)
                    evaluate_scalar(node.otherwise, values, leaf)
        return evaluate_scalar(e, values, leaf)

    def packed(self, node: Packed, lane: int) -> Number:
        chosen = [k for k, holds in enumerate(self.vector(node.mask, self.lanes(node.mask))) if holds]
        return self.lane(node.value, chosen[lane]) if lane < len(chosen) else _zero(node)

    def shuffled(self, node: Shuffle, lane: int) -> Number:
        number, place = divmod(node.indices[lane], max(self.lanes(each) for each in node.vectors))
        return self.lane(node.vectors[number], place)

    def across(self, node: HorizontalReduce) -> Number:
        parts = self.vector(node.value, self.lanes(node.value))
        total = parts[0]
        for part in parts[1:]:
            total = binary(_JOIN[node.combiner], node.dtype, total, part)
        return total

    def load(self, node: Load, lane: int) -> Number:
        if node.mask is not None and not self.lane(node.mask, lane):
            return _zero(node)
        found = self.memory[node.buffer][self.place(node.buffer, node.indices, lane)]
        if found is None and self.eager:
            return _zero(node)  # what nobody asked for
        if found is None:
            raise LoweringError(
                f"{node.buffer.name}[{', '.join(map(str, node.indices))}] is read before it is written"
            )
        return found

    def place(self, buffer: Buffer, indices: tuple[Expr, ...], lane: int) -> int:
        """The row-major position of an element; raises LoweringError outside the buffer."""
        total = 0
        for index, extent in zip(indices, self.shapes[buffer], strict=True):
            value = int(self.lane(index, lane))
            if not 0 <= value < extent:
                where = ", ".join(map(str, indices))
                raise LoweringError(f"{buffer.name}[{where}]: index {value} is outside 0 <= index < {extent}")
            total = total * extent + value
        return total


def _zero(node: Expr) -> Number:
    return False if node.dtype.is_bool else 0.0 if node.dtype.is_float else 0
