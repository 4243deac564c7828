"""The numbers of a plan's values: its slots, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from ....base.arith import AnyDim
from ....lower.library.segment import flat_types
from ....operator import TensorType, TupleType, Type
from .held import NoPlanError as NoPlanError
from .held import declared_as
from .plan import Copy, Held, Slots, flatten

_MAX_INSTRUCTIONS: Final = 1 << 20  # instructions: loops are written out wherever they are called
_SAMPLE_BYTES: Final = 1 << 12  # bytes


class Numbering:
    """Numbers the values of a program."""

    def __init__(self) -> None:
        self.held: list[Held] = []
        self.constants: dict[int, np.ndarray] = {}
        self.filled: dict[int, int] = {}  # slot -> the slot that is filled in its place
        self.dynamic: dict[int, tuple[tuple[int, int], ...]] = {}  # slot -> (axis, slot of the length)
        self.known: dict[int, tuple[int, np.ndarray]] = {}  # id of an array -> its slot, and the array itself
        self.alike: dict[tuple[object, ...], list[int]] = {}  # slots by a sample of the contents
        self.length = 0

    def new(self, held: Held) -> int:
        self.held.append(held)
        return len(self.held) - 1

    def constant(self, array: np.ndarray) -> int:
        """The slot of a constant; equal ones have one."""
        if id(array) not in self.known:
            content = _content(array)
            alike = self.alike.setdefault((array.dtype.name, array.shape, _sample(content)), [])
            same = [slot for slot in alike if np.array_equal(_content(self.constants[slot]), content)]
            if not same:
                slot = self.new(Held(array.shape, array.dtype))
                # its address is in the code, so that its elements must lie as kernels read them
                flags = array.flags
                in_order = flags.c_contiguous and flags.aligned
                self.constants[slot] = array if in_order else np.array(array, order="C", copy=True)
                alike.append(slot)
            self.known[id(array)] = (same or alike)[-1], array
        return self.known[id(array)][0]

    def place(self, slot: int) -> int:
        """The slot that holds what `slot` was to hold."""
        while slot in self.filled:
            slot = self.filled[slot]
        return slot

    def count(self, more: int) -> None:
        self.length += more
        if self.length > _MAX_INSTRUCTIONS:
            raise NoPlanError(
                f"its loops, written out where they are called, have over {_MAX_INSTRUCTIONS} steps"
            )

    def like(self, slots: Slots) -> Slots:
        if isinstance(slots, int):
            if slots in self.dynamic:
                raise NoPlanError("a loop carries a tensor whose size depends on data")
            return self.new(self.held[slots])
        return tuple([self.like(inner) for inner in slots])

    def declared(self, slots: Sequence[int], type_: Type) -> list[Held]:
        """What holds a value of a type that may say more of its dims than the slots that it comes from.

        Raises NoPlanError where it says more of a size that depends on data.
        """
        kinds = flat_types(type_, "a value")
        for slot, kind in zip(slots, kinds, strict=True):
            axes = [axis for axis, _ in self.dynamic.get(slot, ())]
            if any([not isinstance(kind.shape[axis], AnyDim) for axis in axes]):
                raise NoPlanError(f"a value whose size depends on data is declared to be {kind}")
        return [declared_as(self.held[slot], kind) for slot, kind in zip(slots, kinds, strict=True)]

    def bound(self, value: Slots, type_: Type) -> tuple[Slots, list[Copy]]:
        """The value of a variable of a type; where that says more, a copy, which demands that it fits."""
        if not isinstance(type_, TensorType | TupleType):
            return value, []
        flat = list(flatten(value))
        pairs = [(slot, held) for slot, held in zip(flat, self.declared(flat, type_), strict=True)]
        if all([held == self.held[slot] for slot, held in pairs]):
            return value, []
        copies = [Copy(slot, self.new(held)) for slot, held in pairs]
        return _replaced(_numbered(value, iter(range(len(flat)))), [each.target for each in copies]), copies


def _content(array: np.ndarray) -> np.ndarray:
    """The bytes of an array."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _sample(content: np.ndarray) -> bytes:
    """What equal contents have in common: all of few bytes, some of many, so that most differ in it."""
    return content[:: -(-len(content) // _SAMPLE_BYTES) or 1].tobytes()


class Targets:
    """The slots that a value is to end up in; they are made for the first value that does."""

    def __init__(self, planner: Numbering, declared: Type | None = None) -> None:
        """`declared`: the type of the value, where it may say more of its dims than what computes it does."""
        self.planner = planner
        self.declared = declared
        self.structure: Slots | None = None
        self.slots: list[int] = []

    def accept(self, value: Slots) -> None:
        if self.structure is None:
            flat = list(flatten(value))
            self.structure = _numbered(value, iter(range(len(flat))))
            kind = self.declared
            holding = (
                [self.planner.held[k] for k in flat] if kind is None else self.planner.declared(flat, kind)
            )
            self.slots = [self.planner.new(held) for held in holding]
            for slot, target in zip(flat, self.slots, strict=True):
                if slot in self.planner.dynamic:
                    self.planner.dynamic[target] = self.planner.dynamic[slot]

    def value(self) -> Slots:
        assert self.structure is not None
        return _replaced(self.structure, self.slots)


def _numbered(value: Slots, numbers: Iterator[int]) -> Slots:
    return next(numbers) if isinstance(value, int) else tuple([_numbered(inner, numbers) for inner in value])


def _replaced(structure: Slots, slots: Sequence[int]) -> Slots:
    if isinstance(structure, int):
        return slots[structure]
    return tuple([_replaced(inner, slots) for inner in structure])
