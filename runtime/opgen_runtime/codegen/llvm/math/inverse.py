"""atan, atan2, asin, acos."""

from __future__ import annotations

import math
from typing import Final

from .builder import Builder, Formula, Vec

_TAN_3_PI_8, _TAN_PI_8 = 1.0 + math.sqrt(2.0), math.sqrt(2.0) - 1.0


def _atan_of(b: Builder, numerator: Vec, denominator: Vec) -> Vec:
    """atan(numerator / denominator), both positive.

    Above tan(3 pi/8): pi/2 + atan(-d/n); above tan(pi/8): pi/4 + atan((n - d)/(n + d)) (Cephes, S. Moshier).
    """
    large, middle = numerator > denominator * _TAN_3_PI_8, numerator > denominator * _TAN_PI_8
    above = b.select(large, -denominator, b.select(middle, numerator - denominator, numerator))
    below = b.select(large, numerator, b.select(middle, numerator + denominator, denominator))
    return _atan_from(b, above / below, large, middle)


def _atan_from(b: Builder, t: Vec, large: Vec, middle: Vec) -> Vec:
    square = t * t
    half_pi, quarter_pi = b.constants["half_pi"], b.constants["quarter_pi"]
    offset, offset_low = (
        b.select(large, b.const(half_pi[part]), b.select(middle, b.const(quarter_pi[part]), 0.0))
        for part in (0, 1)
    )
    rest = square * b.polynomial(square, b.polynomials["atan"])
    return offset + (b.fma(rest, t, offset_low) + t)


def atan(b: Builder, x: Vec) -> Vec:
    return b.copysign(_atan_of(b, b.abs(x), b.const(1.0)), x)


def atan2(b: Builder, y: Vec, x: Vec) -> Vec:
    """The angle of (x, y), with C99's values for zeros and infinities; NaN if either is NaN.

    Both are first scaled by one power of two, so that their sum does not overflow and a quotient that is a
    normal number does not come from denormals.
    """
    high, wide = b.abs(y), b.abs(x)
    infinite = (high >= math.inf) & (wide >= math.inf)
    ones = b.const(1.0)
    high, wide = b.select(infinite, ones, high), b.select(infinite, ones, wide)
    largest = b.select(high > wide, high, wide)
    down, up = largest > 2.0 ** (b.bias - 4), largest < 2.0 ** -(b.bias // 2)
    factor = b.select(down, b.const(2.0**-8), b.select(up, b.const(2.0 ** (b.bias // 2)), 1.0))
    empty = (wide.equals(0.0)) & (high.equals(0.0))
    angle = _atan_of(b, high * factor, b.select(empty, ones, wide * factor))
    # A quotient without its denominator's infinity: atan2(1, inf) is 0 (inf - 1 over inf + 1 is not).
    angle = b.select(wide >= math.inf, b.select(high.is_nan(), high, b.const(0.0)), angle)
    angle = b.select(infinite, b.const(math.pi / 4), angle)
    negative = x.bits() < 0
    pi_high, pi_low = b.constants["pi"][:2]
    angle = b.select(negative, pi_high - (angle - pi_low), angle)
    angle = b.select(wide.is_nan(), x, angle)
    return b.copysign(angle, y)


def _asin_tail(b: Builder, square: Vec) -> Vec:
    """(asin(s) - s) / s for s**2 = square at most 1/4."""
    return square * b.polynomial(square, b.polynomials["asin"])


def _near_one(b: Builder, a: Vec) -> tuple[Vec, Vec]:
    """(h, l): h + l = asin(sqrt((1 - a)/2)), for 1/2 <= a <= 1; the root's rounding error is in l."""
    z = 0.5 - 0.5 * a
    s = b.sqrt(z)
    low = b.fused(-s, s, z) / (s + s)
    low = b.select(z > 0.0, low, b.const(0.0))
    return s, b.fma(s, _asin_tail(b, z), low)


def asin(b: Builder, x: Vec) -> Vec:
    """pi/2 - 2 asin(sqrt((1 - |x|)/2)) above 1/2; NaN beyond 1."""
    a = b.abs(x)
    high, low = _near_one(b, a)
    half_pi = b.constants["half_pi"]
    far = half_pi[0] - ((high + high) - (half_pi[1] - (low + low)))
    near = b.fma(_asin_tail(b, a * a), a, a)
    y = b.select(a > 0.5, far, near)
    return b.copysign(b.select(a > 1.0, b.const(math.nan), y), x)


def acos(b: Builder, x: Vec) -> Vec:
    """2 asin(sqrt((1 - x)/2)) above 1/2, pi minus that of -x below -1/2, pi/2 - asin(x) between."""
    a = b.abs(x)
    high, low = _near_one(b, a)
    pi, half_pi = b.constants["pi"], b.constants["half_pi"]
    above = 2.0 * (high + low)
    below = pi[0] - (2.0 * high - (pi[1] - 2.0 * low))
    rest = _asin_tail(b, a * a)
    middle = half_pi[0] - (x - (half_pi[1] - x * rest))
    y = b.select(a > 0.5, b.select(x > 0.0, above, below), middle)
    return b.select(a > 1.0, b.const(math.nan), y)


FORMULAS: Final[dict[str, Formula]] = {"asin": asin, "acos": acos, "atan": atan, "atan2": atan2}
