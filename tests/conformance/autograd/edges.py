"""Gradients where functions have kinks, poles or infinite values: what is a convention is that of torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from opgen_runtime import ops

from .example import Draw, Example, Make, Rows

INF, NAN = float("inf"), float("nan")


def edges(t: Any) -> Rows:
    for name, ours, theirs, values in (*_activations(t), *_functions(t), *_reductions(t)):
        yield f"edge: {name}", _at(ours, theirs, values)


def _at(ours: Callable[..., Any], theirs: Callable[..., Any], values: Sequence[float]) -> Make:
    def make(draw: Draw) -> Example:
        return Example([draw.random.permutation(np.array(values, float))], ours, theirs, str(values), 1e-7)

    return make


def _activations(t: Any) -> list[tuple[str, Any, Any, Sequence[float]]]:
    f = t.nn.functional
    ends = (-INF, -800, -30, -1, 0, 1, 30, 800, INF)
    return [
        ("relu", ops.relu, t.relu, (*ends, NAN)),
        ("clip", partial(ops.clip, a_min=-1.0, a_max=1.0), lambda x: t.clamp(x, -1, 1), (*ends, NAN)),
        ("clip, np.clip", lambda x: np.clip(x, 0.0, None), lambda x: t.clamp(x, min=0), ends),
        ("leaky_relu", partial(ops.leaky_relu, alpha=0.3), lambda x: f.leaky_relu(x, 0.3), ends),
        ("elu", partial(ops.elu, alpha=0.3), lambda x: f.elu(x, 0.3), ends),
        ("selu", ops.selu, f.selu, ends),
        ("celu", partial(ops.celu, alpha=0.5), lambda x: f.celu(x, 0.5), ends),
        ("softplus", ops.softplus, f.softplus, ends[1:-1]),
        (
            "thresholded_relu",
            partial(ops.thresholded_relu, alpha=1.0),
            lambda x: f.threshold(x, 1.0, 0.0),
            ends,
        ),
        ("hard_sigmoid", partial(ops.hard_sigmoid, alpha=1 / 6), f.hardsigmoid, (-3, 3, 0, -4, 4)),
        ("hard_swish", ops.hard_swish, f.hardswish, (-3, 3, 0, -4, 4)),
        ("gelu", ops.gelu, f.gelu, ends[1:-1]),
        ("silu", ops.silu, f.silu, ends[1:-1]),
        ("mish", ops.mish, f.mish, ends[1:-1]),
        ("sigmoid", ops.sigmoid, t.sigmoid, ends),
        ("tanh", ops.tanh, t.tanh, ends),
        ("softsign", ops.softsign, f.softsign, (-1, 0, 1)),
    ]


def _functions(t: Any) -> list[tuple[str, Any, Any, Sequence[float]]]:
    zeros, two = np.zeros(3), np.array([2.0, 2.0, -2.0])
    powers = np.array([0.0, 1.0, 2.0, 0.5, 3.0])
    return [
        ("abs", ops.abs, t.abs, (-1, 0, 1, INF)),
        ("sqrt", ops.sqrt, t.sqrt, (0, 1, INF)),
        ("rsqrt", ops.rsqrt, t.rsqrt, (0, 1, INF)),
        ("log", ops.log, t.log, (0, 1, INF)),
        ("log1p", ops.log1p, t.log1p, (-1, 0, INF)),
        ("acos", ops.acos, t.acos, (-1, 0, 1)),
        ("asin", ops.asin, t.asin, (-1, 0, 1)),
        ("acosh", ops.acosh, t.acosh, (1, 2)),
        ("atanh", ops.atanh, t.atanh, (-1, 0, 1)),
        ("exp", ops.exp, t.exp, (-800, 0, 800)),
        ("reciprocal", ops.reciprocal, t.reciprocal, (0, 1, INF)),
        ("maximum", lambda x: ops.maximum(x, zeros), lambda x: t.maximum(x, t.from_numpy(zeros)), (-1, 0, NAN)),
        ("minimum", lambda x: ops.minimum(zeros, x), lambda x: t.minimum(t.from_numpy(zeros), x), (-1, 0, NAN)),
        ("minimum of one", lambda x: ops.minimum(x, x), lambda x: t.minimum(x, x), (-1, 0, 1)),
        ("power", lambda x: ops.power(x, powers), lambda x: t.pow(x, t.from_numpy(powers)), (0, 0, 0, 0, 0)),
        ("exponent", lambda x: ops.power(zeros, x), lambda x: t.pow(t.from_numpy(zeros), x), (0, 1, 2)),
        ("floor_mod", lambda x: ops.floor_mod(x, two), lambda x: t.remainder(x, t.from_numpy(two)), (4, -4, 4)),
    ]  # fmt: skip


def _reductions(t: Any) -> list[tuple[str, Any, Any, Sequence[float]]]:
    f = t.nn.functional

    def pooled(ours: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x: ours(x.reshape((1, 1, 4)))

    return [
        ("max", partial(ops.max, axis=0), partial(t.amax, dim=0), (1, 1, 0)),
        ("min", partial(ops.min, axis=0), partial(t.amin, dim=0), (-INF, -INF, 0)),
        ("max of NaN", ops.max, t.max, (NAN, 1, NAN, INF)),
        ("prod of zeros", partial(ops.prod, axis=0), partial(t.prod, dim=0), (0, 0, 2)),
        ("prod", partial(ops.prod, axis=0), partial(t.prod, dim=0), (3, 0, 2)),
        ("cumprod", partial(ops.cumprod, axis=0), partial(t.cumprod, dim=0), (2, 0, 3, 0, 1)),
        ("std", partial(ops.std, axis=0), lambda x: t.std(x, 0, correction=0), (1, 1, 1)),
        ("norm", np.linalg.norm, t.linalg.vector_norm, (0, 0, 0)),
        ("softmax", partial(ops.softmax, axis=0), partial(t.softmax, dim=0), (-INF, 0, 800)),
        ("log_softmax", partial(ops.log_softmax, axis=0), partial(t.log_softmax, dim=0), (0, -800, 800)),
        ("logsumexp", partial(ops.logsumexp, axis=0), partial(t.logsumexp, dim=0), (-INF, 999, 1000)),
        ("max_pool1d", pooled(partial(ops.max_pool1d, pool_size=(2,), strides=(2,))),
         pooled(lambda x: f.max_pool1d(x, 2, 2)), (1, 1, 1, 1)),
        ("global_max_pool1d", pooled(ops.global_max_pool1d),
         pooled(lambda x: f.adaptive_max_pool1d(x, 1)), (2, 2, 1, 1)),
        ("adaptive_max_pool1d", pooled(partial(ops.adaptive_max_pool1d, output_size=(2,))),
         pooled(lambda x: f.adaptive_max_pool1d(x, 2)), (1, 1, 2, 2)),
    ]  # fmt: skip
