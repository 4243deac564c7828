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
    if weight is None:
        return ops.bce_loss(a, target, reduction=reduction)
    return ops.reduced(ops.bce_loss(a, target, reduction="none") * weight, reduction=reduction)


@adapts(NN + "binary_cross_entropy_with_logits")
def bce_with_logits(
    a: Any, target: Any, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    return ops.bce_with_logits_loss(a, target, weight, pos_weight, reduction=reduction)


@adapts(NN + "nll_loss")
def nll_loss(
    a: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    alone = a.ndim == 1
    rows = (np.expand_dims(a, 0), np.expand_dims(target, 0)) if alone else (a, target)
    found = ops.nll_loss(*rows, weight, reduction=reduction, ignore_index=ignore_index)
    return np.squeeze(found, 0) if alone and reduction == "none" else found


@adapts(NN + "cross_entropy")
def cross_entropy(
    a: Any, target: Any, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:  # fmt: skip
    if a.ndim == 1:
        found = cross_entropy(
            np.expand_dims(a, 0), np.expand_dims(target, 0), weight, ignore_index=ignore_index, reduction=reduction,
            label_smoothing=label_smoothing,
        )  # fmt: skip
        return np.squeeze(found, 0) if reduction == "none" else found
    if np.dtype(target.dtype).kind == "f":
        return ops.softmax_cross_entropy(
            a, target, weight, reduction=reduction, label_smoothing=label_smoothing
        )
    return ops.nll_loss(
        ops.log_softmax(a, axis=1), target, weight, reduction=reduction, ignore_index=ignore_index,
        label_smoothing=label_smoothing,
    )  # fmt: skip


@adapts(NN + "kl_div")
def kl_div(a: Any, target: Any, *, reduction: str = "mean", log_target: bool = False) -> Any:
    return ops.kl_div_loss(a, target, reduction=reduction, log_targets=log_target)


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
    return ops.poisson_nll_loss(a, target, reduction=reduction, log_input=log_input, full=full, epsilon=eps)


@adapts(NN + "hinge_embedding_loss")
def hinge_embedding_loss(a: Any, target: Any, margin: float = 1.0, *, reduction: str = "mean") -> Any:
    return ops.hinge_embedding_loss(a, target, margin=float(margin), reduction=reduction)


@adapts(NN + "margin_ranking_loss")
def margin_ranking_loss(a: Any, b: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean") -> Any:
    return ops.margin_ranking_loss(a, b, target, margin=float(margin), reduction=reduction)


@adapts(NN + "multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(a: Any, target: Any, weight: Any = None, *, reduction: str = "mean") -> Any:
    if weight is not None:
        raise NotImplementedError("multilabel_soft_margin_loss takes no weights")
    return ops.multilabel_soft_margin_loss(a, target, reduction=reduction)


@adapts(NN + "gaussian_nll_loss")
def gaussian_nll_loss(
    a: Any, target: Any, var: Any, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    if var.ndim == a.ndim - 1 and var.ndim:
        var = np.expand_dims(var, -1)
    return ops.gaussian_nll_loss(a, target, var, full=full, epsilon=eps, reduction=reduction)


@adapts(NN + "cosine_embedding_loss")
def cosine_embedding_loss(
    a: Any, b: Any, target: Any, margin: float = 0.0, *, reduction: str = "mean"
) -> Any:
    return ops.cosine_embedding_loss(a, b, target, margin=float(margin), reduction=reduction)


@adapts(NN + "triplet_margin_loss")
def triplet_margin_loss(
    a: Any, positive: Any, negative: Any, *, margin: float = 1.0, p: float = 2, eps: float = 1e-6, swap: bool = False,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    if p != 2:
        raise NotImplementedError("triplet_margin_loss takes lengths")
    return ops.triplet_margin_loss(
        a, positive, negative, margin=float(margin), epsilon=eps, swap=swap, reduction=reduction
    )


@adapts(NN + "multi_margin_loss")
def multi_margin_loss(
    a: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None, *, reduction: str = "mean"
) -> Any:
    scores = np.reshape(a, (1, -1)) if a.ndim < 2 else a
    found = ops.multi_margin_loss(
        scores, np.reshape(target, (-1,)), weight, p=p, margin=float(margin), reduction=reduction
    )
    return np.reshape(found, target.shape) if reduction == "none" else found


@adapts(NN + "multilabel_margin_loss")
def multilabel_margin_loss(a: Any, target: Any, *, reduction: str = "mean") -> Any:
    rows = (a, target) if a.ndim == 2 else (np.reshape(a, (1, -1)), np.reshape(target, (1, -1)))
    found = ops.multilabel_margin_loss(*rows, reduction=reduction)
    return np.reshape(found, a.shape[:-1]) if reduction == "none" else found


@adapts(NN + "ctc_loss")
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:  # fmt: skip
    lengths = [
        np.astype(each if hasattr(each, "shape") else np.asarray(each), targets.dtype)
        for each in (input_lengths, target_lengths)
    ]
    return ops.ctc_loss(
        log_probs, targets, *lengths, blank=blank, reduction=reduction, zero_infinity=zero_infinity
    )


@adapts(NN + "triplet_margin_with_distance_loss")
def triplet_margin_with_distance_loss(
    a: Any, positive: Any, negative: Any, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False,
    reduction: str = "mean",
) -> Any:  # fmt: skip
    if distance_function is not None and type(distance_function).__name__ != "PairwiseDistance":
        raise NotImplementedError("a distance of PyTorch's")
    return triplet_margin_loss(a, positive, negative, margin=margin, swap=swap, reduction=reduction)


@adapts(NN + "linear_cross_entropy")
def linear_cross_entropy(
    a: Any, linear_weight: Any, target: Any, *, linear_bias: Any = None, weight: Any = None, reduction: str = "mean",
    ignore_index: int | None = None, label_smoothing: float = 0.0, options: Any = None,
) -> Any:  # fmt: skip
    logits = np.tensordot(a, linear_weight, ((-1,), (-1,)))
    return cross_entropy(
        logits if linear_bias is None else logits + linear_bias, target, weight, reduction=reduction,
        ignore_index=-100 if ignore_index is None else ignore_index, label_smoothing=label_smoothing,
    )  # fmt: skip
