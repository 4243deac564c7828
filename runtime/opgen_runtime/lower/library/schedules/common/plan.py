"""What to inline, what to store, and where stored stages are computed."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .....base import Target
from .....base.arith import Const, Var, post_order
from .....base.vocabulary import dataclass
from .....compute.te.tensor import IterVar, Read, Reduce
from ....schedule import Schedule, Stage, constant_stages, reads_of
from ...heuristics import MIN_CYCLES_TO_STORE, MIN_READS_TO_STORE, MIN_STEPS_BESIDE
from .access import likely_extent, operations_of
from .alternatives import is_of_tiles


def inline_cheap(schedule: Schedule, target: Target) -> None:
    """Inline the stages that are not worth storing, and fold them.

    Reductions, outputs, and costly stages of which elements are read again are stored, what can be computed of
    constants once and for all, and tiles of alternatives with what they read.
    """
    constant = constant_stages(schedule)
    readers = readers_of(schedule)
    sinks: dict[Stage, dict[Stage, None]] = {}
    tiled: set[Stage] = set()
    for stage in reversed(schedule.stages):
        found: dict[Stage, None] = {}
        for reader in readers.get(stage, ()):
            found.update(sinks[reader] if reader.inlined else {reader: None})
        sinks[stage] = found
        if stage.body is None or stage.is_output or isinstance(stage.body, Reduce):
            continue
        if is_of_tiles(stage):
            tiled.add(stage)
            continue
        if not tiled.isdisjoint(found):
            continue
        cycles = operations_of(post_order(stage.body)).cycles(target.machine)
        known = stage in constant and cycles >= MIN_CYCLES_TO_STORE.value
        if not known and not _worth_storing(stage, list(found), target):
            stage.compute_inline()
    schedule.normalize()


def readers_of(schedule: Schedule) -> dict[Stage, list[Stage]]:
    """The stages that read each stage."""
    readers: dict[Stage, list[Stage]] = {}
    for stage in schedule.stages:
        for tensor in reads_of(stage):
            readers.setdefault(schedule[tensor], []).append(stage)
    return readers


def leader_of(schedule: Schedule, stage: Stage) -> Stage:
    """The stage in whose loops a reduction runs: the one reader, if it reads element by element, or itself."""
    readers = [each for each in readers_of(schedule).get(stage, ()) if not each.inlined]
    if stage.is_output or len(readers) != 1:
        return stage
    (reader,) = readers
    if reader.rule is not None or reader.body is None or reader.reduce_axes or reader.follows is not None:
        return stage
    order = post_order(reader.body)
    same = (
        [axis.extent for axis in reader.axes] == [axis.extent for axis in stage.axes]
        and not any(isinstance(node, Reduce) for node in order)
        and all(
            is_own(node, reader) for node in order if isinstance(node, Read) and node.tensor is stage.tensor
        )
    )
    return reader if same else stage


def is_own(read: Read, stage: Stage) -> bool:
    """Whether a stage reads the element of its own position."""
    return len(read.indices) == len(stage.axes) and all(
        index is axis.var or (axis.extent == 1 and isinstance(index, Const))
        for index, axis in zip(read.indices, stage.axes, strict=True)
    )


def _worth_storing(stage: Stage, sinks: list[Stage], target: Target) -> bool:
    if any(sink.body is None for sink in sinks):
        return True  # scans, updates and externs read buffers
    assert stage.body is not None
    elements = likely_extent(stage.axes)
    order = post_order(stage.body)
    cycles, function = operations_of(order).cycles(target.machine), target.machine.cycles["function"]
    if any(isinstance(node, Reduce) for node in order):
        cycles += function
    if cycles < MIN_CYCLES_TO_STORE.value or not elements:
        return False
    reads = 0
    for sink in sinks:
        reads += likely_extent((*sink.axes, *sink.reduce_axes))
    return (cycles >= function and reads >= 2 * elements) or (
        reads >= MIN_READS_TO_STORE.value * elements and any(sink.reduce_axes for sink in sinks)
    )


@dataclass(frozen=True, slots=True)
class Placement:
    """Stages computed inside the loops of `leader` over `axes`."""

    leader: Stage
    axes: tuple[IterVar, ...]
    stages: tuple[Stage, ...]


def place(
    schedule: Schedule,
    leader: Stage,
    readers: Mapping[Stage, list[Stage]],
    position: Mapping[Stage, int],
    taken: Collection[Stage] = (),
    outer: Collection[IterVar] | None = None,
) -> Placement | None:
    """The stored stages that can be computed inside the loops of `leader`, without computing an element twice.

    Such a stage is read only by the leader and by stages placed with it, at positions that are the leader's own
    axes; axes that are read at several positions are computed whole.  `readers` are those of
    `readers_of`, `position` tells where each stage stands in the schedule; `taken` are placed already.  `outer`: over
    these axes of the leader, and no others.
    """
    if leader.body is None or leader.reduce_axes:
        return None
    aligned: dict[Stage, dict[Var, Var | None]] = {leader: {axis.var: axis.var for axis in leader.axes}}
    chosen: list[Stage] = []
    wanted: tuple[Var, ...] | None = None if outer is None else tuple([axis.var for axis in outer])
    for stage in _needed(schedule, leader, position):
        if (
            stage.inlined
            or stage in taken
            or stage.body is None
            or stage.is_output
            or stage.follows is not None
            or stage is leader
            or not readers.get(stage)
        ):
            continue
        own = _alignment(stage, [r for r in readers[stage] if not r.inlined], aligned)
        if own is None:
            continue
        axes = tuple(axis.var for axis in leader.axes if axis.var in own.values())
        if outer is not None and wanted is not None and set(axes) >= set(wanted):
            axes = wanted
        if not axes or (wanted is not None and axes != wanted) or _is_aside(stage, leader, axes):
            continue
        wanted = axes
        aligned[stage] = own
        chosen.append(stage)
    if not chosen or wanted is None:
        return None
    return Placement(leader, tuple(a for a in leader.axes if a.var in wanted), tuple(reversed(chosen)))


def place_in_cache(
    schedule: Schedule,
    leader: Stage,
    readers: Mapping[Stage, list[Stage]],
    position: Mapping[Stage, int],
    taken: Collection[Stage],
    least: int,
    most: int,
) -> Placement | None:
    """As `place`, over fewer axes where all that would be stored whole, and is much, fits the cache inside of them.

    Such are stages that are read at several rows of a plane; `least`: planes that there must be; `most`:
    bytes that stay near.
    """
    found = place(schedule, leader, readers, position, taken)
    if found is None:
        return None
    known = {leader, *found.stages, *taken}
    whole = [
        each
        for each in _needed(schedule, leader, position)
        if each not in known and each.body is not None and not each.inlined
    ]
    if sum(map(_bytes, whole)) <= most:
        return found
    for count in range(len(found.axes) - 1, 0, -1):
        outer = found.axes[:count]
        planes = likely_extent(outer)
        near = place(schedule, leader, readers, position, taken, outer) if planes >= least else None
        if near is None or not {*found.stages, *whole} <= set(near.stages):
            continue
        return near if sum(map(_bytes, near.stages)) <= most * planes else found
    return found


def _bytes(stage: Stage) -> int:
    return likely_extent(stage.axes) * stage.tensor.dtype.itemsize


def _is_aside(stage: Stage, leader: Stage, axes: tuple[Var, ...]) -> bool:
    """Whether a stage is little work for inner axes of the leader alone: then it must not decide about its loops."""
    first = next((axis.var for axis in leader.axes if axis.extent != 1), None)
    own, whole = likely_extent((*stage.axes, *stage.reduce_axes)), likely_extent(leader.axes)
    return first not in axes and own * MIN_STEPS_BESIDE.value <= whole


def stored_before(schedule: Schedule, leader: Stage) -> list[Stage]:
    """The stages with loops of their own whose results a leader needs, in no order."""
    return [each for each in _sources(schedule, leader) if each.body is not None and not each.inlined]


def _needed(schedule: Schedule, leader: Stage, position: Mapping[Stage, int]) -> list[Stage]:
    """A leader and the stages that it needs, readers before those that they read."""
    return sorted((leader, *_sources(schedule, leader)), key=lambda stage: position[stage], reverse=True)


def _sources(schedule: Schedule, leader: Stage) -> set[Stage]:
    """The stages that a leader needs."""
    found: set[Stage] = set()
    stack = [leader]
    while stack:
        sources = {schedule[tensor] for tensor in reads_of(stack.pop())} - found
        found |= sources
        stack.extend(sources)
    return found - {leader}


def _alignment(
    stage: Stage, readers: list[Stage], aligned: dict[Stage, dict[Var, Var | None]]
) -> dict[Var, Var | None] | None:
    """For each axis the leader's axis at which it is read, None where all of it is needed.

    None where the stage is read by others too.
    """
    if not readers or any(reader not in aligned for reader in readers):
        return None
    found: dict[Var, Var | None] = {}
    for reader in readers:
        assert reader.body is not None
        for node in post_order(reader.body):
            if not isinstance(node, Read) or node.tensor is not stage.tensor:
                continue
            for axis, index in zip(stage.axes, node.indices, strict=True):
                at = aligned[reader].get(index) if isinstance(index, Var) else None
                if isinstance(index, Const) and axis.extent == 1:
                    continue
                if axis.var in found and found[axis.var] is not at:
                    at = None
                found[axis.var] = at
    return found
