"""The tasks of a partition: blocks, and folds of partial results, with what each of them takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from ...base import Target
from ...base.vocabulary import dataclass
from ...compute.te import Tensor
from ...compute.te.regions import Need
from .blocks import Block, Operand
from .chunks import Place, pieces_of, places_of
from .combining import FAN_IN, folded
from .partition import Partition, Stage
from .program import ChunkedProgram

Key: TypeAlias = tuple[int | str, ...]
"""`(position, *place)` is a chunk of the tensor at a position; of its partial results there are more, with a text."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Partial results folded in their order; `is_last`: what is given is the result, positions without the values."""

    combiner: str
    has_position: bool
    is_last: bool

    def run(self, program: ChunkedProgram, target: Target, *parts: Any) -> Any:
        """The parts as one."""
        found = folded(self.combiner, parts)
        return found[0] if self.is_last and self.has_position else found


@dataclass(frozen=True, slots=True)
class Pick:
    """One of several results of a block."""

    number: int

    def run(self, program: ChunkedProgram, target: Target, results: Sequence[Any]) -> Any:
        """The result."""
        return results[self.number]


@dataclass(frozen=True, slots=True)
class Same:
    """What another task gave, by another key."""

    def run(self, program: ChunkedProgram, target: Target, result: Any) -> Any:
        """The result."""
        return result


@dataclass(frozen=True, slots=True)
class Task:
    """What is computed for a key, of what others gave; `stage`: whose it is."""

    key: Key
    stage: Stage
    work: Block | Fold | Pick | Same
    takes: tuple[Key, ...]

    def run(self, program: ChunkedProgram, target: Target, values: Sequence[Any]) -> Any:
        """The value, of the values of `takes`."""
        return self.work.run(program, target, *values)


def tasks_of(partition: Partition) -> Iterator[Task]:
    """All tasks, each after those that it takes something of."""
    for stage in partition.stages:
        yield from stage_tasks(partition, stage)


def stage_tasks(partition: Partition, stage: Stage) -> Iterator[Task]:
    """The tasks of one stage."""
    if stage.leader is not None:
        yield from _same(partition, stage, *stage.leader)
        return
    parts: dict[Place, list[Key]] = {place: [] for place in places_of(stage.grid)}
    for place, regions, steps in stage.blocks():
        own: Key = (stage.position, *place)
        key = own
        if steps is not None:
            key = (*own, "part", len(parts[place]))
            parts[place].append(key)
        elif stage.others:
            key = (*own, "states")
        operands: list[Operand] = []
        takes: dict[Key, int] = {}
        needs = partition.needs(stage, regions, steps)
        for tensor in sorted(needs, key=partition.program.position.__getitem__):
            operands.append(_operand(partition, stage, tensor, needs[tensor], takes))
        given = tuple([(partition.program.position[tensor], region) for tensor, region in regions.items()])
        block = Block(given, partition.given, steps, stage.is_resumed, tuple(operands))
        yield Task(key, stage, block, tuple(takes))
        if stage.others:
            yield Task(own, stage, Pick(0), (key,))
            for k in range(1, len(stage.others) + 1):
                yield Task((*own, "state", k), stage, Pick(k), (key,))
    if stage.is_cut:
        for place, keys in parts.items():
            yield from _folds(stage, place, keys)


def _same(partition: Partition, stage: Stage, leader: int, number: int) -> Iterator[Task]:
    """The chunks of a state that are given by the tasks of another one."""
    other = next(each for each in partition.stages if each.position == leader)
    for place in places_of(other.grid):
        key: Key = (stage.position, *other.place_of(stage.tensor, place))
        yield Task(key, stage, Same(), ((leader, *place, "state", number),))


def _operand(
    partition: Partition, stage: Stage, tensor: Tensor, need: Need, takes: dict[Key, int]
) -> Operand:
    pieces = pieces_of(partition.grid_of(tensor), need.region)
    position = partition.program.position[tensor]
    numbers = {other: k for k, (other, _) in enumerate(stage.others, 1)}
    chunks: list[int] = []
    for piece in pieces:
        key: Key = (position, *piece.chunk)
        if tensor in numbers:  # of its own earlier steps
            place = stage.own_place(tensor, piece.chunk)
            key = (stage.position, *place, "state", numbers[tensor])
        chunks.append(takes.setdefault(key, len(takes)))
    shape = tuple([behind - first for first, behind in need.region])
    return Operand(position, shape, tensor.dtype.numpy, tuple(pieces), tuple(chunks))


def _folds(stage: Stage, place: Place, keys: list[Key]) -> Iterator[Task]:
    """A tree over the partial results, FAN_IN of them a task."""
    combiner, has_position = stage.combiner
    level = 0
    while True:
        groups = [keys[k : k + FAN_IN] for k in range(0, len(keys), FAN_IN)]
        is_last = len(groups) == 1
        keys = []
        for k, group in enumerate(groups):
            key: Key = (stage.position, *place) if is_last else (stage.position, *place, "fold", level, k)
            yield Task(key, stage, Fold(combiner, has_position, is_last), tuple(group))
            keys.append(key)
        if is_last:
            return
        level += 1
