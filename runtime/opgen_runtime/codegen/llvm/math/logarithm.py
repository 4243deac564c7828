"""log, log2, log10, log1p and the inverse hyperbolic functions.

x = 2**k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and log(1 + f) = f - f**2/2 + tail(f).  float64 takes the tail
from the series in s = f / (2 + f) as FreeBSD's msun e_log.c does; float32 from a polynomial, without a division.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from .builder import Builder, Formula, Vec

_SQRT_HALF_BITS = {"float": 0x3F3504F3, "double": 0x3FE6A09E667F3BCD}


@dataclass
class _Reduced:
    """log(1 + f) = f - half_square + tail, for the argument 2**k (1 + f); k as floats."""

    k: Vec
    f: Vec
    half_square: Vec
    tail: Vec


def split(b: Builder, x: Vec) -> tuple[Vec, Vec]:
    """(k, 1 + f) for positive normal x."""
    shifted = x.bits() - _SQRT_HALF_BITS[b.element]
    k = shifted >> b.mantissa
    scaled = (x.bits() - (k << b.mantissa)).as_float()
    return b.cast("sitofp", k, b.element), scaled


def _reduced(b: Builder, x: Vec, *, denormals: bool = True) -> _Reduced:
    if denormals:
        tiny = x < 2.0 ** (1 - b.bias)
        x = b.select(tiny, x * 2.0**b.mantissa, x)
    k, scaled = split(b, x)
    if denormals:
        k = b.select(tiny, k - float(b.mantissa), k)
    f = scaled - 1.0
    half_square = 0.5 * f * f
    if b.element == "float":
        return _Reduced(k, f, half_square, f * f * f * b.polynomial(f, b.polynomials["log"]))
    s = f / (f + 2.0)
    z = s * s
    rest = z * b.polynomial(z, b.polynomials["log_atanh"])
    return _Reduced(k, f, half_square, s * (half_square + rest))


def _special(b: Builder, x: Vec, y: Vec) -> Vec:
    """Zeros give -inf, negative numbers NaN, infinity and NaN themselves."""
    y = b.select(x < math.inf, y, x)
    y = b.select(x > 0.0, y, b.select(x.equals(0.0), b.const(-math.inf), x + math.nan))
    return y


def _log(b: Builder, part: _Reduced, correction: Vec | None = None) -> Vec:
    high, low = b.constants["ln2"]
    tail = b.fma(part.k, low, part.tail if correction is None else part.tail + correction)
    return b.fma(part.k, high, part.f - (part.half_square - tail))


def log(b: Builder, x: Vec) -> Vec:
    return _special(b, x, _log(b, _reduced(b, x)))


def _scaled_log(b: Builder, part: _Reduced, factor: tuple[float, ...]) -> tuple[Vec, Vec]:
    """log(1 + f) * factor as a sum of two."""
    high = part.f - part.half_square
    low = ((part.f - high) - part.half_square) + part.tail
    product = high * factor[0]
    error = b.product_error(high, factor[0], product)
    return product, error + b.fma(high, factor[1], low * factor[0])


def log2(b: Builder, x: Vec) -> Vec:
    part = _reduced(b, x)
    product, error = _scaled_log(b, part, b.constants["log2e"])
    total = part.k + product
    return _special(b, x, total + (error + ((part.k - total) + product)))


def log10(b: Builder, x: Vec) -> Vec:
    part = _reduced(b, x)
    product, error = _scaled_log(b, part, b.constants["log10e"])
    high, low = b.constants["log10_2"]
    exponent = part.k * high
    total = exponent + product
    rest = error + b.fma(part.k, low, (exponent - total) + product)
    return _special(b, x, total + rest)


def log1p(b: Builder, x: Vec) -> Vec:
    """log(u) + (1 + x - u) / u with u = 1 + x rounded; at x = -1 u is 0, and zeros are kept."""
    u = 1.0 + x
    rounded_off = b.select(x > 1.0, 1.0 - (u - x), x - (u - 1.0))
    y = _log(b, _reduced(b, u, denormals=False), rounded_off / u)
    y = b.select(b.abs(x) < 2.0 ** -(b.mantissa + 2), x, y)
    return _special(b, u, y)


def asinh(b: Builder, x: Vec) -> Vec:
    """log1p(a + a**2 / (1 + sqrt(a**2 + 1))), a = |x|; log(a) + log 2 where a**2 is all there is."""
    a = b.abs(x)
    limit = 2.0 ** (b.mantissa // 2 + 2)
    bounded = b.minimum(a, limit)
    square = bounded * bounded
    argument = bounded + square / (1.0 + b.sqrt(square + 1.0))
    return b.copysign(_log_or_log1p(b, a > limit, a, argument), x)


def acosh(b: Builder, x: Vec) -> Vec:
    """log1p(t + sqrt(t (t + 2))), t = x - 1; NaN below 1."""
    limit = 2.0 ** (b.mantissa // 2 + 2)
    t = b.minimum(x, limit) - 1.0
    y = _log_or_log1p(b, x > limit, x, t + b.sqrt(t * (t + 2.0)))
    return b.select(x >= 1.0, y, b.const(math.nan))


def _log_or_log1p(b: Builder, large: Vec, x: Vec, argument: Vec) -> Vec:
    """log(x) + log(2) where `large`, else log1p(argument); one logarithm is computed."""
    argument = b.select(large, b.const(0.0), argument)
    u = 1.0 + argument
    rounded_off = b.select(argument > 1.0, 1.0 - (u - argument), argument - (u - 1.0)) / u
    part = _reduced(b, b.select(large, x, u), denormals=False)
    part.k = b.select(large, part.k + 1.0, part.k)
    y = _log(b, part, rounded_off)
    y = b.select(b.abs(argument) < 2.0 ** -(b.mantissa + 2), b.select(large, y, argument), y)
    return b.select(x < math.inf, y, x)


def atanh(b: Builder, x: Vec) -> Vec:
    """log1p(2 a / (1 - a)) / 2, a = |x|; infinity at 1, NaN beyond."""
    a = b.abs(x)
    y = 0.5 * log1p(b, (a + a) / (1.0 - a))
    y = b.select(a < 2.0 ** -(b.mantissa // 2 + 3), a, y)
    return b.copysign(b.select(a > 1.0, b.const(math.nan), y), x)


FORMULAS: Final[dict[str, Formula]] = {
    "log": log,
    "log2": log2,
    "log10": log10,
    "log1p": log1p,
    "asinh": asinh,
    "acosh": acosh,
    "atanh": atanh,
}
