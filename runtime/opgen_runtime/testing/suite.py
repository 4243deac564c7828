"""What the generated suites call: cases of an op, and the checks of its types, values and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn
from unittest import SkipTest

import numpy as np

from ..base.errors import AttrError, OpgenError
from ..base.vocabulary import OpPattern
from ..declaration import OpDeclaration
from ..ir import Call, Operand, Var, make_call
from ..operator.attrs import Attrs, value_text
from ..operator.registry import Op
from ..run.executor import create_executor
from .compare import assert_close
from .data import Spec, ordinary, scattered, special
from .structure import structure_of

__tracebackhide__ = True  # pytest shows the line of the suite that fails, not what checks it

InputSpec = str | None | tuple[str, ...]
"""A spec, None for an absent optional input, a tuple of specs for a variadic one."""


@dataclass(frozen=True)
class Inferred:
    """The operands whose types the type relation finds from the result: with all others known, and with none."""

    alone: tuple[str, ...] = ()
    together: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """One call of an op: the spec of each input, and the attrs that are given.

    `inferred`: what follows of its operands, where that is not what the suite says for all cases.
    """

    inputs: Mapping[str, InputSpec]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    inferred: Inferred | None = None

    def __str__(self) -> str:
        inputs = [
            f"{name}={text.replace(' ', '') if isinstance(text, str) else text}"
            for name, text in self.inputs.items()
        ]
        return ",".join([*inputs, *[f"{name}={value_text(value)}" for name, value in self.attrs.items()]])

    def with_attr(self, name: str, value: object) -> Case:
        """The same call with another value for one attr."""
        return Case(self.inputs, {**self.attrs, name: value})


@dataclass(frozen=True)
class Probe:
    """Values of an attr just inside and just outside its bounds, beside a case.

    `accepted`: whether the call with the value inside fits, or the type relation refuses it for another reason.
    """

    case: Case
    attr: str
    inside: Any
    outside: Any
    accepted: bool = True

    def __str__(self) -> str:
        return f"{self.attr}:{value_text(self.inside)}|{value_text(self.outside)}"


def declaration_of(op: Op) -> OpDeclaration:
    found: OpDeclaration | None = op.get_attr("declaration")
    assert found is not None, f"op {op.name} is not a declared op"
    return found


def attrs_of(op: Op, case: Case) -> Attrs | None:
    """The attrs of the call. Raises AttrError."""
    kind = declaration_of(op).attrs
    return None if kind is None else kind(**case.attrs)


def specs_of(op: Op, case: Case) -> list[Spec | tuple[Spec, ...] | None]:
    """The specs of the inputs in order. An optional input that the case does not name is absent."""
    found: list[Spec | tuple[Spec, ...] | None] = []
    for declared in declaration_of(op).signature.inputs:
        text = case.inputs.get(declared.name)
        if isinstance(text, tuple):
            found.append(tuple([Spec.parse(item) for item in text]))
        else:
            found.append(None if text is None else Spec.parse(text))
    return found


def case_call(op: Op, case: Case) -> tuple[Call, list[Var]]:
    """The call of a case over variables of the inputs' types, and these variables, absent inputs left out."""
    variables: list[Var] = []

    def var(name: str, spec: Spec) -> Var:
        variables.append(Var(name, spec.type))
        return variables[-1]

    operands: list[Operand] = []
    for declared, spec in zip(declaration_of(op).signature.inputs, specs_of(op, case), strict=True):
        if isinstance(spec, tuple):
            operands.append([var(f"{declared.name}{k}", item) for k, item in enumerate(spec)])
        else:
            operands.append(None if spec is None else var(declared.name, spec))
    return make_call(op, operands, attrs_of(op, case)), variables


def check_values(
    op: Op, case: Case, reference: Callable[..., Any], executor: str, sampled: bool = False
) -> None:
    """The op in an executor against `reference`, on ordinary data and on data with special values.

    `reference` takes all inputs and all attrs by name.  Results have the inferred types; how close values must be
    is stated in `compare.py`.  A `sampled` case, which nobody has declared, is skipped where the reference raises and
    an operand is empty: numpy's functions do not all take empty arrays.  Any other call that the declaration admits its
    reference must take.
    """
    call, variables = case_call(op, case)
    pattern = declaration_of(op).pattern
    runner = create_executor(executor)
    attrs = call.attrs.as_dict() if call.attrs is not None else {}
    specs = specs_of(op, case)
    structure = structure_of(call, specs)
    for special_values in (False, True):
        operands = [
            _arrays(spec, f"{case} {k}", special_values, pattern, first=k == 0)
            for k, spec in enumerate(specs)
        ]
        flat = list(_flat(operands))
        given = dict(zip(variables, flat, strict=True))
        found = runner.evaluate(call, given)
        names = [declared.name for declared in declaration_of(op).signature.inputs]
        copies = [_copied(operand) for operand in operands]
        with np.errstate(all="ignore"):
            try:
                expected = reference(**dict(zip(names, copies, strict=True)), **attrs)
            except Exception as error:
                if sampled:
                    _refused_by_reference(op, case, flat, error)
                raise
        what = f"{op.name}({case}) in the {executor} executor, {'special' if special_values else 'ordinary'} values"
        assert_close(found, expected, call.checked_type, flat, pattern, what, structure)


def _refused_by_reference(op: Op, case: Case, operands: Sequence[np.ndarray], error: Exception) -> NoReturn:
    reason = f"{type(error).__name__}: {error}"
    if any(array.size == 0 for array in operands):
        raise SkipTest(f"the reference does not take an empty operand: {reason}") from error
    raise AssertionError(
        f"{op.name}: the declaration admits {op.name}({case}) and its reference does not take it: {reason}; "
        "narrow the declaration (shapes, bounds, require), or widen the reference"
    ) from error


def check_bound(op: Op, probe: Probe) -> None:
    """The bound of this attr accepts the value inside, and refuses the value outside."""
    inside = _refusal(op, probe, probe.inside)
    if inside is None:
        assert probe.accepted, (
            f"{op.name}: {probe.attr}={probe.inside!r} is accepted, though nothing else fits it"
        )
    elif probe.accepted or _refused_by(inside) == (op.name, probe.attr):
        raise inside
    outside = _refusal(op, probe, probe.outside)
    call = f"{op.name}: {probe.attr}={probe.outside!r}"
    assert outside is not None, f"{call} is outside its bounds and is accepted"
    assert _refused_by(outside) == (op.name, probe.attr), (
        f"{call} is refused, not by its bounds but with {type(outside).__name__}: {outside}"
    )
    assert isinstance(outside, AttrError)
    kind = declaration_of(op).attrs
    assert kind is not None
    declared = next(field for field in kind.fields() if field.name == probe.attr)
    found, expected = (outside.value, outside.bound), (declared.normalise(probe.outside), declared.bounds)
    assert found == expected, f"{call}: the error tells of value and bounds {found}, expected {expected}"


def _refusal(op: Op, probe: Probe, value: object) -> OpgenError | None:
    try:
        case_call(op, probe.case.with_attr(probe.attr, value))
    except OpgenError as error:
        return error
    return None


def _refused_by(error: OpgenError) -> tuple[str | None, str | None] | None:
    """The op and the attr whose bound refused a call; None if no bound did."""
    return (error.op, error.attr) if isinstance(error, AttrError) and error.bound is not None else None


def _arrays(
    spec: Spec | tuple[Spec, ...] | None, seed: str, special_values: bool, pattern: OpPattern, first: bool
) -> np.ndarray | tuple[np.ndarray, ...] | None:
    if spec is None:
        return None
    if isinstance(spec, tuple):
        made = [_arrays(item, f"{seed} {k}", special_values, pattern, first) for k, item in enumerate(spec)]
        return tuple([array for array in made if isinstance(array, np.ndarray)])
    if special_values:
        if pattern == OpPattern.OUT_ELEMWISE_FUSABLE:
            # A product of padding and infinity is nobody's contract.
            if spec.dtype.is_float and not first:
                return scattered(ordinary(spec, seed))  # the tolerance knows no products of large numbers
            return special(spec, seed, extremes=False, finite=True)
        return special(spec, seed, extremes=pattern <= OpPattern.INJECTIVE)
    return ordinary(spec, seed)


def _copied(
    operand: np.ndarray | tuple[np.ndarray, ...] | None,
) -> np.ndarray | tuple[np.ndarray, ...] | None:
    """For the reference, which may write to its arguments."""
    if isinstance(operand, tuple):
        return tuple([array.copy() for array in operand])
    return None if operand is None else operand.copy()


def _flat(operands: Sequence[np.ndarray | tuple[np.ndarray, ...] | None]) -> Iterator[np.ndarray]:
    for operand in operands:
        if isinstance(operand, tuple):
            yield from operand
        elif operand is not None:
            yield operand
