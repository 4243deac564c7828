"""Derivatives of single nodes: the adjoint of a node's value as adjoints of its operands'.

The adjoint of a half is float32: halves are computed in float32 and rounded once (`te.widen`).  Choices stay choices,
so that what is not evaluated is not multiplied by zero.  Ties share equally.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

from ....base.arith import (
    Binary,
    Call,
    Cast,
    Expr,
    Select,
    add,
    call,
    cast,
    const,
    div,
    eq,
    floordiv,
    ge,
    gt,
    holds,
    le,
    logical_and,
    lt,
    mul,
    negate,
    post_order,
    select,
    sub,
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
    if isinstance(node, Binary) and node.op in _BINARY:
        parts = _BINARY[node.op](wide(node.a), wide(node.b), adjoint, value)
    elif isinstance(node, Call) and node.name in _CALLS:
        parts = _CALLS[node.name](*[wide(arg) for arg in node.args], adjoint, value)
    for operand, part in zip(node.children(), parts, strict=False):
        if part is not None and operand.dtype.is_float:
            yield operand, part


def wide(value: Expr) -> Expr:
    """A value in the dtype of its adjoint."""
    return cast(value, adjoint_dtype(value.dtype)) if value.dtype.is_float else value


def zero(like: Expr) -> Expr:
    return const(0.0, like.dtype)


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


def _power(a: Expr, b: Expr, g: Expr, y: Expr) -> Parts:
    base = select(eq(b, 0.0), zero(g), mul(mul(g, b), call("pow", a, sub(b, 1.0))))
    exponent = select(logical_and(eq(a, 0.0), ge(b, 0.0)), zero(g), mul(mul(g, y), call("log", a)))
    return base, exponent


def _root(x: Expr, g: Expr, y: Expr) -> Expr:
    """Of a sum, such as a norm or a deviation, the derivative at 0 counts as 0, a subgradient; else it is infinite."""
    slope = div(mul(g, 0.5), y)
    reads = [node.tensor.op for node in post_order(x) if isinstance(node, Read)]
    sums = any(isinstance(op, Compute) and isinstance(op.body, Reduce) for op in reads)
    return select(eq(y, 0.0), zero(g), slope) if sums else slope


def _atan2(y: Expr, x: Expr, g: Expr, _: Expr) -> Parts:
    squared = add(mul(x, x), mul(y, y))
    return div(mul(g, x), squared), negate(div(mul(g, y), squared))


def _one_minus_square(x: Expr) -> Expr:
    return sub(const(1.0, x.dtype), mul(x, x))


def _root_of(square: Expr) -> Expr:
    return call("sqrt", square)


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
_CALLS: Final[dict[str, Callable[..., Parts]]] = {
    "exp": lambda x, g, y: (mul(g, y),),
    "exp2": lambda x, g, y: (mul(g, mul(y, math.log(2.0))),),
    "expm1": lambda x, g, y: (mul(g, add(y, 1.0)),),
    "log": lambda x, g, y: (div(g, x),),
    "log2": lambda x, g, y: (div(g, mul(x, math.log(2.0))),),
    "log10": lambda x, g, y: (div(g, mul(x, math.log(10.0))),),
    "log1p": lambda x, g, y: (div(g, add(x, 1.0)),),
    "sqrt": lambda x, g, y: (_root(x, g, y),),
    "rsqrt": lambda x, g, y: (mul(mul(g, -0.5), mul(y, mul(y, y))),),
    "cbrt": lambda x, g, y: (div(g, mul(mul(y, y), 3.0)),),
    "sin": lambda x, g, y: (mul(g, call("cos", x)),),
    "cos": lambda x, g, y: (negate(mul(g, call("sin", x))),),
    "tan": lambda x, g, y: (mul(g, add(mul(y, y), 1.0)),),
    "asin": lambda x, g, y: (div(g, _root_of(_one_minus_square(x))),),
    "acos": lambda x, g, y: (negate(div(g, _root_of(_one_minus_square(x)))),),
    "atan": lambda x, g, y: (div(g, add(mul(x, x), 1.0)),),
    "atan2": _atan2,
    "sinh": lambda x, g, y: (mul(g, call("cosh", x)),),
    "cosh": lambda x, g, y: (mul(g, call("sinh", x)),),
    "tanh": lambda x, g, y: (mul(g, _one_minus_square(y)),),
    "asinh": lambda x, g, y: (div(g, _root_of(add(mul(x, x), 1.0))),),
    "acosh": lambda x, g, y: (div(g, _root_of(sub(mul(x, x), 1.0))),),
    "atanh": lambda x, g, y: (div(g, _one_minus_square(x)),),
    "erf": lambda x, g, y: (mul(mul(g, 2.0 / math.sqrt(math.pi)), call("exp", negate(mul(x, x)))),),
    "erfc": lambda x, g, y: (mul(mul(g, -2.0 / math.sqrt(math.pi)), call("exp", negate(mul(x, x)))),),
    "sigmoid": lambda x, g, y: (mul(g, mul(y, sub(const(1.0, y.dtype), y))),),
    "pow": _power,
    "fmod": lambda a, b, g, y: (g, negate(mul(g, call("trunc", div(a, b))))),
    "abs": lambda x, g, y: (mul(g, call("sign", x)),),
    "copysign": lambda a, b, g, y: (
        mul(g, mul(call("sign", a), call("copysign", const(1.0, b.dtype), b))),
        None,
    ),
    "fma": lambda a, b, c, g, y: (mul(g, b), mul(g, a), g),
}


def branches(node: Select) -> tuple[Expr, Expr]:
    """The two values that a choice chooses from."""
    return node.then, node.otherwise
