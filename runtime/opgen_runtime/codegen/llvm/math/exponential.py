"""exp, exp2, expm1 and what is made of them: sigmoid, sinh, cosh, tanh.

exp(x) = 2**n * exp(r) with n = round(x / ln 2) and r = x - n ln 2, ln 2 in two parts (Cody and Waite 1980).
"""

from __future__ import annotations

from typing import Final

from .builder import Builder, Formula, Vec

# Arguments beyond which the result is 0 or infinity (rounded outwards; the scaling gives the exact limits).
_RANGE = {"float": (-104.5, 89.5), "double": (-746.5, 711.5)}
_RANGE2 = {"float": (-151.0, 129.0), "double": (-1076.0, 1025.0)}


def _reduced(b: Builder, x: Vec, raised: int | None = None) -> tuple[Vec, Vec, Vec]:
    """(r, n, k): exp(x) = 2**n exp(r), and k is n as an integer; `raised` is that of `nearest`."""
    n, k = b.nearest(x, b.constants["log2e"][0], raised=raised)
    high, low = b.constants["ln2"]
    return b.fma(n, -low, b.fma(n, -high, x)), n, k


def _power(b: Builder, r: Vec) -> Vec:
    """exp(r) = 1 + r (1 + r P(r))."""
    return b.fma(b.fma(b.polynomial(r, b.polynomials["exp"]), r, 1.0), r, 1.0)


def _power_less_one(b: Builder, r: Vec) -> Vec:
    """exp(r) - 1 = r + r**2 P(r)."""
    return b.fma(r * r, b.polynomial(r, b.polynomials["exp"]), r)


def exp(b: Builder, x: Vec) -> Vec:
    """Less than 1 ULP."""
    r, n, k = _reduced(b, b.minimum(b.maximum(x, _RANGE[b.element][0]), _RANGE[b.element][1]))
    return b.scale(_power(b, r), n, k)


def exp_normal(b: Builder, x: Vec) -> Vec:
    """exp(x) of x that is known to give a normal number."""
    r, n, k = _reduced(b, x, raised=b.bias)
    return b.scale_normal(_power(b, r), n, k)


def exp_half(b: Builder, x: Vec) -> Vec:
    """exp(x) / 2 without an overflow between."""
    r, n, k = _reduced(b, b.minimum(b.maximum(x, _RANGE[b.element][0]), _RANGE[b.element][1] + 1.0))
    return b.scale(_power(b, r), n - 1.0, k - 1)


def exp2(b: Builder, x: Vec) -> Vec:
    x = b.minimum(b.maximum(x, _RANGE2[b.element][0]), _RANGE2[b.element][1])
    n, k = b.nearest(x, 1.0)
    fraction = x - n
    high, low = b.constants["ln2_rounded"]
    return b.scale(_power(b, b.fma(fraction, high, fraction * low)), n, k)


def _expm1_normal(b: Builder, x: Vec) -> Vec:
    """exp(x) - 1 for x at least -40 or so, and below the overflow of 2**n."""
    r, _, k = _reduced(b, x, raised=b.bias)
    power = b.power_of_two(k)
    return b.fma(power, _power_less_one(b, r), power - 1.0)


def expm1(b: Builder, x: Vec) -> Vec:
    """2**n (exp(r) - 1) + (2**n - 1); the sign of zero is kept by the select."""
    low, high = {"float": (-18.0, 30.0), "double": (-39.0, 60.0)}[b.element]
    inside = _expm1_normal(b, b.minimum(b.maximum(x, low), high))
    large = b.select(x > high, exp(b, x), inside)
    return b.select(x.equals(0.0), x, large)


def sigmoid(b: Builder, x: Vec) -> Vec:
    """2**n / (2**n + exp(-r)): nothing overflows, denormals stay.

    One correction of a quotient q by the residual 2**n - q 2**n - q - q (exp(-r) - 1): the denominator, which is
    rounded, is needed to a few bits only.  2**n is made of a greater power, which is a normal number for every n.
    """
    low, high = {"float": (-105.0, 20.0), "double": (-747.0, 40.0)}[b.element]
    greater = b.bias // 4
    r, _, k = _reduced(b, b.minimum(b.maximum(x, low), high), raised=b.bias + greater)
    power, rest = b.power_of_two(k + greater) * 2.0**-greater, _power_less_one(b, -r)
    inverse = b.inverse_estimate(power + 1.0 + rest)
    quotient = power * inverse
    residual = b.fused(-quotient, rest, b.fused(-quotient, power, power - quotient))
    return b.fma(residual, inverse, quotient)


def tanh(b: Builder, x: Vec) -> Vec:
    """-E / (E + 1), E = (exp(-2 |x|) - 1) / 2 = h (exp(r) - 1) + (h - 1/2) with h = 2**n / 2, r = -2 |x| - n ln 2.

    q = E / (E + 1) is corrected by the residual E - q - q E, with E's own rounding: near 0 every error of E counts.
    ln 2 in one part is enough where its error is multiplied by n and divided by 2**n.
    """
    double = b.maximum(-b.abs(x + x), {"float": -19.0, "double": -40.0}[b.element])
    n, k = b.nearest(double, b.constants["log2e"][0], raised=b.bias - 1)
    rest, half = _power_less_one(b, b.fma(n, -b.constants["ln2_rounded"][0], double)), b.power_of_two(k - 1)
    most = half - 0.5
    e = b.fma(half, rest, most)
    inverse = b.inverse_estimate(e + 1.0)
    quotient = e * inverse
    residual = b.fused(-quotient, e, e - quotient) + b.fused(half, rest, most - e)
    return b.copysign(b.fma(residual, inverse, quotient), x)


def sinh(b: Builder, x: Vec) -> Vec:
    """(E + E / (E + 1)) / 2, E = expm1(|x|); exp(|x|)/2 where the other term is below rounding."""
    magnitude = b.abs(x)
    limit = {"float": 18.0, "double": 40.0}[b.element]
    e = _expm1_normal(b, b.minimum(magnitude, limit))
    small = 0.5 * (e + e / (e + 1.0))
    return b.copysign(b.select(magnitude > limit, exp_half(b, magnitude), small), x)


def cosh(b: Builder, x: Vec) -> Vec:
    """h + 1 / (4 h), h = exp(|x|) / 2."""
    half = exp_half(b, b.abs(x))
    return half + 0.25 / half


FORMULAS: Final[dict[str, Formula]] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "sinh": sinh,
    "cosh": cosh,
}
