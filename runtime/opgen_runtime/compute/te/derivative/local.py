"""Derivatives of single nodes: the adjoint of a node's value as adjoints of its operands'.

The adjoint of a complex number is the pair of those of its parts, as torch has it: that of Re(z**2) is 2 conj(z).
The adjoint of a half is float32: halves are computed in float32 and rounded once (`te.widen`).  Choices stay choices,
so that what is not evaluated is not multiplied by zero.  Ties share equally.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ....base.arith import (
    ELEMENT_FUNCTIONS,
    Binary,
    Call,
    Cast,
    Complex,
    Expr,
    Part,
    Select,
    build,
    call,
    cast,
    complex_number,
    div,
    eq,
    floordiv,
    ge,
    gt,
    holds,
    le,
    literal,
    lt,
    mul,
    negate,
    part,
    post_order,
    select,
)
from ....base.vocabulary import FLOAT32, DType
from ..tensor import Compute, Read, Reduce

Parts = tuple[Expr | None, ...]


def adjoint_dtype(dtype: DType) -> DType:
    """The dtype in which adjoints of values of a float dtype are kept."""
    return FLOAT32 if dtype.is_storage else dtype


def parts_of(node: Expr, adjoint: Expr, value: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The operands of a node that is no choice, each with what `adjoint`, of the node, adds to its own adjoint.

    `value` is the node's value, however it is known.  Operands with the derivative zero are left out: those of
    comparisons, of what rounds, and integers.
    """
    if isinstance(node, Cast):
        if node.dtype.is_float and node.a.dtype.is_float:
            yield node.a, cast(adjoint, adjoint_dtype(node.a.dtype))
        return
    parts: Parts = ()
    if isinstance(node, Complex):
        parts = part(adjoint, 0), part(adjoint, 1)
    elif isinstance(node, Part):
        none = zero(adjoint)
        parts = (complex_number(none, adjoint) if node.which else complex_number(adjoint, none),)
    elif isinstance(node, Binary) and node.op in _BINARY:
        parts = _BINARY[node.op](wide(node.a), wide(node.b), adjoint, value)
    elif isinstance(node, Call):
        parts = _call_parts(node, adjoint, value)
    for operand, contribution in zip(node.children(), parts, strict=False):
        if contribution is not None and operand.dtype.is_inexact:
            yield operand, contribution


def wide(value: Expr) -> Expr:
    """A value in the dtype of its adjoint."""
    return cast(value, adjoint_dtype(value.dtype)) if value.dtype.is_float else value


def zero(like: Expr) -> Expr:
    return literal(0.0, like.dtype)


def where(condition: Expr, adjoint: Expr) -> Expr:
    """The adjoint where the condition holds, else zero."""
    return select(condition, adjoint, zero(adjoint))


def _extremum(
    loses: Callable[[object, object], Expr], holds: Callable[[object, object], Expr]
) -> Callable[[Expr, Expr, Expr, Expr], Parts]:
    """Of equal ones each gets half; a number that is the same for all elements, like the 0 of relu, takes it whole.

    What does not lose gets it: where one is NaN, both do.
    """

    def parts(a: Expr, b: Expr, g: Expr, _: Expr) -> Parts:
        if not all(map(_reads, (a, b))):
            return select(holds(b, a), zero(g), g), select(holds(a, b), zero(g), g)
        shared = select(eq(a, b), mul(g, 0.5), g)
        return select(loses(a, b), zero(g), shared), select(loses(b, a), zero(g), shared)

    return parts


def _reads(value: Expr) -> bool:
    return holds(value, Read)


def _call_parts(node: Call, g: Expr, y: Expr) -> Parts:
    """By the function's row; none without adjoints there, where all slopes are 0.

    Where the slope is infinite, that of a sum, such as a norm or a deviation, counts as 0, a subgradient.
    """
    row = ELEMENT_FUNCTIONS[node.name]
    arguments = [wide(arg) for arg in node.args]
    parts = _CALLS[node.name](g, y, *arguments) if node.name in _CALLS else ()
    if row.steep_at is not None and any(map(_is_of_sum, arguments)):
        steep = eq(y, row.steep_at)
        return tuple([None if each is None else select(steep, zero(g), each) for each in parts])
    return parts


def _rule(adjoints: Callable[..., Any]) -> Callable[..., Parts]:
    """What a row says, of one operand or several, as a tuple."""

    def parts(*given: Expr) -> Parts:
        found = adjoints(build, *given)
        return found if isinstance(found, tuple) else (found,)

    return parts


def _is_of_sum(x: Expr) -> bool:
    reads = [node.tensor.op for node in post_order(x) if isinstance(node, Read)]
    return any(isinstance(op, Compute) and isinstance(op.body, Reduce) for op in reads)


_BINARY: Final[dict[str, Callable[[Expr, Expr, Expr, Expr], Parts]]] = {
    "add": lambda a, b, g, y: (g, g),
    "sub": lambda a, b, g, y: (g, negate(g)),
    "mul": lambda a, b, g, y: (mul(g, b), mul(g, a)),
    "div": lambda a, b, g, y: (div(g, b), negate(div(mul(g, y), b))),
    "floormod": lambda a, b, g, y: (g, negate(mul(g, floordiv(a, b)))),
    "truncmod": lambda a, b, g, y: (g, negate(mul(g, call("trunc", div(a, b))))),
    "min": _extremum(gt, le),
    "max": _extremum(lt, ge),
}
_CALLS: Final = {
    name: _rule(row.adjoints) for name, row in ELEMENT_FUNCTIONS.items() if row.adjoints is not None
}


def branches(node: Select) -> tuple[Expr, Expr]:
    """The two values that a choice chooses from."""
    return node.then, node.otherwise
