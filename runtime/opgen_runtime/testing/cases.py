"""Calls of an op as text says them: the spec of each input, and the attrs that are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..declaration import OpDeclaration
from ..ir import Call, Operand, Var, make_call
from ..operator import Attrs, Op, value_text
from .data import Spec

InputSpec = str | None | tuple[str, ...]
"""A spec, None for an absent optional input, a tuple of specs for a variadic one."""


Place = tuple[str, int]
"""The name of a suite's table, and a line of its text, from 0."""


@dataclass(frozen=True)
class Inferred:
    """The operands whose types the type relation finds from the result: with all others known, and with none."""

    alone: tuple[str, ...] = ()
    together: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """One call of an op: the spec of each input, and the attrs that are given.

    `inferred`: what follows of its operands, where that is not what the suite says for all cases.  `place`: the table
    of a suite that holds it, and at which line.
    """

    inputs: Mapping[str, InputSpec]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    inferred: Inferred | None = None
    place: Place | None = field(default=None, compare=False, repr=False)

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
    place: Place | None = field(default=None, compare=False, repr=False)

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
