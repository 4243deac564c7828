"""Differences of two tensors, and losses that are means or sums of them."""

from __future__ import annotations

from ..nodes import Nodes, NoStandard, Value
from ..registry import writes
from ._tools import scalar


def _reduced(to: Nodes, loss: Value, reduction: str, operands: tuple[Value, ...]) -> Value:
    """The loss of each element, or the mean or the sum of all."""
    if reduction == "none":
        return loss
    if any([0 in operand.dims for operand in operands]):
        raise NoStandard("nothing is reduced")
    return to("ReduceMean" if reduction == "mean" else "ReduceSum", loss, keepdims=0)


@writes("squared_difference")
def squared_difference(to: Nodes, lhs: Value, rhs: Value) -> Value:
    off = to("Sub", lhs, rhs)
    return to("Mul", off, off)


@writes("lerp")
def lerp(to: Nodes, lhs: Value, rhs: Value, *, weight: float) -> Value:
    return to("Add", lhs, to("Mul", scalar(to, weight, lhs), to("Sub", rhs, lhs)))


@writes("mse_loss")
def mse_loss(to: Nodes, predictions: Value, targets: Value, *, reduction: str) -> Value:
    loss = squared_difference(to, predictions, targets)
    return _reduced(to, loss, reduction, (predictions, targets))


@writes("l1_loss")
def l1_loss(to: Nodes, predictions: Value, targets: Value, *, reduction: str) -> Value:
    loss = to("Abs", to("Sub", predictions, targets))
    return _reduced(to, loss, reduction, (predictions, targets))


@writes("huber_loss")
def huber_loss(to: Nodes, predictions: Value, targets: Value, *, reduction: str, delta: float) -> Value:
    off = to("Abs", to("Sub", predictions, targets))
    line = to("Mul", scalar(to, delta, off), to("Sub", off, scalar(to, 0.5 * delta, off)))
    loss = _rounded(to, off, delta, to("Mul", scalar(to, 0.5, off), to("Mul", off, off)), line)
    return _reduced(to, loss, reduction, (predictions, targets))


@writes("smooth_l1_loss")
def smooth_l1_loss(to: Nodes, predictions: Value, targets: Value, *, reduction: str, beta: float) -> Value:
    off = to("Abs", to("Sub", predictions, targets))
    square = to("Div", to("Mul", scalar(to, 0.5, off), to("Mul", off, off)), scalar(to, beta, off))
    loss = _rounded(to, off, beta, square, to("Sub", off, scalar(to, 0.5 * beta, off)))
    return _reduced(to, loss, reduction, (predictions, targets))


@writes("hinge_loss")
def hinge_loss(to: Nodes, predictions: Value, targets: Value, *, reduction: str) -> Value:
    short = to("Sub", scalar(to, 1, targets), to("Mul", targets, predictions))
    return _reduced(to, to("Relu", short), reduction, (predictions, targets))


@writes("soft_margin_loss")
def soft_margin_loss(to: Nodes, predictions: Value, targets: Value, *, reduction: str) -> Value:
    loss = to("Softplus", to("Neg", to("Mul", targets, predictions)))
    return _reduced(to, loss, reduction, (predictions, targets))


@writes("poisson_nll_loss")
def poisson_nll_loss(
    to: Nodes,
    predictions: Value,
    targets: Value,
    *,
    reduction: str,
    log_input: bool,
    full: bool,
    epsilon: float,
) -> Value:
    if full or not log_input:
        raise NoStandard("rates, or with the constant")
    loss = to("Sub", to("Exp", predictions), to("Mul", targets, predictions))
    return _reduced(to, loss, reduction, (predictions, targets))


def _rounded(to: Nodes, off: Value, bound: float, inner: Value, outer: Value) -> Value:
    """`inner` where the difference is below the bound."""
    return to("Where", to("Less", off, scalar(to, bound, off), gives="bool"), inner, outer, gives=off.dtype)
