"""What dims of a segment are at least whenever its kernel runs: found once, known to every analyzer."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.arith.prover import Prover
from opgen_runtime.base.errors import ExecutorError
from opgen_runtime.run.compile.kernel.dim_bounds import with_least_dims

B, C, H, W = (rt.dim(name, hint=hint) for name, hint in (("b", 2), ("c", 16), ("h", 24), ("w", 32)))


def var(name: str, *shape: object) -> ir.Var:
    return ir.Var(name, rt.TensorType(shape, "float32"))


def function(body: ir.Expr) -> ir.Function:
    return ir.Function(tuple(ir.free_vars(body)), body)


def transposed(**attrs: object) -> ir.Function:
    x, kernel = var("x", B, C, H, W), var("kernel", C, 8, 3, 3)
    return function(ops.conv2d_transpose(x, kernel, strides=(2, 2), **attrs))


def least(segment: ir.Function) -> list[int]:
    return [dim.least for dim in with_least_dims(segment).params[0].checked_type.shape]


def test_an_op_requires_that_its_result_has_no_negative_extent():
    assert least(transposed(padding=(2, 1))) == [0, 0, 2, 1]  # h * 2 - 3 and w * 2 - 1 are at least 0


def test_an_operand_has_no_negative_extent():
    half = var("half", H // 2 - 3, W)
    x = var("x", H, W)
    found = with_least_dims(function(ops.add(ops.sum(x, axis=0), ops.sum(half, axis=0))))
    assert [dim.least for dim in found.params[0].checked_type.shape] == [6, 0]


def test_a_segment_stays_where_nothing_follows():
    segment = function(ops.conv2d(var("x", B, 4, H, W), var("kernel", 8, 4, 3, 3)))
    assert with_least_dims(segment) is segment


def test_what_is_required_is_checked_all_the_same():
    made = rt.build(transposed(padding=(1, 1)), target="llvm -num-threads=1")
    x, kernel = np.ones((1, 2, 0, 3), np.float32), np.ones((2, 8, 3, 3), np.float32)
    with pytest.raises(ExecutorError, match=r"the padding is larger than the result.*but h is 0 and w is 3"):
        made.run([x, kernel])
    found = made.run([np.ones((1, 2, 1, 1), np.float32), kernel])
    np.testing.assert_array_equal(found, np.full((1, 8, 1, 1), 2, np.float32))


def test_searches_do_not_run_until_their_fuel_ends(monkeypatch):
    """Of `w * 2 - 1 >= 1` there is no proof where a dim may be 0: 40,153 steps of searches, all in all."""
    steps = 0
    search = Prover._search

    def counted(self: Prover, *given: object) -> bool:
        nonlocal steps
        steps += 1
        return search(self, *given)

    monkeypatch.setattr(Prover, "_search", counted)
    rt.build(transposed(padding=(1, 1)), target="llvm -mcpu=x86-64-v3 -num-threads=1")
    assert steps < 8_000
