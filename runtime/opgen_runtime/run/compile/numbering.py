"""The numbers of a plan's values: its slots, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from .held import NoPlanError as NoPlanError
from .plan import Held, Slots, flatten

_MAX_LENGTH: Final = 1 << 20  # instructions: loops are written out wherever they are called
_SAMPLE: Final = 1 << 12  # bytes


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
        if self.length > _MAX_LENGTH:
            raise NoPlanError(f"its loops, written out where they are called, have over {_MAX_LENGTH} steps")

    def like(self, slots: Slots) -> Slots:
        if isinstance(slots, int):
            if slots in self.dynamic:
                raise NoPlanError("a loop carries a tensor whose size depends on data")
            return self.new(self.held[slots])
        return tuple([self.like(inner) for inner in slots])


def _content(array: np.ndarray) -> np.ndarray:
    """The bytes of an array."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _sample(content: np.ndarray) -> bytes:
    """What equal contents have in common: all of few bytes, some of many, so that most differ in it."""
    return content[:: -(-len(content) // _SAMPLE) or 1].tobytes()


class Targets:
    """The slots that a value is to end up in; they are made for the first value that does."""

    def __init__(self, planner: Numbering) -> None:
        self.planner = planner
        self.structure: Slots | None = None
        self.slots: list[int] = []

    def accept(self, value: Slots) -> None:
        if self.structure is None:
            flat = list(flatten(value))
            self.structure = _numbered(value, iter(range(len(flat))))
            self.slots = [self.planner.new(self.planner.held[slot]) for slot in flat]
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
