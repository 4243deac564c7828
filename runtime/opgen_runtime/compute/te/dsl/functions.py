"""Functions of elements, by the names that users of tensor expressions know.

Operands are elements, axes, expressions of them, and Python numbers, which take the dtype of what they meet.  All
raise DTypeError for dtypes that do not meet, or that the function does not take.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from ....base import arith
from ....base.arith import Expr
from ....base.errors import DTypeError
from ....base.vocabulary import DType
from .axes import number

Binary = Callable[[object, object], Expr]


def _binary(name: str, make: Binary) -> Binary:
    def function(a: object, b: object) -> Expr:
        return make(number(a), number(b))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = make.__doc__ or f"`{name}` of two elements."
    return function


def _intrinsic(name: str, arity: int) -> Callable[..., Expr]:
    def function(*x: object) -> Expr:
        if len(x) != arity:
            raise TypeError(f"{name} takes {arity} operands, and got {len(x)}")
        return arith.call(name, *map(number, x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of {_OPERANDS[arity]}."
    return function


_OPERANDS: Final = {1: "an element", 2: "two elements", 3: "three elements"}
ELEMENT_FUNCTIONS: Final = {name: _intrinsic(name, row.arity) for name, row in arith.INTRINSICS.items()}
"""A function for each row of the table of element functions; attributes of this module by their names."""


def __getattr__(name: str) -> Callable[..., Expr]:
    if name in ELEMENT_FUNCTIONS:
        return ELEMENT_FUNCTIONS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


power: Final = ELEMENT_FUNCTIONS["pow"]
equal: Final = _binary("equal", arith.eq)
not_equal: Final = _binary("not_equal", arith.ne)
floordiv: Final = _binary("floordiv", arith.floordiv)
floormod: Final = _binary("floormod", arith.floormod)
truncdiv: Final = _binary("truncdiv", arith.truncdiv)
truncmod: Final = _binary("truncmod", arith.truncmod)
maximum: Final = _binary("maximum", arith.maximum)
minimum: Final = _binary("minimum", arith.minimum)


bitwise_and: Final = _binary("bitwise_and", arith.bit_and)
bitwise_or: Final = _binary("bitwise_or", arith.bit_or)
bitwise_xor: Final = _binary("bitwise_xor", arith.bit_xor)
shift_left: Final = _binary("shift_left", arith.shift_left)
shift_right: Final = _binary("shift_right", arith.shift_right)
indexdiv: Final = floordiv
indexmod: Final = floormod
nearbyint: Final = ELEMENT_FUNCTIONS["round"]


def div(a: object, b: object) -> Expr:
    """The quotient of two elements; of integers it is truncated, as in C."""
    x, y = arith.operands(number(a), number(b), "divide")
    return arith.truncdiv(x, y) if x.dtype.is_int else arith.div(x, y)


def ceildiv(a: object, b: object) -> Expr:
    """The quotient of two integers, rounded up."""
    return arith.negate(arith.floordiv(arith.negate(_expr(a)), number(b)))


def exp10(x: object) -> Expr:
    """Ten to the power of an element."""
    value = _expr(x)
    return arith.call("pow", arith.const(10.0, value.dtype), value)


def bitwise_not(x: object) -> Expr:
    """All bits of an integer turned over; of a bool `not`."""
    return arith.bit_not(_expr(x))


def reinterpret(dtype: str, value: object) -> Expr:
    """The bits of an element as another dtype of the same width."""
    return arith.bitcast(_expr(value), DType(dtype))


def infinity(dtype: str) -> Expr:
    """The infinity of a dtype of floats."""
    kind = DType(dtype)
    if not kind.is_float:
        raise DTypeError(f"{dtype} has no infinity; expected a float")
    return arith.const(math.inf, kind)


def _expr(value: object) -> Expr:
    given = number(value)
    return given if isinstance(given, Expr) else const(given)


def if_then_else(condition: object, then: object, otherwise: object) -> Expr:
    """`then if condition else otherwise`; what is not chosen is not read, so that the condition may guard it."""
    return arith.select(number(condition), number(then), number(otherwise))


def logical_not(condition: object) -> Expr:
    """`not condition`."""
    return arith.logical_not(number(condition))


def cast(value: object, dtype: str) -> Expr:
    """`value` in another dtype: integers wrap, floats to integers truncate and saturate, NaN gives 0."""
    given = number(value)
    return arith.cast(given, DType(dtype)) if isinstance(given, Expr) else const(given, dtype)


def const(value: object, dtype: str | None = None) -> Expr:
    """A number; by itself an int is an int32, a float a float32."""
    if dtype is None:
        kinds = {bool: "bool", int: "int32", float: "float32"}
        if type(value) not in kinds:
            raise DTypeError(f"{value!r:.80} is no number; expected a bool, an int or a float")
        dtype = kinds[type(value)]
    return arith.const(value, dtype)


def min_value(dtype: str) -> Expr:
    """The least number of a dtype, of floats minus infinity: what `max` starts from."""
    kind = DType(dtype)
    return arith.const(-math.inf if kind.is_float else kind.lowest, kind)


def max_value(dtype: str) -> Expr:
    """The greatest number of a dtype, of floats infinity: what `min` starts from."""
    kind = DType(dtype)
    return arith.const(math.inf if kind.is_float else kind.highest, kind)
