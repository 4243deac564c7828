"""Rules of the scheduler: what a rule matches and why not, what it costs, what it does.

Rules are applied one after the other, each to all stages that none before has made loops for.  A rule that matches a
stage makes its loops, unless it states a cost, and a later one that matches too states a lower one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, Generic, TypeVar

from .....base import Target
from .....base.vocabulary import dataclass
from ....schedule import Schedule, Stage

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why a rule does not match a stage: what is to be read after the stage's name, as `has no reduce axes`."""

    reason: str


@dataclass(frozen=True, slots=True)
class Rule(Generic[M]):
    """One way to make the loops of a stage.

    `match(schedule, stage, target)` gives what `apply` takes, or a WhyNot; it changes nothing.  `apply(schedule,
    matched, target)` gives the stages whose loops are made then; none where it has rewritten the stage for the rules
    that follow.  `cost(matched, target)`: cycles of all that the rule makes, on one thread.
    """

    name: str
    match: Callable[[Schedule, Stage, Target], M | WhyNot]
    apply: Callable[[Schedule, M, Target], Iterable[Stage]]
    cost: Callable[[M, Target], float] | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """A rule tried on a stage: `why_not` it was not applied, if so; `cycles`: the cost that it states."""

    rule: str
    stage: str
    why_not: str | None = None
    cycles: float | None = None

    @property
    def result(self) -> str:
        """What has come of it, in words."""
        cost = "" if self.cycles is None else f" ({self.cycles:,.0f} cycles)"
        return f"matches{cost}" if self.why_not is None else f"{self.why_not}{cost}"


def apply_rules(schedule: Schedule, target: Target, rules: Sequence[Rule[Any]]) -> list[Trial]:
    """Make the loops of the stages that have none, rule by rule; gives every trial, in order."""
    trials: list[Trial] = []
    for n, rule in enumerate(rules):
        tried = list(_tried(schedule, target, rule, rules[n + 1 :]))
        trials += tried or [Trial(rule.name, "", "no stage is left")]
    return trials


def _tried(
    schedule: Schedule, target: Target, rule: Rule[Any], others: Sequence[Rule[Any]]
) -> Iterator[Trial]:
    """Make the loops of the stages that a rule matches; `others` are tried after it."""
    for stage in list(schedule.stages):
        if stage.rule is not None or stage.inlined or stage.is_placeholder:
            continue
        name = stage.name
        found = rule.match(schedule, stage, target)
        if isinstance(found, WhyNot):
            yield Trial(rule.name, name, found.reason)
            continue
        cycles = None if rule.cost is None else rule.cost(found, target)
        cheaper = None if cycles is None else _cheaper(schedule, stage, target, cycles, others)
        yield Trial(rule.name, name, None if cheaper is None else f"is cheaper by rule {cheaper}", cycles)
        if cheaper is None:
            for made in rule.apply(schedule, found, target):
                made.rule = rule.name


def _cheaper(
    schedule: Schedule, stage: Stage, target: Target, cycles: float, others: Sequence[Rule[Any]]
) -> str | None:
    """The first rule that matches a stage at a lower cost; None where there is none."""
    for rule in others:
        if rule.cost is None:
            continue
        found = rule.match(schedule, stage, target)
        if not isinstance(found, WhyNot) and rule.cost(found, target) < cycles:
            return rule.name
    return None


def trials_text(trials: Sequence[Trial]) -> str:
    """What came of each rule, a line for all stages of which the same is so."""
    width = max((len(trial.rule) for trial in trials), default=0)
    lines: list[str] = []
    for rule, tried in groupby(trials, key=lambda trial: trial.rule):
        results: dict[str, list[str]] = {}
        for trial in tried:
            results.setdefault(trial.result, []).append(trial.stage)
        for n, (result, stages) in enumerate(results.items()):
            subject = f"{', '.join(stages)}: " if any(stages) else ""
            lines.append(f"{'' if n else rule:{width}}  {subject}{result}")
    return "\n".join(lines)
