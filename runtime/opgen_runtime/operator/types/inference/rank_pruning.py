"""Pruning of ranks: which ranks of unknown operands type inference need not try.

Inference backwards tries combinations of ranks in turn (backward.py).  The rank of a result follows from patterns and
`let`s alone: it is compared before any requirement is proved.  So does a requirement that compares the ranks of several
operands.  And what refused one trial refuses all that give the operands which it reads the same ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeVar
from weakref import WeakKeyDictionary

from ....base.arith.expr import Shape
from ....base.errors import OpgenError
from ....base.lru_cache import LRUCache
from ..binding.frame import EVALUATION_ERRORS, Frame, MismatchError, RuleFailedError
from ..binding.outputs import OutputPlan, simplest
from ..binding.patterns import Role
from ..binding.plan import Plan
from ..binding.steps import DTypeStep, PatternStep, RequireStep, Step
from ..signature import Signature

V = TypeVar("V")
Ranks = tuple[int, ...]
_NO_ANSWER: Final = (OpgenError, RuleFailedError, MismatchError, *EVALUATION_ERRORS)
_readings: Final[WeakKeyDictionary[Plan, Reading]] = WeakKeyDictionary()
# Of calls that are alike, by the ranks: the shape of an output, and whether a requirement holds.
_shapes: Final[LRUCache[dict[Ranks, Shape | None]]] = LRUCache(256)
_simplest: Final[LRUCache[dict[Ranks, Shape]]] = LRUCache(256)
_verdicts: Final[LRUCache[dict[Ranks, bool | None]]] = LRUCache(256)


class Reading:
    """Whose ranks the steps and outputs of a plan read: names of operands, by way of what earlier steps give."""

    def __init__(self, signature: Signature, plan: Plan) -> None:
        read = {operand.name: frozenset((operand.name,)) for operand in signature.inputs}
        self._read: dict[object, frozenset[str]] = {}
        for step in plan.steps:
            found: frozenset[str] = frozenset()
            if not isinstance(step, DTypeStep):  # no dtype depends on a rank
                found = _union(step.names | step.gives, read)
            self._read[step] = found
            for name in step.gives:
                read[name] = read.get(name, frozenset()) | found
            if isinstance(step, PatternStep):
                read[f"{step.declared.name}:matched"] = found
        for output in plan.outputs:
            self._read[output] = _union(output.shape_needs, read)
        self.offsets = {output: _offsets(signature, plan, output) for output in plan.outputs}
        self.ways = {output: _way(plan.steps, output.shape_needs) for output in plan.outputs}
        predicates = [s for s in plan.steps if isinstance(s, RequireStep) and s.rule.binds is None]
        self.predicates = {step: _way(plan.steps, step.needs) for step in predicates}

    def of(self, *parts: object) -> frozenset[str]:
        """The operands whose ranks decide what these steps or outputs do."""
        return frozenset().union(*(self._read[part] for part in parts))


def reading_of(signature: Signature, plan: Plan) -> Reading:
    """The reading of a plan, found once."""
    return _readings.get(plan) or _readings.setdefault(plan, Reading(signature, plan))


def _union(names: Iterable[str], read: dict[str, frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*(read.get(name, frozenset()) for name in names))


def _way(steps: Sequence[Step], wanted: Iterable[str]) -> tuple[Step, ...]:
    """The steps that give these names, or what those need; of a pattern how long its starred entries are."""
    needed, taken = set(wanted), []
    for step in reversed(steps):
        if step.gives & needed:
            taken.append(step)
            needed |= step.needs
            if isinstance(step, PatternStep):
                needed.update(*({entry.name, *entry.needs} for entry in step.pattern.many))
    return tuple(reversed(taken))


def _offsets(signature: Signature, plan: Plan, output: OutputPlan) -> Mapping[str, int]:
    """How many axes more than which operands an output has, where its shape and theirs are the same names and more."""
    shape, operands = (
        output.output.shape,
        {i.name: i for i in signature.inputs if not i.layout and not i.variadic},
    )
    if isinstance(shape, str):
        return {name: 0 for name in operands if shape == f"{name}.shape"}
    if not isinstance(shape, tuple) or any(not isinstance(entry, str | int) for entry in shape):
        return {}
    stars = [entry[1:] for entry in shape if isinstance(entry, str) and entry.startswith("*")]
    if len(stars) != 1:
        return {}
    own = len(shape) - 1
    return {
        name: own - pattern.fixed
        for name, pattern in plan.patterns.items()
        if name in operands and [(e.role, e.name) for e in pattern.many] == [(Role.BIND_MANY, stars[0])]
    }


class RankPruning:
    """What is known of the ranks of one call's unknown operands, before and while they are tried."""

    def __init__(
        self,
        reading: Reading,
        unknown: Sequence[str],
        results: Sequence[tuple[OutputPlan, Shape]],
        frame_of: Callable[[Ranks], Frame],
        alike: Hashable | None,
    ) -> None:
        """`unknown`: the operand of each rank; `results`: outputs with the shapes that are known of them; `frame_of`:
        a call with operands of these ranks, not yet bound; `alike`: equal for calls of which it gives the same, None
        for one that has no like.
        """
        self._reading, self._unknown, self._results, self._frame_of = reading, unknown, results, frame_of
        self._shapes = {output: _known(_shapes, output, alike) for output, _ in results}
        self._simplest = {output: _known(_simplest, output, alike) for output, _ in results}
        self._parts = {output: self._positions(reading.of(output)) for output, _ in results}
        # What reads the rank of one operand alone has refused it once and for all when it has refused one trial.
        read = {step: self._positions(reading.of(step)) for step in reading.predicates}
        self._predicates = {step: part for step, part in read.items() if len(part) > 1}
        self._verdicts = {step: _known(_verdicts, step, alike) for step in self._predicates}
        self._refused: dict[tuple[int, ...], set[Ranks]] = {}
        self._only: dict[int, int] = {}  # position -> the rank that a result gives it
        for output, known in results:
            for name, offset in reading.offsets[output].items():
                for position in self._positions(frozenset((name,))):
                    self._only[position] = len(known) - offset

    def possible(self, choices: Sequence[Sequence[int]]) -> list[Sequence[int]]:
        """The ranks that each operand is tried with, without those that a result's rank alone refuses."""
        return [
            [rank for rank in each if self._only.get(position, rank) == rank]
            for position, each in enumerate(choices)
        ]

    def refuses(self, ranks: Ranks) -> bool:
        """Whether a trial of ranks that are `possible` would be refused; False where that is not known."""
        for part, known in self._refused.items():
            if tuple([ranks[k] for k in part]) in known:
                return True
        for output, known_shape in self._results:
            shape = self._shape(output, ranks)
            if shape is not None and len(shape) != len(known_shape):
                return True
        return any([self._verdict(step, ranks) is False for step in self._predicates])

    def results(self, ranks: Ranks) -> Iterator[tuple[OutputPlan, Shape, Shape]]:
        """The results whose shapes follow from these ranks: as they follow, and as they are known."""
        for output, known in self._results:
            shape = self._shape(output, ranks)
            if shape is not None:
                forms, key = self._simplest[output], self._key(output, ranks)
                if key not in forms:
                    forms[key] = simplest(shape)
                yield output, forms[key], known

    def learn(self, ranks: Ranks, refusing: Iterable[object]) -> None:
        """That what these steps or outputs do refused a trial of these ranks."""
        part = self._positions(self._reading.of(*refusing))
        self._refused.setdefault(part, set()).add(tuple([ranks[k] for k in part]))

    def _positions(self, operands: frozenset[str]) -> tuple[int, ...]:
        return tuple([k for k, name in enumerate(self._unknown) if name in operands])

    def _key(self, output: OutputPlan, ranks: Ranks) -> Ranks:
        return tuple([ranks[k] for k in self._parts[output]])

    def _shape(self, output: OutputPlan, ranks: Ranks) -> Shape | None:
        """The shape of an output, by the symbols of the trials; None where it needs more than their ranks."""
        shapes, key = self._shapes[output], self._key(output, ranks)
        if key not in shapes:
            try:
                shapes[key] = output.computed_dims(self._after(self._reading.ways[output], ranks))
            except _NO_ANSWER:
                shapes[key] = None
        return shapes[key]

    def _verdict(self, step: RequireStep, ranks: Ranks) -> bool | None:
        """Whether a requirement holds of operands of these ranks whatever their extents are; None: not known."""
        verdicts, key = self._verdicts[step], tuple([ranks[k] for k in self._predicates[step]])
        if key not in verdicts:
            try:
                verdicts[key] = step.verdict(self._after(self._reading.predicates[step], ranks))
            except _NO_ANSWER:
                verdicts[key] = None
        return verdicts[key]

    def _after(self, way: Sequence[Step], ranks: Ranks) -> Frame:
        """A call with operands of these ranks after some steps.  Raises what these do."""
        frame = self._frame_of(ranks)
        for step in way:
            step.run(frame)
        return frame


def _known(kept: LRUCache[dict[Ranks, V]], part: object, alike: Hashable | None) -> dict[Ranks, V]:
    """What is known already of an output or a step."""
    if alike is None:
        return {}
    key = (part, alike)
    known = kept.get(key)
    return kept.put(key, {}) if known is None else known
