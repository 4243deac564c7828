"""FoldShift: small summands become one."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime import build, ir, ops
from opgen_runtime.operator.registry import Op
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import pipeline
from opgen_runtime.testing import run_opt_pass
from opgen_runtime.transform import FoldShift, PassContext, infer_type

LEVEL_3 = PassContext(opt_level=3)
X = ir.var("x", TensorType((1, 3, 4, 4), "float32"))
M = ir.var("m", TensorType((3, 1, 1), "float32"))
B = ir.var("b", TensorType((3, 1, 1), "float32"))
V = ir.var("v", TensorType((3,), "float32"))
ROW = ir.var("r", TensorType((4,), "float32"))


def channels(*values: float) -> ir.Constant:
    return ir.const(np.array(values, np.float32).reshape(3, 1, 1))


def of(body: ir.Expr) -> ir.Function:
    return ir.Function((X, M, B, V, ROW), body)


SUMS: dict[str, tuple[ir.Expr, ir.Expr]] = {
    "a mean and a bias": (ops.add(ops.subtract(X, M), B), ops.add(X, ops.subtract(B, M))),
    "the other way round": (ops.subtract(ops.add(X, M), B), ops.add(X, ops.subtract(M, B))),
    "two that are subtracted": (ops.subtract(ops.subtract(X, M), B), ops.subtract(X, ops.add(M, B))),
    "constants": (
        ops.add(ops.subtract(X, channels(1, 2, 3)), channels(8, 8, 8)),
        ops.add(X, channels(7, 6, 5)),
    ),
    "along an axis": (
        ops.add(ops.bias_add(X, V), B),
        ops.add(X, ops.add(ops.expand_dims(V, axis=1, num_newaxis=2), B)),
    ),
    "three in a row": (
        ops.add(ops.add(ops.add(X, channels(1, 2, 3)), channels(1, 1, 1)), channels(2, 2, 2)),
        ops.add(X, channels(4, 5, 6)),
    ),
}
SHARED = ops.subtract(X, M)
STAY: dict[str, ir.Expr] = {
    "a sum that others read": ops.add(ops.exp(SHARED), ops.add(SHARED, B)),
    "a sum that would grow": ops.add(ops.add(X, M), ROW),
    "what is not smaller": ops.add(ops.add(X, ops.exp(X)), X),
    "what is not finite": ops.subtract(ops.subtract(X, channels(3e38, 0, 0)), channels(3e38, 0, 0)),
    "what x is subtracted from": ops.add(ops.subtract(M, X), B),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums(name: str) -> None:
    before, after = SUMS[name]
    assert ir.structural_equal(run_opt_pass(of(before), FoldShift(), LEVEL_3), of(after))


@pytest.mark.parametrize("name", STAY)
def test_what_stays(name: str) -> None:
    assert ir.structural_equal(run_opt_pass(of(STAY[name]), FoldShift(), LEVEL_3), infer_type(of(STAY[name])))


@pytest.mark.parametrize("level", [3, 4])
def test_batch_norm_leaves_a_bias_of_the_convolution(level: int) -> None:
    random = np.random.default_rng(0)
    weight = ir.const(random.standard_normal((3, 3, 3, 3)).astype(np.float32))
    parts = [ir.const(random.uniform(0.5, 2.0, 3).astype(np.float32)) for _ in range(4)]
    body = ops.relu(ops.batch_norm(ops.conv2d(X, weight, padding=(1, 1)), *parts)[0])
    module = ir.IRModule.from_expr(ir.Function((X,), body))
    with PassContext(opt_level=level):
        nodes = ir.post_order(pipeline.optimise(module)["main"])
        built = build(module)
    names = [node.op.name for node in nodes if isinstance(node, ir.Call) and isinstance(node.op, Op)]
    assert names == ["conv2d", "add", "relu"]
    x = random.standard_normal((1, 3, 4, 4)).astype(np.float32)
    wanted = build(module, opt_level=0).run([x])
    np.testing.assert_allclose(built.run([x]), wanted, rtol=1e-4, atol=1e-5)
