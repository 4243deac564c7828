"""Quantised numbers: conversions, and products of integers."""

from __future__ import annotations

import numpy as np

from ..nodes import Nodes, NoStandard, Value
from ..registry import writes
from ._tools import cast, each, ends, reshaped, scalar
from .elementwise import converted
from .linalg import swapped


def _line(to: Nodes, x: Value) -> Value:
    """A scale or a zero point: one without axes, or one each slice."""
    if x.shape != (1,):
        return x
    if x.array is not None:
        return to.names.constant(x.array.reshape(()))
    return Value(reshaped(to, x, ()).name, x.dtype, ())


@writes("quantize")
def quantize(
    to: Nodes, data: Value, output_scale: Value, output_zero_point: Value | None, *, axis: int, out_dtype: str
) -> Value:
    scale = _line(to, output_scale)
    if output_zero_point is None:
        shape = [scale.extent(d) for d in range(len(scale.shape or ()))]
        zero = to.names.constant(np.zeros(shape, out_dtype))
    else:
        zero = _line(to, output_zero_point)
        if zero.dtype != out_dtype or zero.shape != (scale.shape or ()):
            raise NoStandard("scale and zero point are not alike, or another integer than the result")
    if scale.dtype != data.dtype:
        raise NoStandard("the scale is of another dtype")
    return to("QuantizeLinear", data, scale, zero, axis=axis, gives=out_dtype)


@writes("dequantize")
def dequantize(
    to: Nodes, data: Value, input_scale: Value, input_zero_point: Value | None, *, axis: int
) -> Value:
    scale = _line(to, input_scale)
    zero = None if input_zero_point is None else _line(to, input_zero_point)
    if zero is not None and (zero.dtype != data.dtype or zero.shape != (scale.shape or ())):
        raise NoStandard("scale and zero point are not alike, or another integer than the data")
    return to("DequantizeLinear", data, scale, zero, axis=axis, gives=scale.dtype)


@writes("dynamic_quantize")
def dynamic_quantize(to: Nodes, data: Value) -> tuple[Value, ...]:
    return to.several("DynamicQuantizeLinear", data, gives=("uint8", "float32", "uint8"))


@writes("requantize")
def requantize(
    to: Nodes,
    data: Value,
    input_scale: Value,
    input_zero_point: Value,
    output_scale: Value,
    output_zero_point: Value,
    *,
    axis: int,
    rounding: str,
    out_dtype: str,
) -> Value:
    """In float64, as the op has it."""

    def wide(x: Value) -> Value:
        line = _line(to, x)
        if line.shape:
            behind = data.ndim - 1 - axis % data.ndim
            line = reshaped(to, line, (-1, *[1] * behind))
        return cast(to, line, "float64")

    ratio = to("Div", wide(input_scale), wide(output_scale))
    exact = to("Mul", to("Sub", cast(to, data, "float64"), wide(input_zero_point)), ratio)
    half = scalar(to, 0.5, exact)
    if rounding == "UPWARD":
        steps = to("Floor", to("Add", exact, half))
    else:
        steps = to("Mul", to("Sign", exact), to("Floor", to("Add", to("Abs", exact), half)))
    limits = np.iinfo(out_dtype)
    found = to("Add", steps, wide(output_zero_point))
    found = to("Clip", found, scalar(to, float(limits.min), found), scalar(to, float(limits.max), found))
    return converted(to, found, out_dtype)


@writes("quantised_matmul")
def quantised_matmul(to: Nodes, a: Value, b: Value, za: Value | None, zb: Value | None) -> Value:
    zeros = [None if zero is None else _line(to, zero) for zero in (za, zb)]
    if any([zero is not None and zero.ndim for zero in zeros]):  # one a row, one a column
        left = _less(to, a, None if za is None else reshaped(to, za, (-1, 1)))
        return to("MatMul", left, _less(to, b, zb))
    return to("MatMulInteger", a, b, *zeros, gives="int32")


def _less(to: Nodes, x: Value, zero: Value | None) -> Value:
    """int32, without the zero point."""
    wide = cast(to, x, "int32")
    return wide if zero is None else to("Sub", wide, cast(to, zero, "int32"))


@writes("quantised_dense")
def quantised_dense(to: Nodes, data: Value, weight: Value, zx: Value, zw: Value, bias: Value | None) -> Value:
    rows = swapped(to, weight)
    found = to("MatMul", _less(to, data, zx), _less(to, rows, zw))
    return found if bias is None else to("Add", found, bias)


@writes("quantised_conv")
def quantised_conv(
    to: Nodes,
    data: Value,
    weight: Value,
    zx: Value | None,
    zw: Value | None,
    *,
    strides: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Value:
    spatial = data.ndim - 2
    zero = None if zw is None or (zw.array is not None and not zw.array.any()) else _line(to, zw)
    if zero is not None and zero.ndim:
        raise NoStandard("what runs models takes one zero point for all filters")
    return to(
        "ConvInteger",
        data,
        weight,
        zx,
        zero,
        strides=each(strides, spatial),
        pads=ends(padding, spatial),
        dilations=each(dilation, spatial),
        group=groups,
        gives="int32",
    )
