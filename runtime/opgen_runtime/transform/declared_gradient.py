"""Adjoints that are stated: by an op's declaration of an operand, `grad:`, by a function of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from ..base.vocabulary import FLOAT32, DType, OpPattern
from ..declaration import OpDeclaration, pattern_of
from ..declaration.stated_gradient import stated_gradient
from ..ir import Call, Expr, Tuple, post_order
from ..operator import Op, TensorType, Type
from .build import CAST, call, collapse, zeros

ABSENT: Final = Tuple(())
"""What stands for an operand that is not there."""
MARK: Final = "gradient"
"""The attr of a function whose calls have their adjoints from a rule."""
Place: TypeAlias = tuple[int, ...]
"""A tensor of a value: () for the value itself, or the fields that lead to it."""
Rule: TypeAlias = Callable[[tuple[Expr, ...], Expr, Mapping[Place, Expr]], Sequence[Expr | None]]
"""`(arguments, call, cotangents by place) -> adjoints of the arguments`."""


def declared_gradient(
    declaration: OpDeclaration,
    site: Call,
    position: int,
    inputs: Sequence[Expr],
    outputs: Sequence[Expr],
    cotangents: Sequence[Expr],
) -> Expr:
    """The declared gradient, summed to the operand's shape; cotangents that are absent are zeros.

    Of a half it is rounded once, too: where several of its ops would round, they compute in float32.
    """
    given = [
        zeros(value.checked_type) if cotangent is ABSENT else cotangent
        for value, cotangent in zip(outputs, cotangents, strict=True)
    ]
    function, chosen = stated_gradient(declaration, site.attrs, position, inputs, outputs, given, site.span)
    wanted = inputs[position].checked_type
    assert isinstance(wanted, TensorType)

    def summed(given: Mapping[str, object]) -> Expr:
        made: Expr = function(**given)
        shape = made.checked_type.shape if isinstance(made.checked_type, TensorType) else wanted.shape
        return made if shape == wanted.shape else collapse(made, wanted.concrete_shape)

    made = summed(chosen)
    if wanted.dtype.is_storage and _rounding(made, chosen.values()) > 1:
        return _cast(summed({name: _widened(value) for name, value in chosen.items()}), wanted.dtype)
    return made


def _rounding(made: Expr, given: Iterable[object]) -> int:
    """How many ops of halves between what is given and the result compute with elements, and do not move them alone."""
    ends = {id(value) for value in given}
    count = 0
    for node in post_order(made, lambda node: id(node) in ends):
        if id(node) not in ends and isinstance(node, Call) and isinstance(node.op, Op):
            types = [arg.checked_type for arg in node.args]
            if (
                any(map(_is_half, types))
                and pattern_of(node.op, node.attrs, types) is not OpPattern.INJECTIVE
            ):
                count += 1
    return count


def _is_half(type_: Type) -> bool:
    return isinstance(type_, TensorType) and type_.dtype.is_storage


def _widened(value: object) -> object:
    """A half, and a tuple of halves, in float32; anything else as it is."""
    if isinstance(value, Tuple):
        return Tuple(tuple([_widened(field) for field in value.fields]))  # type: ignore[misc]  # expressions
    return _cast(value, FLOAT32) if isinstance(value, Expr) and _is_half(value.checked_type) else value


def _cast(value: Expr, dtype: DType) -> Expr:
    return call(CAST[0], [value], **{CAST[1]: dtype})
