"""Operators, comparisons, conditions and intrinsics of the compute language.

Every function takes static and element values alike: what is static is computed now, with Python's meaning
where the language has none of its own; the rest becomes an expression.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any as AnyType

from .. import arith
from ..arith.expr import Expr
from ..errors import DTypeError, LanguageError
from ..te.tensor import Read
from ..vocabulary import BOOL, FLOAT_INTRINSICS, INDEX, INT64, NUMBER_INTRINSICS, DType
from .scope import guarded
from .weak import Value, Weak, as_condition, as_expr, describe, is_static, kind_of, lift

MAX_STATIC_BITS = 4096  # no honest dim or attr comes near; stops runaway static arithmetic
MAX_STATIC_LENGTH = 1 << 20


def _numbers(name: str, *values: Value) -> bool:
    """True if all are static numbers; False if some are element values; else an error."""
    static = True
    for value in values:
        if isinstance(value, Expr | Weak):
            static = False
        elif not isinstance(value, int | float):
            raise LanguageError(f"{name} takes numbers, found {describe(value)}", "value")
    return static


def _bounded(value: Value) -> Value:
    if isinstance(value, int) and value.bit_length() > MAX_STATIC_BITS:
        raise LanguageError(
            f"a static integer has {value.bit_length()} bits; the limit is {MAX_STATIC_BITS}", "too-large"
        )
    if isinstance(value, tuple | str) and len(value) > MAX_STATIC_LENGTH:
        raise LanguageError(
            f"a static tuple has {len(value)} entries; the limit is {MAX_STATIC_LENGTH}", "too-large"
        )
    return value


# ------------------------------------------------------------------ + - * under the generator's analysis


def checked_add(a: Value, b: Value) -> Value:
    """`a + b` with the limits on static values; also joins two tuples."""
    if isinstance(a, tuple) != isinstance(b, tuple):
        raise LanguageError(
            f"+ joins two tuples or adds two numbers, found {describe(a)} and {describe(b)}", "value"
        )
    if not isinstance(a, tuple):
        _numbers("+", a, b)
    return _bounded(a + b)


def checked_sub(a: Value, b: Value) -> Value:
    """`a - b` with the limits on static values."""
    _numbers("-", a, b)
    return _bounded(a - b)


def checked_mul(a: Value, b: Value) -> Value:
    """`a * b` of numbers (not of tuples or text) with the limits on static values."""
    _numbers("*", a, b)
    return _bounded(a * b)


def checked_unpack(value: Value, count: int) -> tuple[Value, ...]:
    """The entries of what `a, b = value` takes apart; `count` is the number of names."""
    if not isinstance(value, tuple):
        raise LanguageError(f"{count} names take a tuple of {count}, found {describe(value)}", "value")
    if len(value) != count:
        raise LanguageError(f"{count} names take a tuple of {count}, found {describe(value)}", "rank")
    return value


# ------------------------------------------------------------------ other arithmetic


def div(a: Value, b: Value) -> Value:
    """`a / b` of floats; on static numbers Python's true division."""
    if _numbers("/", a, b):
        if b == 0:
            raise LanguageError("static division by zero", "value")
        return a / b
    for value in (a, b):
        if isinstance(value, Expr) and not value.dtype.is_float:
            raise DTypeError(f"/ needs floats, found {value.dtype}; use //, trunc_div, or cast to a float")
    return lift(
        arith.div, *(float(v) if isinstance(v, int) and not isinstance(v, bool) else v for v in (a, b))
    )


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
    """`a ** b`: floats by `pow`; ints to a static exponent of at least 0 by multiplication (wrapping)."""
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
    if (isinstance(a, Expr) and a.dtype.is_int) or (isinstance(b, Expr) and b.dtype.is_int):
        return _int_power(a, b)
    return lift(lambda x, y: arith.call("pow", x, y), *(float(v) if type(v) is int else v for v in (a, b)))


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


# ------------------------------------------------------------------ comparisons


def _comparison(
    symbol: str, fn: Callable[..., Expr], python: Callable[[AnyType, AnyType], bool], flipped: str
) -> Callable[..., Value]:
    def apply(a: Value, b: Value) -> Value:
        if not isinstance(a, Expr | Weak) and not isinstance(b, Expr | Weak):
            if _has_symbol(a) or _has_symbol(b):
                return _equal_tuples(a, b, symbol)
            try:
                return bool(python(a, b))
            except TypeError:
                raise LanguageError(f"cannot compare {describe(a)} {symbol} {describe(b)}", "value") from None
        for value in (a, b):
            if not isinstance(value, Expr | Weak | int | float):
                if symbol in ("==", "!="):
                    return symbol == "!="
                raise LanguageError(f"cannot compare {describe(a)} {symbol} {describe(b)}", "value")
        if (
            isinstance(a, Expr)
            and isinstance(b, Expr)
            and a.dtype != b.dtype
            and a.dtype.is_int
            and b.dtype.is_int
        ):
            return _compare_across(a, b, fn, flipped)
        result = lift(fn, a, b)
        if isinstance(result, Weak):
            make = result.make
            operand = (
                INT64
                if result.kind in ("int", "unknown")
                else BOOL
                if result.kind == "bool"
                else DType("float64")
            )
            return make(operand)
        return bool(result.value) if isinstance(result, arith.Const) else result

    apply.__doc__ = f"`a {symbol} b`; exact across integer widths; bool if both are static."
    return apply


def _has_symbol(value: Value) -> bool:
    return isinstance(value, tuple) and not is_static(value)


def _equal_tuples(a: Value, b: Value, symbol: str) -> Value:
    """Equality of tuples that hold symbolic dims or element values, entry by entry."""
    if symbol not in ("==", "!=") or not isinstance(a, tuple) or not isinstance(b, tuple):
        raise LanguageError(f"cannot compare {describe(a)} {symbol} {describe(b)}", "value")
    result: Value = len(a) == len(b)
    for x, y in zip(a, b, strict=False):
        result = both(result, partial(equal, x, y))
    return negate(result) if symbol == "!=" else result


def _compare_across(a: Expr, b: Expr, fn: Callable[..., Expr], flipped: str) -> Expr:
    """Compare ints of different dtypes exactly: in int64, or, against uint64, with the sign looked at
    first."""
    if "uint64" not in (a.dtype, b.dtype):
        return fn(arith.cast(a, INT64), arith.cast(b, INT64))
    unsigned = DType("uint64")
    wide = fn(arith.cast(a, unsigned), arith.cast(b, unsigned))
    if a.dtype.is_signed:  # a negative number is below every unsigned one
        negative, outcome = arith.lt(a, arith.const(0, a.dtype)), flipped in ("less", "ne")
    elif b.dtype.is_signed:
        negative, outcome = arith.lt(b, arith.const(0, b.dtype)), flipped in ("greater", "ne")
    else:
        return wide
    return arith.select(negative, arith.const(outcome, BOOL), wide)


less = _comparison("<", arith.lt, lambda a, b: a < b, "less")
less_equal = _comparison("<=", arith.le, lambda a, b: a <= b, "less")
greater = _comparison(">", arith.gt, lambda a, b: a > b, "greater")
greater_equal = _comparison(">=", arith.ge, lambda a, b: a >= b, "greater")
equal = _comparison("==", arith.eq, lambda a, b: a == b, "eq")
not_equal = _comparison("!=", arith.ne, lambda a, b: a != b, "ne")


def contains(values: Value, x: Value) -> Value:
    """`x in values` for a static tuple or text; an element `x` is compared with each entry."""
    if isinstance(values, str):
        if not isinstance(x, str):
            raise LanguageError(f"`in` a text takes a text, found {describe(x)}", "value")
        return x in values
    result: Value = False
    for value in values:
        result = either(result, partial(equal, x, value))
        if result is True:
            return True
    return result


# ------------------------------------------------------------------ conditions (lazy)


def truth(condition: Value) -> bool:
    """A condition that must be static: of an `if` statement, of a tuple's comprehension.

    Raises LanguageError if it depends on element values or on a symbolic dim.
    """
    found = as_condition(condition, "this condition")
    if isinstance(found, bool):
        return found
    raise LanguageError(
        "this condition must be known when the kernel is built, but it depends on "
        f"{arith.to_text(found)}; use `a if c else b`",
        "stage",
    )


def negate(a: Value) -> Value:
    """`not a`."""
    condition = as_condition(a, "not")
    return not condition if isinstance(condition, bool) else arith.logical_not(condition)


def both(a: Value, b: Callable[[], Value]) -> Value:
    """`a and b`; `b` is built under the guard `a`, and read only where `a` holds."""
    left = as_condition(a, "and")
    if left is False:
        return False
    with guarded(left):
        right = as_condition(b(), "and")
    if isinstance(left, bool):
        return right
    if isinstance(right, bool):
        return left if right else False
    return (
        arith.select(left, right, arith.const(False, BOOL))
        if _reads(right)
        else arith.logical_and(left, right)
    )


def either(a: Value, b: Callable[[], Value]) -> Value:
    """`a or b`; `b` is built, and read, only where `a` does not hold."""
    left = as_condition(a, "or")
    if left is True:
        return True
    with guarded(negate(left)):
        right = as_condition(b(), "or")
    if isinstance(left, bool):
        return right
    if isinstance(right, bool):
        return True if right else left
    return (
        arith.select(left, arith.const(True, BOOL), right) if _reads(right) else arith.logical_or(left, right)
    )


def _reads(expr: Expr) -> bool:
    return any(isinstance(node, Read) for node in arith.post_order(expr))


def select(condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
    """`then if condition else otherwise`: chosen now if the condition is static, else at run time, lazily."""
    chosen = as_condition(condition, "if")
    if isinstance(chosen, bool):
        return then() if chosen else otherwise()
    with guarded(chosen):
        a = then()
    with guarded(arith.logical_not(chosen)):
        b = otherwise()
    return join(chosen, a, b)


def join(condition: Expr, a: Value, b: Value) -> Value:
    """The select of two values of one kind; tuples are joined entry by entry."""
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(join(condition, x, y) for x, y in zip(a, b, strict=True))
    if not isinstance(a, Expr | Weak) and not isinstance(b, Expr | Weak) and type(a) is type(b) and a == b:
        return a
    for value in (a, b):
        if not isinstance(value, Expr | Weak | int | float):
            raise LanguageError(
                f"the branches of a run-time `if` must be numbers, found {describe(value)}", "stage"
            )
    return lift(lambda x, y: arith.select(condition, x, y), a, b)


# ------------------------------------------------------------------ intrinsics

_STATIC_FLOAT: dict[str, Callable[..., float]] = {
    name: getattr(math, name)
    for name in ("exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan",
                 "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "pow", "fmod", "isnan", "isinf",
                 "isfinite", "copysign")
}  # fmt: skip


def intrinsic(name: str, *args: Value) -> Value:
    """An element function of floats (`vocabulary.FLOAT_INTRINSICS`) or of numbers (abs, sign, ...)."""
    arity = FLOAT_INTRINSICS.get(name) or NUMBER_INTRINSICS[name]
    if len(args) != arity:
        raise LanguageError(f"{name} takes {arity} operand{'s' * (arity > 1)}, found {len(args)}", "value")
    if _numbers(name, *args) and name in _STATIC_FLOAT:
        try:
            return _STATIC_FLOAT[name](*args)
        except (ValueError, OverflowError):
            return Weak(
                "float", lambda dtype: arith.call(name, *(arith.const(float(a), dtype) for a in args))
            )
    values = tuple(float(v) if name in FLOAT_INTRINSICS and type(v) is int else v for v in args)
    for value in values:
        if name in FLOAT_INTRINSICS and isinstance(value, Expr) and not value.dtype.is_float:
            raise DTypeError(f"{name} takes floats, found {value.dtype}; use cast")
        if name in ("popcount", "clz") and isinstance(value, Expr) and not value.dtype.is_int:
            raise DTypeError(f"{name} takes integers, found {value.dtype}")
    return lift(lambda *operands: arith.call(name, *operands), *values)


def absolute(a: Value) -> Value:
    """`abs(a)`; on signed ints the lowest value stays as it is (it wraps)."""
    if _numbers("abs", a):
        return abs(a)
    return intrinsic("abs", a)


def _rounding(name: str, python: Callable[[float], int]) -> Callable[[Value], Value]:
    def apply(a: Value) -> Value:
        if _numbers(name, a):
            return python(a)
        if isinstance(a, Expr) and a.dtype.is_int:
            return a
        return intrinsic(name, a)

    apply.__doc__ = f"`{name}(a)`: an int if static, else of the operand's dtype."
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
    if isinstance(a, Expr | Weak) and not (isinstance(a, Expr) and a.dtype == INDEX):
        raise LanguageError("int() takes a static value; use cast(x, int64) on element values", "stage")
    return a if isinstance(a, Expr) else int(a)


def to_float(a: Value) -> Value:
    """Static `float(a)`; element values use `cast`."""
    if isinstance(a, Expr | Weak):
        raise LanguageError("float() takes a static value; use cast(x, float32) on element values", "stage")
    if kind_of(a) == "bool":
        raise LanguageError("float() takes a number, found a bool", "value")
    return float(a)
