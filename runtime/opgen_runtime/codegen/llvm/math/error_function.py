"""erf: x + x P(x**2) near 0, 1 - exp(-t + t Q(t)) with t = |x| elsewhere; erfc: exp(-z**2) P(t) / (1 + 2 z).

The polynomials are fitted.  The second form is N. Juffa's; that of erfc, with z = |x| and t = (z - 3.75) / (z + 3.75),
is of M. M. Shepherd and J. G. Laframboise (Math. Comp. 36, 1981).
"""

from __future__ import annotations

from typing import Final

from .builder import Builder, Formula, Vec
from .exponential import exp, exp_normal

_SEAM = 0.92
_SEAM_COMPLEMENT = 0.5
_CENTRE = 3.75
_ZERO = {"float": 10.2, "double": 27.3}  # from here on erfc rounds to 0
_ONE = {"float": 3.95, "double": 5.95}  # from here on erf rounds to 1


def _near(b: Builder, x: Vec) -> Vec:
    return b.fma(x, b.polynomial(x * x, b.polynomials["erf_small"]), x)


def erf(b: Builder, x: Vec) -> Vec:
    """Less than 1.5 ULP."""
    near = _near(b, x)
    t = b.minimum(b.abs(x), _ONE[b.element])
    far = 1.0 - exp_normal(b, b.fma(t, b.polynomial(t, b.polynomials["erf_large"]), -t))
    return b.select(b.abs(x) < _SEAM, near, b.copysign(far, x))


def erfc(b: Builder, x: Vec) -> Vec:
    """Less than 5 ULP, and no cancellation: what the rounding of z**2 in exp(-z**2) leaves out is made up for."""
    z = b.minimum(b.abs(x), _ZERO[b.element])
    square = z * z
    rest = b.fused(z, z, -square)
    scaled = b.polynomial((z - _CENTRE) / (z + _CENTRE), b.polynomials["erfcx"]) / b.fma(z, 2.0, 1.0)
    tail = exp(b, -square) * b.fma(-rest, scaled, scaled)
    far = b.select(x < 0.0, 2.0 - tail, tail)
    return b.select(b.abs(x) < _SEAM_COMPLEMENT, 1.0 - _near(b, x), far)


FORMULAS: Final[dict[str, Formula]] = {"erf": erf, "erfc": erfc}
