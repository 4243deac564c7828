"""Comparisons and conditions of the compute language.

A condition on static values is a Python bool and chooses now; the others become expressions.  `and`, `or` and
`a if c else b` are lazy: what is not chosen is built under its guard, and not read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any as AnyType

from ...base import arith
from ...base.arith.expr import Expr
from ...base.errors import LanguageError, OpenConditionError
from ...base.vocabulary import BOOL, INT64, DType
from ...operator import told
from ..te.tensor import Read
from .ranges import each
from .scope import guarded, static_code
from .weak import Value, Weak, as_condition, describe, is_static, is_text, lift

# ------------------------------------------------------------------ comparisons


def _comparison(
    symbol: str, fn: Callable[..., Expr], python: Callable[[AnyType, AnyType], bool], flipped: str
) -> Callable[..., Value]:
    def apply(a: Value, b: Value) -> Value:
        if type(a) is int and type(b) is int:  # most comparisons of a declaration's static part
            return python(a, b)
        if not isinstance(a, (Expr, Weak)) and not isinstance(b, (Expr, Weak)):
            if _has_symbol(a) or _has_symbol(b):
                return _equal_tuples(a, b, symbol)
            try:
                return bool(python(a, b))
            except TypeError:
                raise LanguageError(f"cannot compare {describe(a)} {symbol} {describe(b)}", "value") from None
        for value in (a, b):
            if not isinstance(value, (Expr, Weak, int, float)):
                if symbol in ("==", "!="):
                    return symbol == "!="
                raise LanguageError(f"cannot compare {describe(a)} {symbol} {describe(b)}", "value")
        for number, other in ((a, b), (b, a)):
            if type(number) is int and _is_beyond(number, other):
                return python(*((number, 0) if number is a else (0, number)))
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
        if isinstance(result, arith.Compare) and arith.is_size(result):
            result = told(result)  # a dim is at least 0, whatever it is
        return bool(result.value) if isinstance(result, arith.Const) else result

    apply.__doc__ = f"`a {symbol} b`; exact across integer widths; bool if both are static."
    return apply


def _is_beyond(number: int, other: Value) -> bool:
    """Whether an int is none that the dtype of an integer expression holds."""
    return (
        isinstance(other, Expr)
        and other.dtype.is_int
        and not other.dtype.lowest <= number <= other.dtype.highest
    )


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


less = _comparison("<", arith.lt, operator.lt, "less")
less_equal = _comparison("<=", arith.le, operator.le, "less")
greater = _comparison(">", arith.gt, operator.gt, "greater")
greater_equal = _comparison(">=", arith.ge, operator.ge, "greater")
equal = _comparison("==", arith.eq, operator.eq, "eq")
not_equal = _comparison("!=", arith.ne, operator.ne, "ne")


def contains(values: Value, x: Value) -> Value:
    """`x in values` for a static tuple or text; an element `x` is compared with each entry."""
    if is_text(values):
        if not is_text(x):
            raise LanguageError(f"`in` a text takes a text, found {describe(x)}", "value")
        return bool(x in values)
    if type(x) is int and type(values) is tuple and all([type(value) is int for value in values]):
        return x in values  # as it comes out below
    result: Value = False
    for value in each(values):
        result = either(result, partial(equal, x, value))
        if result is True:
            return True
    return result


# ------------------------------------------------------------------ conditions (lazy)


def truth(condition: Value) -> bool:
    """A condition that must be static: of an `if` statement, of a tuple's comprehension.

    Raises OpenConditionError if it depends on element values or on a symbolic dim.
    """
    found = condition if type(condition) is bool else as_condition(condition, "this condition")
    if isinstance(found, bool):
        return found
    raise OpenConditionError(
        "this condition must be known when the kernel is built, but it depends on "
        f"{arith.to_text(found)}; use `a if c else b`",
        found,
    )


def at_build(make: Callable[[], Value]) -> Value:
    """The value of a static place inside a definition, such as the end of a slice.

    Raises LanguageError if it depends on element values.
    """
    with static_code():
        value = make()
    if isinstance(value, (Expr, Weak)):
        raise LanguageError(f"a static value is needed here, found {describe(value)}", "stage")
    return value


def negate(a: Value) -> Value:
    """`not a`."""
    condition = as_condition(a, "not")
    return not condition if isinstance(condition, bool) else arith.logical_not(condition)


def both(a: Value, b: Callable[[], Value]) -> Value:
    """`a and b`; `b` is built under the guard `a`, and read only where `a` holds."""
    left = as_condition(a, "and")
    if isinstance(left, bool):
        return as_condition(b(), "and") if left else False
    with guarded(left):
        right = as_condition(b(), "and")
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
    if isinstance(left, bool):
        return True if left else as_condition(b(), "or")
    with guarded(arith.logical_not(left)):
        right = as_condition(b(), "or")
    if isinstance(right, bool):
        return True if right else left
    return (
        arith.select(left, arith.const(True, BOOL), right) if _reads(right) else arith.logical_or(left, right)
    )


def _reads(expr: Expr) -> bool:
    return arith.holds(expr, Read)


def select(condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
    """`then if condition else otherwise`: chosen now if the condition is static, else at run time, lazily."""
    chosen = condition if type(condition) is bool else as_condition(condition, "if")
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
    if not isinstance(a, (Expr, Weak)) and not isinstance(b, (Expr, Weak)) and type(a) is type(b) and a == b:
        return a
    for value in (a, b):
        if not isinstance(value, (Expr, Weak, int, float)):
            raise LanguageError(
                f"the branches of a run-time `if` must be numbers, found {describe(value)}", "stage"
            )
    return lift(lambda x, y: arith.select(condition, x, y), a, b)
