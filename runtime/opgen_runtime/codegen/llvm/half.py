"""Conversions of float16 and bfloat16, correctly rounded (half to even) from float32 and from float64 alike.

A half in a register is an i16 of its bits.  Where the CPU converts exactly this pair (F16C: float32 only) its
instruction is used; elsewhere integer arithmetic.  float64 never rounds to float32 first, which would round twice.
NaN becomes quiet, and keeps its sign and the upper bits of its payload.
"""

from __future__ import annotations

from functools import lru_cache

from ...base.errors import CodegenError
from ...base.target import Target
from ...base.vocabulary import FLOAT16, DType
from ..math.builder import Builder, Vec
from ..text import FunctionText, ModuleText

_ELEMENT = {"float16": "i16", "bfloat16": "i16", "float32": "float", "float64": "double"}


@lru_cache(maxsize=128)
def function(source: DType, dtype: DType, lanes: int, target: Target) -> tuple[str, ModuleText]:
    """(symbol, module) of an `alwaysinline` function from `<lanes x source>` to `<lanes x dtype>`.

    One of the two is float16 or bfloat16, the other float32 or float64.  Raises CodegenError for other pairs.
    """
    if source.is_half == dtype.is_half or not {source, dtype} <= _ELEMENT.keys():
        raise CodegenError(f"half conversion of {source} to {dtype}: expected a half and a wider float")
    f = FunctionText(ModuleText(target))
    b = Builder(f, "float" if source.is_half else _ELEMENT[source], lanes)
    x = Vec(b, _ELEMENT[source], "%x")
    if source.is_half:
        single = _widened(b, x) if source is FLOAT16 else _widened_bfloat(b, x)
        y = single if dtype == "float32" else b.cast("fpext", single, "double")
    else:
        y = _narrowed(b, x) if dtype is FLOAT16 else _narrowed_bfloat(b, x)
    f.do(f"ret {y.type} {y.text}")
    symbol = f"opgen_convert_{source}_{dtype}_x{lanes}"
    f.define(symbol, y.type, f"{x.type} %x", "alwaysinline nounwind")
    return symbol, f.module


def _native(target: Target, wide: str) -> bool:
    """Whether the CPU converts between float16 and `wide` ("float" or "double") with one rounding."""
    if target.triple.startswith("aarch64"):
        return True
    return wide == "float" and target.triple.startswith("x86_64") and target.has("f16c")


def _widened(b: Builder, x: Vec) -> Vec:
    """Every float16 is a float32."""
    if _native(b.target, "float"):
        return b.cast("fpext", b.cast("bitcast", x, "half"), "float")
    bits = b.cast("zext", x, "i32")
    magnitude = bits & 0x7FFF
    tiny = (b.cast("sitofp", magnitude, "float") * 2.0**-24).bits()
    special = magnitude >= 0x7C00
    rebias = b.select(special, b.const((255 - 31) << 23, "i32"), (127 - 15) << 23)
    normal = (magnitude << 13) + rebias
    normal = b.select(magnitude > 0x7C00, normal | 0x400000, normal)
    finite = b.select(magnitude < 0x0400, tiny, normal)
    return (finite | ((bits & 0x8000) << 16)).as_float()


def _widened_bfloat(b: Builder, x: Vec) -> Vec:
    """The bits of a bfloat16 are the upper half of those of the same float32."""
    bits = b.cast("zext", x, "i32") << 16
    return b.select((bits & 0x7FFFFFFF) > 0x7F800000, bits | 0x400000, bits).as_float()


def _narrowed_bfloat(b: Builder, x: Vec) -> Vec:
    bits = x.bits() if b.element == "float" else _rounded_to_odd(b, x)
    rounded = (bits + ((bits >> 16) & 1) + 0x7FFF) >> 16
    nan = (bits >> 16) | 0x40
    return b.cast("trunc", b.select((bits & 0x7FFFFFFF) > 0x7F800000, nan, rounded), "i16")


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


def _narrowed(b: Builder, x: Vec) -> Vec:
    if _native(b.target, b.element):
        return b.cast("bitcast", b.cast("fptrunc", x, "half"), "i16")
    drop = b.mantissa - 10
    magnitude = b.abs(x)
    bits, infinity = magnitude.bits(), (2 * b.bias + 1) << b.mantissa
    # Below the normal numbers: the sum with this number has float16's smallest step as its last place.
    step = 2.0 ** (b.mantissa - 24)
    tiny = (magnitude + step).bits() - ((b.bias + b.mantissa - 24) << b.mantissa)
    odd = (bits >> drop) & 1
    rounded = (bits + odd + ((1 << (drop - 1)) - 1 - ((b.bias - 15) << b.mantissa))) >> drop
    rounded = b.select(rounded > 0x7C00, b.const(0x7C00, rounded.element), rounded)
    finite = b.select(magnitude < 2.0**-14, tiny, rounded)
    nan = ((bits >> drop) & 0x03FF) | 0x7E00
    result = b.select(bits > infinity, nan, finite)
    sign = (x.bits() >> (b.mantissa + b.bias.bit_length() + 1 - 15)) & 0x8000
    return b.cast("trunc", result | sign, "i16")
