"""Sums, products and quotients of complex numbers, from their parts, with numpy's order of operations.

A product is the plain one of four real products, so that one of an infinity may be NaN, as numpy's is; a quotient
is Smith's (Algorithm 116: Complex division, Communications of the ACM 5, 1962).
"""

from __future__ import annotations

import math

from .build import (
    add,
    div,
    eq,
    ge,
    logical_and,
    logical_or,
    maximum,
    minimum,
    mul,
    register_complex,
    select,
    sub,
)
from .build import call as real_call
from .expr import Complex, Expr, Part
from .literals import complex_number, const, part
from .printer import register_printer


def _add(x: Expr, y: Expr) -> Expr:
    return complex_number(add(part(x, 0), part(y, 0)), add(part(x, 1), part(y, 1)))


def _sub(x: Expr, y: Expr) -> Expr:
    return complex_number(sub(part(x, 0), part(y, 0)), sub(part(x, 1), part(y, 1)))


def _mul(x: Expr, y: Expr) -> Expr:
    (a, b), (c, d) = parts(x), parts(y)
    return complex_number(sub(mul(a, c), mul(b, d)), add(mul(a, d), mul(b, c)))


def _div(x: Expr, y: Expr) -> Expr:
    """By the greater part of the divisor; by zero each part of `x` is divided by 0."""
    (a, b), (c, d) = parts(x), parts(y)
    real_size, imag_size = real_call("abs", c), real_call("abs", d)
    is_zero = logical_and(eq(real_size, 0.0), eq(imag_size, 0.0))
    ratio = div(d, c)
    scale = div(1.0, add(c, mul(d, ratio)))
    by_real = mul(add(a, mul(b, ratio)), scale), mul(sub(b, mul(a, ratio)), scale)
    ratio = div(c, d)
    scale = div(1.0, add(d, mul(c, ratio)))
    by_imag = mul(add(mul(a, ratio), b), scale), mul(sub(mul(b, ratio), a), scale)
    quotients = [
        select(is_zero, div(whole, real_size), select(ge(real_size, imag_size), first, second))
        for whole, first, second in zip((a, b), by_real, by_imag, strict=True)
    ]
    return complex_number(*quotients)


def modulus(x: Expr) -> Expr:
    """The absolute value, without overflow: infinite where one part is, even beside NaN (C99, Annex G)."""
    sizes = [real_call("abs", each) for each in parts(x)]
    high, low = maximum(*sizes), minimum(*sizes)
    ratio = div(low, high)
    length = mul(high, real_call("sqrt", add(mul(ratio, ratio), 1.0)))
    infinite = logical_or(*[real_call("isinf", each) for each in sizes])
    return select(infinite, const(math.inf, high.dtype), select(eq(high, 0.0), high, length))


def parts(x: Expr) -> tuple[Expr, Expr]:
    """The real and the imaginary part."""
    return part(x, 0), part(x, 1)


for _name, _fn in (("add", _add), ("sub", _sub), ("mul", _mul), ("div", _div)):
    register_complex(_name, _fn)
register_printer(Complex, lambda e, text: f"complex({text(e.real)}, {text(e.imag)})")
register_printer(Part, lambda e, text: f"{('real', 'imag')[e.which]}({text(e.a)})")
