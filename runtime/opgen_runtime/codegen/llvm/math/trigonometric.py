"""sin, cos, tan.

Usual arguments are reduced by pi in three parts with FMA: the first step is exact, as x and n pi[0] are multiples
of the same small power of two (Cody and Waite 1980; Muller et al., Handbook of Floating-Point Arithmetic 11).
"""

from __future__ import annotations

from typing import Final

from ....base import Target
from ..text import ModuleText
from .builder import Builder, Formula, Vec
from .reduction import rare_helper, reduce_huge

_LIMIT = {"float": 2.0**16, "double": 2.0**30}  # larger |x| take the exact reduction


def sin(b: Builder, x: Vec) -> Vec:
    """n = round(x / pi), r = x - n pi, (-1)**n sin(r)."""
    n, k = b.nearest(x, b.constants["inverse_pi"][0])
    y = _signed(b, _sin_wide(b, _subtract(b, x, n, "pi")), k)
    y = b.select(b.abs(x) < 2.0 ** -(b.mantissa // 2 + 2), x, y)
    return _with_huge(b, "sin", x, y)


def cos(b: Builder, x: Vec) -> Vec:
    """n = round(|x| / pi - 1/2) + 1/2, r = |x| - n pi, (-1)**(n + 1/2) sin(r)."""
    n, k = b.nearest(b.abs(x), b.constants["inverse_pi"][0], -0.5)
    r = _subtract(b, b.abs(x), n + 0.5, "pi")
    return _with_huge(b, "cos", x, _signed(b, _sin_wide(b, r), k + 1))


def tan(b: Builder, x: Vec) -> Vec:
    """n = round(2 x / pi), r = x - n pi/2; sin(r)/cos(r), or -cos(r)/sin(r) for odd n."""
    n, k = b.nearest(x, b.constants["two_over_pi"][0])
    r = _subtract(b, x, n, "half_pi")
    sine, cosine = _sin_of(b, r, "sin_narrow"), _cos_of(b, r)
    y = _ratio(b, sine, cosine, k)
    y = b.select(b.abs(x) < 2.0 ** -(b.mantissa // 2 + 2), x, y)
    return _with_huge(b, "tan", x, y)


def _subtract(b: Builder, x: Vec, n: Vec, constant: str) -> Vec:
    """x - n * constant."""
    first, second, third = b.constants[constant]
    r = b.fused(n, -second, b.fused(n, -first, x))
    return b.fma(n, -third, r)


def _sin_of(b: Builder, r: Vec, polynomial: str, low: Vec | None = None) -> Vec:
    square = r * r
    rest = square * b.polynomial(square, b.polynomials[polynomial])
    return b.fma(rest, r, r) if low is None else r + b.fma(rest, r, low)


def _sin_wide(b: Builder, r: Vec) -> Vec:
    """sin(r) for |r| up to pi/2, where rounding could pass 1."""
    return b.maximum(b.minimum(_sin_of(b, r, "sin"), 1.0), -1.0)


def _cos_of(b: Builder, r: Vec, low: Vec | None = None) -> Vec:
    square = r * r
    rest = square * square * b.polynomial(square, b.polynomials["cos_narrow"])
    half = 0.5 * square
    head = 1.0 - half
    rest = ((1.0 - head) - half) + rest
    return head + (rest if low is None else rest - r * low)


def _signed(b: Builder, y: Vec, k: Vec) -> Vec:
    """-y where k is odd."""
    return (y.bits() ^ (k << (b.bias.bit_length() + b.mantissa + 1))).as_float()


def _ratio(b: Builder, sine: Vec, cosine: Vec, k: Vec) -> Vec:
    odd = (k & 1).equals(1)
    return b.select(odd, -cosine, sine) / b.select(odd, sine, cosine)


def _huge(b: Builder, name: str, x: Vec) -> Vec:
    """The function of one element of any size, reduced in double."""
    d = b.within("double")
    wide = x if d is b else b.cast("fpext", x, "double")
    high, low, q = reduce_huge(d, wide)
    sine, cosine = _sin_of(d, high, "sin_narrow", low), _cos_of(d, high, low)
    negative = wide < 0.0
    if name == "tan":
        y = _ratio(d, sine, cosine, q)
        y = d.select(negative, -y, y)
    else:
        q = q + 1 if name == "cos" else q
        y = d.select((q & 1).equals(1), cosine, sine)
        y = d.select((q & 2).equals(2), -y, y)
        y = y if name == "cos" else d.select(negative, -y, y)
    y = y + (wide - wide)  # infinities and NaN give NaN
    return y if d is b else b.cast("fptrunc", y, "float")


def huge_helper(name: str, element: str, target: Target) -> ModuleText:
    """The helper that computes the function for huge arguments."""
    symbol = f"opgen_{name}_huge_{'f32' if element == 'float' else 'f64'}"
    return rare_helper(symbol, element, 1, target, lambda b, x: _huge(b, name, x))


def _with_huge(b: Builder, name: str, x: Vec, usual: Vec) -> Vec:
    symbol = f"opgen_{name}_huge_{'f32' if b.element == 'float' else 'f64'}"
    return b.replace_rare(b.abs(x) > _LIMIT[b.element], symbol, (x,), usual)


FORMULAS: Final[dict[str, Formula]] = {"sin": sin, "cos": cos, "tan": tan}
