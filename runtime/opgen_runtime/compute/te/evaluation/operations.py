"""Every scalar operation on numpy arrays, with exactly the run-time semantics of `arith.semantics`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ....base.arith.intrinsics import intrinsic
from ....base.vocabulary import BFLOAT16, BOOL, FLOAT32, FLOAT64, PREDICATE_INTRINSICS, DType

Array = np.ndarray[Any, np.dtype[Any]]


def binary(op: str, dtype: DType, a: Array, b: Array) -> Array:
    """`a op b`; both are of `dtype`.  Halves are computed in float32 and rounded."""
    if dtype.is_half:
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
    """`a` rounded once to `dtype`; ml_dtypes alone would round wider types to float32 and then to bfloat16."""
    if dtype is not BFLOAT16 or a.dtype.itemsize <= 2 or a.dtype == np.float32:
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


def call(name: str, dtype: DType, args: list[Array]) -> Array:
    """An intrinsic on arguments of `dtype`.  Float functions run in float64 and round once."""
    if not dtype.is_float:
        return _integer_call(name, dtype, args[0])
    if name in PREDICATE_INTRINSICS:
        return np.asarray(_PREDICATES[name](args[0]))
    if name in _EXACT:
        return rounded(np.asarray(_EXACT[name](args[0])), dtype)
    wide = [a.astype(np.float64) for a in args]
    if name in _PER_ELEMENT:
        found = _PER_ELEMENT[name](*wide)
        return rounded(np.asarray(found, dtype=np.float64), dtype)
    return rounded(np.asarray(_WIDE[name](*wide)), dtype)


def _integer_call(name: str, dtype: DType, a: Array) -> Array:
    if name == "abs":
        return np.asarray(np.abs(a))
    if name == "sign":
        return np.asarray((a > 0).astype(a.dtype) - (a < 0).astype(a.dtype))
    bits = (
        a.view(np.dtype(f"uint{dtype.bits}"))
        if a.ndim
        else a.reshape(1).view(f"uint{dtype.bits}").reshape(())
    )
    spread = np.unpackbits(
        np.ascontiguousarray(bits).astype(f">u{dtype.itemsize}").reshape(-1, 1).view(np.uint8), axis=1
    )
    if name == "popcount":
        count = spread.sum(axis=1)
    else:
        assert name == "clz", name
        count = np.where(spread.any(axis=1), spread.argmax(axis=1), dtype.bits)
    return np.asarray(count.reshape(a.shape).astype(a.dtype))


def _sigmoid(a: Array) -> Array:
    power = np.exp(-np.abs(a))
    return np.where(a >= 0, 1.0, power) / (1.0 + power)


_PREDICATES: Final[dict[str, Callable[[Array], Any]]] = {
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}
_EXACT: Final[dict[str, Callable[[Array], Any]]] = {
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.rint,
}
_WIDE: Final[dict[str, Callable[..., Any]]] = {
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda a: 1.0 / np.sqrt(a),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "sigmoid": _sigmoid,
    "pow": np.power,
    "fmod": np.fmod,
    "copysign": np.copysign,
}
_PER_ELEMENT: Final[dict[str, Callable[..., Any]]] = {
    "erf": np.frompyfunc(math.erf, 1, 1),
    "erfc": np.frompyfunc(math.erfc, 1, 1),
    "fma": np.frompyfunc(lambda a, b, c: intrinsic("fma", FLOAT64, (a, b, c)), 3, 1),
}
