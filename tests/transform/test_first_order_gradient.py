"""FirstOrderGradient: functions with the gradients of their results."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.errors import PassError
from opgen_runtime.transform import FirstOrderGradient
from tests.transform.whole import gives


def test_whole() -> None:
    gives(
        FirstOrderGradient(),
        "fn (%x: [3], %n: [3] int32) { negative(%x) }",
        """fn (%x: [3], %n: [3] int32) {
          %0 = full(1f, shape=[3]);
          (negative(%x), (vjp.negative(%x, (), %0, wrt="data"), full(0, shape=[3])))
        }""",
    )


def test_a_loss_and_its_gradients() -> None:
    x, w = rt.var("x", shape=(4, 3)), rt.var("w", shape=(2, 3))
    loss = rt.Function((x, w), ops.sum(ops.multiply(ops.dense(x, w), ops.dense(x, w))))
    a, b = (np.random.default_rng(0).standard_normal(shape).astype("float32") for shape in ((4, 3), (2, 3)))
    value, (dx, dw) = rt.build(FirstOrderGradient()(loss)).run([a, b])
    product = a @ b.T
    np.testing.assert_allclose(value, (product**2).sum(), rtol=1e-5)
    np.testing.assert_allclose(dx, 2 * product @ b, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dw, 2 * product.T @ a, rtol=1e-4, atol=1e-5)


def test_results_of_tuples_and_functions_of_the_module() -> None:
    module = rt.parse_module("""
        def @main(%x: Tensor[(2), float32]) { (@square(%x), %x) }
        def @square(%y: Tensor[(2), float32]) { multiply(%y, %y) }""")
    (squares, same), (dx,) = rt.build(FirstOrderGradient()(module)).run([np.float32([1, 3])])
    np.testing.assert_array_equal([squares, same, dx], [[1, 9], [1, 3], [3, 7]])


def test_what_is_open_is_refused() -> None:
    x = rt.var("x", rt.TensorType((rt.dim("n"),), "float32"))
    with pytest.raises(PassError, match=r"FirstOrderGradient: result is Tensor\[\(n,\), float32\], expected"):
        FirstOrderGradient()(rt.Function((x,), ops.exp(x)))
