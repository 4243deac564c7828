"""exp, exp2, expm1 and what is made of them: sigmoid, sinh, cosh, tanh.

exp(x) = 2**n * exp(r) with n = round(x / ln 2) and r = x - n ln 2, ln 2 in two parts (Cody and Waite 1980).
"""

from __future__ import annotations

from typing import Final

from .builder import Builder, Formula, Vec

# Arguments beyond which the result is 0 or infinity (rounded outwards; the scaling gives the exact limits).
_RANGE = {"float": (-104.5, 89.5), "double": (-746.5, 711.5)}
_TANH_SEAM = 0.4
_RANGE2 = {"float": (-151.0, 129.0), "double": (-1076.0, 1025.0)}


def _reduced(b: Builder, x: Vec) -> tuple[Vec, Vec, Vec, Vec]:
    """(r, r**2 P(r), n, k): exp(r) = 1 + r + r**2 P(r), and n, k the exponent as float and integer."""
    n, k = b.nearest(x, b.constants["log2e"][0])
    high, low = b.constants["ln2"]
    r = b.fma(n, -low, b.fma(n, -high, x))
    return r, r * r * b.polynomial(r, b.polynomials["exp"]), n, k


def exp(b: Builder, x: Vec) -> Vec:
    """Less than 1 ULP."""
    r, tail, n, k = _reduced(b, b.minimum(b.maximum(x, _RANGE[b.element][0]), _RANGE[b.element][1]))
    return b.scale(1.0 + (r + tail), n, k)


def exp_half(b: Builder, x: Vec) -> Vec:
    """exp(x) / 2 without an overflow between."""
    r, tail, n, k = _reduced(b, b.minimum(b.maximum(x, _RANGE[b.element][0]), _RANGE[b.element][1] + 1.0))
    return b.scale(1.0 + (r + tail), n - 1.0, k - 1)


def exp2(b: Builder, x: Vec) -> Vec:
    x = b.minimum(b.maximum(x, _RANGE2[b.element][0]), _RANGE2[b.element][1])
    n, k = b.nearest(x, 1.0)
    fraction = x - n
    high, low = b.constants["ln2_rounded"]
    r = b.fma(fraction, high, fraction * low)
    tail = r * r * b.polynomial(r, b.polynomials["exp"])
    return b.scale(1.0 + (r + tail), n, k)


def _expm1_normal(b: Builder, x: Vec) -> Vec:
    """exp(x) - 1 for x at least -40 or so, and below the overflow of 2**n."""
    r, tail, _, k = _reduced(b, x)
    power = b.power_of_two(k)
    return b.fma(power, r + tail, power - 1.0)


def expm1(b: Builder, x: Vec) -> Vec:
    """2**n (r + r**2 P(r)) + (2**n - 1); the sign of zero is kept by the select."""
    low, high = {"float": (-18.0, 30.0), "double": (-39.0, 60.0)}[b.element]
    inside = _expm1_normal(b, b.minimum(b.maximum(x, low), high))
    large = b.select(x > high, exp(b, x), inside)
    return b.select(x.equals(0.0), x, large)


def sigmoid(b: Builder, x: Vec) -> Vec:
    """1 / (1 + exp(-|x|)), or exp(-|x|) / (1 + exp(-|x|)) for x < 0: nothing overflows, denormals stay."""
    r, tail, n, k = _reduced(b, b.maximum(-b.abs(x), _RANGE[b.element][0]))
    head = 1.0 + r
    e = b.scale(head + (((1.0 - head) + r) + tail), n, k)
    numerator, denominator = b.select(x < 0.0, e, b.const(1.0)), 1.0 + e
    quotient = numerator / denominator
    # One correction for the rounding of 1 + e; 1/denominator is needed to a few percent only.
    residual = b.fused(-quotient, denominator, numerator) - quotient * (e - (denominator - 1.0))
    return b.fma(residual, b.fma(denominator, -0.5, 1.457), quotient)


def tanh(b: Builder, x: Vec) -> Vec:
    """x + x**3 P(x**2) near 0, else E / (E + 2) with E = expm1(2 |x|), whose error counts less than once."""
    square = x * x
    near = b.fma(square * b.polynomial(square, b.polynomials["tanh"]), x, x)
    limit = {"float": 9.5, "double": 20.0}[b.element]
    magnitude = b.minimum(b.abs(x), limit)
    e = _expm1_normal(b, magnitude + magnitude)
    return b.copysign(b.select(b.abs(x) < _TANH_SEAM, near, e / (e + 2.0)), x)


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
