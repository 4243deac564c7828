"""erf: x + x P(x**2) near 0, 1 - exp(-t + t Q(t)) with t = |x| elsewhere; erfc: exp(-z**2) P(t) / (1 + 2 z).

The polynomials are fitted.  The second form is N. Juffa's; that of erfc, with z = |x| and t = (z - 3.75) / (z + 3.75),
is of M. M. Shepherd and J. G. Laframboise (Math. Comp. 36, 1981).
"""

from __future__ import annotations

from .builder import Builder, Vec
from .exponential import exp

_SEAM = 0.92
_CENTRE = 3.75
_ZERO = {"float": 10.2, "double": 27.3}  # from here on erfc rounds to 0
_ONE = {"float": 3.95, "double": 5.95}  # from here on erf rounds to 1


def erf(b: Builder, x: Vec) -> Vec:
    """Less than 1.5 ULP."""
    square = x * x
    near = b.fma(x, b.polynomial(square, b.polynomials["erf_small"]), x)
    t = b.minimum(b.abs(x), _ONE[b.element])
    far = 1.0 - exp(b, b.fma(t, b.polynomial(t, b.polynomials["erf_large"]), -t))
    return b.select(b.abs(x) < _SEAM, near, b.copysign(far, x))


def erfc(b: Builder, x: Vec) -> Vec:
    """1 - erf(x) without cancellation: the relative error of exp(-z**2) is that of z**2, so its rounding is made up for."""
    z = b.minimum(b.abs(x), _ZERO[b.element])
    square = z * z
    rest = b.fused(z, z, -square)
    scaled = b.polynomial((z - _CENTRE) / (z + _CENTRE), b.polynomials["erfcx"]) / b.fma(z, 2.0, 1.0)
    tail = exp(b, -square) * b.fma(-rest, scaled, scaled)
    return b.select(x < 0.0, 2.0 - tail, tail)
