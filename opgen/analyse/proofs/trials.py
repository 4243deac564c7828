"""The translated code of one op, tried on sample signatures: each trial gives a value, and nothing is reported."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Final

from opgen_runtime.base.errors import AttrError, OpgenError, without_frames
from opgen_runtime.base.vocabulary import OpPattern, dataclass
from opgen_runtime.compute import lang, te
from opgen_runtime.compute.te.pattern import derive_pattern
from opgen_runtime.compute.te.proved import Proved
from opgen_runtime.operator.types import Binding, TensorType, bind

from ...model import CheckedAttr, CheckedSignature
from ...model.opdef import OpDef
from .adjoints import Adjoints
from .assemble import Assembled, Assembler
from .located import PYTHON_ERRORS
from .samples import Sample

_STEPS_OF_OUTPUT: Final = 50  # what one member of a variadic output takes
_ERRORS: Final = (OpgenError, RecursionError, MemoryError, *PYTHON_ERRORS)


@dataclass(frozen=True, slots=True)
class BoundSample:
    """A sample whose signature fits."""

    sample: Sample
    attrs: Any
    binding: Binding


@dataclass(frozen=True, slots=True)
class Refused:
    """A sample that was not bound, with why; without an error too much has been computed already for this op."""

    sample: Sample
    error: BaseException | None


@dataclass(frozen=True, slots=True)
class Built:
    """What the tensor expressions of a sample are."""

    pattern: OpPattern
    reason: str


class Trials:
    """Binds and builds samples of one op; `steps_of_build`: what the proofs of one build take."""

    def __init__(
        self,
        op: OpDef,
        signature: CheckedSignature,
        assembled: Assembled,
        assembler: Assembler,
        steps_of_build: int,
    ) -> None:
        self.op = op
        self.signature = signature
        self.assembled = assembled
        self.meter = assembler.meter
        self._assembler = assembler  # whose functions find it while it is held
        self.names = [operand.name for operand in signature.inputs]
        self._work = steps_of_build
        self._attrs: dict[
            str, tuple[Any, int]
        ] = {}  # with the steps that making them took, which count each time
        self._bindings: dict[object, tuple[Any, Binding] | BaseException] = {}
        self._built: dict[object, Built | Exception] = {}
        self._refused: dict[object, Exception | None] = {}  # why what stands not in `_built` cannot be built
        self._proved = Proved()
        self._adjoints: dict[Hashable, tuple[Adjoints, int]] = {}  # with the steps that building them took

    def bind(self, sample: Sample) -> BoundSample | Refused:
        """The sample with its attrs and binding."""
        if self.meter.spent():
            return Refused(sample, None)
        found = self._bind(sample)
        return Refused(sample, found) if isinstance(found, BaseException) else BoundSample(sample, *found)

    def close(self) -> None:
        """Let go of what was found: an error holds the frames that it came through, and those hold the trials."""
        for kept in (self._bindings, self._built, self._refused):
            for found in kept.values():
                if isinstance(found, BaseException):
                    without_frames(found)
            kept.clear()
        self._adjoints.clear()

    def fits(self, sample: Sample) -> bool:
        """Whether the sample can be bound."""
        return isinstance(self.bind(sample), BoundSample)

    def _bind(self, sample: Sample) -> tuple[Any, Binding] | BaseException:
        """Attrs and binding, computed once for each signature, or why there are none."""
        key = sample.key
        known = self._bindings.get(key)
        if known is None:
            known = self._bound(sample)
            # the place of a test stands in its error
            if sample.place is None or not isinstance(known, BaseException):
                self._bindings[key] = known
        return known

    def _bound(self, sample: Sample) -> tuple[Any, Binding] | BaseException:
        self.meter.reset()
        try:
            made = None if self.assembled.attrs is None else self._made(sample)
            binding = bind(
                self.assembled.signature, self.op.name, made, sample.operands, site="the declaration"
            )
        except _ERRORS as error:
            return error
        return made, binding

    def _made(self, sample: Sample) -> Any:
        """The attrs of a sample, made once for all samples that have the same.  Raises AttrError."""
        text = sample.attrs_text
        known = self._attrs.get(text)
        if known is not None:
            self.meter.tick(known[1])
            return known[0]
        assert self.assembled.attrs is not None
        made = self.assembled.attrs(**sample.attrs)
        self._attrs[text] = made, self.meter.steps
        return made

    def is_out_of_bounds(self, bound: BoundSample, attr: CheckedAttr, value: Any) -> bool:
        """Whether a sample with another value for an attr is refused because that is out of its bounds."""
        values = {**bound.sample.attrs, attr.name: value}
        if attr.bound is None or attr.bound.function is not None:
            found = self.bind(Sample(bound.sample.operands, values))
            return isinstance(found, Refused) and _is_of_bounds(found.error, attr)
        assert self.assembled.attrs is not None  # a bound that needs no operands
        self.meter.reset()
        try:
            self.assembled.attrs(**values)
        except _ERRORS as refused:
            return _is_of_bounds(refused, attr)
        return False

    # ---------------------------------------------------------------- building

    def build(self, bound: BoundSample, trusted: bool = False) -> Built | Exception:
        """The compute expression built for a sample, or the error; `trusted`: accesses are not proved."""
        made = self._outputs(bound, trusted)
        return made if isinstance(made, Exception) else Built(*derive_pattern(made, ()))

    def _outputs(self, bound: BoundSample, trusted: bool) -> Sequence[te.Tensor] | Exception:
        self.meter.reset()
        operands = _placeholders(self.names, bound.binding)
        try:
            self.meter.tick(self._work)
            proved = None if trusted else self._proved
            outputs = lang.build(self.assembled, bound.binding, operands, trusted=trusted, proved=proved)
            self.meter.tick(_STEPS_OF_OUTPUT * len(outputs))
        except _ERRORS as error:
            return error
        return outputs

    def built(self, bound: BoundSample) -> Built | Exception:
        """What `build` gives, found once for each signature."""
        key = bound.sample.key
        if key not in self._built:
            self._built[key] = self.build(bound)
        return self._built[key]

    def adjoints(self, bound: BoundSample, first: bool) -> Adjoints:
        """What is derived of a sample that can be built, once for each signature; `first`: as in `pullback`."""
        self.meter.reset()
        key = bound.sample.key, first
        known = self._adjoints.get(key)
        if known is not None:
            self.meter.tick(known[1])
            return known[0]
        operands = _placeholders(self.names, bound.binding)
        outputs = lang.build(self.assembled, bound.binding, operands, trusted=True)
        made = Adjoints(operands, outputs[: len(bound.binding.outputs)], first)
        self._adjoints[key] = made, self.meter.steps
        return made

    def can_build(self, bound: BoundSample) -> bool:
        """Whether the compute expression can be built for a sample.  True of an extern."""
        return self.assembled.compute is None or (
            not self.meter.spent() and self.why_not_built(bound) is None
        )

    def why_not_built(self, bound: BoundSample) -> Exception | None:
        """The error with which the compute expression cannot be built for a sample."""
        if self.assembled.compute is None:
            return None
        key = bound.sample.key
        known = self._built.get(key)
        if known is not None:
            return None if isinstance(known, Built) else known
        if key not in self._refused:  # what the pattern is does not matter here
            made = self._outputs(bound, trusted=False)
            self._refused[key] = made if isinstance(made, Exception) else None
        return self._refused[key]

    def failures(self, bound: BoundSample) -> Sequence[lang.Failure]:
        """What is wrong with the definitions, each for itself; those that need a wrong one are passed over."""
        self.meter.reset()
        operands = _placeholders(self.names, bound.binding)
        return lang.find_failures(self.assembled, bound.binding, operands, _ERRORS)


def _is_of_bounds(error: BaseException | None, attr: CheckedAttr) -> bool:
    return isinstance(error, AttrError) and bool(error.bound) and error.attr == attr.name


def _placeholders(names: Sequence[str], binding: Binding) -> tuple[Any, ...]:
    """Input tensors of the bound types."""
    return tuple(_placeholder(name, given) for name, given in zip(names, binding.inputs, strict=True))


def _placeholder(name: str, given: Any) -> Any:
    if isinstance(given, tuple):
        return tuple(_placeholder(f"{name}{position}", item) for position, item in enumerate(given))
    if not isinstance(given, TensorType):
        return None
    return te.placeholder(name, given.shape, str(given.dtype))
