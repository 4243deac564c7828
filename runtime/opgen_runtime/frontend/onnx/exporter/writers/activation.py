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
