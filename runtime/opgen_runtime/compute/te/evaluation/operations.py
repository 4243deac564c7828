"""Every scalar operation on numpy arrays, with exactly the run-time semantics of `arith.semantics`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ....base.arith import ELEMENT_FUNCTIONS
from ....base.vocabulary import BOOL, FLOAT32, DType

Array = np.ndarray[Any, np.dtype[Any]]


def binary(op: str, dtype: DType, a: Array, b: Array) -> Array:
    """`a op b`; both are of `dtype`.  Halves are computed in float32 and rounded."""
    if dtype.is_storage:
        wide = binary(op, FLOAT32, a.astype(np.float32), b.astype(np.float32))
        return cast(wide, FLOAT32, dtype)
    if op in _SIMPLE:
        return np.asarray(_SIMPLE[op](a, b))
    if dtype.is_float:
        return np.asarray(_FLOAT[op](a, b))
    if op in ("shl", "shr"):
        return _shift(op, dtype, a, b)
    return _integer_division(op, a, b)


def _float_trunc_div(a: Array, b: Array) -> Array:
    return np.asarray(np.trunc(np.divide(a, b)))


_SIMPLE: Final[dict[str, Callable[[Array, Array], Any]]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}
_FLOAT: Final[dict[str, Callable[[Array, Array], Any]]] = {
    "div": np.divide,
    "floordiv": np.floor_divide,
    "floormod": np.mod,
    "truncdiv": _float_trunc_div,
    "truncmod": np.fmod,
}
COMPARE: Final[dict[str, Callable[[Array, Array], Any]]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def _integer_division(op: str, a: Array, b: Array) -> Array:
    zero = b == 0
    divisor = np.where(zero, b.dtype.type(1), b)
    quotient = np.floor_divide(a, divisor)
    remainder = a - quotient * divisor
    if op.startswith("trunc") and a.dtype.kind == "i":
        up = (remainder != 0) & ((a < 0) != (b < 0))
        quotient = quotient + up.astype(a.dtype)
        remainder = a - quotient * divisor
    found = quotient if op.endswith("div") else remainder
    return np.where(zero, a.dtype.type(0), found)


def _shift(op: str, dtype: DType, a: Array, b: Array) -> Array:
    inside = (b >= 0) & (b < dtype.bits)
    amount = np.where(inside, b, b.dtype.type(0))
    if op == "shl":
        return np.where(inside, np.left_shift(a, amount), a.dtype.type(0))
    beyond = np.right_shift(a, a.dtype.type(dtype.bits - 1)) if dtype.is_signed else a.dtype.type(0)
    return np.where(inside, np.right_shift(a, amount), beyond)


def rounded(a: Array, dtype: DType) -> Array:
    """`a` rounded once to `dtype`; ml_dtypes alone would round wider types to float32 first."""
    if not dtype.is_extension or a.dtype.itemsize <= 2 or a.dtype == np.float32:
        return a.astype(dtype.numpy)
    if a.dtype.kind in "iu":
        if a.dtype.itemsize == 8:  # rounded to odd multiples of 2048 where float64 would round
            low = a.dtype.type(2047)
            odd = (a | ((a & low) + low)) & ~low
            high = a >> 53
            a = np.where((high == 0) | ((high == -1) if a.dtype.kind == "i" else False), a, odd)
        a = a.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        single = np.asarray(a, np.float32)
    exact, near = np.abs(a), np.abs(single.astype(a.dtype))
    bits = np.ascontiguousarray(single).reshape(single.shape).view(np.int32)
    odd_step = np.where(near < exact, 1, np.where(near > exact, -1, 0)) * (1 - (bits & 1))
    return np.asarray(bits + odd_step.astype(np.int32)).view(np.float32).astype(dtype.numpy)


def cast(a: Array, source: DType, dtype: DType) -> Array:
    """Int to int wraps; float to int truncates, saturates, NaN gives 0; to bool is `!= 0`."""
    if dtype is BOOL:
        return np.asarray(a != 0)
    target = dtype.numpy
    if not (source.is_float and dtype.is_int):
        return rounded(a, dtype)
    whole = np.trunc(a.astype(np.float64))
    lowest, highest = int(dtype.lowest), int(dtype.highest)
    inside = (whole >= float(lowest)) & (whole < float(highest + 1))
    found = np.where(inside, whole, 0.0).astype(target)
    found = np.where(whole >= float(highest + 1), target.type(highest), found)
    return np.where(whole < float(lowest), target.type(lowest), found)


def bitcast(a: Array, dtype: DType) -> Array:
    return np.ascontiguousarray(a).reshape(a.shape).view(dtype.numpy)


def complex_number(real: Array, imag: Array) -> Array:
    """The complex numbers of these parts, bit for bit."""
    made = np.empty(np.broadcast_shapes(real.shape, imag.shape), np.result_type(real.dtype, np.complex64))
    made.real, made.imag = real, imag
    return made


def call(name: str, dtype: DType, args: list[Array]) -> Array:
    """An intrinsic on arguments of `dtype`.  Float functions run in float64 and round once."""
    row = ELEMENT_FUNCTIONS[name]
    if not dtype.is_float:
        return row.on_array(dtype, *args)
    found = row.on_array(dtype, *(a.astype(np.float64) for a in args))
    return found if row.gives_bool else rounded(found, dtype)
