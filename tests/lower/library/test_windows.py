"""Reductions over windows, along the other axes first."""

from __future__ import annotations

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ir, ops


def test_a_plane_without_rows_that_a_mean_goes_over() -> None:
    x = ir.Var("x", rt.TensorType((1, 4, 1, 40), "float32"))
    pooled = ops.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))
    executable = rt.build(ir.Function((x,), ops.mean(pooled, axis=(2, 3), keepdims=True)))
    with np.errstate(all="ignore"):
        found = executable.run([np.ones((1, 4, 1, 40), np.float32)])
    assert found.shape == (1, 4, 1, 1)
    assert np.isnan(found).all()
