"""Functions of one element, conversions, and tensors like others."""

from __future__ import annotations

import math

import numpy as np

from .....base.vocabulary import DType
from ..nodes import Nodes, NoStandard, Value
from ..registry import renames, writes
from ..sizes import size, sizes
from ._tools import cast, result_shaped, scalar

renames(
    {
        "abs": "Abs", "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan",
        "atanh": "Atanh", "ceil": "Ceil", "cos": "Cos", "cosh": "Cosh", "erf": "Erf", "exp": "Exp", "floor": "Floor",
        "log": "Log", "logical_not": "Not", "negative": "Neg", "reciprocal": "Reciprocal", "round": "Round",
        "sigmoid": "Sigmoid", "sign": "Sign", "sin": "Sin", "sinh": "Sinh", "sqrt": "Sqrt", "tan": "Tan",
        "tanh": "Tanh",
    }
)  # fmt: skip


@writes("copy", "assume_sizes")
def copy(to: Nodes, data: Value, **attrs: object) -> Value:
    """What sizes are assumed is no part of the results."""
    return data


@writes("dropout")
def dropout(to: Nodes, data: Value, *, rate: float) -> tuple[Value, Value]:
    return data, to("Expand", scalar(to, 1, data), sizes(to, to.types[0].shape))


@writes("bitwise_not")
def bitwise_not(to: Nodes, data: Value) -> Value:
    return to("Not" if data.dtype.is_bool else "BitwiseNot", data)


@writes("isnan")
def isnan(to: Nodes, data: Value) -> Value:
    return to("IsNaN", data, gives="bool")


@writes("isinf")
def isinf(to: Nodes, data: Value, *, detect_negative: bool, detect_positive: bool) -> Value:
    return to("IsInf", data, detect_negative=detect_negative, detect_positive=detect_positive, gives="bool")


@writes("isfinite")
def isfinite(to: Nodes, data: Value) -> Value:
    strange = to("Or", to("IsNaN", data, gives="bool"), to("IsInf", data, gives="bool"))
    return to("Not", strange)


@writes("square")
def square(to: Nodes, data: Value) -> Value:
    return to("Mul", data, data)


@writes("rsqrt")
def rsqrt(to: Nodes, data: Value) -> Value:
    return to("Reciprocal", to("Sqrt", data))


@writes("exp2")
def exp2(to: Nodes, data: Value) -> Value:
    return to("Pow", scalar(to, 2, data), data)


@writes("log2")
def log2(to: Nodes, data: Value) -> Value:
    return to("Div", to("Log", data), scalar(to, math.log(2.0), data))


@writes("log10")
def log10(to: Nodes, data: Value) -> Value:
    return to("Div", to("Log", data), scalar(to, math.log(10.0), data))


@writes("log1p")
def log1p(to: Nodes, data: Value) -> Value:
    """2 atanh(x / (x + 2)) where x is small: nothing is lost near 0."""
    one, two = scalar(to, 1, data), scalar(to, 2, data)
    near = to("Mul", to("Atanh", to("Div", data, to("Add", data, two))), two)
    return to(
        "Where",
        to("Greater", data, one, gives="bool"),
        to("Log", to("Add", data, one)),
        near,
        gives=data.dtype,
    )


@writes("expm1")
def expm1(to: Nodes, data: Value) -> Value:
    """tanh(x / 2) (exp(x) + 1): nothing is lost near 0, and right at both infinities."""
    half = to("Tanh", to("Mul", data, scalar(to, 0.5, data)))
    return to("Mul", half, to("Add", to("Exp", data), scalar(to, 1, data)))


@writes("trunc")
def trunc(to: Nodes, data: Value) -> Value:
    return to("Mul", to("Sign", data), to("Floor", to("Abs", data)))


@writes("cbrt")
def cbrt(to: Nodes, data: Value) -> Value:
    return to("Mul", to("Sign", data), to("Pow", to("Abs", data), scalar(to, 1 / 3, data)))


def converted(to: Nodes, x: Value, dtype: str) -> Value:
    """Floats are saturated first where integers are narrow; beyond wide ones ONNX leaves open what they become."""
    wanted = DType(dtype)
    if x.dtype.is_float and wanted.is_int and wanted.bits <= 16:
        limits = [scalar(to, end, x) for end in (float(wanted.lowest), float(wanted.highest))]
        if x.dtype == "float16" and wanted.bits == 16:
            raise NoStandard("float16 has no numbers of all 16 bits")
        x = to("Clip", x, *limits)
    return cast(to, x, dtype)


@writes("cast")
def cast_op(to: Nodes, data: Value, *, dtype: str) -> Value:
    return converted(to, data, dtype)


@writes("cast_like")
def cast_like(to: Nodes, data: Value, dtype_like: Value) -> Value:
    return converted(to, data, dtype_like.dtype)


def filled(to: Nodes, value: float, dtype: str) -> Value:
    """The result's shape, filled with a number."""
    number = np.asarray([value], DType(dtype).numpy)
    return to("ConstantOfShape", sizes(to, to.types[0].shape), value=number, gives=dtype)


@writes("zeros", "zeros_like")
def zeros(to: Nodes, *operands: Value, **attrs: object) -> Value:
    return filled(to, 0, to.types[0].dtype)


@writes("ones", "ones_like")
def ones(to: Nodes, *operands: Value, **attrs: object) -> Value:
    return filled(to, 1, to.types[0].dtype)


@writes("full", "full_like")
def full(to: Nodes, *operands: Value, **attrs: object) -> Value:
    value = converted(to, operands[-1], to.types[0].dtype)
    return to("Expand", value, sizes(to, to.types[0].shape))


@writes("arange")
def arange(to: Nodes, *, start: float, stop: float, step: float, dtype: str) -> Value:
    """Positions, times the step: exact where all are whole, else from float64, as the op has it."""
    if not all([isinstance(each, int | float) for each in (start, step)]):
        raise NoStandard("it starts at a size")
    wide = (
        "int64"
        if DType(dtype).is_int and float(start).is_integer() and float(step).is_integer()
        else "float64"
    )
    places = to("Range", to.number(0, "int64"), size(to, to.types[0].shape[0]), to.number(1, "int64"))
    scaled = to("Mul", cast(to, places, wide), to.number(step, wide))
    return converted(to, to("Add", scaled, to.number(start, wide)), dtype)


@writes("shape_of")
def shape_of(to: Nodes, data: Value, *, dtype: str) -> Value:
    return cast(to, to("Shape", data, gives="int64"), dtype)


@writes("ndarray_size")
def ndarray_size(to: Nodes, data: Value, *, dtype: str) -> Value:
    return cast(to, to("Size", data, gives="int64"), dtype)


@writes("shape_to_tensor")
def shape_to_tensor(to: Nodes, *, shape: tuple[int, ...], dtype: str) -> Value:
    return cast(to, sizes(to, shape), dtype)


@writes("reshape_like")
def reshape_like(to: Nodes, data: Value, shape_like: Value, **attrs: object) -> Value:
    return result_shaped(to, data)


@writes("broadcast_to_like")
def broadcast_to_like(to: Nodes, data: Value, broadcast_type: Value) -> Value:
    return to("Expand", data, to("Shape", broadcast_type, gives="int64"))


@writes("deg2rad")
def deg2rad(to: Nodes, data: Value) -> Value:
    return to("Mul", data, scalar(to, math.pi / 180, data))


@writes("rad2deg")
def rad2deg(to: Nodes, data: Value) -> Value:
    return to("Mul", data, scalar(to, 180 / math.pi, data))


@writes("isposinf")
def isposinf(to: Nodes, data: Value) -> Value:
    return isinf(to, data, detect_negative=False, detect_positive=True)


@writes("isneginf")
def isneginf(to: Nodes, data: Value) -> Value:
    return isinf(to, data, detect_negative=True, detect_positive=False)


@writes("frac")
def frac(to: Nodes, data: Value) -> Value:
    return to("Sub", data, trunc(to, data))


@writes("logit")
def logit(to: Nodes, data: Value) -> Value:
    return to("Sub", to("Log", data), log1p(to, to("Neg", data)))
