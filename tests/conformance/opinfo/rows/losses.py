"""Losses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opgen_runtime import ops

from ..adapter import adapts, table

np: Any = numpy
NN = "nn.functional."


def _loss(op: Callable[..., Any]) -> Callable[..., Any]:
    def loss(
        a: Any, target: Any, *, reduction: str = "mean", size_average: Any = None, reduce: Any = None
    ) -> Any:
        return op(a, target, reduction=reduction)

    return loss


table({NN + "mse_loss": _loss(ops.mse_loss), NN + "l1_loss": _loss(ops.l1_loss),
       NN + "soft_margin_loss": _loss(ops.soft_margin_loss)})  # fmt: skip


@adapts(NN + "smooth_l1_loss")
def smooth_l1_loss(a: Any, target: Any, *, reduction: str = "mean", beta: float = 1.0) -> Any:
    return ops.smooth_l1_loss(a, target, reduction=reduction, beta=float(beta))


@adapts(NN + "huber_loss")
def huber_loss(a: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    return ops.huber_loss(a, target, reduction=reduction, delta=float(delta))


@adapts(NN + "binary_cross_entropy")
def binary_cross_entropy(a: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    return _weighted(ops.bce_loss, a, target, weight, reduction)


@adapts(NN + "binary_cross_entropy_with_logits")
def bce_with_logits(
    a: Any, target: Any, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    if pos_weight is not None:
        raise NotImplementedError("bce_with_logits_loss takes no pos_weight")
    return _weighted(ops.bce_with_logits_loss, a, target, weight, reduction)


def _weighted(op: Callable[..., Any], a: Any, target: Any, weight: Any, reduction: str) -> Any:
    if weight is None:
        return op(a, target, reduction=reduction)
    return ops.reduced(op(a, target, reduction="none") * weight, reduction=reduction)


@adapts(NN + "nll_loss")
def nll_loss(
    a: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    return ops.nll_loss(a, target, weight, reduction=reduction, ignore_index=ignore_index)


@adapts(NN + "cross_entropy")
def cross_entropy(
    a: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    if label_smoothing or np.dtype(target.dtype).kind == "f":
        raise NotImplementedError("of classes that are ints alone")
    axis = 1 if a.ndim > 1 else 0
    return nll_loss(
        ops.log_softmax(a, axis=axis), target, weight, ignore_index=ignore_index, reduction=reduction
    )


@adapts(NN + "kl_div")
def kl_div(a: Any, target: Any, *, reduction: str = "mean", log_target: bool = False) -> Any:
    if log_target or reduction == "batchmean":
        raise NotImplementedError("kl_div_loss takes no logarithms of targets")
    return ops.kl_div_loss(a, target, reduction=reduction)


@adapts(NN + "poisson_nll_loss")
def poisson_nll_loss(
    a: Any,
    target: Any,
    log_input: bool = True,
    full: bool = False,
    *,
    eps: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    if full or not log_input:
        raise NotImplementedError("poisson_nll_loss takes logarithms")
    return ops.poisson_nll_loss(a, target, reduction=reduction)
