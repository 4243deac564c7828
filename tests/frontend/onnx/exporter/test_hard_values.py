"""What ops are written as means the same at NaN, infinities and both zeros, in onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.frontend import onnx as frontend

from .run_models import by_onnxruntime

HARD = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 0.3, -0.3, 80, -80, 7, 1e-6], np.float32)
OF_ONE = (
    "relu6", "hardtanh", "squared_relu", "quick_gelu", "log_sigmoid", "tanhshrink", "hardshrink", "softshrink",
    "threshold", "deg2rad", "rad2deg", "isposinf", "isneginf", "frac", "logit",
)  # fmt: skip
OF_TWO = ("fmax", "fmin", "xlogy", "heaviside", "squared_difference", "lerp")
LOSSES = (
    "mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "hinge_loss", "soft_margin_loss", "poisson_nll_loss",
)  # fmt: skip
OF_ROWS = ("nansum", "nanprod", "nanmax", "nanmin", "nanmean", "count_nonzero", "vector_norm")


def check(params: Sequence[ir.Var], calls: Sequence[ir.Expr], arrays: Sequence[np.ndarray]) -> None:
    """One model of all calls, which has no node of another domain."""
    function = ir.Function(tuple(params), ir.Tuple(tuple(calls)))
    model = frontend.export(function)
    assert {node.domain for node in model.graph.node} == {""}
    wanted = rt.create_executor("debug").evaluate(function.body, dict(zip(params, arrays, strict=True)))
    for call, one, other in zip(calls, by_onnxruntime(model, *arrays), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5, err_msg=str(call))


def test_of_one_element() -> None:
    x = ir.Var("x", rt.TensorType(HARD.shape, "float32"))
    check([x], [getattr(ops, name)(x) for name in OF_ONE], [HARD])


def test_of_two_elements() -> None:
    pairs = [each.ravel() for each in np.meshgrid(HARD, HARD)]
    x, y = [ir.Var(name, rt.TensorType(pairs[0].shape, "float32")) for name in "xy"]
    calls = [getattr(ops, name)(x, y) for name in OF_TWO]
    check([x, y], [*calls, *[getattr(ops, name)(x, y, reduction="none") for name in LOSSES]], pairs)


def test_of_rows() -> None:
    rows = np.stack([HARD, np.full_like(HARD, np.nan), np.ones_like(HARD)])
    x = ir.Var("x", rt.TensorType(rows.shape, "float32"))
    check([x], [getattr(ops, name)(x, axis=(1,), keepdims=True) for name in OF_ROWS], [rows])
