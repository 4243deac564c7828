"""Where multiplying by zero would give NaN: whole gradients, of programs that are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops

INF = float("inf")


@pytest.mark.parametrize(
    ("function", "x", "wanted"),
    [
        # a choice between values, of which one has no slope: what goes in is chosen, too
        (lambda x: ops.where(x > 0.0, ops.sqrt(ops.where(x > 0.0, x, x * 0.0 + 1.0)), x * 0.0).sum(),
         [-1.0, 0.0, 4.0], [0.0, 0.0, 0.25]),
        (lambda x: ops.where(x > 0.0, ops.sqrt(x), x * 0.0).sum(), [-1.0, 0.0, 4.0], [np.nan, np.nan, 0.25]),
        (lambda x: ops.logsumexp(x, axis=0), [-INF, 0.0, 0.0], [0.0, 0.5, 0.5]),
        (lambda x: ops.logsumexp(x, axis=0), [-INF, -INF], [0.0, 0.0]),
        (lambda x: ops.softmax(x)[1], [-INF, 0.0, 0.0], [0.0, 0.25, -0.25]),
        (lambda x: ops.log_softmax(x)[1], [-INF, 0.0, 0.0], [0.0, 0.5, -0.5]),
        (lambda x: ops.prod(x), [2.0, 0.0, 5.0], [0.0, 10.0, 0.0]),
        (lambda x: ops.prod(x), [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]),
        (lambda x: ops.cumprod(x, axis=0).sum(), [2.0, 0.0, 3.0], [1.0, 8.0, 0.0]),
        (lambda x: ops.std(x), [1.0, 1.0], [0.0, 0.0]),
        (lambda x: ops.l2_normalize(x, eps=1e-6, axis=(0,)).sum(), [0.0, 0.0], [1000.0, 1000.0]),
        (lambda x: np.linalg.norm(x), [0.0, 0.0], [0.0, 0.0]),
        (lambda x: np.linalg.norm(x), [3.0, 4.0], [0.6, 0.8]),
        (lambda x: ops.power(x, np.array([2.0, 0.0, 1.0])).sum(), [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
        (lambda x: ops.sqrt(x).sum(), [0.0, 4.0], [INF, 0.25]),
        (lambda x: ops.abs(x).sum(), [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]),
        # at kinks a number takes the gradient, of what is clipped to a bound the bound passes it, equal tensors share
        (lambda x: ops.relu(x).sum(), [-1.0, 0.0, -0.0, np.nan], [0.0, 0.0, 0.0, 1.0]),
        (lambda x: ops.hard_sigmoid(x, alpha=0.125).sum(), [-4.0, 4.0, 1.0], [0.0, 0.0, 0.125]),
        (lambda x: ops.hard_swish(x).sum(), [-3.0, 0.0, 3.0], [0.0, 0.5, 1.0]),
        (lambda x: np.clip(x, -1.0, 1.0).sum(), [-2.0, -1.0, 0.0, 1.0, 2.0, np.nan], [0.0, 1.0, 1.0, 1.0, 0.0, 0.0]),
        (lambda x: ops.clip(x, a_max=0.0).sum(), [-2.0, 0.0, 2.0], [1.0, 1.0, 0.0]),
        (lambda x: ops.leaky_relu(x, alpha=0.25).sum(), [-2.0, 0.0, 2.0], [0.25, 0.25, 1.0]),
        (lambda x: ops.prelu(x, np.array([0.25]), axis=None).sum(), [-2.0, 0.0, 2.0], [0.25, 0.25, 1.0]),
        (lambda a: ops.prelu(np.array([-2.0, 0.0, 2.0]), a, axis=0).sum(), [0.5, 0.5, 0.5], [-2.0, 0.0, 0.0]),
        (lambda x: ops.elu(x, alpha=0.25).sum(), [-INF, 0.0, 800.0], [0.0, 0.25, 1.0]),
        (lambda x: ops.celu(x, alpha=0.25).sum(), [-INF, 0.0, 800.0], [0.0, 1.0, 1.0]),
        (lambda x: ops.selu(x, alpha=2.0, gamma=0.25).sum(), [-INF, 0.0, 800.0], [0.0, 0.5, 0.25]),
        (lambda x: ops.softplus(x).sum(), [-800.0, 0.0, 800.0], [0.0, 0.5, 1.0]),
        (lambda x: ops.maximum(x, np.zeros(3)).sum(), [-1.0, 0.0, 1.0], [0.0, 0.5, 1.0]),
        (lambda x: ops.minimum(x, x).sum(), [-1.0, 0.0, 1.0], [1.0, 1.0, 1.0]),
        (lambda x: ops.maximum(x, np.array([0.0, np.nan, 0.0])).sum(), [np.nan, 0.0, -1.0], [1.0, 1.0, 0.0]),
        (lambda x: ops.min(x), [np.nan, -INF, np.nan], [0.5, 0.0, 0.5]),
        (lambda x: ops.max(x), [1.0, 1.0, 0.0], [0.5, 0.5, 0.0]),
        (lambda x: ops.global_max_pool1d(x.reshape((1, 1, 3))).sum(), [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]),
    ],
)  # fmt: skip
def test_traps(function: Callable[[Any], Any], x: list[float], wanted: list[float]) -> None:
    np.testing.assert_allclose(rt.grad(function)(np.array(x)), wanted, rtol=1e-12)
