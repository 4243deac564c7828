"""How a program runs: instructions over numbered slots, in one list with structured control flow.

    Run       a kernel               Copy      one slot into another          Put       one slot into a row of another
    PutSlice  one slot into a slice of another
    If ... Else ... End              a condition, the code of either side
    Loop ... Again/Leave ... End     a function that calls itself at its end: the carried values are in buffers by turns

A slot holds one tensor.  `planning.py` makes plans, `arena.py` says where the slots lie, `driver.py` makes machine
code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ....base.arith import Expr, Var, hinted
from ....base.arith.expr import Shape
from ....base.vocabulary import dataclass

if TYPE_CHECKING:
    from ..interpret import Arrays

Slots: TypeAlias = "int | tuple[Slots, ...]"


@dataclass(frozen=True, slots=True)
class Held:
    """What a slot holds; of a tensor whose size depends on data the most that it may be."""

    shape: Shape
    dtype: np.dtype[np.generic]

    def __str__(self) -> str:
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"

    @property
    def size(self) -> int | Expr:
        """Its bytes."""
        total: int | Expr = self.dtype.itemsize
        for extent in self.shape:
            total = extent * total
        return total

    @property
    def nbytes(self) -> int:
        """Its bytes; for the hints of symbolic dims."""
        return hinted(self.size)


@dataclass(frozen=True, slots=True)
class Run:
    """A kernel by its number; it reads `inputs`, fills `outputs`, and `lengths` with the sizes that depend on data."""

    kernel: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    lengths: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Copy:
    """All bytes of `source` into `target`."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Put:
    """All bytes of `value` into one row of `rows`, along its first axis, at `place`, an int64; outside into none."""

    rows: int
    place: int
    value: int


@dataclass(frozen=True, slots=True)
class PutSlice:
    """All elements of `part` into `whole` along an axis, from the position `start` on; there must be room."""

    whole: int
    part: int
    axis: int
    start: int | Expr


@dataclass(frozen=True, slots=True)
class If:
    """What follows up to `Else` runs where `condition` holds, else what follows that; both fill `results`."""

    condition: int
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Else:
    """The other side of the innermost `If`."""


@dataclass(frozen=True, slots=True)
class Loop:
    """What follows runs again and again.

    `params` are `initial` at first, and then lie in `buffers` by turns: two slots of one after those of another.
    `limit`: how often it may begin again, -1 for however often; beyond it the program fails.
    """

    params: tuple[int, ...]
    initial: tuple[int, ...]
    buffers: tuple[int, ...]
    results: tuple[int, ...]
    limit: int = -1


@dataclass(frozen=True, slots=True)
class Again:
    """The innermost loop once more, with these values of its params."""

    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Leave:
    """The innermost loop is over: its results are filled."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of the innermost `If` or `Loop`."""


Instruction = Run | Copy | Put | PutSlice | If | Else | Loop | Again | Leave | End


@dataclass(frozen=True, slots=True)
class Donation:
    """A result that takes the memory of a parameter, both by their positions.

    `grows`: the result is the parameter with more behind a length, below which alone the parameter is read: a read
    sees the same before what is appended is written and after.
    """

    param: int
    result: int
    grows: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """How a program runs.

    Slots 0 to `num_params - 1` hold the arguments, `constants` fills others; `held` says of every slot what it holds.
    `outputs`: the slots of the result's tensors, which are memory of the caller's; `result`: their positions as the
    result nests them.  `lengths`: (output, axis, slot of its length) of sizes that depend on data, memory of the
    caller's, too.  `offsets`: where the other slots lie in the arena, which has `space` bytes.  `dims`: the
    symbolic dims of the shapes, of which offsets and space are expressions then.  `donations`: the outputs whose memory
    is that of a param.
    """

    num_params: int
    constants: dict[int, np.ndarray]
    held: tuple[Held, ...]
    code: tuple[Instruction, ...]
    outputs: tuple[int, ...]
    result: Slots
    lengths: tuple[tuple[int, int, int], ...]
    offsets: dict[int, int | Expr]
    space: int | Expr
    dims: tuple[Var, ...] = ()
    donations: tuple[Donation, ...] = ()

    @property
    def arena(self) -> int:
        """The bytes of the arena; for the hints of symbolic dims."""
        return hinted(self.space)

    @property
    def runs(self) -> tuple[Run, ...]:
        """The calls of kernels, in the order of the code."""
        return tuple([each for each in self.code if isinstance(each, Run)])

    @property
    def memory(self) -> int:
        """Bytes that a run takes at a time: the arena and the results."""
        given = {each.result for each in self.donations}
        return self.arena + sum([self.held[s].nbytes for k, s in enumerate(self.outputs) if k not in given])

    @property
    def tensors(self) -> int:
        """Bytes of all tensors that kernels fill, as if each had memory of its own."""
        filled = {slot for run in self.runs for slot in (*run.outputs, *run.lengths)}
        return sum([self.held[slot].nbytes for slot in filled])


def ends(code: Sequence[Instruction]) -> dict[int, int]:
    """Where the If or Loop at each position ends."""
    found: dict[int, int] = {}
    begun: list[int] = []
    for position, each in enumerate(code):
        if isinstance(each, If | Loop):
            begun.append(position)
        elif isinstance(each, End):
            found[begun.pop()] = position
    return found


def used(each: Instruction) -> Iterator[int]:
    """The slots that an instruction reads or fills."""
    match each:
        case Run():
            yield from (*each.inputs, *each.outputs, *each.lengths)
        case Copy():
            yield from (each.source, each.target)
        case Put():
            yield from (each.rows, each.place, each.value)
        case PutSlice():
            yield from (each.whole, each.part)
        case If():
            yield from (each.condition, *each.results)
        case Loop():
            yield from (*each.initial, *each.buffers, *each.results)
        case Again():
            yield from each.values


def renamed(each: Instruction, name: Callable[[int], int]) -> Instruction:
    """The instruction on other slots; the params and the buffers of loops stay."""

    def named(slots: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([name(slot) for slot in slots])

    match each:
        case Run():
            return Run(each.kernel, named(each.inputs), named(each.outputs), named(each.lengths))
        case Copy():
            return Copy(name(each.source), name(each.target))
        case Put():
            return Put(name(each.rows), name(each.place), name(each.value))
        case PutSlice():
            return replace(each, whole=name(each.whole), part=name(each.part))
        case If():
            return If(name(each.condition), named(each.results))
        case Loop():
            return replace(each, initial=named(each.initial), results=named(each.results))
        case Again():
            return Again(named(each.values))
    return each


def flatten(slots: Slots) -> Iterator[int]:
    """All slots of a nested tuple, in order."""
    if isinstance(slots, int):
        yield slots
    else:
        for inner in slots:
            yield from flatten(inner)


def nested(arrays: Sequence[np.ndarray], result: Slots) -> Arrays:
    """The arrays as a value nests them."""
    return arrays[result] if isinstance(result, int) else tuple([nested(arrays, part) for part in result])
