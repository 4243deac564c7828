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

Unary = Callable[[object], Expr]
Binary = Callable[[object, object], Expr]


def _unary(name: str) -> Unary:
    def function(x: object) -> Expr:
        return arith.call(name, number(x))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`{name}` of an element."
    return function


def _binary(name: str, make: Binary) -> Binary:
    def function(a: object, b: object) -> Expr:
        return make(number(a), number(b))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = make.__doc__ or f"`{name}` of two elements."
    return function


def _intrinsic(name: str) -> Binary:
    made = _binary(name, lambda a, b: arith.call(name, a, b))
    made.__doc__ = f"`{name}` of two elements."
    return made


abs: Final = _unary("abs")
acos: Final = _unary("acos")
acosh: Final = _unary("acosh")
asin: Final = _unary("asin")
asinh: Final = _unary("asinh")
atan: Final = _unary("atan")
atanh: Final = _unary("atanh")
ceil: Final = _unary("ceil")
clz: Final = _unary("clz")
cos: Final = _unary("cos")
cosh: Final = _unary("cosh")
erf: Final = _unary("erf")
exp: Final = _unary("exp")
exp2: Final = _unary("exp2")
expm1: Final = _unary("expm1")
floor: Final = _unary("floor")
isfinite: Final = _unary("isfinite")
isinf: Final = _unary("isinf")
isnan: Final = _unary("isnan")
log: Final = _unary("log")
log10: Final = _unary("log10")
log1p: Final = _unary("log1p")
log2: Final = _unary("log2")
popcount: Final = _unary("popcount")
round: Final = _unary("round")
rsqrt: Final = _unary("rsqrt")
sigmoid: Final = _unary("sigmoid")
sin: Final = _unary("sin")
sinh: Final = _unary("sinh")
sqrt: Final = _unary("sqrt")
tan: Final = _unary("tan")
tanh: Final = _unary("tanh")
trunc: Final = _unary("trunc")

atan2: Final = _intrinsic("atan2")
copysign: Final = _intrinsic("copysign")
fmod: Final = _intrinsic("fmod")
power: Final = _intrinsic("pow")
equal: Final = _binary("equal", arith.eq)
not_equal: Final = _binary("not_equal", arith.ne)
floordiv: Final = _binary("floordiv", arith.floordiv)
floormod: Final = _binary("floormod", arith.floormod)
truncdiv: Final = _binary("truncdiv", arith.truncdiv)
truncmod: Final = _binary("truncmod", arith.truncmod)
maximum: Final = _binary("maximum", arith.maximum)
minimum: Final = _binary("minimum", arith.minimum)


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
