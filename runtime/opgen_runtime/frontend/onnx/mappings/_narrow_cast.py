"""Casts to narrow element types (int4, float8, ...), by ops on the types that carry them."""

from __future__ import annotations

from typing import Final

from ....base.vocabulary import FloatFormat
from ....ir import Expr
from ..emit import op
from ..narrow import Narrow, NarrowType
from ._tools import dtype, scalar

_BITS: Final = {"float32": (23, "int32"), "float64": (52, "int64")}


def narrow_cast(x: Expr, kind: NarrowType, saturate: bool = True, round_mode: str = "up") -> Narrow:
    """A cast: integers keep their lowest bits, floats round half to even; what is beyond a float's greatest number
    becomes that where `saturate`, else what the format says.  Powers of two are rounded as `round_mode` says.
    """
    if kind.is_int:
        return Narrow(_wrapped(x, kind), kind)
    wide = x if dtype(x) == "float64" and kind.form is not None else op.cast(x, dtype="float32")
    made = (
        _power(wide, saturate, round_mode) if kind.form is None else _rounded(wide, kind, kind.form, saturate)
    )
    return Narrow(op.cast(made, dtype=kind.carrier), kind)


def _wrapped(x: Expr, kind: NarrowType) -> Expr:
    low = op.bitwise_and(op.cast(x, dtype="int32"), (1 << kind.bits) - 1)
    if kind.lowest:
        low = op.subtract(op.bitwise_xor(low, -kind.lowest), -kind.lowest)
    return op.cast(low, dtype=kind.carrier)


def _rounded(x: Expr, kind: NarrowType, form: FloatFormat, saturate: bool) -> Expr:
    """The nearest number of a format, of two the even one."""
    mantissa, integer = _BITS[dtype(x)]
    drop = mantissa - form.fraction
    magnitude = op.abs(x)
    if saturate:
        magnitude = op.minimum(magnitude, form.highest)
    bits = op.reinterpret(magnitude, dtype=integer)
    odd = op.bitwise_and(op.right_shift(bits, drop), 1)
    shifted = op.right_shift(op.add(op.add(bits, odd), scalar((1 << (drop - 1)) - 1, integer)), drop)
    normal = op.reinterpret(op.left_shift(shifted, drop), dtype=dtype(x))
    # Below the normal numbers: the sum with this power of two has the format's smallest step as its last place.
    power = 2.0 ** (mantissa + form.least - form.fraction)
    tiny = op.subtract(op.add(magnitude, power), power)
    found = op.where(op.less(magnitude, 2.0**form.least), tiny, normal)
    found = op.where(op.greater(found, form.highest), kind.beyond, found)
    negative = op.less(op.reinterpret(x, dtype=integer), 0)
    if not kind.signed_zero:
        negative = op.logical_and(negative, op.not_equal(found, 0.0))
    return op.where(op.isnan(x), kind.nan, op.where(negative, op.negative(found), found))


def _power(x: Expr, saturate: bool, round_mode: str) -> Expr:
    """A power of two from 2**-127 to 2**127, by the exponent of a float32; what is not finite is NaN."""
    bits = op.reinterpret(x, dtype="int32")
    exponent = op.bitwise_and(op.right_shift(bits, 23), 255)
    rest = op.bitwise_and(bits, 0x7FFFFF)
    more = op.cast(_rounds_up(exponent, rest, round_mode), dtype="int32")
    most = 254 if saturate else 255
    raised = op.where(op.equal(exponent, 255), exponent, op.minimum(op.add(exponent, more), most))
    lowest = op.where(op.equal(raised, 0), 1 << 22, op.left_shift(raised, 23))  # 2**-127 is no normal number
    return op.where(op.equal(raised, 255), float("nan"), op.reinterpret(lowest, dtype="float32"))


def _rounds_up(exponent: Expr, rest: Expr, round_mode: str) -> Expr:
    if round_mode == "up":
        return op.greater(rest, 0)
    if round_mode == "down":
        return op.less(rest, 0)
    half = op.greater_equal(rest, 0x400000)
    return op.logical_and(half, op.logical_or(op.greater(rest, 0x400000), op.greater(exponent, 0)))
