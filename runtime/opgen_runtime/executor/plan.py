"""From a partitioned function to a list of steps over numbered values, with buffers shared by values in turn."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..ir import Call, Constant, Function, Let, Tuple, TupleGetItem, Var, post_order
from ..types import TensorType, TupleType, Type

Slots: TypeAlias = "int | tuple[Slots, ...]"


@dataclass(frozen=True, slots=True)
class Step:
    """One run of a segment: the slots that it reads and those that it fills."""

    segment: Function
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


def make_plan(function: Function) -> Plan | None:
    """The plan of a partitioned, typed function with static shapes; None if it branches or calls by value."""
    slots: dict[int, Slots] = {id(param): k for k, param in enumerate(function.params)}
    types: dict[int, TensorType] = {}
    constants: dict[int, np.ndarray] = {}
    steps: list[Step] = []
    count = len(function.params)
    order = post_order(function.body)
    bound: dict[int, list[Var]] = {}  # id(value of a let) -> its variables
    for node in order:
        if isinstance(node, Let):
            bound.setdefault(id(node.value), []).append(node.var)
    for node in order:
        if isinstance(node, Constant):
            constants[count] = node.data
            slots[id(node)], count = count, count + 1
        elif isinstance(node, Tuple):
            slots[id(node)] = tuple([slots[id(field)] for field in node.fields])
        elif isinstance(node, TupleGetItem):
            source = slots[id(node.tuple_value)]
            if not isinstance(source, tuple):
                return None
            slots[id(node)] = source[node.index]
        elif isinstance(node, Let):
            slots[id(node)] = slots[id(node.body)]
        elif isinstance(node, Call) and isinstance(node.op, Function) and "Primitive" in node.op.attrs:
            made = _outputs(node.checked_type)
            if made is None:
                return None
            own = tuple(range(count, count + len(made)))
            count += len(made)
            types.update(zip(own, made, strict=True))
            inputs = tuple([slot for arg in node.args for slot in flatten(slots[id(arg)])])
            steps.append(Step(node.op, inputs, own))
            slots[id(node)] = own if isinstance(node.checked_type, TupleType) else own[0]
        elif not isinstance(node, Var | Function):
            return None
        for var in bound.get(id(node), ()):
            if id(node) not in slots:
                return None
            slots[id(var)] = slots[id(node)]
    if id(function.body) not in slots:
        return None
    result = slots[id(function.body)]
    kept = set(flatten(result))
    buffered, buffers = _share_buffers(steps, types, kept)
    results = {slot: (t.concrete_shape, t.dtype.numpy) for slot, t in types.items() if slot in kept}
    return Plan(len(function.params), constants, tuple(steps), result, buffered, buffers, results)


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
