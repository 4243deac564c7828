"""Numbers that are given to ops as operands: scalars of the dtype that the op has them meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeGuard

from ...base.arith.expr import Expr
from ...base.errors import LanguageError
from ...base.vocabulary import DType
from ...operator import Input, Signature
from .weak import Value, Weak, describe


def is_scalar(value: Value) -> TypeGuard[int | float | Expr | Weak]:
    """Whether an operand is a static number: a literal, an attr, a dim."""
    return isinstance(value, bool | int | float | Expr | Weak)


def with_scalars(
    name: str,
    signature: Signature,
    operands: Sequence[Value],
    dtype_of: Callable[[Value], DType],
    make: Callable[[Value, DType], Value],
) -> tuple[Value, ...]:
    """The operands of the op `name`, with what `make` gives for each number and its dtype.  `dtype_of`: of a tensor.

    That is the dtype of another operand that the declaration gives the same dtype variable.
    Raises LanguageError where there is none.
    """
    if not any(map(is_scalar, operands)):
        return tuple(operands)
    return tuple(
        [
            make(operand, dtype_of(_met(name, signature, operands, position)))
            if is_scalar(operand)
            else operand
            for position, operand in enumerate(operands)
        ]
    )


def _met(name: str, signature: Signature, operands: Sequence[Value], position: int) -> Value:
    """The tensor whose dtype the number at a position takes."""
    declared = signature.inputs[position] if position < len(signature.inputs) else None
    for other, operand in zip(signature.inputs, operands, strict=False):
        if declared is not None and _is_same(declared, other, signature):
            found = operand[0] if isinstance(operand, tuple) and operand else operand
            if found is not None and not isinstance(found, tuple) and not is_scalar(found):
                return found
    found = describe(operands[position])
    text = f"operand {position} of `{name}` is {found}, expected a tensor; attrs are given by name"
    raise LanguageError(text, "op-call")


def _is_same(first: Input, second: Input, signature: Signature) -> bool:
    return isinstance(first.dtype, str) and first.dtype == second.dtype and first.dtype in signature.dtypes
