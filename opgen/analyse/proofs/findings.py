"""What trials show to be wrong with a declaration, with code, text and place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from opgen_runtime.base.errors import AttrError
from opgen_runtime.compute import lang

from ...diagnostics import Diagnostics, Place
from ...expression import syntax as s
from ...expression.paths import defines
from ...model.opdef import OpDef
from .located import code_of, hint_of, message_of, place_by_name, place_in_code
from .meter import MAX_TOTAL
from .samples import Sample
from .trials import BoundSample, Refused, Trials

MAX_DEFINITIONS: Final = 32  # of one tensor: each is proved against all that earlier ones left


class Finding(NamedTuple):
    """An error in a declaration."""

    code: str
    text: str
    place: Place
    hint: str | None = None


class Finder:
    """Says of what trials of one op gave what is wrong, and where; `paths`: the files of declarations."""

    def __init__(self, trials: Trials, paths: frozenset[str]) -> None:
        self.trials = trials
        self.op = trials.op
        self.paths = paths
        places = definitions(self.op.compute or ())
        self.stated = [(define.tensor.name, define.place) for define in defines(self.op.compute or ())]
        self.first = {tensor: found[0] for tensor, found in places.items()}

    def too_many_definitions(self) -> list[Finding]:
        """A finding for each tensor with more definitions than are read."""
        hint = "choose by a condition, or index a static tuple, as in `out[i] = (3, 1, 4)[i]`"
        return [
            Finding(
                "limit",
                f"`{tensor}` has {len(places)} definitions; at most {MAX_DEFINITIONS} are read",
                places[MAX_DEFINITIONS],
                hint,
            )
            for tensor, places in definitions(self.op.compute or ()).items()
            if len(places) > MAX_DEFINITIONS
        ]

    def too_much(self, sample: Sample) -> Finding:
        """That the tests are more than can be computed."""
        text = f"more than {MAX_TOTAL} static steps for the tests together; give fewer or smaller tests"
        return Finding("limit", text, sample.place or self.op.place)

    def of_binding(self, refused: Refused) -> Finding:
        """Why a test does not fit."""
        sample, error = refused.sample, refused.error
        if error is None:
            return self.too_much(sample)
        found = self._in_code(sample, error)
        if found is not None:
            return found
        code = "bounds" if isinstance(error, AttrError) else "test"
        return Finding(code, f"the test does not fit: {self._message(error)}", sample.place or self.op.place)

    def of_no_fitting(self, refused: Sequence[Refused]) -> Finding:
        """Why no sample fits."""
        errors = [(each.sample, each.error) for each in refused if each.error is not None]
        for sample, error in errors:
            found = self._in_code(sample, error)
            if found is not None:
                return found
        why = f": {self._message(errors[0][1])}" if errors else ""
        hint = 'give one under `tests:`, such as `- {data: "float32[2, 3]"}`'
        return Finding("test", f"no sample signature fits `{self.op.name}`{why}", self.op.place, hint)

    def of_build(self, bound: BoundSample, error: Exception) -> list[Finding]:
        """Why a build failed, and what else is wrong with definitions that do not need the failing one."""
        spent = code_of(error) == "limit" or self.trials.meter.spent()
        failures = () if spent else self.trials.failures(bound)
        return [self.of_failure(bound, failure) for failure in failures or (lang.Failure(error),)]

    def of_failure(self, bound: BoundSample, failure: lang.Failure, hint: str | None = None) -> Finding:
        """An error of the compute expression for a sample, at its place."""
        error = failure.error
        place = place_in_code(error, self.paths)
        if place is None:
            own = (at for tensor, at in self.stated if tensor == failure.tensor and at.line <= failure.line)
            above = max(own, key=lambda at: at.line, default=None)
            place = above or place_by_name(error, self.first)
        text = f"{message_of(error)}{self._for(bound.sample)}"
        return Finding(code_of(error), text, place or self.op.compute_place, hint or hint_of(error))

    def is_in_code(self, error: BaseException) -> bool:
        """Whether an error has a place in the declared text."""
        return place_in_code(error, self.paths) is not None

    def _in_code(self, sample: Sample, error: BaseException) -> Finding | None:
        place = place_in_code(error, self.paths)
        if place is None:
            return None
        root = next((cause for cause in _causes(error) if place_in_code(cause, self.paths)), error)
        return Finding(code_of(root), f"{message_of(root)}{self._for(sample)}", place)

    def _for(self, sample: Sample) -> str:
        shown = sample.describe(self.trials.names)
        return f" (for {shown})" if shown else ""

    def _message(self, error: BaseException) -> str:
        return message_of(error).removeprefix(f"{self.op.name}: ")


def report(findings: Sequence[Finding], diagnostics: Diagnostics) -> None:
    """Record the findings."""
    for found in findings:
        diagnostics.error(*found)


def steps_of_build(op: OpDef) -> int:
    """What the proofs of one build take: each definition of a tensor is proved against all that earlier ones left."""
    return sum(len(found) ** 3 for found in definitions(op.compute or ()).values())


def _causes(error: BaseException) -> list[BaseException]:
    """The errors from the innermost cause outwards."""
    found = [error]
    while found[-1].__cause__ is not None:
        found.append(found[-1].__cause__)
    return found[::-1]


def definitions(block: s.Block) -> Mapping[str, list[Place]]:
    """The definitions of each tensor, in order; of two branches those of the one that has more."""
    found: dict[str, list[Place]] = {}
    for item in block:
        if isinstance(item, s.Define):
            found.setdefault(item.tensor.name, []).append(item.place)
        elif isinstance(item, s.If):
            then, otherwise = definitions(item.then), definitions(item.otherwise)
            for tensor in {**then, **otherwise}:
                longer = max(then.get(tensor, []), otherwise.get(tensor, []), key=len)
                found.setdefault(tensor, []).extend(longer)
    return found
