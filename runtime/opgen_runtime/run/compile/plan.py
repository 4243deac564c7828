"""From a partitioned function to a list of steps over numbered values, with buffers shared by values in turn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard

import numpy as np

from ...ir import Call, Constant, Expr, Function, Let, Tuple, TupleGetItem, Var, post_order, structural_digest
from ...operator import TensorType, TupleType, Type

Slots: TypeAlias = "int | tuple[Slots, ...]"


@dataclass(frozen=True, slots=True)
class Step:
    """One run of a kernel: its number, the slots that it reads and those that it fills."""

    kernel: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Buffered:
    """Where a slot that is not part of the result is kept: `shape` and `dtype` at the start of a buffer."""

    buffer: int
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]


@dataclass(frozen=True, slots=True)
class Plan:
    """How a function runs.

    Slots 0 to `num_params - 1` hold the arguments; `constants` fills others.  `result`: the slots of the value.
    `buffered`: slot -> its place; slots of the result have none.  `buffers`: sizes in bytes.
    `results`: shape and dtype of the slots of the result that a step fills.
    """

    num_params: int
    constants: dict[int, np.ndarray]
    steps: tuple[Step, ...]
    result: Slots
    buffered: dict[int, Buffered]
    buffers: tuple[int, ...]
    results: dict[int, tuple[tuple[int, ...], np.dtype[np.generic]]]

    @property
    def memory(self) -> int:
        """Bytes that a run takes at a time: the buffers and the result."""
        return sum(self.buffers) + sum([math.prod(s) * d.itemsize for s, d in self.results.values()])


def is_segment(node: object) -> TypeGuard[Function]:
    """Whether a function is compiled to a kernel."""
    return isinstance(node, Function) and "Primitive" in node.attrs


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of a partitioned function in the order in which they are called first; equal ones are one kernel.

    `digests`: their structural digests.  `numbers`: the place of each, by the id of its function.
    """

    functions: tuple[Function, ...]
    digests: tuple[str, ...]
    numbers: Mapping[int, int]


def segments_of(function: Function) -> Segments:
    """The segments that a function calls."""
    known: dict[str, int] = {}
    functions: list[Function] = []
    numbers: dict[int, int] = {}
    for node in post_order(function.body):
        if isinstance(node, Call) and is_segment(node.op) and id(node.op) not in numbers:
            digest = structural_digest(node.op)
            numbers[id(node.op)] = known.setdefault(digest, len(functions))
            if len(known) > len(functions):
                functions.append(node.op)
    return Segments(tuple(functions), tuple(known), numbers)


def make_plan(function: Function, segments: Segments) -> Plan | None:
    """The plan of a partitioned, typed function with static shapes; None if it branches or calls by value."""
    planner = _Planner(function, segments.numbers)
    order = post_order(function.body)
    bound: dict[int, list[Var]] = {}  # id(value of a let) -> its variables
    for node in order:
        if isinstance(node, Let):
            bound.setdefault(id(node.value), []).append(node.var)
    for node in order:
        planner.enter(node)
        for var in bound.get(id(node), ()):
            planner.alias(var, node)
    return planner.plan(function)


class _Planner:
    """Numbers the values of a function. A node that has no slots cannot be planned, nor what needs it."""

    def __init__(self, function: Function, kernels: Mapping[int, int]) -> None:
        self.kernels = kernels
        self.slots: dict[int, Slots] = {id(param): k for k, param in enumerate(function.params)}
        self.types: dict[int, TensorType] = {}
        self.constants: dict[int, np.ndarray] = {}
        self.steps: list[Step] = []
        self.count = len(function.params)

    def enter(self, node: Expr) -> None:
        if isinstance(node, Constant):
            self.constants[self.count] = node.data
            self.slots[id(node)] = self.count
            self.count += 1
        elif isinstance(node, Let):
            self.alias(node, node.body)
        elif isinstance(node, Tuple) and all([id(field) in self.slots for field in node.fields]):
            self.slots[id(node)] = tuple([self.slots[id(field)] for field in node.fields])
        elif isinstance(node, TupleGetItem):
            source = self.slots.get(id(node.tuple_value))
            if isinstance(source, tuple):
                self.slots[id(node)] = source[node.index]
        elif isinstance(node, Call) and is_segment(node.op):
            self.step(node, node.op)

    def alias(self, node: Expr, value: Expr) -> None:
        """Give `node` the slots of `value`."""
        if id(value) in self.slots:
            self.slots[id(node)] = self.slots[id(value)]

    def step(self, node: Call, segment: Function) -> None:
        made = _outputs(node.checked_type)
        if made is None or not all([id(arg) in self.slots for arg in node.args]):
            return
        own = tuple(range(self.count, self.count + len(made)))
        self.count += len(made)
        self.types.update(zip(own, made, strict=True))
        inputs = tuple([slot for arg in node.args for slot in flatten(self.slots[id(arg)])])
        self.steps.append(Step(self.kernels[id(segment)], inputs, own))
        self.slots[id(node)] = own if isinstance(node.checked_type, TupleType) else own[0]

    def plan(self, function: Function) -> Plan | None:
        result = self.slots.get(id(function.body))
        if result is None:
            return None
        kept = set(flatten(result))
        buffered, buffers = _share_buffers(self.steps, self.types, kept)
        results = {slot: (t.concrete_shape, t.dtype.numpy) for slot, t in self.types.items() if slot in kept}
        steps = tuple(self.steps)
        return Plan(len(function.params), self.constants, steps, result, buffered, buffers, results)


def flatten(slots: Slots) -> Iterator[int]:
    """All slots of a nested tuple, in order."""
    if isinstance(slots, int):
        yield slots
    else:
        for inner in slots:
            yield from flatten(inner)


def _outputs(result: Type) -> tuple[TensorType, ...] | None:
    """The tensors of a segment's result; None if a shape is not known."""
    fields = result.fields if isinstance(result, TupleType) else (result,)
    found = tuple([t for t in fields if isinstance(t, TensorType) and t.is_static])
    return found if len(found) == len(fields) else None


def _share_buffers(
    steps: list[Step], types: dict[int, TensorType], kept: set[int]
) -> tuple[dict[int, Buffered], tuple[int, ...]]:
    """A buffer for each slot that is not kept; slots share one where their lives do not overlap."""
    last_use = {
        slot: position for position, step in enumerate(steps) for slot in (*step.outputs, *step.inputs)
    }
    dying: dict[int, list[int]] = {}
    for slot, position in last_use.items():
        dying.setdefault(position, []).append(slot)
    sizes: list[int] = []
    free: list[int] = []
    places: dict[int, Buffered] = {}
    for position, step in enumerate(steps):
        for slot in step.outputs:
            if slot in kept:
                continue
            shape, dtype = types[slot].concrete_shape, types[slot].dtype.numpy
            size = math.prod(shape) * dtype.itemsize
            fitting = [buffer for buffer in free if sizes[buffer] >= size]
            if fitting:
                buffer = min(fitting, key=lambda b: sizes[b])
                free.remove(buffer)
            else:
                buffer = len(sizes)
                sizes.append(size)
            places[slot] = Buffered(buffer, shape, dtype)
        free.extend([places[slot].buffer for slot in dying.get(position, ()) if slot in places])
    return places, tuple(sizes)
