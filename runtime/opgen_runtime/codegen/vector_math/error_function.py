"""erf: x + x P(x**2) near 0, 1 - exp(-t + t Q(t)) with t = |x| elsewhere.

Both polynomials are fitted; the second form is N. Juffa's.
"""

from __future__ import annotations

from .builder import Builder, Vec
from .exponential import exp

_SEAM = 0.92
_ONE = {"float": 3.95, "double": 5.95}  # from here on erf rounds to 1


def erf(b: Builder, x: Vec) -> Vec:
    """Less than 1.5 ULP."""
    square = x * x
    near = b.fma(x, b.polynomial(square, b.polynomials["erf_small"]), x)
    t = b.minimum(b.abs(x), _ONE[b.element])
    far = 1.0 - exp(b, b.fma(t, b.polynomial(t, b.polynomials["erf_large"]), -t))
    return b.select(b.abs(x) < _SEAM, near, b.copysign(far, x))
