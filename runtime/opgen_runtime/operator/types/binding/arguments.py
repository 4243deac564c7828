"""From the arguments of a call to one entry for each declared input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....base.errors import CallError, call_site
from ..rules import Input
from ..signature import Signature
from ..type import IncompleteType, TensorType, TupleType


def group_arguments(
    signature: Signature, op_name: str, arguments: Sequence[Any], site: object | None
) -> tuple[Any, ...]:
    """One entry an input: a type, a tuple of types for a variadic input, None for an absent optional one.

    Accepts absent optional operands as None, as the unit tuple, or left out at the end; a variadic operand as
    a TupleType, a sequence, or in line.  Raises CallError for a wrong number or kind of operands.
    """
    inputs = signature.inputs
    count = len(arguments)
    if count == len(inputs):
        plain = True
        for argument, declared in zip(arguments, inputs, strict=True):
            if type(argument) is not TensorType or declared.variadic:
                plain = False
                break
        if plain:
            return tuple(arguments)
        return tuple([_one(i, a, op_name, site) for i, a in zip(inputs, arguments, strict=True)])
    return _other_number(inputs, arguments, op_name, site)


def _other_number(
    inputs: Sequence[Input], arguments: Sequence[Any], op_name: str, site: object | None
) -> tuple[Any, ...]:
    """Arguments whose number is not that of the inputs."""
    at = next((k for k, declared in enumerate(inputs) if declared.variadic), None)
    if at is not None:
        after = len(inputs) - at - 1
        inline = len(arguments) - at - after
        if inline >= 0:
            middle = tuple(arguments[at : at + inline])
            arguments = (*arguments[:at], middle, *arguments[at + inline :])
            return tuple([_one(i, a, op_name, site) for i, a in zip(inputs, arguments, strict=True)])
    required = sum(1 for declared in inputs if not declared.optional)
    missing = inputs[len(arguments) :]
    if len(arguments) <= len(inputs) and all(declared.optional for declared in missing):
        padded = (*arguments, *(None for _ in missing))
        return tuple([_one(i, a, op_name, site) for i, a in zip(inputs, padded, strict=True)])
    expected = str(required) if required == len(inputs) else f"{required} to {len(inputs)}"
    named = ", ".join(declared.name for declared in inputs)
    lacking = next((d.name for d in missing if not d.optional), None)
    what = f"missing argument {lacking!r}" if lacking else "too many arguments"
    raise CallError(
        f"{op_name}: {what}: expected {expected} ({named}), found {len(arguments)}\n  at {site or call_site()}"
    )


def _one(declared: Input, argument: Any, op_name: str, site: object | None) -> Any:
    if declared.variadic:
        if isinstance(argument, TensorType):
            return (argument,)
        if isinstance(argument, IncompleteType):
            return argument
        fields = argument.fields if isinstance(argument, TupleType) else argument
        if isinstance(fields, (tuple, list)):
            for t in fields:
                if not isinstance(t, (TensorType, IncompleteType)):
                    raise _wrong(declared, t, op_name, site, "tensors")
            return tuple(fields)
        raise _wrong(declared, argument, op_name, site, "a tuple of tensors")
    if isinstance(argument, (TensorType, IncompleteType)):
        return argument
    absent = argument is None or (isinstance(argument, TupleType) and not argument.fields)
    if absent and declared.optional:
        return None
    raise _wrong(declared, argument, op_name, site, "a tensor" + (" or None" if declared.optional else ""))


def _wrong(declared: Input, found: object, op_name: str, site: object | None, expected: str) -> CallError:
    return CallError(
        f"{op_name}: argument {declared.name!r} must be {expected}, found {found!r:.80}\n  at {site or call_site()}"
    )
