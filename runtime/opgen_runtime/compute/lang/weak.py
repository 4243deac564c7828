"""Values of the compute language, and how dtypes meet.

A value is static (Python's numbers, tuples, strings, dtypes, None), an `Expr`, or `Weak`: an element value
made of literals alone, which takes the dtype of whatever it meets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any as AnyType
from typing import TypeGuard

from ...base import arith
from ...base.arith.expr import Expr
from ...base.errors import DTypeError, LanguageError, shown
from ...base.vocabulary import BOOL, FLOAT64, INDEX, INT64, DType

Value = AnyType  # static values, Expr and Weak; named for the reader of signatures

KINDS = ("bool", "int", "float", "unknown")


class Weak:
    """An element value without a dtype of its own: `make(dtype)` builds it.

    `kind` is "bool", "int" or "float", what its literals are, or "unknown" for a read of a tensor whose dtype
    is just being found out.
    """

    __slots__ = ("kind", "make")

    def __init__(self, kind: str, make: Callable[[DType], Expr]) -> None:
        self.kind = kind
        self.make = make

    def __add__(self, other: Value) -> Value:
        return lift(arith.add, self, other)

    def __radd__(self, other: Value) -> Value:
        return lift(arith.add, other, self)

    def __sub__(self, other: Value) -> Value:
        return lift(arith.sub, self, other)

    def __rsub__(self, other: Value) -> Value:
        return lift(arith.sub, other, self)

    def __mul__(self, other: Value) -> Value:
        return lift(arith.mul, self, other)

    def __rmul__(self, other: Value) -> Value:
        return lift(arith.mul, other, self)

    def __neg__(self) -> Value:
        return lift(lambda x: -x, self)

    def __bool__(self) -> bool:
        raise LanguageError(
            "a value that depends on tensor elements cannot decide when the kernel is built", "stage"
        )


def is_static(value: Value) -> bool:
    """True if `value` is known when the kernel is built."""
    if isinstance(value, tuple):
        return all(map(is_static, value))
    return not isinstance(value, (Expr, Weak))


def is_text(value: Value) -> TypeGuard[str]:
    """True of a static text; a dtype is none, though it is kept as one."""
    return isinstance(value, str) and not isinstance(value, DType)


def kind_of(value: Value) -> str:
    """The literal kind of a static number or a `Weak`."""
    if isinstance(value, Weak):
        return value.kind
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int"
    if isinstance(value, float):
        return "float"
    raise LanguageError(f"expected a number or an element value, found {describe(value)}", "value")


def describe(value: Value) -> str:
    """What a value is, for messages."""
    if isinstance(value, Expr):
        return f"an element value of dtype {value.dtype}"
    if isinstance(value, Weak):
        return f"an element value made of {value.kind} literals"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    if isinstance(value, DType):
        return f"dtype {value}"
    if isinstance(value, str):
        return f"text {value!r}"
    if value is None:
        return "None"
    named = getattr(value, "name", None)
    if isinstance(named, str):
        return f"the tensor {named}"
    return f"{type(value).__name__} {shown(value)}"


def as_expr(value: Value, dtype: DType) -> Expr:
    """`value` as an expression; numbers and `Weak` take `dtype`, an `Expr` keeps its own.

    Raises DTypeError if a literal does not suit `dtype` (a float only floats, a bool only bool).
    """
    if isinstance(value, Expr):
        return value
    kind = kind_of(value)
    if kind != "unknown":
        suits = (
            dtype.is_bool if kind == "bool" else dtype.kind in "fc" if kind == "float" else not dtype.is_bool
        )
        if not suits:
            shown = (
                f"a value of {kind} literals" if isinstance(value, Weak) else f"the {kind} literal {value}"
            )
            raise DTypeError(f"{shown} does not suit dtype {dtype}; use cast")
    return value.make(dtype) if isinstance(value, Weak) else arith.literal(value, dtype)


def join_kind(values: tuple[Value, ...]) -> str:
    """The literal kind that weak values have together."""
    kinds = {kind_of(v) for v in values}
    known = kinds - {"unknown"}
    if not known:
        return "unknown"
    if known == {"int", "float"}:
        return "float"
    if len(known) > 1:
        raise DTypeError(f"a bool and a number do not mix (found {' and '.join(sorted(known))}); use cast")
    return known.pop()


def lift(fn: Callable[..., Expr], *values: Value) -> Value:
    """Apply an arith constructor to values of which at least one is not static."""
    for typed in values:
        if isinstance(typed, Expr):
            dtype = typed.dtype
            return fn(*[v if isinstance(v, Expr) else as_expr(v, dtype) for v in values])
    kind = join_kind(values)
    return Weak(kind, lambda dtype: fn(*(as_expr(v, dtype) for v in values)))


def settle(value: Value, dtype: DType | None = None) -> Expr:
    """`value` as an expression with a dtype: `dtype` for what is weak, else the default of its kind.

    Integers default to int64 and bools to bool.  Raises DTypeError for floats, which have no default.
    """
    if isinstance(value, Expr):
        return value
    if dtype is None:
        kind = kind_of(value)
        if kind == "float":
            raise DTypeError(
                "nothing here gives the float literals a dtype; use cast, such as cast(1.0, float32)"
            )
        dtype = BOOL if kind == "bool" else INT64
    return as_expr(value, dtype)


def as_index(value: Value, what: str) -> Expr:
    """`value` as an integer expression used as an index or a bound of a range."""
    if isinstance(value, bool) or not isinstance(value, (Expr, Weak, int)):
        raise LanguageError(f"{what} must be an integer, found {describe(value)}", "dtype")
    expr = as_expr(value, INDEX)
    if not expr.dtype.is_int:
        raise LanguageError(
            f"{what} must be an integer, found {describe(expr)}; use cast(..., int64)", "dtype"
        )
    return expr


def as_condition(value: Value, what: str) -> Expr | bool:
    """`value` as a condition: a Python bool if static, else a bool expression."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Weak):
        value = as_expr(value, BOOL)
    if isinstance(value, Expr) and value.dtype.is_bool:
        if isinstance(value, arith.Const):
            return bool(value.value)
        return value
    raise LanguageError(f"{what} takes a bool, found {describe(value)}; compare it, such as x != 0", "dtype")


def cast(value: Value, dtype: DType) -> Value:
    """`cast(x, dtype)` of the language: total conversion (see `arith.Cast`)."""
    if not isinstance(dtype, DType):
        raise LanguageError(f"cast takes a dtype, found {describe(dtype)}", "dtype")
    if isinstance(value, Expr):
        return value if value.dtype == dtype else arith.cast(value, dtype)
    kind = kind_of(value)
    if kind == "unknown":
        return arith.literal(False if dtype.is_bool else 0, dtype)  # only its dtype is asked for
    own = {"bool": BOOL, "int": INT64, "float": FLOAT64}[kind]
    if dtype.is_storage and kind != "bool":
        own = FLOAT64  # so that it is rounded here
    elif kind == "int" and not dtype.is_bool:
        own = dtype if dtype.is_float or isinstance(value, Weak) or fits(value, dtype) else INT64
    return arith.cast(as_expr(value, own), dtype)


def fits(value: int, dtype: DType) -> bool:
    """True if an int dtype can hold `value`."""
    return dtype.lowest <= value <= dtype.highest
