"""Arithmetic, bit operators, intrinsics and conversions of the compute language.

Every function takes static and element values alike: what is static is computed now, with Python's meaning
where the language has none of its own; the rest becomes an expression.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any as AnyType

from ...base import arith
from ...base.arith.expr import Expr, Var
from ...base.errors import DTypeError, LanguageError
from ...base.vocabulary import FLOAT32, FLOAT64, INDEX, INT64, DType
from ..te.tensor import tensors_read
from ..te.widen import Unrounded
from .weak import Value, Weak, as_expr, describe, kind_of, lift

MAX_STATIC_BITS = 4096  # no honest dim or attr comes near; stops runaway static arithmetic
MAX_STATIC_LENGTH = 1 << 20
MAX_COMPLEX_FACTORS = 99  # powers of complex numbers that are products, as numpy's are


def _numbers(name: str, *values: Value) -> bool:
    """True if all are static numbers; False if some are element values; else an error."""
    static = True
    for value in values:
        if isinstance(value, (Expr, Weak)):
            static = False
        elif not isinstance(value, (int, float)):
            raise LanguageError(f"{name} takes numbers, found {describe(value)}", "value")
    return static


def _is_dim(value: Value) -> bool:
    """True of an expression of symbolic dims alone: a number once they have values."""
    if not isinstance(value, Expr) or value.dtype != INDEX or tensors_read(value):
        return False
    return all(node.size for node in arith.post_order(value) if isinstance(node, Var))


def _float_of(value: Value) -> Value:
    """A static int, and a dim, where a float is meant; it is as weak as the literal that it stands for."""
    if type(value) is int:
        return float(value)
    if _is_dim(value):
        return Weak("float", lambda dtype: _dim_as_float(value, dtype))
    return value


def _dim_as_float(dim: Expr, dtype: DType) -> Expr:
    if dtype.is_storage:
        return Unrounded(dtype, _dim_as_float(dim, FLOAT32))
    return arith.cast(arith.cast(dim, FLOAT64), dtype)


def _bounded(value: Value) -> Value:
    if isinstance(value, int) and value.bit_length() > MAX_STATIC_BITS:
        raise LanguageError(
            f"a static integer has {value.bit_length()} bits; the limit is {MAX_STATIC_BITS}", "too-large"
        )
    if isinstance(value, (tuple, str)):
        _bound_length(value, len(value))
    return value


def _bound_length(values: tuple[Value, ...] | str, length: int) -> None:
    if length > MAX_STATIC_LENGTH:
        kind = "text" if isinstance(values, str) else "tuple"
        raise LanguageError(
            f"a static {kind} has {length} entries; the limit is {MAX_STATIC_LENGTH}", "too-large"
        )


# ------------------------------------------------------------------ + - * under the generator's analysis


def checked_add(a: Value, b: Value) -> Value:
    """`a + b` with the limits on static values; also joins two tuples or two texts."""
    if type(a) is int and type(b) is int:
        return _bounded(a + b)
    for kind in (tuple, str):
        if isinstance(a, kind) != isinstance(b, kind):
            raise LanguageError(
                "+ joins two tuples or two texts, or adds two numbers, "
                f"found {describe(a)} and {describe(b)}",
                "value",
            )
    if not isinstance(a, (tuple, str)):
        _numbers("+", a, b)
    return _bounded(a + b)


def checked_sub(a: Value, b: Value) -> Value:
    """`a - b` with the limits on static values."""
    if type(a) is int and type(b) is int:
        return _bounded(a - b)
    _numbers("-", a, b)
    return _bounded(a - b)


def checked_mul(a: Value, b: Value) -> Value:
    """`a * b` with the limits on static values; also repeats a tuple or a text."""
    if type(a) is int and type(b) is int:
        return _bounded(a * b)
    if not isinstance(a, (tuple, str)) and not isinstance(b, (tuple, str)):
        _numbers("*", a, b)
        return _bounded(a * b)
    values, count = (a, b) if isinstance(a, (tuple, str)) else (b, a)
    if isinstance(count, bool) or not isinstance(count, int):
        text = f"* repeats a tuple or a text a static number of times, found {describe(count)}"
        raise LanguageError(text, "stage" if isinstance(count, (Expr, Weak)) else "value")
    _bound_length(values, len(values) * max(count, 0))
    return values * count


def checked_unpack(value: Value, count: int) -> tuple[Value, ...]:
    """The entries of what `a, b = value` takes apart; `count` is the number of names."""
    if not isinstance(value, tuple):
        raise LanguageError(f"{count} names take a tuple of {count}, found {describe(value)}", "value")
    if len(value) != count:
        raise LanguageError(f"{count} names take a tuple of {count}, found {describe(value)}", "rank")
    return value


# ------------------------------------------------------------------ other arithmetic


def div(a: Value, b: Value) -> Value:
    """`a / b` of floats and complex numbers; on static numbers Python's true division."""
    if _numbers("/", a, b):
        if b == 0:
            raise LanguageError("static division by zero", "value")
        return a / b
    a, b = _float_of(a), _float_of(b)
    for value in (a, b):
        if isinstance(value, Expr) and value.dtype.kind not in "fc":
            raise DTypeError(f"/ needs floats, found {value.dtype}; use //, trunc_div, or cast to a float")
    return lift(arith.div, a, b)


def floordiv(a: Value, b: Value) -> Value:
    """`a // b`, rounded down; an int divided by 0 gives 0."""
    if _numbers("//", a, b):
        if b == 0 and isinstance(a, int):
            return 0
        return a // b if b else math.nan
    return lift(arith.floordiv, a, b)


def floormod(a: Value, b: Value) -> Value:
    """`a % b` with the sign of `b`; 0 where an int `b` is 0."""
    if _numbers("%", a, b):
        if b == 0:
            return 0 if isinstance(a, int) and isinstance(b, int) else math.nan
        return a % b
    return lift(arith.floormod, a, b)


def trunc_div(a: Value, b: Value) -> Value:
    """C's integer division (towards zero); by 0 it gives 0."""
    if _numbers("trunc_div", a, b):
        return 0 if b == 0 else int(math.copysign(1, a) * math.copysign(1, b)) * (abs(a) // abs(b))
    return lift(arith.truncdiv, a, b)


def trunc_mod(a: Value, b: Value) -> Value:
    """C's remainder (sign of `a`); 0 where `b` is 0."""
    if _numbers("trunc_mod", a, b):
        return 0 if b == 0 else a - b * trunc_div(a, b)
    return lift(arith.truncmod, a, b)


def power(a: Value, b: Value) -> Value:
    """`a ** b`: floats by `pow`; ints to a static exponent of at least 0 by multiplication (wrapping).

    Complex numbers to a static int by multiplication, to others by logarithm.
    """
    if _numbers("**", a, b):
        if isinstance(a, int) and isinstance(b, int) and b >= 0 and a.bit_length() * b > MAX_STATIC_BITS:
            raise LanguageError(f"static {a} ** {b} is past the limit of {MAX_STATIC_BITS} bits", "too-large")
        try:
            result = a**b
        except (ZeroDivisionError, OverflowError) as error:
            raise LanguageError(f"static {a} ** {b}: {error}", "value") from None
        if isinstance(result, complex):
            raise LanguageError(f"static {a} ** {b} is not real", "value")
        return result
    if isinstance(a, Expr) and a.dtype.is_complex and type(b) is int and abs(b) <= MAX_COMPLEX_FACTORS:
        product = _int_power(a, abs(b))
        return product if b >= 0 else lift(arith.div, 1.0, product)
    if any(not isinstance(value, Expr) and kind_of(value) == "float" for value in (a, b)):
        a, b = _float_of(a), _float_of(b)
    if (isinstance(a, Expr) and a.dtype.is_int) or (isinstance(b, Expr) and b.dtype.is_int):
        return _int_power(a, b)
    return lift(lambda x, y: arith.call("pow", x, y), _float_of(a), _float_of(b))


def _int_power(a: Value, b: Value) -> Value:
    """Square and multiply; a run-time exponent takes one round a bit (a negative one gives 0, or +-1 for
    +-1)."""
    if type(b) is int:
        if b < 0:
            raise LanguageError(f"an integer to the static power {b} is no integer", "value")
        result: Value = as_expr(1, a.dtype)
        base, left = a, b
        while left:
            if left & 1:
                result = base * result
            left >>= 1
            base = base * base if left else base
        return result
    return lift(_power_by_squaring, a, b)


def _power_by_squaring(a: Expr, b: Expr) -> Expr:
    one, zero = arith.const(1, a.dtype), arith.const(0, a.dtype)
    result: Expr = one
    base, exponent = a, b
    for _ in range(min(a.dtype.bits, 64)):
        odd = arith.ne(arith.bit_and(exponent, one), zero)
        result = arith.select(odd, arith.mul(result, base), result)
        base, exponent = arith.mul(base, base), arith.shift_right(exponent, one)
    if not b.dtype.is_signed:
        return result
    inverse = arith.select(arith.eq(a, one), one, zero)
    minus = arith.const(-1, a.dtype)
    odd = arith.ne(arith.bit_and(b, one), zero)
    inverse = arith.select(arith.eq(a, minus), arith.select(odd, minus, one), inverse)
    return arith.select(arith.lt(b, zero), inverse, result)


def _bits(
    name: str, fn: Callable[..., Expr], python: Callable[[AnyType, AnyType], Value]
) -> Callable[..., Value]:
    def apply(a: Value, b: Value) -> Value:
        if _numbers(name, a, b):
            if isinstance(a, float) or isinstance(b, float):
                raise LanguageError(f"{name} takes ints or bools, found a float", "dtype")
            return _bounded(python(a, b))
        for value in (a, b):
            if isinstance(value, Expr) and value.dtype.is_float:
                raise DTypeError(f"{name} takes ints or bools, found {value.dtype}")
        return lift(fn, a, b)

    apply.__doc__ = f"`a {name} b` on ints and bools."
    return apply


def _static_shift_left(a: int, b: int) -> int:
    if b < 0 or b > MAX_STATIC_BITS:
        raise LanguageError(f"static shift by {b}; expected 0..{MAX_STATIC_BITS}", "too-large")
    return a << b


def _static_shift_right(a: int, b: int) -> int:
    if b < 0:
        raise LanguageError(f"static shift by {b}; expected at least 0", "value")
    return a >> b


bit_and = _bits("&", arith.bit_and, lambda a, b: a & b)
bit_or = _bits("|", arith.bit_or, lambda a, b: a | b)
bit_xor = _bits("^", arith.bit_xor, lambda a, b: a ^ b)
shift_left = _bits("<<", arith.shift_left, _static_shift_left)
shift_right = _bits(">>", arith.shift_right, _static_shift_right)


def bit_not(a: Value) -> Value:
    """`~a` on ints (complement) and bools (negation)."""
    if isinstance(a, bool):
        return not a
    if isinstance(a, int):
        return ~a
    if (isinstance(a, Expr) and a.dtype.is_float) or isinstance(a, float):
        raise DTypeError(f"~ takes ints or bools, found {describe(a)}")
    return lift(arith.bit_not, a)


# ------------------------------------------------------------------ intrinsics


def intrinsic(name: str, *args: Value) -> Value:
    """An element function (`arith.INTRINSICS`)."""
    row = arith.INTRINSICS[name]
    if len(args) != row.arity:
        raise LanguageError(
            f"{name} takes {row.arity} operand{'s' * (row.arity > 1)}, found {len(args)}", "value"
        )
    of_floats = row.takes == "float"
    if _numbers(name, *args) and of_floats and row.number is not None:
        try:
            return row.number(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            return Weak(
                "float", lambda dtype: arith.call(name, *(arith.literal(float(a), dtype) for a in args))
            )
    values = tuple(_float_of(v) if of_floats else v for v in args)
    for value in values:
        of_complex = isinstance(value, Expr) and value.dtype.is_complex and name in arith.OF_COMPLEX
        needed = row.why_not(value.dtype) if isinstance(value, Expr) and not of_complex else None
        if needed is not None and row.takes != "number":
            hint = "; use cast" if of_floats else ""
            raise DTypeError(f"{name} takes {needed.split()[1]}s, found {value.dtype}{hint}")
    found = lift(lambda *operands: arith.call(name, *operands), *values)
    return found.make(FLOAT64) if row.gives_bool and isinstance(found, Weak) else found


def real(a: Value) -> Value:
    """The real part of a complex number."""
    return arith.part(_complex_operand("real", a), 0)


def imag(a: Value) -> Value:
    """The imaginary part of a complex number."""
    return arith.part(_complex_operand("imag", a), 1)


def complex_(real_part: Value, imag_part: Value) -> Value:
    """The complex number of two parts, both float32 or both float64; a literal takes the dtype of the other part."""
    return lift(arith.complex_number, real_part, imag_part)


def _complex_operand(name: str, a: Value) -> Expr:
    if not isinstance(a, Expr) or not a.dtype.is_complex:
        raise DTypeError(f"{name} takes a complex number, found {describe(a)}")
    return a


def absolute(a: Value) -> Value:
    """`abs(a)`; on signed ints the lowest value stays as it is (it wraps); of a complex number its length, a float."""
    if _numbers("abs", a):
        return abs(a)
    if isinstance(a, Expr) and a.dtype.is_complex:
        return arith.modulus(a)
    return intrinsic("abs", a)


def _float_of_sizes(value: Value) -> Expr | None:
    """A float that symbolic dims alone decide, as a float64: a number once they have values."""
    if not isinstance(value, Weak) or value.kind != "float":
        return None
    made = value.make(FLOAT64)
    symbols = [node for node in arith.post_order(made) if isinstance(node, Var)]
    return made if symbols and all(node.size for node in symbols) and not tensors_read(made) else None


def _rounding(name: str, python: Callable[[float], int]) -> Callable[[Value], Value]:
    def apply(a: Value) -> Value:
        if _numbers(name, a):
            return python(a)
        if isinstance(a, Expr) and a.dtype.is_int:
            return a
        of_sizes = _float_of_sizes(a)
        if of_sizes is not None:
            return arith.cast(arith.call(name, of_sizes), INDEX)
        return intrinsic(name, a)

    apply.__doc__ = f"`{name}(a)`: an int if static or of sizes alone, else of the operand's dtype."
    return apply


floor = _rounding("floor", math.floor)
ceil = _rounding("ceil", math.ceil)
round_ = _rounding("round", round)
trunc = _rounding("trunc", math.trunc)


def reinterpret(a: Value, dtype: DType) -> Value:
    """The bits of `a` read as `dtype`, which must have the same width."""
    expr = as_expr(a, INT64)
    if expr.dtype.bits != dtype.bits:
        raise DTypeError(f"cannot read the bits of {expr.dtype} as {dtype}: the widths differ")
    return arith.bitcast(expr, dtype)


def to_int(a: Value) -> Value:
    """Static `int(a)`; element values use `cast`."""
    if isinstance(a, (Expr, Weak)) and not (isinstance(a, Expr) and a.dtype == INDEX):
        raise LanguageError("int() takes a static value; use cast(x, int64) on element values", "stage")
    return a if isinstance(a, Expr) else int(a)


def to_float(a: Value) -> Value:
    """Static `float(a)`; element values use `cast`."""
    if _is_dim(a):
        return _float_of(a)
    if isinstance(a, (Expr, Weak)):
        raise LanguageError("float() takes a static value; use cast(x, float32) on element values", "stage")
    if kind_of(a) == "bool":
        raise LanguageError("float() takes a number, found a bool", "value")
    return float(a)
