"""Functions of floats that are made of arithmetic and of the bits of floats: hypot, ldexp, nextafter.

Operands are as those of `functions.py`.  Raises DTypeError for operands that are no floats, and for floats without a
format of their own.
"""

from __future__ import annotations

import math

from ....base import arith
from ....base.arith import Expr
from ....base.errors import DTypeError
from ....base.vocabulary import DType, FloatFormat
from .axes import number

_MOST_POWERS = 5000  # more than any two floats are apart


def hypot(a: object, b: object) -> Expr:
    """The length of the vector (a, b), without overflow; infinite where one of them is."""
    x, y = _floats("hypot", a, b)
    size = [arith.call("abs", each) for each in (x, y)]
    high, low = arith.maximum(*size), arith.minimum(*size)
    ratio = arith.div(low, high)
    length = arith.mul(high, arith.call("sqrt", arith.add(1.0, arith.mul(ratio, ratio))))
    is_infinite = arith.logical_or(arith.call("isinf", x), arith.call("isinf", y))
    scaled = arith.select(arith.eq(high, 0.0), high, length)
    return arith.select(is_infinite, arith.const(math.inf, x.dtype), scaled)


def nextafter(a: object, b: object) -> Expr:
    """The float next to `a` in the direction of `b`; `b` where they are equal."""
    x, y = _floats("nextafter", a, b)
    bits = DType(f"int{x.dtype.bits}")
    grows = arith.eq(arith.gt(y, x), arith.gt(x, 0.0))
    step = arith.select(grows, arith.const(1, bits), arith.const(-1, bits))
    stepped = arith.bitcast(arith.add(arith.bitcast(x, bits), step), x.dtype)
    least = arith.call("copysign", arith.bitcast(arith.const(1, bits), x.dtype), y)
    other = arith.select(arith.eq(x, 0.0), least, stepped)
    is_nan = arith.logical_or(arith.call("isnan", x), arith.call("isnan", y))
    return arith.select(is_nan, arith.const(math.nan, x.dtype), arith.select(arith.eq(x, y), y, other))


def ldexp(a: object, exponent: object) -> Expr:
    """`a` times two to the power of an int32, rounded once."""
    (x,) = _floats("ldexp", a)
    power = number(exponent)
    power = power if isinstance(power, Expr) else arith.const(power, "int32")
    if power.dtype != "int32":
        raise DTypeError(f"ldexp takes an exponent of int32, found {power.dtype}; use cast(..., int32)")
    wide = DType("float64" if x.dtype == "float64" else "float32")
    form, bits = _format("ldexp", wide), DType(f"int{wide.bits}")

    def two(n: Expr) -> Expr:
        return arith.bitcast(arith.shift_left(arith.add(arith.cast(n, bits), form.bias), form.fraction), wide)

    value = arith.cast(x, wide)
    shift = form.fraction + 2
    is_tiny = arith.lt(arith.call("abs", value), form.tiny)
    normal = arith.select(is_tiny, arith.mul(value, 2.0**shift), value)
    stored = arith.bitcast(normal, bits)
    ones = (1 << (wide.bits - 1 - form.fraction)) - 1
    found = arith.sub(
        arith.cast(arith.bit_and(arith.shift_right(stored, form.fraction), ones), DType("int32")),
        form.bias - 1,
    )
    found = arith.sub(found, arith.select(is_tiny, arith.const(shift, "int32"), arith.const(0, "int32")))
    mantissa = arith.bit_and(stored, arith.const(~(ones << form.fraction), bits))
    half = arith.bitcast(arith.bit_or(mantissa, arith.const((form.bias - 1) << form.fraction, bits)), wide)
    # `half` times the first power is a normal float, and exact
    most = form.greatest + form.fraction + 2
    limited = arith.minimum(arith.maximum(power, -_MOST_POWERS), _MOST_POWERS)
    total = arith.minimum(arith.maximum(arith.add(found, limited), -most), most)
    first = arith.floordiv(total, 2)
    product = arith.mul(arith.mul(half, two(first)), two(arith.sub(total, first)))
    stays = arith.logical_or(arith.eq(x, 0.0), arith.logical_not(arith.call("isfinite", x)))
    return arith.select(stays, x, arith.cast(product, x.dtype))


def _floats(name: str, *given: object) -> list[Expr]:
    """The operands as floats of one dtype; a number takes that of what it meets."""
    values = [number(each) for each in given]
    first = next((each for each in values if isinstance(each, Expr)), arith.const(0.0, "float32"))
    made = [arith.operands(first, each, f"call {name} on")[1] for each in values]
    if not first.dtype.is_float:
        raise DTypeError(f"{name} needs a float, found {first.dtype}; use cast(..., float32)")
    _format(name, first.dtype)
    return made


def _format(name: str, dtype: DType) -> FloatFormat:
    form = dtype.float_format
    if form is None or not form.has_infinities:
        raise DTypeError(f"{name} of {dtype} is not possible: the dtype has no infinities")
    return form
