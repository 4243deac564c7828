"""The run-time meaning of the intrinsics (`vocabulary.FLOAT_INTRINSICS`, `NUMBER_INTRINSICS`) on Python numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

from ..vocabulary import PREDICATE_INTRINSICS, DType
from .semantics import Number, round_float, wrap

# Those whose result is exact or correctly rounded everywhere, so that folding them cannot change a value.
FOLDABLE: Final = frozenset(
    [
        "sqrt",
        "floor",
        "ceil",
        "round",
        "trunc",
        "isnan",
        "isinf",
        "isfinite",
        "copysign",
        "abs",
        "sign",
        "popcount",
        "clz",
    ]
)


def intrinsic(name: str, dtype: DType, args: tuple[Number, ...]) -> Number:
    """`name(*args)` for arguments of `dtype`; predicates give bool.

    Total: a domain error gives NaN, overflow an infinity.  Float results are computed in float64 and rounded once.
    """
    if dtype.kind != "f":
        return _integer(name, dtype, int(args[0]))
    values = tuple(float(a) for a in args)
    if name in PREDICATE_INTRINSICS:
        return _PREDICATES[name](values[0])
    return round_float(_float(name, values), dtype)


def _integer(name: str, dtype: DType, a: int) -> int:
    if name == "abs":
        return wrap(abs(a), dtype)
    if name == "sign":
        return (a > 0) - (a < 0)
    bits = a & ((1 << dtype.bits) - 1)
    if name == "popcount":
        return bits.bit_count()
    assert name == "clz", name
    return dtype.bits - bits.bit_length()


def _float(name: str, args: tuple[float, ...]) -> float:
    if name in _EXACT:
        return _EXACT[name](args[0])
    if name == "pow":
        return _pow(*args)
    if name == "fma":
        return _fma(*args)
    if any(a != a for a in args):
        return math.nan
    try:
        return _MATH[name](*args)
    except OverflowError:
        return math.inf if name != "sinh" or args[0] > 0 else -math.inf
    except (ValueError, ZeroDivisionError):
        return _POLES.get((name, args[0]), math.nan)


def _pow(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        if a == 0.0 and b < 0:  # C's pow: a pole, negative only for -0 to an odd power
            return math.copysign(math.inf, a) if b % 2 == 1 else math.inf
        return math.nan


def _fma(a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _whole(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda a: math.copysign(float(function(a)), a) if math.isfinite(a) else a


def _sigmoid(a: float) -> float:
    if a >= 0:
        return 1.0 / (1.0 + math.exp(-a))
    power = math.exp(a)
    return power / (1.0 + power)


def _sign(a: float) -> float:
    return a if a != a else float((a > 0) - (a < 0))


_PREDICATES: Final[dict[str, Callable[[float], bool]]] = {
    "isnan": math.isnan,
    "isinf": math.isinf,
    "isfinite": math.isfinite,
}
_EXACT: Final[dict[str, Callable[[float], float]]] = {
    "abs": abs,
    "sign": _sign,
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "trunc": _whole(math.trunc),
    "round": _whole(round),
}
_MATH: Final[dict[str, Callable[..., float]]] = {
    "exp": math.exp,
    "exp2": math.exp2,
    "expm1": math.expm1,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "log1p": math.log1p,
    "sqrt": math.sqrt,
    "rsqrt": lambda a: 1.0 / math.sqrt(a),
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "atan2": math.atan2,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "tanh": math.tanh,
    "asinh": math.asinh,
    "acosh": math.acosh,
    "atanh": math.atanh,
    "erf": math.erf,
    "erfc": math.erfc,
    "sigmoid": _sigmoid,
    "fmod": math.fmod,
    "copysign": math.copysign,
}
_POLES: Final[dict[tuple[str, float], float]] = {
    ("log", 0.0): -math.inf,
    ("log2", 0.0): -math.inf,
    ("log10", 0.0): -math.inf,
    ("log1p", -1.0): -math.inf,
    ("atanh", 1.0): math.inf,
    ("atanh", -1.0): -math.inf,
    ("rsqrt", 0.0): math.inf,
}
