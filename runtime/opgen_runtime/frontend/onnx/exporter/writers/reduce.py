"""Reductions over axes, and scans."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from ..nodes import Nodes, NoStandard, Value
from ..registry import writes
from ._tools import cast, norm_axes, reshaped, result_shaped, scalar, transposed

_PLAIN: Final = {
    "max": "ReduceMax", "mean": "ReduceMean", "min": "ReduceMin", "prod": "ReduceProd", "sum": "ReduceSum",
    "logsumexp": "ReduceLogSumExp",
}  # fmt: skip


def reduced(to: Nodes, operator: str, x: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    """A reduction over axes; of none it is what each element alone gives."""
    return to(operator, x, to.ints(*axes), keepdims=keepdims)


def _plain(operator: str) -> Callable[..., Value]:
    def write(
        to: Nodes, data: Value, *, axis: tuple[int, ...] | None, keepdims: bool, exclude: bool
    ) -> Value:
        axes = _axes(data, axis, exclude)
        if data.dtype.is_bool and operator in ("ReduceMax", "ReduceMin"):
            return _of_bools(to, operator, data, axes, keepdims)
        return reduced(to, operator, cast(to, data, to.types[0].dtype), axes, keepdims)

    return write


for _op, _operator in _PLAIN.items():
    writes(_op)(_plain(_operator))


def _axes(data: Value, axis: tuple[int, ...] | None, exclude: bool) -> tuple[int, ...]:
    axes = norm_axes(axis, data.ndim, exclude)
    if not axes or any([data.dims[each] == 0 for each in axes]):
        raise NoStandard("nothing is reduced, or axes without elements")
    return axes


def _of_bools(to: Nodes, operator: str, data: Value, axes: tuple[int, ...], keepdims: bool) -> Value:
    return cast(to, reduced(to, operator, cast(to, data, "int32"), axes, keepdims), "bool")


@writes("all")
def all_op(to: Nodes, data: Value, *, axis: tuple[int, ...] | None, keepdims: bool, exclude: bool) -> Value:
    return _of_bools(to, "ReduceMin", data, _axes(data, axis, exclude), keepdims)


@writes("any")
def any_op(to: Nodes, data: Value, *, axis: tuple[int, ...] | None, keepdims: bool, exclude: bool) -> Value:
    return _of_bools(to, "ReduceMax", data, _axes(data, axis, exclude), keepdims)


@writes("variance")
def variance(
    to: Nodes, data: Value, *, axis: tuple[int, ...] | None, keepdims: bool, exclude: bool, unbiased: bool
) -> Value:
    axes = _axes(data, axis, exclude)
    off = to("Sub", data, reduced(to, "ReduceMean", data, axes, True))
    square = to("Mul", off, off)
    if not unbiased:
        return reduced(to, "ReduceMean", square, axes, keepdims)
    count = math.prod([data.extent(each) for each in axes])
    total = reduced(to, "ReduceSum", square, axes, keepdims)
    return to("Div", total, scalar(to, max(count - 1, 0), data))


@writes("std")
def std(
    to: Nodes, data: Value, *, axis: tuple[int, ...] | None, keepdims: bool, exclude: bool, unbiased: bool
) -> Value:
    found = variance(to, data, axis=axis, keepdims=keepdims, exclude=exclude, unbiased=unbiased)
    return to("Sqrt", found)


def _arg(operator: str) -> Callable[..., Value]:
    def write(
        to: Nodes,
        data: Value,
        *,
        axis: tuple[int, ...] | None,
        keepdims: bool,
        exclude: bool,
        select_last_index: bool,
    ) -> Value:
        axes = _axes(data, axis, exclude)
        if len(axes) == 1:
            return to(
                operator,
                data,
                axis=axes[0],
                keepdims=keepdims,
                select_last_index=select_last_index,
                gives="int64",
            )
        kept = [d for d in range(data.ndim) if d not in axes]
        rows = reshaped(
            to,
            transposed(to, data, (*kept, *axes)),
            (*[data.dims[d] for d in kept], math.prod([data.extent(d) for d in axes])),
        )
        found = to(operator, rows, axis=-1, keepdims=0, select_last_index=select_last_index, gives="int64")
        return result_shaped(to, found)

    return write


writes("argmax")(_arg("ArgMax"))
writes("argmin")(_arg("ArgMin"))


@writes("cumsum")
def cumsum(to: Nodes, data: Value, *, axis: int | None, exclusive: bool, reverse: bool) -> Value:
    line = result_shaped(to, data) if axis is None else data
    along = to.number(0 if axis is None else axis, "int64")
    return to("CumSum", line, along, exclusive=exclusive, reverse=reverse)


@writes("l2_normalize")
def l2_normalize(to: Nodes, data: Value, *, eps: float, axis: tuple[int, ...] | None) -> Value:
    total = reduced(to, "ReduceSum", to("Mul", data, data), _axes(data, axis, False), True)
    return to("Div", data, to("Sqrt", to("Max", total, scalar(to, eps, data))))


@writes("collapse_sum_to", "collapse_sum_like")
def collapse_sum(to: Nodes, data: Value, *like: Value, **attrs: object) -> Value:
    """The sum over what broadcasting to the shape of `data` repeated."""
    target = to.types[0].shape
    lead = data.ndim - len(target)
    axes = tuple(
        [
            axis
            for axis in range(data.ndim)
            if axis < lead or (target[axis - lead] == 1 and data.dims[axis] != 1)
        ]
    )
    return result_shaped(to, reduced(to, "ReduceSum", data, axes, True)) if axes else data


def _without_nan(to: Nodes, data: Value, value: float) -> Value:
    """A number in the place of each NaN."""
    return to("Where", to("IsNaN", data, gives="bool"), scalar(to, value, data), data, gives=data.dtype)


def _of_others(operator: str, neutral: float) -> Callable[..., Value]:
    """A reduction of what is no NaN."""

    def write(to: Nodes, data: Value, *, axis: tuple[int, ...] | None, keepdims: bool) -> Value:
        rest = _without_nan(to, data, neutral)
        return reduced(to, operator, rest, _axes(data, axis, False), keepdims)

    return write


for _op, _operator, _neutral in (
    ("nansum", "ReduceSum", 0.0),
    ("nanprod", "ReduceProd", 1.0),
    ("nanmax", "ReduceMax", -math.inf),
    ("nanmin", "ReduceMin", math.inf),
):
    writes(_op)(_of_others(_operator, _neutral))


@writes("nanmean")
def nanmean(to: Nodes, data: Value, *, axis: tuple[int, ...] | None, keepdims: bool) -> Value:
    axes = _axes(data, axis, False)
    there = cast(to, to("Not", to("IsNaN", data, gives="bool")), data.dtype)
    total = reduced(to, "ReduceSum", _without_nan(to, data, 0.0), axes, keepdims)
    return to("Div", total, reduced(to, "ReduceSum", there, axes, keepdims))


@writes("ptp")
def ptp(to: Nodes, data: Value, *, axis: tuple[int, ...] | None, keepdims: bool) -> Value:
    axes = _axes(data, axis, False)
    greatest, least = [reduced(to, f"Reduce{end}", data, axes, keepdims) for end in ("Max", "Min")]
    return to("Sub", greatest, least)


@writes("count_nonzero")
def count_nonzero(to: Nodes, data: Value, *, axis: tuple[int, ...] | None, keepdims: bool) -> Value:
    counted = cast(to, cast(to, data, "bool"), to.types[0].dtype)
    return reduced(to, "ReduceSum", counted, _axes(data, axis, False), keepdims)


@writes("vector_norm")
def vector_norm(to: Nodes, data: Value, *, axis: tuple[int, ...] | None, keepdims: bool) -> Value:
    return reduced(to, "ReduceL2", data, _axes(data, axis, False), keepdims)
