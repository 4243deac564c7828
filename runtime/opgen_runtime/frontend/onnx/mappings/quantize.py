"""Quantised numbers: conversions and products of integers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from ....base.vocabulary import DType
from ....ir import Constant, Expr
from ..element_types import dtype_of, kind_of
from ..emit import op
from ..errors import NotSupported
from ..narrow import Narrow, NarrowType
from ..rules import Flag, Natural, Naturals, Positive, Positives, Tensor, converts
from ..texts import Texts
from ._tools import axis_of, cast, check_rank, dtype, extent, ndim, reshape, scalar, shape
from .elementwise import cast_to
from .linalg import matmul, product_of
from .window import extents_of, spatial, windows


def _along(p: Expr, like: Expr, axis: int, block: int) -> Expr:
    """Scales or zero points, shaped to broadcast: one, one a slice of the axis, or one a block of it."""
    if ndim(p) == 0 or (ndim(p) == 1 and shape(p) == (1,)):
        return reshape(p, ())
    at = axis_of(axis, ndim(like))
    if block:
        check_rank(p, ndim(like), ndim(like))
        return _cut(op.repeat(p, repeats=block, axis=at), at, extent(like, at))
    if ndim(p) == 1:
        return reshape(p, [extent(p, 0) if d == at else 1 for d in range(ndim(like))])
    return p


def _cut(p: Expr, axis: int, size: int) -> Expr:
    return p if extent(p, axis) == size else op.strided_slice(p, begin=(0,), end=(size,), axes=(axis,))


def quantized(x: Expr, scale: Expr, zero: Expr | None, kind: str) -> Expr:
    """round(x / scale) + zero, halves to even, saturated to `kind`; operands broadcast."""
    return op.cast(_steps(x, scale, zero, DType(kind)), dtype=kind)


def _steps(x: Expr, scale: Expr, zero: Expr | None, kind: DType | NarrowType) -> Expr:
    """round(x / scale) + zero, as a float in the range of `kind`."""
    steps = op.round(op.divide(x, scale))
    wide = "float64" if kind.bits > 16 else "float32"
    moved = cast(steps, wide)
    if zero is not None:
        moved = op.add(moved, cast(zero, wide))
    return op.minimum(op.maximum(moved, float(kind.lowest)), float(kind.highest))


def _numbers(x: Tensor) -> tuple[Expr, DType | NarrowType]:
    """The tensor that holds the numbers, and their element type."""
    if isinstance(x, Narrow):
        return x.expr, x.kind
    if isinstance(x, Texts):
        raise NotSupported("quantisation of strings")
    return x, dtype(x)


@converts("QuantizeLinear", since=10)
def quantize_linear(
    x: Expr,
    scale: Expr,
    zero_point: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: Natural = 0,
    output_dtype: int = 0,
    precision: int = 0,
    saturate: Flag = 1,
) -> Expr | Narrow:
    kind: DType | NarrowType = kind_of(output_dtype) if output_dtype else DType("uint8")
    zero = None
    if zero_point is not None:
        zero, kind = _numbers(zero_point)
    wide = dtype_of(precision) if precision else dtype(scale)
    by = _along(cast(scale, wide), x, axis, block_size)
    if kind.bits <= 8 and kind.is_float:
        steps = op.divide(cast(x, wide), by)
        if zero is not None:
            steps = op.add(steps, cast(_along(zero, x, axis, block_size), wide))
        return cast_to(steps, kind, saturate)
    if not kind.is_int:
        raise NotSupported(f"quantisation to {kind}")
    at = None if zero is None else _along(zero, x, axis, block_size)
    value = cast(x, wide) if dtype(x).is_float else op.cast(x, dtype=wide)
    return cast_to(_steps(value, by, at, kind), kind, saturate)


@converts("DequantizeLinear", since=10, folds=False)
def dequantize_linear(
    quantised: Tensor,
    scale: Expr,
    zero_point: Tensor | None = None,
    *,
    axis: int = 1,
    block_size: Natural = 0,
    output_dtype: int = 0,
) -> Expr:
    kind = dtype_of(output_dtype) if output_dtype else dtype(scale)
    x, own = _numbers(quantised)
    wide = "float32" if own.bits <= 16 else "float64"
    value = op.cast(x, dtype=wide)
    if zero_point is not None:
        zero, _ = _numbers(zero_point)
        value = op.subtract(value, cast(_along(zero, x, axis, block_size), wide))
    return cast(op.multiply(value, cast(_along(scale, x, axis, block_size), wide)), kind)


@converts("DynamicQuantizeLinear", since=11)
def dynamic_quantize_linear(x: Expr) -> tuple[Expr, ...]:
    low = op.minimum(op.min(x, keepdims=False), 0.0)
    high = op.maximum(op.max(x, keepdims=False), 0.0)
    scale = op.divide(op.subtract(high, low), 255.0)
    zero = op.cast(
        op.minimum(op.maximum(op.round(op.divide(op.negative(low), scale)), 0.0), 255.0), dtype="uint8"
    )
    return quantized(x, scale, zero, "uint8"), scale, zero


def _shifted(x: Expr, zero: Expr | None) -> Expr:
    """int32, without the zero point, which broadcasts."""
    wide = cast(x, "int32")
    return wide if zero is None else op.subtract(wide, cast(zero, "int32"))


def _rows_zero(zero: Expr | None, like: Expr) -> Expr | None:
    """The zero point of a left operand: one, or one a row."""
    if zero is None or ndim(zero) == 0 or ndim(zero) > 1 or shape(zero) == (1,):
        return zero if zero is None or ndim(zero) != 1 else reshape(zero, ())
    return reshape(zero, (*shape(zero), 1))


def _columns_zero(zero: Expr | None) -> Expr | None:
    return reshape(zero, ()) if zero is not None and shape(zero) == (1,) else zero


def _in_line(zero: Expr | None) -> Expr | None:
    """Zero points as one axis; None where all of them are 0."""
    if zero is None or (isinstance(zero, Constant) and not zero.data.any()):
        return None
    return reshape(zero, (math.prod(shape(zero)),))


@converts("MatMulInteger", since=10)
def matmul_integer(a: Expr, b: Expr, za: Expr | None = None, zb: Expr | None = None) -> Expr:
    if any(zero is not None and ndim(zero) > 1 and math.prod(shape(zero)) > 1 for zero in (za, zb)):
        return matmul(_shifted(a, _rows_zero(za, a)), _shifted(b, _columns_zero(zb)))
    zeros = [_in_line(zero) for zero in (za, zb)]
    return product_of(a, b, lambda left, right: op.quantised_matmul(left, right, *zeros))


@converts("QLinearMatMul", since=10)
def qlinear_matmul(
    a: Expr, a_scale: Expr, za: Expr, b: Expr, b_scale: Expr, zb: Expr, y_scale: Expr, zy: Expr
) -> Expr:
    product = matmul_integer(a, b, za, zb)
    by = op.divide(
        op.multiply(
            cast(_must(_rows_zero(a_scale, a)), "float32"), cast(_must(_columns_zero(b_scale)), "float32")
        ),
        cast(_must(_rows_zero(y_scale, a)), "float32"),
    )
    scaled = op.multiply(op.cast(product, dtype="float32"), by)
    return quantized(scaled, scalar(1.0, "float32"), _rows_zero(zy, a), dtype(zy))


def _must(x: Expr | None) -> Expr:
    assert x is not None
    return x


def _integer_conv(
    x: Expr, w: Expr, zx: Expr | None, zw: Expr | None, group: int, attributes: Mapping[str, object]
) -> Expr:
    moved = windows(spatial(x), extents_of(w), **attributes)  # type: ignore[arg-type]  # ONNX's attributes as they are
    return op.quantised_conv(
        x,
        w,
        None if zx is None else reshape(zx, ()),
        _in_line(zw),
        strides=moved.strides,
        padding=moved.padding,
        dilation=moved.dilations,
        groups=group,
    )


@converts("ConvInteger", since=10)
def conv_integer(
    x: Expr,
    w: Expr,
    zx: Expr | None = None,
    zw: Expr | None = None,
    *,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    dilations: Positives | None = None,
    group: Positive = 1,
    kernel_shape: Positives | None = None,
    pads: Naturals | None = None,
    strides: Positives | None = None,
) -> Expr:
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "auto_pad": auto_pad}
    return _integer_conv(x, w, zx, zw, group, attributes)


@converts("QLinearConv", since=10)
def qlinear_conv(
    x: Expr,
    x_scale: Expr,
    zx: Expr,
    w: Expr,
    w_scale: Expr,
    zw: Expr,
    y_scale: Expr,
    zy: Expr,
    bias: Expr | None = None,
    *,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    dilations: Positives | None = None,
    group: Positive = 1,
    kernel_shape: Positives | None = None,
    pads: Naturals | None = None,
    strides: Positives | None = None,
) -> Expr:
    attributes = {"strides": strides, "dilations": dilations, "pads": pads, "auto_pad": auto_pad}
    product = _integer_conv(x, w, zx, zw, group, attributes)
    if bias is not None:
        product = op.bias_add(product, bias, axis=1)
    by = op.divide(op.multiply(reshape(x_scale, ()), w_scale), reshape(y_scale, ()))
    by = (
        reshape(by, ())
        if math.prod(shape(by)) == 1
        else reshape(by, (1, extent(by, 0), *[1] * (ndim(x) - 2)))
    )
    scaled = op.multiply(op.cast(product, dtype="float32"), by)
    return quantized(scaled, scalar(1.0, "float32"), reshape(zy, ()), dtype(zy))
