"""The run-time meaning of every scalar operation, on Python numbers.

`build.py` folds constants with these functions and `evaluate.py` evaluates with them, so that folding has exactly
the meaning that a kernel has.  Values are Python bools, ints and floats that fit their dtype.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from typing import Final

from ..vocabulary import BOOL, FLOAT32, FLOAT64, DType

Number = bool | int | float


def wrap(value: int, dtype: DType) -> int:
    """`value` modulo 2**bits, in the range of the integer type `dtype`."""
    value &= (1 << dtype.bits) - 1
    if dtype.kind == "i" and value >> (dtype.bits - 1):
        value -= 1 << dtype.bits
    return value


def round_float(value: float, dtype: DType) -> float:
    """`value` (a float64) rounded once to `dtype`, half to even; overflow gives infinity."""
    if dtype is FLOAT64 or value != value:
        return value
    if dtype is FLOAT32:
        return ctypes.c_float(value).value
    form = dtype.float_format
    assert form is not None
    if not math.isinf(value):
        step = math.ldexp(1.0, max(math.frexp(value)[1] - 1, form.least) - form.fraction)
        rounded = math.copysign(round(value / step) * step, value)
        if abs(rounded) <= form.highest:
            return rounded
    return math.copysign(math.inf, value) if form.has_infinities else math.nan


def convert(value: Number, source: DType, dtype: DType) -> Number:
    """`cast`: int to int wraps; float to int truncates, saturates, NaN gives 0; to bool is `!= 0`."""
    if dtype.kind == "b":
        return value != 0
    if dtype.kind == "f":
        return _int_to_float(int(value), dtype) if source.kind != "f" else round_float(float(value), dtype)
    if source.kind != "f":
        return wrap(int(value), dtype)
    if value != value:
        return 0
    lowest, highest = int(dtype.lowest), int(dtype.highest)
    if math.isinf(value):
        return highest if value > 0 else lowest
    return max(lowest, min(highest, math.trunc(value)))


def _int_to_float(value: int, dtype: DType) -> float:
    """An int rounded once to `dtype` (through float64 it would round twice)."""
    if dtype is FLOAT64 or -(1 << 53) <= value <= 1 << 53:
        return round_float(float(value), dtype)
    # Keep 53 bits and make the lowest one sticky, so that the second rounding sees what was dropped.
    magnitude = abs(value)
    drop = magnitude.bit_length() - 53
    kept = (magnitude >> drop) | (1 if magnitude & ((1 << drop) - 1) else 0)
    return round_float(math.copysign(math.ldexp(kept, drop), value), dtype)


def reinterpret(value: Number, source: DType, dtype: DType) -> Number:
    """The bits of `value` as `source`, read as `dtype` of the same width."""
    bits = to_bits(float(value), source) if source.is_float else int(value) & ((1 << source.bits) - 1)
    return from_bits(bits, dtype) if dtype.is_float else wrap(bits, dtype)


def to_bits(value: float, dtype: DType) -> int:
    """The bits of a number that the float dtype holds; NaN is quiet."""
    if dtype.bits >= 32:
        return int.from_bytes(struct.pack(_PACK[dtype.bits], value), "little")
    form = dtype.float_format
    assert form is not None
    sign = sign_bit(dtype) if math.copysign(1.0, value) < 0 else 0
    above = (
        (sign_bit(dtype) - 1) >> form.fraction << form.fraction
    )  # of infinity, or of the lowest with its exponent
    if value != value:
        return sign | (above | 1 << (form.fraction - 1) if form.has_infinities else sign_bit(dtype) - 1)
    if math.isinf(value):
        return sign | above
    exponent = max(math.frexp(value)[1] - 1, form.least)
    fraction = int(math.ldexp(abs(value), form.fraction - exponent))  # with the leading 1 of normal numbers
    return sign | (((exponent - form.least) << form.fraction) + fraction if value else 0)


def from_bits(bits: int, dtype: DType) -> float:
    """The number of these bits."""
    if dtype.bits >= 32:
        return float(struct.unpack(_PACK[dtype.bits], bits.to_bytes(dtype.itemsize, "little"))[0])
    form = dtype.float_format
    assert form is not None
    sign = -1.0 if bits & sign_bit(dtype) else 1.0
    magnitude = bits & (sign_bit(dtype) - 1)
    exponent, fraction = magnitude >> form.fraction, magnitude & ((1 << form.fraction) - 1)
    last = (sign_bit(dtype) - 1) >> form.fraction
    if form.has_infinities and exponent == last:
        return math.copysign(math.nan if fraction else math.inf, sign)
    if not form.has_infinities and magnitude == sign_bit(dtype) - 1:
        return math.copysign(math.nan, sign)
    if exponent:
        fraction += 1 << form.fraction
    return sign * math.ldexp(fraction, max(exponent, 1) - 1 + form.least - form.fraction)


def sign_bit(dtype: DType) -> int:
    """The highest bit of a dtype."""
    return 1 << (dtype.bits - 1)


_PACK: Final = {32: "<f", 64: "<d"}


def binary(op: str, dtype: DType, a: Number, b: Number) -> Number:
    """`a op b` in `dtype`."""
    if dtype.kind == "f":
        if op == "floordiv":
            return _floor_div(float(a), float(b), dtype)
        if op == "truncdiv":
            return _trunc_float(round_float(_divide(float(a), float(b)), dtype))
        return round_float(_FLOAT[op](float(a), float(b)), dtype)
    if dtype.kind == "b":
        return _BOOL[op](bool(a), bool(b))
    if op in ("shl", "shr"):
        return _shift(op, dtype, int(a), int(b))
    return wrap(_INT[op](int(a), int(b)), dtype)


def compare(op: str, a: Number, b: Number) -> bool:
    """`a op b`."""
    return _COMPARE[op](a, b)


def complement(dtype: DType, a: Number) -> Number:
    """Negation of a bool, bitwise complement of an int."""
    return not a if dtype is BOOL else wrap(~int(a), dtype)


def _shift(op: str, dtype: DType, a: int, b: int) -> int:
    amount = b if 0 <= b < dtype.bits else dtype.bits
    if op == "shl":
        return wrap(a << amount, dtype)
    return wrap(a >> amount, dtype)


def _trunc_div(a: int, b: int) -> int:
    if b == 0:
        return 0
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_INT: Final[dict[str, Callable[[int, int], int]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b if b else 0,
    "floormod": lambda a, b: a % b if b else 0,
    "truncdiv": _trunc_div,
    "truncmod": lambda a, b: a - _trunc_div(a, b) * b if b else 0,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
_BOOL: Final[dict[str, Callable[[bool, bool], bool]]] = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "xor": lambda a, b: a != b,
    "min": lambda a, b: a and b,
    "max": lambda a, b: a or b,
}


def _divide(a: float, b: float) -> float:
    if b != 0.0 or a != a:
        return a / b if b != 0.0 else a
    return math.nan if a == 0.0 else math.copysign(math.inf, a) * math.copysign(1.0, b)


def _fmod(a: float, b: float) -> float:
    if a != a or b != b or math.isinf(a) or b == 0.0:
        return math.nan
    return math.fmod(a, b)


def _floor_mod(a: float, b: float) -> float:
    """numpy's `mod`: the result has the sign of `b`."""
    remainder = _fmod(a, b)
    if remainder == 0.0:
        return math.copysign(0.0, b)
    return remainder + b if (remainder < 0.0) != (b < 0.0) and remainder == remainder else remainder


def _floor_div(a: float, b: float, dtype: DType) -> float:
    """numpy's `floor_divide`, the quotient that belongs to `_floor_mod`, with its roundings to `dtype`."""
    remainder = _fmod(a, b)
    if b == 0.0 or remainder != remainder:
        return _divide(a, b) if b == 0.0 else math.nan
    quotient = round_float(_divide(round_float(a - remainder, dtype), b), dtype)
    if remainder != 0.0 and (remainder < 0.0) != (b < 0.0):
        quotient = round_float(quotient - 1.0, dtype)
    if quotient == 0.0:
        return math.copysign(0.0, _divide(a, b))
    floor = float(math.floor(quotient)) if math.isfinite(quotient) else quotient
    return floor + 1.0 if quotient - floor > 0.5 else floor


def _trunc_float(a: float) -> float:
    return math.copysign(float(math.trunc(a)), a) if math.isfinite(a) else a


def _minimum(a: float, b: float) -> float:
    if a != a or b != b:
        return math.nan
    return a if a <= b else b


def _maximum(a: float, b: float) -> float:
    if a != a or b != b:
        return math.nan
    return a if a >= b else b


_FLOAT: Final[dict[str, Callable[[float, float], float]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _divide,
    "floormod": _floor_mod,
    "truncmod": _fmod,
    "min": _minimum,
    "max": _maximum,
}
_COMPARE: Final[dict[str, Callable[[Number, Number], bool]]] = {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}
