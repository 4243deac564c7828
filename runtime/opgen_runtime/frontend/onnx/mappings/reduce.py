"""Reductions over axes, and positions of extremes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ....ir import Expr
from ..emit import op
from ..rules import Flag, converts
from ._tools import axes_of, axis_of, cast, dtype, ndim, positions, reshape, shape, sizes

Ints = Sequence[int]

REDUCTIONS: Final = {
    "ReduceMax": "max",
    "ReduceMean": "mean",
    "ReduceMin": "min",
    "ReduceProd": "prod",
    "ReduceSum": "sum",
}
# Reductions of a function of each element, and a function of the result.
COMPOSED: Final[dict[str, tuple[str | None, str, str | None]]] = {
    "ReduceL1": ("abs", "sum", None),
    "ReduceL2": ("square", "sum", "sqrt"),
    "ReduceLogSum": (None, "sum", "log"),
    "ReduceSumSquare": ("square", "sum", None),
}


def _reduction(before: str | None, name: str, after: str | None) -> Callable[..., Any]:
    def convert(x: Expr, axes: Ints | None, keepdims: int) -> Expr:
        kind = dtype(x)
        if kind.is_bool:
            return op.cast(convert(op.cast(x, dtype="uint8"), axes, keepdims), dtype="bool")
        if after is not None and not kind.is_float:
            x = op.cast(x, dtype="float64")
        if before is not None:
            x = op.multiply(x, x) if before == "square" else getattr(op, before)(x)
        named = None if axes is None else axes_of(axes, ndim(x))
        result = getattr(op, name)(x, axis=named, keepdims=bool(keepdims))
        return cast(result if after is None else getattr(op, after)(result), kind)

    return convert


def _register(operator: str, reduction: Callable[..., Any], since_inputs: int) -> None:
    """The axes are an attribute first, an input from some opset on."""

    @converts(operator)
    def by_attribute(x: Expr, *, axes: Ints | None = None, keepdims: Flag = 1) -> Any:
        return reduction(x, axes or None, keepdims)

    @converts(operator, since=since_inputs)
    def by_input(
        x: Expr, axes: Ints | None = None, *, keepdims: Flag = 1, noop_with_empty_axes: Flag = 0
    ) -> Any:
        if not axes and noop_with_empty_axes:
            return reduction(x, (), keepdims)
        return reduction(x, axes or None, keepdims)


for _operator, _name in REDUCTIONS.items():
    _register(_operator, _reduction(None, _name, None), 13 if _operator == "ReduceSum" else 18)
for _operator, _steps in COMPOSED.items():
    _register(_operator, _reduction(*_steps), 18)


def log_sum_exp(x: Expr, axes: Ints | None, keepdims: int) -> Expr:
    """log(sum(exp(x))), shifted by the greatest element so that it does not overflow."""
    kind = dtype(x)
    x = cast(x, kind if kind.is_float else "float64")
    named = None if axes is None else axes_of(axes, ndim(x))
    greatest = op.max(x, axis=named, keepdims=True)
    shift = op.where(op.isfinite(greatest), greatest, np.zeros((), dtype(x).numpy))
    total = op.log(op.sum(op.exp(op.subtract(x, shift)), axis=named, keepdims=True))
    result = op.add(total, shift)
    if not keepdims:
        dropped = range(ndim(x)) if named is None else named
        result = reshape(result, [n for d, n in enumerate(shape(x)) if d not in dropped])
    return cast(result, kind)


_register("ReduceLogSumExp", log_sum_exp, 18)


@converts("ArgMax")
def arg_max(x: Expr, *, axis: int = 0, keepdims: Flag = 1, select_last_index: Flag = 0) -> Expr:
    return _position("argmax", x, axis, keepdims, select_last_index)


@converts("ArgMin")
def arg_min(x: Expr, *, axis: int = 0, keepdims: Flag = 1, select_last_index: Flag = 0) -> Expr:
    return _position("argmin", x, axis, keepdims, select_last_index)


def _position(name: str, x: Expr, axis: int, keepdims: int, last: int) -> Expr:
    attrs = {"axis": axis_of(axis, ndim(x)), "keepdims": bool(keepdims), "select_last_index": bool(last)}
    return cast(getattr(op, name)(x, **attrs), "int64")


@converts("Hardmax")
def hardmax_1(x: Expr, *, axis: int = 1) -> Expr:
    at = axis_of(axis, ndim(x))
    return reshape(hardmax(_rows(x, at), axis=1), sizes(x))


@converts("Hardmax", since=13)
def hardmax(x: Expr, *, axis: int = -1) -> Expr:
    at = axis_of(axis, ndim(x))
    best = op.argmax(x, axis=at, keepdims=True)
    places = positions(sizes(x)[at], ndim(x), at)
    return op.cast(op.equal(cast(best, "int64"), places), dtype=dtype(x))


def _rows(x: Expr, at: int) -> Expr:
    """The tensor as a matrix: the axes before `at`, and the rest."""
    return reshape(x, (math.prod(sizes(x)[:at]), math.prod(sizes(x)[at:])))


@converts("Softmax")
def softmax_1(x: Expr, *, axis: int = 1) -> Expr:
    at = axis_of(axis, ndim(x))
    return softmax(x) if at == ndim(x) - 1 else reshape(softmax(_rows(x, at)), sizes(x))


@converts("Softmax", since=13)
def softmax(x: Expr, *, axis: int = -1) -> Expr:
    """In half precision the steps of ONNX's function, each rounded."""
    if not dtype(x).is_storage:
        return op.softmax(x, axis=axis)
    at = (axis_of(axis, ndim(x)),)
    powers = op.exp(op.subtract(x, op.max(x, axis=at, keepdims=True)))
    return op.divide(powers, op.sum(powers, axis=at, keepdims=True))


@converts("LogSoftmax")
def log_softmax_1(x: Expr, *, axis: int = 1) -> Expr:
    at = axis_of(axis, ndim(x))
    if at == ndim(x) - 1:
        return op.log_softmax(x, axis=-1)
    return reshape(op.log_softmax(_rows(x, at), axis=-1), sizes(x))


@converts("LogSoftmax", since=13)
def log_softmax(x: Expr, *, axis: int = -1) -> Expr:
    return op.log_softmax(x, axis=axis)
