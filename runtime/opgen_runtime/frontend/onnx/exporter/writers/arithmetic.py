"""Two operands under numpy's broadcasting: arithmetic, comparison, logic."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..nodes import Nodes, NoStandard, Value
from ..registry import renames, writes
from ._tools import scalar

renames({"add": "Add", "subtract": "Sub", "multiply": "Mul"})
renames({"logical_and": "And", "logical_or": "Or", "logical_xor": "Xor"})


@writes("where")
def where(to: Nodes, condition: Value, x: Value, y: Value) -> Value:
    return to("Where", condition, x, y, gives=x.dtype)


@writes("power")
def power(to: Nodes, lhs: Value, rhs: Value) -> Value:
    if lhs.dtype.is_int:
        raise NoStandard("powers of integers wrap, and inverses are rounded to 0")
    return to("Pow", lhs, rhs)


def _divisor(to: Nodes, rhs: Value) -> Value:
    """The divisor of integers, 1 where it is 0."""
    if rhs.array is not None and np.all(rhs.array):
        return rhs
    none = to("Equal", rhs, scalar(to, 0, rhs), gives="bool")
    return to("Where", none, scalar(to, 1, rhs), rhs, gives=rhs.dtype)


def _quotient(to: Nodes, lhs: Value, rhs: Value, divisor: Value) -> Value:
    """A quotient of integers, 0 where `rhs` is 0."""
    found = to("Div", lhs, divisor)
    if divisor is rhs:
        return found
    zero = scalar(to, 0, rhs)
    return to("Where", to("Equal", rhs, zero, gives="bool"), zero, found, gives=lhs.dtype)


@writes("divide")
def divide(to: Nodes, lhs: Value, rhs: Value) -> Value:
    if lhs.dtype.is_float:
        return to("Div", lhs, rhs)
    return _quotient(to, lhs, rhs, _divisor(to, rhs))


@writes("trunc_divide")
def trunc_divide(to: Nodes, lhs: Value, rhs: Value) -> Value:
    if lhs.dtype.is_int:
        return _quotient(to, lhs, rhs, _divisor(to, rhs))
    quotient = to("Div", lhs, rhs)
    return to("Mul", to("Sign", quotient), to("Floor", to("Abs", quotient)))


@writes("trunc_mod", "mod", "fmod")
def trunc_mod(to: Nodes, lhs: Value, rhs: Value) -> Value:
    if lhs.dtype.is_float:
        return to("Mod", lhs, rhs, fmod=1)
    divisor = _divisor(to, rhs)
    return to("Sub", lhs, to("Mul", to("Div", lhs, divisor), divisor))


@writes("floor_mod")
def floor_mod(to: Nodes, lhs: Value, rhs: Value) -> Value:
    if lhs.dtype.is_int:
        return to("Mod", lhs, _divisor(to, rhs))
    rest, zero = to("Mod", lhs, rhs, fmod=1), scalar(to, 0, rhs)
    signs = [to("Less", each, zero, gives="bool") for each in (rest, rhs)]
    apart = to("And", to("Xor", *signs), to("Not", to("Equal", rest, zero, gives="bool")))
    return to("Where", apart, to("Add", rest, rhs), rest, gives=lhs.dtype)


@writes("floor_divide")
def floor_divide(to: Nodes, lhs: Value, rhs: Value) -> Value:
    if lhs.dtype.is_float:
        return to("Floor", to("Div", lhs, rhs))
    divisor = _divisor(to, rhs)
    return _quotient(to, to("Sub", lhs, to("Mod", lhs, divisor)), rhs, divisor)


@writes("maximum")
def maximum(to: Nodes, lhs: Value, rhs: Value) -> Value:
    return to("Or" if lhs.dtype.is_bool else "Max", lhs, rhs)


@writes("minimum")
def minimum(to: Nodes, lhs: Value, rhs: Value) -> Value:
    return to("And" if lhs.dtype.is_bool else "Min", lhs, rhs)


@writes("equal")
def equal(to: Nodes, lhs: Value, rhs: Value) -> Value:
    return to("Equal", lhs, rhs, gives="bool")


@writes("not_equal")
def not_equal(to: Nodes, lhs: Value, rhs: Value) -> Value:
    return to("Not", to("Equal", lhs, rhs, gives="bool"))


@writes("less")
def less(to: Nodes, lhs: Value, rhs: Value) -> Value:
    return to("Less", lhs, rhs, gives="bool")


@writes("less_equal")
def less_equal(to: Nodes, lhs: Value, rhs: Value) -> Value:
    return to("LessOrEqual", lhs, rhs, gives="bool")


@writes("greater")
def greater(to: Nodes, lhs: Value, rhs: Value) -> Value:
    return to("Greater", lhs, rhs, gives="bool")


@writes("greater_equal")
def greater_equal(to: Nodes, lhs: Value, rhs: Value) -> Value:
    return to("GreaterOrEqual", lhs, rhs, gives="bool")


@writes("bitwise_and")
def bitwise_and(to: Nodes, lhs: Value, rhs: Value) -> Value:
    return to("And" if lhs.dtype.is_bool else "BitwiseAnd", lhs, rhs)


@writes("bitwise_or")
def bitwise_or(to: Nodes, lhs: Value, rhs: Value) -> Value:
    return to("Or" if lhs.dtype.is_bool else "BitwiseOr", lhs, rhs)


@writes("bitwise_xor")
def bitwise_xor(to: Nodes, lhs: Value, rhs: Value) -> Value:
    return to("Xor" if lhs.dtype.is_bool else "BitwiseXor", lhs, rhs)


def _first_that_is_there(operator: str) -> Callable[[Nodes, Value, Value], Value]:
    """The greater or the less of two, or the one that is no NaN."""

    def write(to: Nodes, lhs: Value, rhs: Value) -> Value:
        is_nan = [to("IsNaN", each, gives="bool") for each in (lhs, rhs)]
        other = to("Where", is_nan[1], lhs, to(operator, lhs, rhs), gives=lhs.dtype)
        return to("Where", is_nan[0], rhs, other, gives=lhs.dtype)

    return write


writes("fmax")(_first_that_is_there("Max"))
writes("fmin")(_first_that_is_there("Min"))


@writes("xlogy")
def xlogy(to: Nodes, lhs: Value, rhs: Value) -> Value:
    """0 where the left operand is, but for NaN on the right."""
    zero = scalar(to, 0, lhs)
    none = to("Where", to("IsNaN", rhs, gives="bool"), rhs, zero, gives=rhs.dtype)
    product = to("Mul", lhs, to("Log", rhs))
    return to("Where", to("Equal", lhs, zero, gives="bool"), none, product, gives=lhs.dtype)


@writes("heaviside")
def heaviside(to: Nodes, lhs: Value, rhs: Value) -> Value:
    zero = scalar(to, 0, lhs)
    step = to("Cast", to("Greater", lhs, zero, gives="bool"), to=lhs.dtype.onnx, gives=lhs.dtype)
    step = to("Where", to("IsNaN", lhs, gives="bool"), lhs, step, gives=lhs.dtype)
    return to("Where", to("Equal", lhs, zero, gives="bool"), rhs, step, gives=lhs.dtype)
