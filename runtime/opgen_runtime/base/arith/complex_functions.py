"""Element functions of complex numbers, from their parts: C99's values (Annex G) at zeros, infinities and NaN.

Formulas of real functions hold where these are finite; `select` puts the values of Annex G in their place where an
infinity times zero would be NaN.  What overflows before its product with a sine or a cosine does is scaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from .build import (
    add,
    div,
    eq,
    ge,
    gt,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    maximum,
    minimum,
    mul,
    ne,
    negate,
    register_complex,
    select,
    sub,
)
from .build import call as real_call
from .complex_arithmetic import modulus, parts
from .expr import Expr
from .literals import complex_number, const

Pair = tuple[Expr, Expr]


def _exp(z: Expr) -> Expr:
    x, y = parts(z)
    limit, most = _exponents(x)
    above = select(gt(x, limit), const(limit, x.dtype), const(0.0, x.dtype))
    scale = select(gt(x, limit), const(most, x.dtype), const(1.0, x.dtype))
    power = real_call("exp", sub(x, above))
    real, imag = (mul(mul(power, real_call(name, y)), scale) for name in ("cos", "sin"))
    turns = logical_not(real_call("isfinite", y))
    ends = logical_and(turns, real_call("isinf", x))
    real = select(ends, select(gt(x, 0.0), x, const(0.0, x.dtype)), real)
    imag = select(logical_and(ends, lt(x, 0.0)), _copysign(0.0, y), select(eq(y, 0.0), y, imag))
    return complex_number(real, imag)


def _exponents(x: Expr) -> tuple[float, float]:
    """A number whose exponential is finite, near the greatest such one, and that exponential."""
    assert x.dtype.float_format is not None
    limit = float(math.floor(x.dtype.float_format.greatest * math.log(2.0)))
    return limit, math.exp(limit)


def _log(z: Expr) -> Expr:
    """The logarithm of the length, and the angle."""
    x, y = parts(z)
    return complex_number(_log_modulus(z), real_call("atan2", y, x))


def _log_modulus(z: Expr) -> Expr:
    """log(|z|); near 1 from |z|**2 - 1, whose squares are exact sums of two floats, so that nothing is cancelled."""
    sizes = [real_call("abs", each) for each in parts(z)]
    high, low = maximum(*sizes), minimum(*sizes)
    (square, rest), (small, small_rest) = (_squared(each) for each in (high, low))
    both_half = add(sub(square, 0.5), sub(small, 0.5))
    excess = select(ge(small, 0.25), both_half, add(sub(square, 1.0), small))
    near = mul(real_call("log1p", add(excess, add(rest, small_rest))), 0.5)
    ratio = div(low, high)
    far = add(real_call("log", high), mul(real_call("log1p", mul(ratio, ratio)), 0.5))
    value = select(logical_and(ge(high, 0.5), le(high, 2.0)), near, far)
    value = select(eq(high, 0.0), const(-math.inf, high.dtype), value)
    return select(_infinite(sizes), const(math.inf, high.dtype), value)


def _squared(x: Expr) -> Pair:
    """The square as the sum of two floats."""
    square = mul(x, x)
    return square, real_call("fma", x, x, negate(square))


def _infinite(sizes: list[Expr]) -> Expr:
    return logical_or(*[real_call("isinf", each) for each in sizes])


def _log1p(z: Expr) -> Expr:
    """log(1 + z); near 0 from |1 + z|**2 - 1."""
    x, y = parts(z)
    more = add(x, 1.0)
    near = mul(real_call("log1p", add(mul(x, add(x, 2.0)), mul(y, y))), 0.5)
    small = logical_and(lt(real_call("abs", x), 0.25), lt(real_call("abs", y), 0.25))
    return complex_number(
        select(small, near, _log_modulus(complex_number(more, y))), real_call("atan2", y, more)
    )


def _expm1(z: Expr) -> Expr:
    """exp(z) - 1: of its real part, exp(x) cos(y) - 1 is (exp(x) - 1) cos(y) - 2 sin(y / 2)**2."""
    x, y = parts(z)
    half = real_call("sin", mul(y, 0.5))
    near = sub(mul(real_call("expm1", x), real_call("cos", y)), mul(mul(half, half), 2.0))
    real, imag = parts(_exp(z))
    return complex_number(select(lt(real_call("abs", x), 1.0), near, sub(real, 1.0)), imag)


def _sqrt(z: Expr) -> Expr:
    """sqrt((|x| + |z|) / 2) and |y| over twice that, scaled by a power of 4 where |z| has no normal float."""
    x, y = parts(z)
    sizes = [real_call("abs", each) for each in (x, y)]
    high = maximum(*sizes)
    given = x.dtype.float_format
    assert given is not None
    places = given.fraction + 2 + given.fraction % 2
    scale, back = (
        select(
            gt(high, given.highest / 8),
            const(large, x.dtype),
            select(lt(high, given.tiny * 2.0**places), const(tiny, x.dtype), const(1.0, x.dtype)),
        )
        for large, tiny in ((2.0**-4, 2.0**places), (4.0, 2.0 ** (-places // 2)))
    )
    a, b = mul(x, scale), mul(y, scale)
    root = real_call("sqrt", mul(add(real_call("abs", a), modulus(complex_number(a, b))), 0.5))
    other = mul(div(b, add(root, root)), back)
    root = mul(root, back)
    right = ge(x, 0.0)
    real = select(right, root, real_call("abs", other))
    imag = select(right, other, _copysign(root, y))
    zero = eq(high, 0.0)
    endless = real_call("isinf", y)
    real = select(endless, const(math.inf, x.dtype), select(zero, const(0.0, x.dtype), real))
    imag = select(logical_or(endless, zero), y, select(ne(x, x), add(x, y), imag))
    return complex_number(real, imag)


def _copysign(size: Expr | float, sign: Expr) -> Expr:
    return real_call("copysign", size if isinstance(size, Expr) else const(size, sign.dtype), sign)


def _hyperbolic(x: Expr, y: Expr) -> tuple[Pair, Pair]:
    """sinh and cosh of x, each times the cosine and the sine of y."""
    limit, most = _exponents(x)
    size = real_call("abs", x)
    large = gt(size, limit)
    power = real_call("exp", sub(size, limit))
    found: list[Pair] = []
    for name, sign in (("sinh", x), ("cosh", const(1.0, x.dtype))):
        head = select(large, _copysign(power, sign), real_call(name, x))
        tail = select(large, const(most / 2, x.dtype), const(1.0, x.dtype))
        by_cosine, by_sine = (mul(mul(head, real_call(each, y)), tail) for each in ("cos", "sin"))
        found.append((by_cosine, by_sine))
    return found[0], found[1]


def sinh_parts(x: Expr, y: Expr) -> Pair:
    """The parts of sinh(x + iy)."""
    (real, _), (_, imag) = _hyperbolic(x, y)
    turns = logical_not(real_call("isfinite", y))
    real = select(logical_and(turns, eq(x, 0.0)), x, real)
    real = select(logical_and(turns, real_call("isinf", x)), const(math.inf, x.dtype), real)
    return real, select(eq(y, 0.0), y, imag)


def cosh_parts(x: Expr, y: Expr) -> Pair:
    """The parts of cosh(x + iy)."""
    (_, imag), (real, _) = _hyperbolic(x, y)
    turns = logical_not(real_call("isfinite", y))
    real = select(logical_and(turns, real_call("isinf", x)), const(math.inf, x.dtype), real)
    imag = select(eq(y, 0.0), select(ne(x, x), y, mul(_copysign(1.0, x), y)), imag)
    return real, select(logical_and(turns, eq(x, 0.0)), const(0.0, x.dtype), imag)


def tanh_parts(x: Expr, y: Expr) -> Pair:
    """The parts of tanh(x + iy): of large x from exp(-2 |x|), where sinh and cosh of x differ by less than a float."""
    assert x.dtype.float_format is not None
    size = real_call("abs", x)
    large = gt(size, math.ceil((x.dtype.float_format.fraction + 3) / 2 * math.log(2.0)))
    sine, cosine = real_call("sin", y), real_call("cos", y)
    product = mul(sine, cosine)
    inner = select(large, const(0.0, x.dtype), x)
    odd, even = real_call("sinh", inner), real_call("cosh", inner)
    length = add(mul(odd, odd), mul(cosine, cosine))
    small = real_call("exp", negate(size))
    real = select(large, _copysign(1.0, x), div(mul(odd, even), length))
    imag = select(large, mul(mul(mul(product, 4.0), small), small), div(product, length))
    turns = logical_not(real_call("isfinite", y))
    endless = real_call("isinf", x)
    imag = select(endless, _copysign(0.0, select(turns, y, product)), imag)
    real = select(logical_and(turns, eq(x, 0.0)), x, real)
    return real, select(eq(y, 0.0), y, imag)


def _of_parts(fn: Callable[[Expr, Expr], Pair]) -> Callable[[Expr], Expr]:
    return lambda z: complex_number(*fn(*parts(z)))


def _of_rotated(fn: Callable[[Expr, Expr], Pair]) -> Callable[[Expr], Expr]:
    """f(z) as -i g(iz), where g is odd and maps conjugates to conjugates: sin by sinh, tan by tanh."""

    def apply(z: Expr) -> Expr:
        x, y = parts(z)
        return complex_number(*reversed(fn(y, x)))

    return apply


def _cos(z: Expr) -> Expr:
    """cosh(iz)."""
    x, y = parts(z)
    return complex_number(*cosh_parts(negate(y), x))


def _pow(a: Expr, b: Expr) -> Expr:
    """exp(b log(a)); 1 where b is 0, and of 0 itself 0 for real b above 0, else NaN."""
    exponent = parts(b)
    value = parts(_exp(mul(b, _log(a))))
    one, zero, nan = (const(each, exponent[0].dtype) for each in (1.0, 0.0, math.nan))
    to_zero = logical_and(*[eq(each, 0.0) for each in exponent])
    vanishes = logical_and(gt(exponent[0], 0.0), eq(exponent[1], 0.0))
    of_zero = logical_and(*[eq(each, 0.0) for each in parts(a)])
    real, imag = (select(of_zero, select(vanishes, zero, nan), each) for each in value)
    return complex_number(select(to_zero, one, real), select(to_zero, zero, imag))


def _scaled(fn: Callable[[Expr], Expr], factor: float) -> Callable[[Expr], Expr]:
    """Both parts of `fn` times a number."""
    return lambda z: complex_number(*[mul(each, factor) for each in parts(fn(z))])


def _exp2(z: Expr) -> Expr:
    return _exp(complex_number(*[mul(each, math.log(2.0)) for each in parts(z)]))


def _sign(z: Expr) -> Expr:
    """z / |z|, 0 of 0; where one part is infinite the unit that it points to."""
    size = modulus(z)
    found = [select(eq(size, 0.0), const(0.0, size.dtype), div(each, size)) for each in parts(z)]
    for k, (own, other) in enumerate((parts(z), parts(z)[::-1])):
        ends, ends_beside = real_call("isinf", own), real_call("isinf", other)
        found[k] = select(logical_and(ends_beside, logical_not(ends)), const(0.0, size.dtype), found[k])
        found[k] = select(logical_and(ends, logical_not(ends_beside)), _copysign(1.0, own), found[k])
    return complex_number(*found)


def _either(name: str) -> Callable[[Expr], Expr]:
    return lambda z: logical_or(*[real_call(name, each) for each in parts(z)])


OF_COMPLEX: Final[dict[str, Callable[..., Expr]]] = {
    "exp": _exp,
    "exp2": _exp2,
    "expm1": _expm1,
    "log": _log,
    "log2": _scaled(_log, 1 / math.log(2.0)),
    "log10": _scaled(_log, 1 / math.log(10.0)),
    "log1p": _log1p,
    "sqrt": _sqrt,
    "rsqrt": lambda z: div(1.0, _sqrt(z)),
    "sin": _of_rotated(sinh_parts),
    "cos": _cos,
    "tan": _of_rotated(tanh_parts),
    "sinh": _of_parts(sinh_parts),
    "cosh": _of_parts(cosh_parts),
    "tanh": _of_parts(tanh_parts),
    "pow": _pow,
    "sign": _sign,
    "isnan": _either("isnan"),
    "isinf": _either("isinf"),
    "isfinite": lambda z: logical_and(*[real_call("isfinite", each) for each in parts(z)]),
}
for _name, _fn in OF_COMPLEX.items():
    register_complex(_name, _fn)
