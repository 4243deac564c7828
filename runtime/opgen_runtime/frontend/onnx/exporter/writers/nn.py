"""Normalisations, biases, attention, losses."""

from __future__ import annotations

import math

import numpy as np

from ..nodes import Nodes, NoStandard, Value
from ..registry import writes
from ._tools import moved, reshaped, scalar


def _filled(to: Nodes, value: float, used: bool, given: Value) -> Value:
    """The operand, or the number for each channel where it is not used."""
    if used:
        return given
    return to.names.constant(np.full(given.extent(0), value, given.dtype.numpy))


def _first(to: Nodes, data: Value, axis: int) -> Value:
    """`data` with its channels on axis 1."""
    return moved(to, data, axis % data.ndim, 1)


def _back(to: Nodes, x: Value, data: Value, axis: int) -> Value:
    """A result of channels on axis 1 as `data` lies."""
    return moved(to, Value(x.name, x.dtype, data.dims), 1, axis % data.ndim)


@writes("bias_add")
def bias_add(to: Nodes, data: Value, bias: Value, *, axis: int) -> Value:
    behind = data.ndim - 1 - axis % data.ndim
    if behind:
        bias = to("Unsqueeze", bias, to.ints(*range(1, behind + 1)))
    return to("Add", data, bias)


@writes("batch_norm")
def batch_norm(
    to: Nodes,
    data: Value,
    gamma: Value,
    beta: Value,
    moving_mean: Value,
    moving_var: Value,
    *,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
) -> tuple[Value, Value, Value]:
    if data.ndim < 2:
        raise NoStandard("it has channels alone")
    factor, shift = _filled(to, 1, scale, gamma), _filled(to, 0, center, beta)
    x = _first(to, data, axis)
    found = to("BatchNormalization", x, factor, shift, moving_mean, moving_var, epsilon=epsilon)
    return _back(to, found, data, axis), moving_mean, moving_var


@writes("layer_norm")
def layer_norm(
    to: Nodes,
    data: Value,
    gamma: Value,
    beta: Value,
    *,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
) -> Value:
    last = data.ndim - 1
    x = moved(to, data, axis % data.ndim, last)
    factor, shift = _filled(to, 1, scale, gamma), beta if center else None
    found = to("LayerNormalization", x, factor, shift, axis=-1, epsilon=epsilon)
    return moved(to, Value(found.name, found.dtype, data.dims), last, axis % data.ndim)


@writes("group_norm")
def group_norm(
    to: Nodes,
    data: Value,
    gamma: Value,
    beta: Value,
    *,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
    num_groups: int,
) -> Value:
    if to.opset < 21:
        raise NoStandard("before opset 21 the scale was one a group")
    factor, shift = _filled(to, 1, scale, gamma), _filled(to, 0, center, beta)
    x = _first(to, data, axis)
    found = to("GroupNormalization", x, factor, shift, epsilon=epsilon, num_groups=num_groups)
    return _back(to, found, data, axis)


@writes("instance_norm")
def instance_norm(
    to: Nodes,
    data: Value,
    gamma: Value,
    beta: Value,
    *,
    axis: int,
    epsilon: float,
    center: bool,
    scale: bool,
) -> Value:
    factor, shift = _filled(to, 1, scale, gamma), _filled(to, 0, center, beta)
    found = to("InstanceNormalization", _first(to, data, axis), factor, shift, epsilon=epsilon)
    return _back(to, found, data, axis)


@writes("rms_norm")
def rms_norm(to: Nodes, data: Value, gamma: Value, *, axis: int, epsilon: float) -> Value:
    axes = range(axis % data.ndim, data.ndim)
    mean = to("ReduceMean", to("Mul", data, data), to.ints(*axes), keepdims=1)
    factor = to("Reciprocal", to("Sqrt", to("Add", mean, scalar(to, epsilon, data))))
    return to("Mul", to("Mul", data, factor), gamma)


@writes("lrn")
def lrn(to: Nodes, data: Value, *, size: int, axis: int, bias: float, alpha: float, beta: float) -> Value:
    if data.ndim != 4:
        raise NoStandard("what runs models takes images alone")
    found = to("LRN", _first(to, data, axis), size=size, bias=bias, alpha=alpha, beta=beta)
    return _back(to, found, data, axis)


@writes("attention")
def attention(
    to: Nodes, q: Value, k: Value, v: Value, mask: Value | None, *, causal: bool, scale: float | None
) -> Value:
    """Scores, their softmax, and the mix of the values; a query without keys gives 0."""
    groups = q.extent(1) // k.extent(1)
    if groups > 1:
        k, v = _each_head(to, k, groups), _each_head(to, v, groups)
    factor = scale if scale is not None else 1 / math.sqrt(max(q.extent(3), 1))
    scores = to("Mul", to("MatMul", q, to("Transpose", k, perm=(0, 1, 3, 2))), scalar(to, factor, q))
    seen = mask if mask is not None and mask.dtype.is_bool else None
    if mask is not None and seen is None:
        scores = to("Add", scores, mask)
    if causal:
        shape = (q.extent(2), v.extent(2))
        earlier = to.names.constant(np.tri(*shape, dtype=bool))
        seen = earlier if seen is None else to("And", seen, earlier)
    lowest = scalar(to, -math.inf, q)
    if seen is not None:
        scores = to("Where", seen, scores, lowest, gives=q.dtype)
    weights = to("Softmax", scores, axis=-1)
    if mask is not None or causal:  # of a row without keys the softmax is NaN
        top = to("ReduceMax", scores, to.ints(-1), keepdims=1)
        empty = to("Equal", top, lowest, gives="bool")
        weights = to("Where", empty, scalar(to, 0, q), weights, gives=q.dtype)
    return to("MatMul", weights, v)


def _each_head(to: Nodes, x: Value, groups: int) -> Value:
    """Each head as often as queries share it."""
    n, _, rows, width = x.dims
    wide = to("Tile", to("Unsqueeze", x, to.ints(2)), to.ints(1, 1, groups, 1, 1))
    made = reshaped(to, wide, (n, x.extent(1) * groups, rows, width))
    return Value(made.name, made.dtype, (n, x.extent(1) * groups, rows, width))


@writes("nll_loss")
def nll_loss(
    to: Nodes,
    predictions: Value,
    targets: Value,
    weights: Value | None,
    *,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
) -> Value:
    if label_smoothing:
        raise NoStandard("targets are smoothed")
    classes = to.number(predictions.extent(1), targets.dtype)
    below = to("Less", targets, scalar(to, 0, targets), gives="bool")
    outside = to("Or", below, to("GreaterOrEqual", targets, classes, gives="bool"))
    counted = to("Where", outside, scalar(to, ignore_index, targets), targets, gives=targets.dtype)
    return to(
        "NegativeLogLikelihoodLoss",
        predictions,
        counted,
        weights,
        reduction=reduction,
        ignore_index=ignore_index,
    )
