"""Division and remainder of integers and floats.

Integer division by zero gives 0 and the least value divided by -1 wraps, as everywhere in the language; no
operand can trap.  LLVM has no vector division of integers, so that narrow ones are divided as floats: the
quotient of integers of at most 16 (32) bits, truncated, is exact in float32 (float64), because a quotient
that is not a whole number differs from one by a relative 2**-16 (2**-32) at least.
"""

from __future__ import annotations

from dataclasses import replace

from ...base.errors import CodegenError
from ...base.vocabulary import BOOL, FLOAT32, FLOAT64, DType
from . import math as vector_math
from .text import FunctionText, Value, constant, register, splat
from .text.types import register_type, suffix


def int_division(f: FunctionText, op: str, a: Value, b: Value, lanes: int) -> Value:
    """floordiv, floormod, truncdiv or truncmod of integers."""
    if op not in ("floordiv", "floormod", "truncdiv", "truncmod"):
        raise CodegenError(f"operation {op!r} is not defined on {a.dtype}")
    divisor = b.uniform.literal if b.uniform is not None else None
    if isinstance(divisor, int):
        return _by_constant(f, op, a, int(divisor), lanes)
    if a.nonnegative and b.nonnegative:
        found = _unsigned(f, op, a, b, lanes)
        return replace(found, clean=a.clean and b.clean, nonnegative=True)
    if not a.dtype.is_signed:
        return _unsigned(f, op, a, b, lanes)
    return _signed(f, op, a, b, lanes)


def _by_constant(f: FunctionText, op: str, a: Value, divisor: int, lanes: int) -> Value:
    dtype, kind = a.dtype, register_type(a.dtype, lanes)
    is_quotient = op.endswith("div")
    if divisor == 0 or (divisor in (1, -1) and not is_quotient):
        return splat(constant(dtype, 0), lanes)
    if divisor == 1:
        return a
    ta = f.vector(a, lanes)
    if divisor == -1:
        return register(dtype, lanes, f.compute(f"sub {kind} {f.vector(constant(dtype, 0), lanes)}, {ta}"))
    known = not dtype.is_signed or (a.nonnegative and divisor > 0)
    power = divisor.bit_length() - 1 if divisor > 0 and divisor & (divisor - 1) == 0 else None
    if power is not None and (known or op.startswith("floor")):
        operand = constant(dtype, power if is_quotient else divisor - 1)
        shift = "lshr" if known else "ashr"
        text = f.compute(f"{shift if is_quotient else 'and'} {kind} {ta}, {f.vector(operand, lanes)}")
        return register(dtype, lanes, text, clean=a.clean, nonnegative=known or not is_quotient)
    td = f.vector(constant(dtype, divisor), lanes)
    sign = "u" if known else "s"
    if op.startswith("trunc") or known:
        text = f.compute(f"{sign}{'div' if is_quotient else 'rem'} {kind} {ta}, {td}")
        return register(dtype, lanes, text, clean=a.clean, nonnegative=known)
    quotient = f.compute(f"sdiv {kind} {ta}, {td}")
    return _floor(f, op, a, ta, td, quotient, lanes)


def _floor(f: FunctionText, op: str, a: Value, ta: str, tb: str, quotient: str, lanes: int) -> Value:
    """Floor quotient or remainder from the truncated quotient, for a divisor that is neither 0 nor -1 by MIN."""
    dtype, kind, flag = a.dtype, register_type(a.dtype, lanes), register_type(BOOL, lanes)
    zero = f.vector(constant(dtype, 0), lanes)
    product = f.compute(f"mul {kind} {quotient}, {tb}")
    remainder = f.compute(f"sub {kind} {ta}, {product}")
    inexact = f.compute(f"icmp ne {kind} {remainder}, {zero}")
    mixed = f.compute(f"xor {kind} {remainder}, {tb}")
    opposite = f.compute(f"icmp slt {kind} {mixed}, {zero}")
    adjust = f.compute(f"and {flag} {inexact}, {opposite}")
    if op == "floordiv":
        extended = f.compute(f"sext {flag} {adjust} to {kind}")
        return register(dtype, lanes, f.compute(f"add {kind} {quotient}, {extended}"))
    moved = f.compute(f"add {kind} {remainder}, {tb}")
    return register(dtype, lanes, f.compute(f"select {flag} {adjust}, {kind} {moved}, {kind} {remainder}"))


def _unsigned(f: FunctionText, op: str, a: Value, b: Value, lanes: int) -> Value:
    """The same of operands of which none is negative."""
    dtype, kind, flag = a.dtype, register_type(a.dtype, lanes), register_type(BOOL, lanes)
    ta, tb = f.vector(a, lanes), f.vector(b, lanes)
    zero, one = f.vector(constant(dtype, 0), lanes), f.vector(constant(dtype, 1), lanes)
    by_zero = f.emit(f"icmp eq {kind} {tb}, {zero}")
    safe = f.emit(f"select {flag} {by_zero}, {kind} {one}, {kind} {tb}")
    result = _quotient(f, dtype, ta, safe, lanes, "u")
    if op.endswith("mod"):
        product = f.emit(f"mul {kind} {result}, {safe}")
        result = f.emit(f"sub {kind} {ta}, {product}")
    return f.result(dtype, lanes, f"select {flag} {by_zero}, {kind} {zero}, {kind} {result}")


def _signed(f: FunctionText, op: str, a: Value, b: Value, lanes: int) -> Value:
    dtype, kind, flag = a.dtype, register_type(a.dtype, lanes), register_type(BOOL, lanes)
    ta, tb = f.vector(a, lanes), f.vector(b, lanes)
    zero, one = f.vector(constant(dtype, 0), lanes), f.vector(constant(dtype, 1), lanes)
    by_zero = f.emit(f"icmp eq {kind} {tb}, {zero}")
    # MIN / -1 wraps to MIN, which is also MIN / 1, and its remainder is 0 either way.
    is_least = f.emit(f"icmp eq {kind} {ta}, {f.vector(constant(dtype, int(dtype.lowest)), lanes)}")
    by_minus_one = f.emit(f"icmp eq {kind} {tb}, {f.vector(constant(dtype, -1), lanes)}")
    overflow = f.emit(f"and {flag} {is_least}, {by_minus_one}")
    unsafe = f.emit(f"or {flag} {by_zero}, {overflow}")
    safe = f.emit(f"select {flag} {unsafe}, {kind} {one}, {kind} {tb}")
    quotient = _quotient(f, dtype, ta, safe, lanes, "s")
    if op.startswith("floor"):
        result = f.vector(_floor(f, op, a, ta, safe, quotient, lanes), lanes)
    elif op == "truncdiv":
        result = quotient
    else:
        product = f.emit(f"mul {kind} {quotient}, {safe}")
        result = f.emit(f"sub {kind} {ta}, {product}")
    return f.result(dtype, lanes, f"select {flag} {by_zero}, {kind} {zero}, {kind} {result}")


def _quotient(f: FunctionText, dtype: DType, ta: str, tb: str, lanes: int, sign: str) -> str:
    """Truncated quotient, signed (`s`) or unsigned (`u`), by a divisor that cannot trap."""
    kind = register_type(dtype, lanes)
    if lanes == 1 or dtype.bits > 32:
        return f.emit(f"{sign}div {kind} {ta}, {tb}")
    wide = register_type(FLOAT32 if dtype.bits <= 16 else FLOAT64, lanes)
    a = f.emit(f"{sign}itofp {kind} {ta} to {wide}")
    b = f.emit(f"{sign}itofp {kind} {tb} to {wide}")
    quotient = f.emit(f"fdiv {wide} {a}, {b}")
    return f.emit(f"fpto{sign}i {wide} {quotient} to {kind}")


def float_division(f: FunctionText, op: str, a: Value, b: Value, lanes: int) -> Value:
    """floordiv, floormod, truncdiv or truncmod of floats.

    The remainder is exact (C's fmod, moved to the divisor's sign for floormod).  The floor quotient follows
    from it, as in Python and numpy, so that 1.0 // 0.1 is 9 although 1.0 / 0.1 rounds to 10, which is what
    truncdiv truncates.
    """
    dtype, kind = a.dtype, register_type(a.dtype, lanes)
    ta, tb = f.vector(a, lanes), f.vector(b, lanes)
    if op not in ("floordiv", "floormod", "truncdiv", "truncmod"):
        raise CodegenError(f"operation {op!r} is not defined on {dtype}")
    if op == "truncdiv":
        quotient = f.emit(f"fdiv {kind} {ta}, {tb}")
        return register(dtype, lanes, f.call(f"llvm.trunc.{suffix(kind)}", kind, ((kind, quotient),)))
    symbol, module = vector_math.function("fmod", dtype, lanes, f.module.target)
    f.module.include(module)
    remainder = f.emit(f"call {kind} @{symbol}({kind} {ta}, {kind} {tb})")
    if op == "truncmod":
        return register(dtype, lanes, remainder)
    flag = register_type(BOOL, lanes)
    inexact = f.emit(f"fcmp une {kind} {remainder}, zeroinitializer")
    negative = f.emit(f"fcmp olt {kind} {remainder}, zeroinitializer")
    negative_divisor = f.emit(f"fcmp olt {kind} {tb}, zeroinitializer")
    opposite = f.emit(f"xor {flag} {negative}, {negative_divisor}")
    adjust = f.emit(f"and {flag} {inexact}, {opposite}")
    if op == "floormod":
        moved = f.emit(f"fadd {kind} {remainder}, {tb}")
        signed = f.emit(f"select {flag} {adjust}, {kind} {moved}, {kind} {remainder}")
        zero = _zero_like(f, kind, tb)
        # A remainder by zero is NaN already, and is not a zero.
        return f.result(dtype, lanes, f"select {flag} {inexact}, {kind} {signed}, {kind} {zero}")
    return register(dtype, lanes, _floor_quotient(f, dtype, lanes, ta, tb, remainder, adjust))


def _zero_like(f: FunctionText, kind: str, sign: str) -> str:
    name = f"llvm.copysign.{suffix(kind)}"
    return f.call(name, kind, ((kind, "zeroinitializer"), (kind, sign)))


def _floor_quotient(
    f: FunctionText, dtype: DType, lanes: int, ta: str, tb: str, remainder: str, adjust: str
) -> str:
    """The floor of a / b from the truncated remainder; `adjust` where it is one less than the truncation.

    By zero it is a / b itself.  The floor of an infinite a is NaN, as in numpy.
    """
    kind, flag = register_type(dtype, lanes), register_type(BOOL, lanes)
    ratio = f.emit(f"fdiv {kind} {ta}, {tb}")
    multiple = f.emit(f"fsub {kind} {ta}, {remainder}")
    near = f.emit(f"fdiv {kind} {multiple}, {tb}")
    lower = f.emit(f"fsub {kind} {near}, {f.vector(constant(dtype, 1.0), lanes)}")
    near = f.emit(f"select {flag} {adjust}, {kind} {lower}, {kind} {near}")
    snapped = f.call(f"llvm.roundeven.{suffix(kind)}", kind, ((kind, near),))
    is_zero = f.emit(f"fcmp oeq {kind} {snapped}, zeroinitializer")
    zero = _zero_like(f, kind, ratio)
    quotient = f.emit(f"select {flag} {is_zero}, {kind} {zero}, {kind} {snapped}")
    by_zero = f.emit(f"fcmp oeq {kind} {tb}, zeroinitializer")
    return f.emit(f"select {flag} {by_zero}, {kind} {ratio}, {kind} {quotient}")
