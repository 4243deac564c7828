"""Checks a declaration on sample calls, each bound to types and built: `Checked`, or the `Findings` against it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, TypeAlias

from opgen_runtime.base.arith import Var
from opgen_runtime.base.vocabulary import OpPattern, dataclass

from ...model import CheckedAttr, CheckedCase
from .findings import Finder, Finding
from .located import code_of
from .samples import Sample, case_samples, made_up, other_dtypes, symbolic
from .trials import BoundSample, Built, Refused, Trials

_MAX_BUILDS: Final = 40
_OF_SHAPES: Final = frozenset({"out-of-bounds", "rank", "shape-mismatch", "value", "uncovered", "stage"})


@dataclass(frozen=True, slots=True)
class Checked:
    """What the samples of a sound declaration showed."""

    pattern: OpPattern
    reason: str
    bound: tuple[BoundSample, ...]


Findings: TypeAlias = list[Finding]
"""What is wrong; never empty where it stands in place of a value."""


def run(
    trials: Trials, finder: Finder, attrs: Sequence[CheckedAttr], cases: Sequence[CheckedCase]
) -> Findings | Checked:
    """Bind and build every sample."""
    wrong = finder.too_many_definitions()
    if wrong:
        return wrong
    bound = _bound(trials, finder, attrs, cases)
    if isinstance(bound, list):
        return bound
    builds = _Builds(trials, finder)
    wrong = builds.all(bound) or builds.varied(bound[0])
    for found in bound[: len(cases) or 1]:
        wrong = wrong or builds.symbolic(found.sample)
    return wrong or Checked(*builds.pattern(), bound)


def failures(
    trials: Trials, finder: Finder, attrs: Sequence[CheckedAttr], cases: Sequence[CheckedCase]
) -> Findings:
    """What is wrong with a compute text of which some statements are missing."""
    samples = (*case_samples(cases), *made_up(trials.signature, trials.assembled.signature, attrs))
    tried = (trials.bind(sample) for sample in samples)
    found = next((each for each in tried if isinstance(each, BoundSample)), None)
    return [] if found is None else [finder.of_failure(found, each) for each in trials.failures(found)]


def _bound(
    trials: Trials, finder: Finder, attrs: Sequence[CheckedAttr], cases: Sequence[CheckedCase]
) -> Findings | tuple[BoundSample, ...]:
    """The samples that fit: every test, and what can be made up; there is at least one."""
    tests = [trials.bind(sample) for sample in case_samples(cases)]
    wrong = [finder.of_binding(each) for each in tests if isinstance(each, Refused)]
    if wrong:
        return wrong
    bound = [each for each in tests if isinstance(each, BoundSample)]
    refused: list[Refused] = []
    for sample in made_up(trials.signature, trials.assembled.signature, attrs):
        if trials.meter.spent(0.3):
            break
        found = trials.bind(sample)
        if isinstance(found, BoundSample):
            bound.append(found)
            continue
        refused.append(found)
        if found.error is not None and code_of(found.error) == "limit":
            break
    return tuple(bound) if bound else [finder.of_no_fitting(refused)]


class _Builds:
    """The builds of one run, at most `_MAX_BUILDS`, and the patterns of what was built."""

    def __init__(self, trials: Trials, finder: Finder) -> None:
        self.trials = trials
        self.finder = finder
        self.built: list[Built] = []
        self.count = 0
        self.symbols: list[Var] = []
        self.symbolic_keys: set[Hashable] = set()

    def pattern(self) -> tuple[OpPattern, str]:
        """The most restrictive pattern, with its reason."""
        if not self.built:
            return OpPattern.OPAQUE, "an extern is opaque"
        found = max(self.built, key=lambda each: each.pattern)
        return found.pattern, found.reason

    def all(self, bound: Sequence[BoundSample]) -> Findings:
        """Build every sample.

        A made-up shape need not suit the op: where a test or another one was built, it is passed over if its
        shapes are what does not fit.
        """
        wrong: Findings = []
        passed: list[tuple[BoundSample, Exception]] = []
        any_built = False
        for found in bound:
            is_test = found.sample.place is not None
            if wrong and not is_test:
                return wrong  # what only a test shows is reported for every test
            made = self.one(found)
            if isinstance(made, Exception) and not is_test and code_of(made) in _OF_SHAPES:
                passed.append((found, made))
            else:
                any_built |= isinstance(made, Built)
                wrong += self.wrong(found, made)
        return self.finder.of_build(*passed[0]) if passed and not any_built and not wrong else wrong

    def varied(self, bound: BoundSample) -> Findings:
        """The other dtypes that the declaration admits."""
        for sample in other_dtypes(bound.sample, self.trials.signature):
            found = self.trials.bind(sample)
            wrong = self.wrong(found, self.one(found)) if isinstance(found, BoundSample) else []
            if wrong:
                return wrong
        return []

    def symbolic(self, sample: Sample) -> Findings:
        """The same with symbolic dims, for the pattern; what they leave open is decided at lowering."""
        turned = symbolic(sample, self.symbols)
        if turned.key in self.symbolic_keys:
            return []
        self.symbolic_keys.add(turned.key)
        found = self.trials.bind(turned)
        if isinstance(found, Refused):
            error = found.error
            is_wrong = error is not None and code_of(error) == "dtype" and self.finder.is_in_code(error)
            return [self.finder.of_binding(found)] if is_wrong else []
        if self.trials.assembled.compute is not None:
            made = self.trials.build(found, trusted=True)
            if isinstance(made, Built):
                self.built.append(made)
        return []

    def one(self, bound: BoundSample) -> Built | Exception | Finding | None:
        """A sample built, or why not; None where no more are built."""
        trials = self.trials
        if trials.assembled.compute is None or self.count >= _MAX_BUILDS:
            return None
        if trials.meter.spent():
            needed = not self.built or bound.sample.place is not None
            return self.finder.too_much(bound.sample) if needed else None
        self.count += 1
        made = trials.built(bound)
        if isinstance(made, Built):
            self.built.append(made)
        return made

    def wrong(self, bound: BoundSample, made: Built | Exception | Finding | None) -> Findings:
        """What is wrong with what `one` gave."""
        if isinstance(made, Exception):
            return self.finder.of_build(bound, made)
        return [made] if isinstance(made, Finding) else []
