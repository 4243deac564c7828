"""Reductions as states: what an accumulator starts from, how an element joins it, and what it means at the end.

sum, prod, min, max, any and all have one state.  argmax and argmin keep the best value and its position (-1 while
there is none); `first` keeps whether something was found, and the value.
"""

from __future__ import annotations

from typing import Final

from ....base.arith import (
    CONSTRUCTORS,
    Expr,
    call,
    const,
    eq,
    ge,
    gt,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    select,
)
from ....base.vocabulary import BOOL, FLOAT32, INDEX, DType
from .stmt import HorizontalReduce

_STEPS: Final = {"sum": "add", "prod": "mul", "min": "min", "max": "max"}
_BOOL_STEPS: Final = {"any": "or", "all": "and", "max": "or", "min": "and"}
SINGLE: Final = {"sum": "sum", "prod": "prod", "min": "min", "max": "max", "any": "or", "all": "and"}
_INT32_HIGHEST: Final = (1 << 31) - 1


def accumulator_dtype(combiner: str, dtype: DType) -> DType:
    """Sums and products of halves are kept in float32 and rounded once."""
    return FLOAT32 if dtype.is_storage and combiner in ("sum", "prod") else dtype


def identity(combiner: str, dtype: DType) -> Expr:
    """The value of an empty reduction."""
    if combiner in ("sum", "prod"):
        return const(0 if combiner == "sum" else 1, dtype)
    if combiner in ("any", "all"):
        return const(combiner == "all", BOOL)
    least = combiner in ("max", "argmax")
    return const(dtype.lowest if least else dtype.highest, dtype)


def join(combiner: str, a: Expr, b: Expr) -> Expr:
    """One step of a reduction with one state."""
    op = (_BOOL_STEPS if a.dtype is BOOL else _STEPS)[combiner]
    return CONSTRUCTORS[op](a, b)


def wins(combiner: str, value: Expr, best: Expr) -> Expr:
    """Whether `value` beats `best`: NaN is greatest for argmax and least for argmin."""
    if value.dtype is BOOL:
        a, b = (value, best) if combiner == "argmax" else (best, value)
        return logical_and(a, logical_not(b))
    if not value.dtype.is_float:
        return gt(value, best) if combiner == "argmax" else lt(value, best)
    worse = le(value, best) if combiner == "argmax" else ge(value, best)  # False where either is NaN
    return logical_and(logical_not(worse), logical_not(call("isnan", best)))


def same(value: Expr, best: Expr) -> Expr:
    """Whether neither beats the other."""
    if not value.dtype.is_float:
        return eq(value, best)
    return logical_or(eq(value, best), logical_and(call("isnan", value), call("isnan", best)))


def position_dtype(count: int | Expr, dtype: DType) -> DType:
    """A narrow dtype for positions below `count` beside values of `dtype`, so that both fill vectors alike."""
    narrow = isinstance(count, int) and count <= _INT32_HIGHEST and dtype.bits <= 32
    return DType("int32") if narrow else INDEX


def join_positions(
    combiner: str, a: tuple[Expr, Expr], b: tuple[Expr, Expr], never_empty: bool
) -> tuple[Expr, Expr]:
    """The better of two (value, position) states; the earlier position where they are equal.

    Unless `never_empty`, a position of -1 marks a state without element.
    """
    (value_a, at_a), (value_b, at_b) = a, b
    tie = logical_and(same(value_b, value_a), lt(at_b, at_a))
    chosen = logical_or(wins(combiner, value_b, value_a), tie)
    if not never_empty:
        chosen = logical_and(ge(at_b, 0), logical_or(lt(at_a, 0), chosen))
    return select(chosen, value_b, value_a), select(chosen, at_b, at_a)


def reduce_lanes(combiner: str, vector: Expr) -> Expr:
    """A scalar from a vector of accumulators."""
    if vector.dtype is BOOL:
        name = "or" if combiner in ("any", "max", "argmax") else "and"
    else:
        name = SINGLE[combiner.removeprefix("arg")]
    return HorizontalReduce(vector.dtype, name, vector)
