"""The order of a signature's rules, found once for each kind of call and then followed."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ....base.arith.expr import AnyDim, Dim, Shape
from ....base.errors import OpgenError, TypeInferenceError
from ...attrs.kinds import same_value_key
from ..relation import Assumption
from ..rules import Bound, Function, Input, Let, Output, Require, needs_of
from ..signature import Signature
from ..type import TensorType
from .frame import Frame, RuleFailedError
from .outputs import DynamicAxes, OutputPlan, guarded
from .patterns import Pattern
from .result import Binding
from .steps import AbsentStep, BoundStep, DTypeStep, EquationStep, LetStep, PatternStep, RequireStep, Step
from .written import written_outputs


class Plan:
    """The steps of a binding, in order, and its outputs."""

    def __init__(
        self, steps: Sequence[Step], outputs: Sequence[OutputPlan], attrs_read: Sequence[str]
    ) -> None:
        """`attrs_read`: the attrs that decide something."""
        self.steps = tuple(steps)
        self._attrs_read = tuple(attrs_read)
        self.patterns = {step.declared.name: step.pattern for step in steps if isinstance(step, PatternStep)}
        self.outputs = tuple(outputs)
        self._by_output = {plan.output: plan for plan in outputs}

    def read(self, attrs: Any) -> Hashable:
        """Equal for attrs that calls are bound alike with: those that differ in what no rule and no shape reads."""
        if attrs is None:
            return ()
        open_bounds = [condition for _, condition in attrs.open_bounds]
        return same_value_key((*[attrs[name] for name in self._attrs_read], *open_bounds))

    def output(self, declared: Output) -> OutputPlan:
        """The plan of a declared output; there is none where the type relation is written by hand."""
        return self._by_output[declared]

    def run(self, frame: Frame) -> Binding:
        """Binds the call; the errors are the user's."""
        run_steps(frame, self.steps)
        signature = frame.signature
        if frame.attrs is not None:
            frame.undecided += [Assumption(text, condition) for text, condition in frame.attrs.open_bounds]
        bounds: dict[str, Dim] = {}
        for name, function in signature.dynamic.items():
            bounds[name] = bound_of(frame, signature, name, function)
        types: list[TensorType] = []
        shapes: list[Shape] = []
        counts: list[int] = []
        dynamic: list[DynamicAxes] = []
        if signature.relation is not None:
            types = list(written_outputs(frame, signature.relation))
            shapes = [t.shape for t in types]
            counts = _written_counts(frame, signature, len(types))
            dynamic = [_unknown_axes(t, bounds) for t in types]
        for output in self.outputs:
            made, stored, axes = output.types(frame, bounds)
            types += made
            shapes += stored
            dynamic += axes
            counts.append(len(made))
        return Binding(
            frame.names,
            tuple(types),
            tuple(frame.undecided),
            tuple(frame.groups),
            tuple(counts),
            signature.returns_tuple,
            bounds,
            tuple(shapes),
            tuple(dynamic) if bounds else (),
        )


def _unknown_axes(made: TensorType, bounds: Mapping[str, Dim]) -> DynamicAxes:
    """The unknown dims of a type that a hand-written relation gave: they have no names, so the first one is meant."""
    unknown = [axis for axis, extent in enumerate(made.shape) if isinstance(extent, AnyDim)]
    return tuple((axis, next(iter(bounds))) for axis in unknown if bounds)


def _written_counts(frame: Frame, signature: Signature, count: int) -> list[int]:
    variadic = [output.variadic is not None for output in signature.outputs]
    if not any(variadic) and count != len(variadic):
        raise frame.error(
            TypeInferenceError, f"its type relation gives {count} results, declared are {len(variadic)}"
        )
    return [count - len(variadic) + 1 if many else 1 for many in variadic]


def bound_of(frame: Frame, signature: Signature, name: str, function: Function) -> Dim:
    """The bound of a data-dependent dim."""
    read = partial(frame.evaluate, function, needs_of(function), f"the bound of {name}")
    bound: Dim = guarded(frame, signature.outputs[0], read)
    return bound


def run_steps(frame: Frame, steps: Sequence[Step]) -> None:
    """Takes the steps; a failed evaluation gives way to a bound or requirement that fails and says why.

    Which steps are to blame for an error stays in `frame.refusing`.
    """
    try:
        for step in steps:
            step.run(frame)
        return
    except RuleFailedError as failure:
        frame.refusing = (step,)
        for reason in steps:
            if reason.explains and reason.needs <= frame.names.keys():
                frame.refusing += (reason,)
                try:
                    reason.run(frame)
                except RuleFailedError:
                    continue
        error, cause = failure.error, failure.__cause__
    except OpgenError:
        frame.refusing = (step,)
        raise
    try:
        raise error from cause  # out here: the failure holds the error, which would hold it in turn
    finally:
        del error, cause  # as this frame would, which is in their tracebacks


def make_steps(signature: Signature, attr_names: Sequence[str]) -> list[Step]:
    """All steps of a signature in the order of the language: types, patterns, bounds, `let`, `require`, equations."""
    lets = {name for rule in signature.rules if isinstance(rule, Let) for name in rule.names}
    fixed = frozenset(attr_names) | lets
    starred = frozenset(
        entry[1:]
        for i in signature.inputs
        for entry in i.shape or ()
        if isinstance(entry, str) and entry[0] == "*"
    )
    patterns = [(i, Pattern(i, i.shape, fixed, starred)) for i in signature.inputs if i.shape is not None]
    rules = signature.rules
    steps: list[Step] = [DTypeStep(signature, declared) for declared in signature.inputs]
    steps += [PatternStep(declared, pattern) for declared, pattern in patterns]
    steps += [BoundStep(rule) for rule in rules if isinstance(rule, Bound)]
    steps += [LetStep(rule) for rule in rules if isinstance(rule, Let)]
    steps += [
        RequireStep(r, frozenset(attr_names), frozenset(signature.dtypes))
        for r in rules
        if isinstance(r, Require)
    ]
    steps += [EquationStep(i, pattern, entry) for i, pattern in patterns for entry in pattern.equations]
    return steps


def make_plan(signature: Signature, op_name: str, attrs: Any, groups: Sequence[Any]) -> Plan:
    """The plan of calls with attrs of this class, and with these operands absent.

    Raises TypeInferenceError if the signature itself cannot be ordered: a rule needs a name that nothing gives.
    """
    attr_names = () if attrs is None else tuple(attrs.keys())
    known = set(attr_names) | {declared.name for declared in signature.inputs}
    steps = waiting = make_steps(signature, attr_names)
    absent = {i.name for i, group in zip(signature.inputs, groups, strict=True) if group is None}
    ordered: list[Step] = []
    never: set[str] = set()
    while waiting:
        progress = False
        remaining: list[Step] = []
        for step in waiting:
            if _is_absent(step, absent):
                never |= step.gives
                if isinstance(step, PatternStep):
                    known.add(f"{step.declared.name}:matched")
                progress = True
            elif step.ready(known):
                ordered.append(step)
                known |= step.gives
                if isinstance(step, PatternStep):
                    known.add(f"{step.declared.name}:matched")
                progress = True
            else:
                remaining.append(step)
        waiting = remaining
        if not progress:
            missing = never - known
            if not missing:
                raise _stuck(op_name, waiting, known)
            ordered.append(AbsentStep(missing))
            known |= missing
    outputs = make_outputs(signature)
    wanted = {name for output in outputs for name in output.needs} - known
    if wanted - never:
        raise TypeInferenceError(
            f"{op_name}: the signature's outputs need {_listed(wanted - never)}, which nothing gives"
        )
    if never - known:
        ordered.append(AbsentStep(never - known))
    return Plan(ordered, outputs, _attrs_read(signature, attr_names, steps, outputs))


def make_outputs(signature: Signature) -> list[OutputPlan]:
    """The outputs whose types the signature states: none where its type relation is written by hand."""
    return [] if signature.relation is not None else [OutputPlan(signature, o) for o in signature.outputs]


def attrs_read(signature: Signature, attr_names: Sequence[str]) -> tuple[str, ...]:
    """Those of the attrs that a rule, a shape, a dtype or a layout reads: the others are no matter to any type."""
    return _attrs_read(signature, attr_names, make_steps(signature, attr_names), make_outputs(signature))


def _attrs_read(
    signature: Signature, attr_names: Sequence[str], steps: Iterable[Step], outputs: Iterable[OutputPlan]
) -> tuple[str, ...]:
    if signature.relation is not None:  # it is given all of them
        return tuple(attr_names)
    tensors: tuple[Input | Output, ...] = (*signature.inputs, *signature.outputs)
    read = {each.layout[0] for each in tensors if each.layout is not None}
    read.update(*[step.names | step.gives for step in steps], *[output.needs for output in outputs])
    read.update(*map(needs_of, signature.dynamic.values()))
    return tuple([name for name in attr_names if name in read])


def _is_absent(step: Step, absent: set[str]) -> bool:
    return isinstance(step, (DTypeStep, PatternStep, EquationStep)) and step.declared.name in absent


def _stuck(op_name: str, waiting: Sequence[Step], known: set[str]) -> TypeInferenceError:
    missing = {name for step in waiting for name in step.needs} - known
    given = {name for step in waiting for name in step.gives}
    if missing - given:
        return TypeInferenceError(
            f"{op_name}: the signature's rules need {_listed(missing - given)}, which nothing gives"
        )
    return TypeInferenceError(f"{op_name}: the signature's rules for {_listed(missing)} depend on each other")


def _listed(names: set[str]) -> str:
    return ", ".join(repr(name) for name in sorted(names) if ":" not in name)
