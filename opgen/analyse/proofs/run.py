"""Runs a declaration's translated code on sample signatures, and says what it shows."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from opgen_runtime.base.errors import AttrError, OpgenError
from opgen_runtime.base.vocabulary import OpPattern
from opgen_runtime.compute import lang, te
from opgen_runtime.compute.te.pattern import derive_pattern
from opgen_runtime.compute.te.proved import Proved
from opgen_runtime.operator.types import Binding, TensorType, bind

from ...diagnostics import Diagnostics, Place
from ...expression import syntax as s
from ...expression.paths import defines
from ...model import CheckedAttr, CheckedCase, CheckedSignature
from ...model.opdef import OpDef
from .assemble import Assembled, Assembler
from .located import PYTHON_ERRORS, code_of, hint_of, message_of, place_by_name, place_in_code
from .meter import MAX_TOTAL
from .samples import Sample, case_samples, made_up, other_dtypes, symbolic

_MAX_BUILDS: Final = 40
_STEPS_OF_OUTPUT: Final = 50  # what one member of a variadic output takes
MAX_DEFINITIONS: Final = 32  # of one tensor: each is proved against all that earlier ones left
_OF_SHAPES: Final = frozenset({"out-of-bounds", "rank", "shape-mismatch", "value", "uncovered", "stage"})
_ERRORS: Final = (OpgenError, RecursionError, MemoryError, *PYTHON_ERRORS)


@dataclass(frozen=True, slots=True)
class BoundSample:
    """A sample whose signature fits."""

    sample: Sample
    attrs: Any
    binding: Binding


@dataclass(frozen=True, slots=True)
class Findings:
    """What the samples showed."""

    pattern: OpPattern
    reason: str
    bound: tuple[BoundSample, ...]


class Runner:
    """Runs one op."""

    def __init__(
        self,
        op: OpDef,
        signature: CheckedSignature,
        assembled: Assembled,
        assembler: Assembler,
        diagnostics: Diagnostics,
    ) -> None:
        self.op = op
        self.signature = signature
        self.assembled = assembled
        self.meter = assembler.meter
        self.diagnostics = diagnostics
        self.paths = frozenset(diagnostics.sources)
        self.names = [operand.name for operand in signature.inputs]
        places = _definitions(op.compute or ())
        self.stated = [(define.tensor.name, define.place) for define in defines(op.compute or ())]
        self.definitions = {tensor: found[0] for tensor, found in places.items()}
        self.work = sum(len(found) ** 3 for found in places.values())  # of the proofs of one build, in steps
        self.pattern: OpPattern | None = None
        self.reason = ""
        self.failed = False
        self.builds = 0
        self._bindings: dict[object, tuple[Any, Binding] | BaseException] = {}
        self._built: dict[object, Exception | None] = {}
        self._proved = Proved()

    def run(self, attrs: Sequence[CheckedAttr], cases: Sequence[CheckedCase]) -> Findings | None:
        """Bind and build every sample; None if an error was reported."""
        self._count_definitions()
        if self.failed:
            return None
        bound = [found for sample in case_samples(cases) if (found := self.bind(sample)) is not None]
        if self.failed:
            return None
        refused: list[tuple[Sample, BaseException]] = []
        for sample in made_up(self.signature, self.assembled.signature, attrs):
            if self.meter.spent(0.3):
                break
            found = self.bind(sample, refused)
            if found is not None:
                bound.append(found)
            elif refused and code_of(refused[-1][1]) == "limit":
                break
        if not bound and not self.failed:
            self._nothing_fits(refused)
        if self.failed:
            return None
        self._build_all(bound)
        if self.failed:
            return None
        self._vary(bound[0])
        if self.failed:
            return None
        for found in bound[: len(cases) or 1]:
            self._symbolic(found.sample)
            if self.failed:
                return None
        if self.pattern is None:
            self.pattern, self.reason = OpPattern.OPAQUE, "an extern is opaque"
        return Findings(self.pattern, self.reason, tuple(bound))

    def _count_definitions(self) -> None:
        for tensor, places in _definitions(self.op.compute or ()).items():
            if len(places) > MAX_DEFINITIONS:
                self.failed = True
                text = f"`{tensor}` has {len(places)} definitions; at most {MAX_DEFINITIONS} are read"
                hint = "choose by a condition, or index a static tuple, as in `out[i] = (3, 1, 4)[i]`"
                self.diagnostics.error("limit", text, places[MAX_DEFINITIONS], hint)

    # ---------------------------------------------------------------- binding

    def bind(
        self, sample: Sample, refused: list[tuple[Sample, BaseException]] | None = None
    ) -> BoundSample | None:
        """The sample's attrs and binding.  With `refused`, one that does not fit is noted there, not reported.

        None also where too much has been computed already for this op.
        """
        if self.meter.spent():
            if refused is None and not sample.symbolic:
                self._too_much(sample)
            return None
        try:
            attrs, binding = self._bind(sample)
        except _ERRORS as error:
            if refused is not None:
                refused.append((sample, error))
            elif not sample.symbolic:
                self._report_binding(sample, error)
            return None
        return BoundSample(sample, attrs, binding)

    def _bind(self, sample: Sample) -> tuple[Any, Binding]:
        """Attrs and binding, computed once for each signature."""
        key = sample.key
        known = self._bindings.get(key)
        if known is None:
            try:
                known = self._bound(sample)
            except _ERRORS as error:
                known = error
            if sample.place is None:  # the place of a test stands in its error
                self._bindings[key] = known
        if isinstance(known, BaseException):
            raise known
        return known

    def _bound(self, sample: Sample) -> tuple[Any, Binding]:
        self.meter.reset()
        made = None if self.assembled.attrs is None else self.assembled.attrs(**sample.attrs)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            binding = bind(
                self.assembled.signature, self.op.name, made, sample.operands, site="the declaration"
            )
        return made, binding

    def is_out_of_bounds(self, sample: Sample, attr: CheckedAttr) -> bool:
        """Whether a sample is refused because the value of an attr is out of its bounds."""
        refused: list[tuple[Sample, BaseException]] = []
        if attr.bound is not None and attr.bound.function is None:  # a bound that needs no operands
            assert self.assembled.attrs is not None
            self.meter.reset()
            try:
                self.assembled.attrs(**sample.attrs)
            except _ERRORS as error:
                refused.append((sample, error))
        else:
            self.bind(sample, refused)
        return any(
            isinstance(error, AttrError) and error.bound and error.attr == attr.name for _, error in refused
        )

    def _report_binding(self, sample: Sample, error: BaseException) -> None:
        self.failed = True
        place = place_in_code(error, self.paths)
        shown = sample.describe(self.names)
        if place is not None:
            root = next((c for c in _causes(error) if place_in_code(c, self.paths)), error)
            self.diagnostics.error(code_of(root), f"{message_of(root)}{_for(shown)}", place)
            return
        code = "bounds" if isinstance(error, AttrError) else "test"
        at = sample.place or self.op.place
        self.diagnostics.error(code, f"the test does not fit: {self._message(error)}", at)

    def _message(self, error: BaseException) -> str:
        return message_of(error).removeprefix(f"{self.op.name}: ")

    def _nothing_fits(self, refused: Sequence[tuple[Sample, BaseException]]) -> None:
        self.failed = True
        for sample, error in refused:
            place = place_in_code(error, self.paths)
            if place is not None:
                root = next((c for c in _causes(error) if place_in_code(c, self.paths)), error)
                text = f"{message_of(root)}{_for(sample.describe(self.names))}"
                self.diagnostics.error(code_of(root), text, place)
                return
        why = f": {self._message(refused[0][1])}" if refused else ""
        text = f"no sample signature fits `{self.op.name}`{why}"
        hint = 'give one under `tests:`, such as `- {data: "float32[2, 3]"}`'
        self.diagnostics.error("test", text, self.op.place, hint)

    # ---------------------------------------------------------------- building

    def _build_all(self, bound: Sequence[BoundSample]) -> None:
        """Build every sample.

        A made-up shape need not suit the op: where a test or another one was built, it is passed over if its
        shapes are what does not fit.
        """
        passed: list[tuple[BoundSample, Exception]] = []
        built = False
        for found in bound:
            refused = None if found.sample.place is not None else passed
            if refused is not None and self.failed:
                return  # what only a test shows is reported for every test
            built |= self.build(found, refused)
        if passed and not built and not self.failed:
            self._report_build(*passed[0])

    def build(self, bound: BoundSample, refused: list[tuple[BoundSample, Exception]] | None = None) -> bool:
        """Build the compute expression and join its pattern; True if that was done.

        An error is reported, or with `refused` noted there if it is one of shapes.
        """
        if self.assembled.compute is None or self.builds >= _MAX_BUILDS:
            return False
        if self.meter.spent():
            if self.pattern is None or bound.sample.place is not None:
                self._too_much(bound.sample)
            return False
        self.builds += 1
        self.meter.reset()
        operands = _placeholders(self.names, bound.binding)
        try:
            self.meter.tick(self.work)
            outputs = lang.build(self.assembled, bound.binding, operands, proved=self._proved)
            self.meter.tick(_STEPS_OF_OUTPUT * len(outputs))
        except _ERRORS as error:
            failed = error
        else:
            self._built[bound.sample.key] = None
            self._join_pattern(outputs, operands)
            return True
        if refused is not None and code_of(failed) in _OF_SHAPES:
            refused.append((bound, failed))
        else:
            self._report_build(bound, failed)
        return False

    def can_build(self, bound: BoundSample) -> bool:
        """Whether the compute expression can be built for a sample; nothing is reported.  True of an extern."""
        return self.assembled.compute is None or (
            not self.meter.spent() and self.why_not_built(bound) is None
        )

    def why_not_built(self, bound: BoundSample) -> Exception | None:
        """The error with which the compute expression cannot be built for a sample; nothing is reported."""
        if self.assembled.compute is None:
            return None
        key = bound.sample.key
        if key not in self._built:
            self._built[key] = self._error_of_build(bound)
        return self._built[key]

    def _error_of_build(self, bound: BoundSample) -> Exception | None:
        self.meter.reset()
        operands = _placeholders(self.names, bound.binding)
        try:
            self.meter.tick(self.work)
            lang.build(self.assembled, bound.binding, operands, proved=self._proved)
        except _ERRORS as error:
            return error
        return None

    def _too_much(self, sample: Sample) -> None:
        self.failed = True
        text = f"more than {MAX_TOTAL} static steps for the tests together; give fewer or smaller tests"
        self.diagnostics.error("limit", text, sample.place or self.op.place)

    def _join_pattern(self, outputs: Sequence[te.Tensor], operands: Sequence[Any]) -> None:
        flat = [
            t for operand in operands for t in (operand if isinstance(operand, tuple) else (operand,)) if t
        ]
        pattern, reason = derive_pattern(outputs, flat)
        if self.pattern is None or pattern > self.pattern:
            self.pattern, self.reason = pattern, reason

    def _report_build(self, bound: BoundSample, error: Exception) -> None:
        """Report why a build failed, and what else is wrong with definitions that do not need the failing one."""
        self.failed = True
        found = () if code_of(error) == "limit" or self.meter.spent() else self._failures(bound)
        for failure in found:
            self.report_failure(bound, failure)
        if not found:
            self.report_failure(bound, lang.Failure(error))

    def _failures(self, bound: BoundSample) -> Sequence[lang.Failure]:
        self.meter.reset()
        operands = _placeholders(self.names, bound.binding)
        return lang.find_failures(self.assembled, bound.binding, operands, _ERRORS)

    def report_failure(self, bound: BoundSample, failure: lang.Failure, hint: str | None = None) -> None:
        """Report an error of the compute expression for a sample, at its place."""
        self.failed = True
        error = failure.error
        place = place_in_code(error, self.paths)
        if place is None:
            own = (at for tensor, at in self.stated if tensor == failure.tensor and at.line <= failure.line)
            above = max(own, key=lambda at: at.line, default=None)
            place = above or place_by_name(error, self.definitions)
        place = place or self.op.compute_place
        text = f"{message_of(error)}{_for(bound.sample.describe(self.names))}"
        self.diagnostics.error(code_of(error), text, place, hint or hint_of(error))

    def report_failures(self, attrs: Sequence[CheckedAttr], cases: Sequence[CheckedCase]) -> None:
        """Report what is wrong with a compute text of which some statements are missing."""
        samples = (*case_samples(cases), *made_up(self.signature, self.assembled.signature, attrs))
        found = next((f for sample in samples if (f := self.bind(sample, [])) is not None), None)
        if found is not None:
            for failure in self._failures(found):
                self.report_failure(found, failure)

    def _vary(self, bound: BoundSample) -> None:
        """The other dtypes that the declaration admits."""
        for sample in other_dtypes(bound.sample, self.signature):
            found = self.bind(sample, [])
            if found is not None:
                self.build(found)
            if self.failed:
                return

    def _symbolic(self, sample: Sample) -> None:
        """The same with symbolic dims, for the pattern; what they leave open is decided at lowering."""
        refused: list[tuple[Sample, BaseException]] = []
        found = self.bind(symbolic(sample), refused)
        for shown, error in refused:
            if code_of(error) == "dtype" and place_in_code(error, self.paths) is not None:
                self._report_binding(shown, error)
                return
        if found is None or self.assembled.compute is None:
            return
        operands = _placeholders(self.names, found.binding)
        self.meter.reset()
        try:
            self.meter.tick(self.work)
            outputs = lang.build(self.assembled, found.binding, operands, trusted=True)
        except _ERRORS:
            return
        self._join_pattern(outputs, operands)


def _for(shown: str) -> str:
    return f" (for {shown})" if shown else ""


def _causes(error: BaseException) -> list[BaseException]:
    """The errors from the innermost cause outwards."""
    found = [error]
    while found[-1].__cause__ is not None:
        found.append(found[-1].__cause__)
    return found[::-1]


def _definitions(block: s.Block) -> Mapping[str, list[Place]]:
    """The definitions of each tensor, in order; of two branches those of the one that has more."""
    found: dict[str, list[Place]] = {}
    for item in block:
        if isinstance(item, s.Define):
            found.setdefault(item.tensor.name, []).append(item.place)
        elif isinstance(item, s.If):
            then, otherwise = _definitions(item.then), _definitions(item.otherwise)
            for tensor in {**then, **otherwise}:
                longer = max(then.get(tensor, []), otherwise.get(tensor, []), key=len)
                found.setdefault(tensor, []).extend(longer)
    return found


def _placeholders(names: Sequence[str], binding: Binding) -> tuple[Any, ...]:
    """Input tensors of the bound types."""
    return tuple(_placeholder(name, given) for name, given in zip(names, binding.inputs, strict=True))


def _placeholder(name: str, given: Any) -> Any:
    if isinstance(given, tuple):
        return tuple(_placeholder(f"{name}{position}", item) for position, item in enumerate(given))
    if not isinstance(given, TensorType):
        return None
    return te.placeholder(name, given.shape, str(given.dtype))
