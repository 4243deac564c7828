"""Conversions of floats that are formats of storage, correctly rounded (half to even) from float32 and float64 alike.

In a register such a number is an integer of its bits.  Where the CPU converts exactly this pair (F16C: float16 and
float32) its instruction is used; elsewhere integer arithmetic that knows the format alone.  float64 never rounds to
float32 first, which would round twice.  NaN becomes quiet, and keeps its sign and the upper bits of its payload.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ...base import Target
from ...base.arith.semantics import sign_bit
from ...base.errors import CodegenError
from ...base.vocabulary import FLOAT16, FLOAT32, FLOAT64, DType, FloatFormat
from .math.builder import BIAS, MANTISSA, Builder, Vec
from .text import FunctionText, ModuleText
from .text.types import register_type

_INFINITY: Final = 0x7F800000  # of float32
_QUIET: Final = 0x400000


@lru_cache(maxsize=128)
def function(source: DType, dtype: DType, lanes: int, target: Target) -> tuple[str, ModuleText]:
    """(symbol, module) of an `alwaysinline` function from `<lanes x source>` to `<lanes x dtype>`.

    One of the two is a float of storage, the other float32 or float64.  Raises CodegenError for other pairs.
    """
    wide, stored = (dtype, source) if source.is_storage else (source, dtype)
    if not stored.is_storage or wide not in (FLOAT32, FLOAT64):
        raise CodegenError(
            f"conversion of {source} to {dtype}: expected a float of storage and a wider float"
        )
    f = FunctionText(ModuleText(target))
    x = register_type(source)
    if source.is_storage:
        b = Builder(f, "float", lanes)
        single = _widened(b, Vec(b, x, "%x"), source)
        y = single if dtype is FLOAT32 else b.cast("fpext", single, "double")
    else:
        b = Builder(f, x, lanes)
        y = _narrowed(b, Vec(b, x, "%x"), dtype)
    f.do(f"ret {y.type} {y.text}")
    symbol = f"opgen_convert_{source}_{dtype}_x{lanes}"
    f.define(symbol, y.type, f"{register_type(source, lanes)} %x", "alwaysinline nounwind")
    return symbol, f.module


def _is_upper_part(form: FloatFormat) -> bool:
    """Whether the numbers of a format are float32's with a shorter fraction."""
    return form.bias == BIAS["float"] and form.has_infinities


def _widened(b: Builder, x: Vec, stored: DType) -> Vec:
    """As float32, which has every number of a float of storage."""
    if stored is FLOAT16 and b.target.converts_float16("float"):
        return b.cast("fpext", b.cast("bitcast", x, "half"), "float")
    form, sign = stored.float_format, sign_bit(stored)
    assert form is not None
    bits = b.cast("zext", x, "i32")
    if _is_upper_part(form):
        bits = bits << (32 - stored.bits)
        return b.select((bits & 0x7FFFFFFF) > _INFINITY, bits | _QUIET, bits).as_float()
    magnitude = bits & (sign - 1)
    tiny = (b.cast("sitofp", magnitude, "float") * form.step).bits()
    longer = MANTISSA["float"] - form.fraction
    normal = (magnitude << longer) + ((BIAS["float"] - form.bias) << MANTISSA["float"])
    if form.has_infinities:
        infinity = (sign - 1) >> form.fraction << form.fraction
        special = (magnitude << longer) | _INFINITY
        special = b.select(magnitude > infinity, special | _QUIET, special)
        normal = b.select(magnitude >= infinity, special, normal)
    else:
        normal = b.select(magnitude >= sign - 1, b.const(_INFINITY | _QUIET, "i32"), normal)
    finite = b.select(magnitude < 1 << form.fraction, tiny, normal)
    return (finite | ((bits & sign) << (32 - stored.bits))).as_float()


def _narrowed(b: Builder, x: Vec, stored: DType) -> Vec:
    if stored is FLOAT16 and b.target.converts_float16(b.element):
        return b.cast("bitcast", b.cast("fptrunc", x, "half"), "i16")
    form = stored.float_format
    assert form is not None
    return _narrowed_upper_part(b, x, stored) if _is_upper_part(form) else _narrowed_any(b, x, stored, form)


def _narrowed_upper_part(b: Builder, x: Vec, stored: DType) -> Vec:
    drop = 32 - stored.bits
    bits = x.bits() if b.element == "float" else _rounded_to_odd(b, x)
    rounded = (bits + ((bits >> drop) & 1) + ((1 << (drop - 1)) - 1)) >> drop
    nan = (bits >> drop) | (_QUIET >> drop)
    return b.cast("trunc", b.select((bits & 0x7FFFFFFF) > _INFINITY, nan, rounded), register_type(stored))


def _rounded_to_odd(b: Builder, x: Vec) -> Vec:
    """The bits of a float64 as float32, where of the two neighbours of an inexact number the odd one is taken.

    A second rounding, to fewer bits, then gives what one alone would (Boldo and Melquiond, "When double rounding is
    odd", 2005).
    """
    single = b.cast("fptrunc", x, "float")
    bits = b.cast("bitcast", single, "i32")
    exact, near = b.abs(x), b.abs(b.cast("fpext", single, "double"))
    even = (bits & 1) < 1
    up = b.select((near < exact) & even, bits + 1, bits)
    return b.select((near > exact) & even, bits - 1, up)


def _narrowed_any(b: Builder, x: Vec, stored: DType, form: FloatFormat) -> Vec:
    drop, sign = b.mantissa - form.fraction, sign_bit(stored)
    magnitude = b.abs(x)
    bits = magnitude.bits()
    # Below the normal numbers: the sum with this power of two has the format's smallest step as its last place.
    power = b.mantissa + form.least - form.fraction
    tiny = (magnitude + 2.0**power).bits() - ((b.bias + power) << b.mantissa)
    odd = (bits >> drop) & 1
    rounded = (bits + odd + ((1 << (drop - 1)) - 1 - ((b.bias - form.bias) << b.mantissa))) >> drop
    # Infinity, or the one NaN of a format that has none.
    beyond = (sign - 1) >> form.fraction << form.fraction if form.has_infinities else sign - 1
    rounded = b.select(rounded > beyond, b.const(beyond, rounded.element), rounded)
    result = b.select(magnitude < form.tiny, tiny, rounded)
    if form.has_infinities:
        quiet = beyond | 1 << (form.fraction - 1)
        nan = ((bits >> drop) & ((1 << form.fraction) - 1)) | quiet
    else:
        nan = b.const(beyond, bits.element)
    result = b.select(magnitude.is_nan(), nan, result)
    own = (x.bits() >> ({"float": 32, "double": 64}[b.element] - stored.bits)) & sign
    return b.cast("trunc", result | own, register_type(stored))
