"""pow, rsqrt and cbrt.

pow(x, y) = exp(y log|x|), the logarithm and the product as unevaluated sums of two doubles (Dekker 1971); for
float32 the logarithm in double is exact enough by itself.
"""

from __future__ import annotations

import math
from typing import Final

from .builder import Builder, Formula, Vec
from .logarithm import split


def rsqrt(b: Builder, x: Vec) -> Vec:
    """1 / sqrt(x): two roundings."""
    return 1.0 / b.sqrt(x)


# A third of a number's exponent and fraction, read as one integer, is near that of its cube root (W. Kahan): what the
# upper 32 bits lack, 2/3 of the bias, less 3.3% that share the error between both sides.
_OFFSET = {"float": 709958130.0, "double": 715094163.0}


def _near_cbrt(b: Builder, a: Vec) -> Vec:
    """cbrt(a) for positive normal a, to 6%."""
    single = b.element == "float"
    upper = a.bits() if single else b.cast("trunc", a.bits() >> 32, "i32")
    third = b.cast("fptosi", b.cast("sitofp", upper, b.element) * (1 / 3) + _OFFSET[b.element], "i32")
    return (third if single else b.cast("zext", third, "i64") << 32).as_float()


def cbrt(b: Builder, x: Vec) -> Vec:
    """Halley's iteration twice (6% to 2e-4 to 4e-12), then Newton's with the cube's rounding error taken in."""
    steps = {"float": 32, "double": 64}[b.element]  # out of where the rounding errors below are denormal
    magnitude = b.abs(x)
    tiny = magnitude < 2.0 ** (2 * b.mantissa + 10 - b.bias)
    a = b.select(tiny, magnitude * 2.0 ** (3 * steps), magnitude)
    r = _near_cbrt(b, a)
    quarter = 0.25 * a  # as of the cube, which may overflow
    for _ in range(2):
        cube = r * r * (0.25 * r)
        r = r * ((cube + (quarter + quarter)) / ((cube + cube) + quarter))
    square = r * r
    residual = b.fused(-square, 0.25 * r, quarter) - b.product_error(r, r, square) * (0.25 * r)
    r = b.fma(residual / square, 4 / 3, r)
    r = b.select(tiny, r * 2.0**-steps, r)
    return b.select((a > 0.0) & (a < math.inf), b.copysign(r, x), x)


def power(b: Builder, x: Vec, y: Vec) -> Vec:
    """x ** y with C99's special values."""
    if b.element == "float":
        d = b.within("double")
        wide = _magnitude(d, d.abs(b.cast("fpext", x, "double")), b.cast("fpext", y, "double"), paired=False)
        magnitude = b.cast("fptrunc", wide, "float")
    else:
        magnitude = _magnitude(b, b.abs(x), y, paired=True)
    return _special(b, x, y, magnitude)


def _magnitude(d: Builder, a: Vec, y: Vec, *, paired: bool) -> Vec:
    """a ** y for a > 0 and finite y (any value elsewhere), computing in double."""
    tiny = a < 2.0**-1022
    a = d.select(tiny, a * 2.0**52, a)
    k, m = split(d, a)
    k = d.select(tiny, k - 52.0, k)
    high, low = _log_pair(d, k, m) if paired else _log(d, k, m)
    # Beyond these bounds the power overflows or underflows whatever the rest.
    y = d.minimum(d.maximum(y, -(2.0**66)), 2.0**66)
    product = y * high
    rest = d.fma(y, low, d.product_error(y, high, product)) if paired else y * low
    product = d.minimum(d.maximum(product, -800.0), 800.0)
    rest = d.select(d.abs(rest) < 1.0, rest, 0.0)
    n, whole = d.nearest(product, d.constants["log2e"][0])
    ln2_high, ln2_low = d.constants["ln2"]
    r = d.fma(n, -ln2_high, product)
    low_part = d.fma(n, -ln2_low, rest)
    reduced = r + low_part
    left = (r - reduced) + low_part
    tail = d.fma(reduced * reduced, d.polynomial(reduced, d.polynomials["exp"]), left)
    head = 1.0 + reduced
    return d.scale(head + (((1.0 - head) + reduced) + tail), n, whole)


def _log(d: Builder, k: Vec, m: Vec) -> tuple[Vec, Vec]:
    """log(2**k m) to about 2**-52 of itself."""
    f = m - 1.0
    s = f / (m + 1.0)
    z = s * s
    rest = z * d.polynomial(z, d.polynomials["log_atanh"])
    half_square = 0.5 * f * f
    high, low = d.constants["ln2"]
    return d.fma(k, high, f - (half_square - d.fma(k, low, s * (half_square + rest)))), d.const(0.0)


def _log_pair(d: Builder, k: Vec, m: Vec) -> tuple[Vec, Vec]:
    """log(2**k m) as a sum of two, to about 2**-66 of itself: 2 s + 2/3 s**3 + s**5 P(s**2), s = (m-1)/(m+1)."""
    f, total = m - 1.0, m + 1.0
    total_low = m - (total - 1.0)
    s = f / total
    s_low = (d.fused(-s, total, f) - s * total_low) / total
    z = s * s
    z_low = d.product_error(s, s, z) + 2.0 * s * s_low
    cube = z * s
    cube_low = d.product_error(z, s, cube) + d.fma(z, s_low, z_low * s)
    third, third_low = d.constants["two_thirds"]
    term = cube * third
    term_low = d.product_error(cube, third, term) + d.fma(cube, third_low, cube_low * third)
    rest = cube * z * d.polynomial(z, d.polynomials["log_pair"])
    # 2 s + term, then k ln 2 before it: each first operand is the larger, or zero.
    double = s + s
    head = double + term
    head_low = ((double - head) + term) + (2.0 * s_low + term_low + rest)
    ln2_high, ln2_low = d.constants["ln2"]
    whole = k * ln2_high  # exact
    high = whole + head
    moved = high - whole
    error = (whole - (high - moved)) + (head - moved)
    low = error + d.fma(k, ln2_low, head_low)
    result = high + low
    return result, (high - result) + low


def _special(b: Builder, x: Vec, y: Vec, magnitude: Vec) -> Vec:
    a, size = b.abs(x), b.abs(y)
    zero, inf = b.const(0.0), b.const(math.inf)
    # A base of 0 or infinity, or an infinite exponent: 0, 1 or infinity by the direction.
    grows = (a > 1.0) ^ (y < 0.0)
    extreme = b.select(grows, inf, zero)
    extreme = b.select(a.equals(1.0), b.const(1.0), extreme)
    at_end = a.equals(0.0) | a.equals(math.inf) | size.equals(math.inf)
    result = b.select(at_end, extreme, magnitude)
    whole_y = b.intrinsic("trunc", y)
    is_whole = whole_y.equals(y)
    half = y * 0.5
    odd = is_whole & ~b.intrinsic("trunc", half).equals(half) & (size < 2.0 ** (b.mantissa + 1))
    result = b.select(odd, b.copysign(result, x), result)
    undefined = (x < 0.0) & ~is_whole & (a < math.inf)
    result = b.select(undefined | x.is_nan() | y.is_nan(), b.const(math.nan), result)
    return b.select(x.equals(1.0) | y.equals(0.0), b.const(1.0), result)


FORMULAS: Final[dict[str, Formula]] = {"pow": power, "rsqrt": rsqrt, "cbrt": cbrt}
