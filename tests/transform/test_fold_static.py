"""FoldStatic: what static types decide is a constant at every level."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime import build, ir, ops
from opgen_runtime.operator.types import TensorType, dim
from opgen_runtime.testing import run_opt_pass
from opgen_runtime.transform import FoldStatic, PassContext, infer_type

X = ir.var("x", TensorType((2, 3), "float32"))
S = ir.var("s", TensorType((), "float32"))
SHAPE = np.array([2, 3], np.int32)

DECIDED: dict[str, tuple[ir.Expr, np.ndarray]] = {
    "extents": (ops.shape_of(X), SHAPE),
    "number of elements": (ops.ndarray_size(X, dtype="int64"), np.array(6, np.int64)),
    "numbers in order": (ops.arange(stop=4), np.arange(4, dtype=np.float32)),
    "a literal": (ops.full(2.0, shape=(3,)), np.full(3, 2.0, np.float32)),
    "a literal, cast": (ops.full(300, shape=(2,), dtype="float16"), np.full(2, 300, np.float16)),
    "zeros": (ops.zeros(shape=(2, 2)), np.zeros((2, 2), np.float32)),
    "of a value that is computed": (ops.shape_of(ops.exp(X)), SHAPE),
}
OPEN = ir.var("y", TensorType((dim("n"), 3), "float32"))
STAY: dict[str, ir.Expr] = {
    "dims that are open": ops.shape_of(OPEN),
    "a value of data": ops.full(S, shape=(3,)),
    "a fill like an operand": ops.zeros_like(X),
    "what computes with a literal": ops.multiply(ir.const(2.0), 3.0),
    "what is made of a constant": ops.exp(ir.const(SHAPE.astype(np.float32))),
}


def of(body: ir.Expr) -> ir.Function:
    return ir.Function((X, S, OPEN), body)


@pytest.mark.parametrize("name", DECIDED)
def test_decided(name: str) -> None:
    body, value = DECIDED[name]
    found = run_opt_pass(of(body), FoldStatic())
    assert ir.structural_equal(found, of(ir.const(value)))


@pytest.mark.parametrize("name", STAY)
def test_what_stays(name: str) -> None:
    assert ir.structural_equal(run_opt_pass(of(STAY[name]), FoldStatic()), infer_type(of(STAY[name])))


def test_a_large_value_stays() -> None:
    body = ops.zeros(shape=(1000,))
    assert ir.structural_equal(run_opt_pass(of(body), FoldStatic(max_bytes=3999)), of(body))
    found = run_opt_pass(of(body), FoldStatic(max_bytes=4000))
    assert ir.structural_equal(found, of(ir.const(np.zeros(1000, np.float32))))


@pytest.mark.parametrize("level", range(5))
def test_no_kernel_is_left_at_any_level(level: int) -> None:
    """The sum of the extents is a value of the program, which holds no machine code."""
    function = ir.Function((X,), ops.sum(ops.cast(ops.shape_of(X), dtype="float32")))
    with PassContext(opt_level=level):
        built = build(function)
    assert built.kernels == ()
    assert built.run([np.zeros((2, 3), np.float32)]) == 5.0
