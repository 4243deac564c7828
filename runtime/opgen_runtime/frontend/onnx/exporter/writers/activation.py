"""Activations."""

from __future__ import annotations

from ..nodes import Nodes, NoStandard, Value
from ..registry import renames, writes
from ._tools import reshaped, scalar

renames(
    {
        "celu": "Celu", "elu": "Elu", "gelu": "Gelu", "hard_sigmoid": "HardSigmoid", "leaky_relu": "LeakyRelu",
        "log_softmax": "LogSoftmax", "mish": "Mish", "relu": "Relu", "selu": "Selu", "softmax": "Softmax",
        "softplus": "Softplus", "softsign": "Softsign", "thresholded_relu": "ThresholdedRelu",
        "hard_swish": "HardSwish",
    }
)  # fmt: skip


@writes("silu")
def silu(to: Nodes, data: Value) -> Value:
    return to("Mul", data, to("Sigmoid", data))


@writes("prelu")
def prelu(to: Nodes, data: Value, alpha: Value, *, axis: int | None) -> Value:
    if axis is not None and alpha.ndim == 1:
        behind = data.ndim - 1 - axis % data.ndim
        alpha = reshaped(to, alpha, (*alpha.dims, *[1] * behind))
    return to("PRelu", data, alpha)


@writes("clip")
def clip(to: Nodes, data: Value, *, a_min: float | None, a_max: float | None) -> Value:
    limits = [None if end is None else scalar(to, end, data) for end in (a_min, a_max)]
    if a_min is not None and a_max is not None and a_min > a_max:
        raise NoStandard("the limits are the wrong way round")
    return to("Clip", data, *limits) if any(limits) else data


@writes("relu6")
def relu6(to: Nodes, data: Value) -> Value:
    return clip(to, data, a_min=0.0, a_max=6.0)


@writes("hardtanh")
def hardtanh(to: Nodes, data: Value, *, low: float, high: float) -> Value:
    return clip(to, data, a_min=low, a_max=high)


@writes("squared_relu")
def squared_relu(to: Nodes, data: Value) -> Value:
    positive = to("Relu", data)
    return to("Mul", positive, positive)


@writes("quick_gelu")
def quick_gelu(to: Nodes, data: Value, *, alpha: float) -> Value:
    return to("Mul", data, to("Sigmoid", to("Mul", scalar(to, alpha, data), data)))


@writes("log_sigmoid")
def log_sigmoid(to: Nodes, data: Value) -> Value:
    return to("Neg", to("Softplus", to("Neg", data)))


@writes("softmin")
def softmin(to: Nodes, data: Value, *, axis: int) -> Value:
    return to("Softmax", to("Neg", data), axis=axis)


@writes("tanhshrink")
def tanhshrink(to: Nodes, data: Value) -> Value:
    return to("Sub", data, to("Tanh", data))


@writes("hardshrink")
def hardshrink(to: Nodes, data: Value, *, lambd: float) -> Value:
    is_far = to("Greater", to("Abs", data), scalar(to, lambd, data), gives="bool")
    return to("Where", is_far, data, scalar(to, 0, data), gives=data.dtype)


@writes("softshrink")
def softshrink(to: Nodes, data: Value, *, lambd: float) -> Value:
    """NaN is no nearer than the threshold, where `Shrink` makes 0 of it."""
    is_near = to("LessOrEqual", to("Abs", data), scalar(to, lambd, data), gives="bool")
    nearer = to("Sub", data, to("Mul", to("Sign", data), scalar(to, lambd, data)))
    return to("Where", is_near, scalar(to, 0, data), nearer, gives=data.dtype)


@writes("threshold")
def threshold(to: Nodes, data: Value, *, threshold: float, value: float) -> Value:
    exceeds = to("Greater", data, scalar(to, threshold, data), gives="bool")
    return to("Where", exceeds, data, scalar(to, value, data), gives=data.dtype)


@writes("glu")
def glu(to: Nodes, data: Value, *, axis: int) -> Value:
    first, second = to.several("Split", data, axis=axis, num_outputs=2, gives=(data.dtype,) * 2)
    return to("Mul", first, to("Sigmoid", second))
