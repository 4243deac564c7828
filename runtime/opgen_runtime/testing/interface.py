"""Checks of an op's interface: its attrs and its function, and the calls that it refuses."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..base import errors
from ..operator import REQUIRED, Op
from .cases import Case, case_call, declaration_of

__tracebackhide__ = True  # pytest shows the line of the suite that fails, not what checks it


def check_interface(op: Op, function: Callable[..., Any], fields: Mapping[str, str]) -> None:
    """The attrs have these names and type texts, and `function` takes the operands and attrs with their defaults.

    `fields`: name -> type text, such as `int, default=0, 0 <= axis < data.ndim`.
    """
    declaration = declaration_of(op)
    kind = declaration.attrs
    found = {} if kind is None else {name: text for name, text, _ in kind.list_field_info()}
    assert found == dict(fields), f"{op.name}: the attrs are {found}, declared are {dict(fields)}"
    expected: dict[str, Any] = {
        operand.name: None if operand.optional else inspect.Parameter.empty
        for operand in declaration.signature.inputs
    }
    for field in () if kind is None else kind.fields():
        expected[field.name] = inspect.Parameter.empty if field.default is REQUIRED else field.default
    given = {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
    for field in () if kind is None else kind.fields():
        if given[field.name] not in (None, inspect.Parameter.empty):
            given[field.name] = field.normalise(given[field.name])
    assert given == expected, f"{op.name}: the function has the defaults {given}, the attrs {expected}"


def check_refused(op: Op, case: Case, error: str) -> None:
    """The call is refused with the error class of this name, whose message names the op."""
    kind = getattr(errors, error)
    message: str | None = None
    try:
        case_call(op, case)
    except kind as raised:
        message = str(raised)
    assert message is not None, f"{op.name}({case}) is accepted; expected {error}"
    assert op.name in message, f"the error does not name {op.name!r}: {message}"
