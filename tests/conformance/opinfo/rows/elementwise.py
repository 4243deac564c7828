"""Functions of elements."""

from __future__ import annotations

from typing import Any

import numpy

from opgen_runtime import ops

from ..adapter import adapts, table

np: Any = numpy

SAME = """
    abs acos acosh asin asinh atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor
    bitwise_left_shift bitwise_right_shift ceil conj copysign cos cosh deg2rad exp exp2 expm1 float_power
    floor floor_divide fmax fmin fmod frexp gcd heaviside hypot isfinite isinf isnan isneginf isposinf
    isreal lcm log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor
    maximum minimum nextafter positive pow rad2deg real remainder sign signbit sin sinc sinh sqrt square tan
    tanh true_divide trunc angle imag
"""
table({name: getattr(np, name) for name in SAME.split()})
table({"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
       "ge": np.greater_equal, "mul": np.multiply, "neg": np.negative, "sgn": np.sign, "conj_physical": np.conj,
       "resolve_conj": np.positive, "resolve_neg": np.positive, "reciprocal": lambda a: np.divide(1, a)})  # fmt: skip
table({"digamma": ops.digamma, "erf": ops.erf, "erfc": ops.erfc, "erfinv": ops.erfinv, "frac": ops.frac,
       "i0": ops.i0, "lgamma": ops.lgamma, "rsqrt": ops.rsqrt, "sigmoid": ops.sigmoid, "xlogy": ops.xlogy,
       "special.entr": ops.entr, "special.erfcx": ops.erfcx, "special.i0e": ops.i0e, "special.i1": ops.i1,
       "special.i1e": ops.i1e, "special.log_ndtr": ops.log_ndtr, "special.ndtr": ops.ndtr, "special.ndtri": ops.ndtri,
       "special.xlog1py": ops.xlog1py, "special.modified_bessel_i0": ops.i0,
       "special.modified_bessel_i1": ops.i1, "special.bessel_j0": ops.j0, "special.bessel_j1": ops.j1,
       "special.bessel_y0": ops.y0, "special.bessel_y1": ops.y1, "special.modified_bessel_k0": ops.k0,
       "special.modified_bessel_k1": ops.k1, "special.scaled_modified_bessel_k0": ops.k0e,
       "special.scaled_modified_bessel_k1": ops.k1e,
       "special.spherical_bessel_j0": ops.spherical_bessel_j0})  # fmt: skip
table({"__radd__": lambda a, b: b + a, "__rdiv__": lambda a, b: b / a, "__rmul__": lambda a, b: b * a,
       "__rand__": lambda a, b: b & a, "__ror__": lambda a, b: b | a, "__rxor__": lambda a, b: b ^ a,
       "__rmatmul__": lambda a, b: b @ a, "__rmod__": lambda a, b: b % a, "__rpow__": lambda a, b: b**a,
       "__rsub__": lambda a, b: b - a})  # fmt: skip

POLYNOMIALS = """
    chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
    hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
    shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w
"""
table({f"special.{name}": getattr(ops, name) for name in POLYNOMIALS.split()})


def _times(a: Any, factor: Any) -> Any:
    return a if factor == 1 else a * factor


@adapts("add")
def add(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    return np.add(a, _times(b, alpha))


@adapts("sub")
def sub(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    return np.subtract(a, _times(b, alpha))


@adapts("rsub")
def rsub(a: Any, b: Any, alpha: Any = 1) -> Any:
    return np.subtract(b, _times(a, alpha))


@adapts("div")
def div(a: Any, b: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        return np.divide(a, b)
    return ops.trunc_divide(a, b) if rounding_mode == "trunc" else np.floor_divide(a, b)


@adapts("ldexp")
def ldexp(a: Any, exponent: Any) -> Any:
    return a * np.exp2(exponent)


@adapts("mvlgamma")
def mvlgamma(a: Any, p: int) -> Any:
    return ops.multigammaln(a, d=p)


@adapts("round")
def round_(a: Any, decimals: int = 0) -> Any:
    return np.round(a, decimals)


@adapts("nan_to_num")
def nan_to_num(a: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    return np.nan_to_num(a, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@adapts("logit")
def logit(a: Any, eps: float | None = None) -> Any:
    return ops.logit(a if eps is None else np.clip(a, eps, 1 - eps))


@adapts("clamp")
def clamp(a: Any, min: Any = None, max: Any = None) -> Any:
    return np.clip(a, _as_floats(min, a), _as_floats(max, a))


def _as_floats(bound: Any, a: Any) -> Any:
    """A tensor of integers in the dtype of floats: of bfloat16, whose promotion numpy does not know."""
    integers = hasattr(bound, "shape") and np.dtype(bound.dtype).kind in "iu"
    return np.astype(bound, a.dtype) if integers and np.dtype(a.dtype).kind not in "iub" else bound


@adapts("clamp_min")
def clamp_min(a: Any, min: Any) -> Any:
    return np.maximum(a, min)


@adapts("clamp_max")
def clamp_max(a: Any, max: Any) -> Any:
    return np.minimum(a, max)


@adapts("where")
def where(a: Any, condition: Any, b: Any) -> Any:
    return np.where(condition, a, b)


@adapts("lerp")
def lerp(a: Any, b: Any, weight: Any) -> Any:
    return ops.lerp(a, b, weight=weight) if isinstance(weight, float) else a + weight * (b - a)


@adapts("addcmul")
def addcmul(a: Any, b: Any, c: Any, *, value: Any = 1) -> Any:
    return a + _times(b * c, value)


@adapts("addcdiv")
def addcdiv(a: Any, b: Any, c: Any, *, value: Any = 1) -> Any:
    return a + _times(b / c, value)


@adapts("isclose")
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


@adapts("allclose")
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


@adapts("equal")
def equal(a: Any, b: Any) -> Any:
    return np.array_equal(a, b)


@adapts("isin")
def isin(a: Any, b: Any, *, assume_unique: bool = False, invert: bool = False) -> Any:
    return np.isin(a, b, invert=invert)


def _cast(dtype: Any) -> Any:
    return lambda a, **ignored: np.astype(a, np.dtype(dtype))


table({"bool": _cast("bool"), "byte": _cast("uint8"), "char": _cast("int8"), "double": _cast("float64"),
       "float": _cast("float32"), "half": _cast("float16"), "int": _cast("int32"), "long": _cast("int64"),
       "short": _cast("int16")})  # fmt: skip


@adapts("bfloat16")
def bfloat16(a: Any) -> Any:
    return ops.cast(a, dtype="bfloat16")


table({"clone": np.copy, "contiguous": np.copy, "alias_copy": np.copy, "zero_": np.zeros_like})


@adapts("zeros_like")
def zeros_like(a: Any, dtype: Any = None) -> Any:
    return np.zeros_like(a, dtype)


@adapts("ones_like")
def ones_like(a: Any, dtype: Any = None) -> Any:
    return np.ones_like(a, dtype)


@adapts("full_like")
def full_like(a: Any, value: Any, dtype: Any = None) -> Any:
    return np.full_like(a, value, dtype)


@adapts("fill")
def fill(a: Any, value: Any) -> Any:
    return np.full_like(a, value)
