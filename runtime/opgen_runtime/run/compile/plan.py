"""From a partitioned function to a list of steps over numbered values, with buffers shared by values in turn."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
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


Constants: TypeAlias = "tuple[Constant | None, ...]"
"""The operands of a segment, tuples spread: those that are constants, None for the others."""


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of a partitioned function in the order in which they are called first.

    Those of equal structure with constants in equal places are one kernel, whatever the constants' values.
    `digests`: their structural digests; `constant`: the places of their constants.  By the id of a segment's function,
    `numbers` is its place here, and `operands` its constants.
    """

    functions: tuple[Function, ...]
    digests: tuple[str, ...]
    constant: tuple[frozenset[int], ...]
    numbers: Mapping[int, int]
    operands: Mapping[int, Constants]


@dataclass(frozen=True, slots=True)
class Site:
    """How a segment is called: the number of its kernel, which of the operands that takes, and what follows them."""

    kernel: int
    operands: tuple[int, ...]
    prepared: tuple[np.ndarray, ...]


def segments_of(function: Function) -> Segments:
    """The segments that a function calls."""
    called: dict[int, Function] = {}
    operands: dict[int, Constants] = {}
    for node in post_order(function.body):
        if isinstance(node, Call) and is_segment(node.op):
            found = flat_constants(node)
            before = operands.get(id(node.op), found)
            called[id(node.op)] = node.op
            operands[id(node.op)] = tuple([a if a is b else None for a, b in zip(found, before, strict=True)])
    known: dict[tuple[str, frozenset[int]], int] = {}
    functions: list[Function] = []
    numbers: dict[int, int] = {}
    for identity, segment in called.items():
        places = frozenset([k for k, each in enumerate(operands[identity]) if each is not None])
        numbers[identity] = known.setdefault((structural_digest(segment), places), len(functions))
        if len(known) > len(functions):
            functions.append(segment)
    digests, constant = tuple([digest for digest, _ in known]), tuple([places for _, places in known])
    return Segments(tuple(functions), digests, constant, numbers, operands)


def flat_constants(call: Call) -> Constants:
    """The operands of a call that are constants."""
    found: list[Constant | None] = []
    stack: list[tuple[Expr | None, Type]] = [(arg, arg.checked_type) for arg in reversed(call.args)]
    while stack:
        expr, kind = stack.pop()
        if isinstance(kind, TupleType):
            parts = expr.fields if isinstance(expr, Tuple) else [None] * len(kind.fields)
            stack.extend(reversed(list(zip(parts, kind.fields, strict=True))))
        else:
            found.append(expr if isinstance(expr, Constant) else None)
    return tuple(found)


def make_plan(
    function: Function, segments: Segments, sites: Mapping[int, Site] = MappingProxyType({})
) -> Plan | None:
    """The plan of a partitioned, typed function with static shapes; None if it branches or calls by value.

    A segment without a site is called with all its operands.
    """
    planner = _Planner(function, segments.numbers, sites)
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

    def __init__(self, function: Function, kernels: Mapping[int, int], sites: Mapping[int, Site]) -> None:
        self.kernels = kernels
        self.sites = sites
        self.known: dict[tuple[object, ...], int] = {}  # the slots of constants, by their content
        self.alike: dict[int, int] = {}  # and by their ids
        self.slots: dict[int, Slots] = {id(param): k for k, param in enumerate(function.params)}
        self.types: dict[int, TensorType] = {}
        self.constants: dict[int, np.ndarray] = {}
        self.steps: list[Step] = []
        self.count = len(function.params)

    def enter(self, node: Expr) -> None:
        if isinstance(node, Constant):
            self.slots[id(node)] = self.constant(node.data)
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

    def constant(self, array: np.ndarray) -> int:
        """The slot of a constant; equal ones have one."""
        if id(array) not in self.alike:
            content = hashlib.blake2b(np.ascontiguousarray(array).tobytes(), digest_size=20).digest()
            key = (array.dtype.name, array.shape, content)
            if key not in self.known:
                self.known[key] = self.count
                self.constants[self.count] = array
                self.count += 1
            self.alike[id(array)] = self.known[key]
        return self.alike[id(array)]

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
        site = self.sites.get(id(segment))
        if site is not None:
            taken = [inputs[k] for k in site.operands]
            inputs = (*taken, *[self.constant(array) for array in site.prepared])
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
        used = kept.union(*[step.inputs for step in steps])
        constants = {slot: array for slot, array in self.constants.items() if slot in used}
        return Plan(len(function.params), constants, steps, result, buffered, buffers, results)


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
