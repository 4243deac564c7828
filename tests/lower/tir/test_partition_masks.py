"""Choices among elements that lie apart are made once for whole vectors, outside of loops that do not decide."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.arith import Expr, Var, const, dim, lt, select
from opgen_runtime.base.vocabulary import DType
from opgen_runtime.lower import tir
from opgen_runtime.lower.tir.nodes.stmt import Stmt
from opgen_runtime.lower.tir.nodes.text import stmt_text
from opgen_runtime.lower.tir.phases.partition_masks import partition_masks

F32 = DType("float32")
X, Y = (tir.Buffer(name, (512,), F32) for name in "xy")
N = dim("n")


def apart(stmt: Stmt) -> Stmt:
    """The statement after the phase."""
    return partition_masks(tir.PrimFunc("kernel", (), (), stmt)).body


def packing(step: int, bound: int | Expr = N) -> Stmt:
    """Lines of four elements, each `step` behind the one before, of as many columns as there are."""

    def vector(o: Var, k: Var, v: Var) -> Stmt:
        column = o * 4 + v
        value = select(lt(column, bound), tir.load(X, column * step + k), const(0.0, F32))
        return tir.store(Y, (o * 32 + k * 4 + v,), value)

    def line(o: Var, k: Var) -> Stmt:
        return tir.loop("v", 4, lambda v: vector(o, k, v), "vectorized")

    return tir.loop("o", (N + 3) // 4, lambda o: tir.loop("k", 8, lambda k: line(o, k)))


WHOLE = """\
for o in range((n + 3) // 4):
    if o * 4 + 3 < n:
        for k in range(8):
            vectorized for v in range(4):
                y[o * 32 + k * 4 + v] = x[(o * 4 + v) * 8 + k]
    else:
        if o * 4 < n:
            for k in range(8):
                vectorized for v in range(4):
                    y[o * 32 + k * 4 + v] = x[(o * 4 + v) * 8 + k] if o * 4 + v < n else 0.0
        else:
            for k in range(8):
                vectorized for v in range(4):
                    y[o * 32 + k * 4 + v] = 0.0
"""


def test_whole_vectors_have_no_mask() -> None:
    assert stmt_text(apart(packing(8))).strip() == WHOLE.strip()


def test_elements_side_by_side_and_choices_that_other_loops_make_stay() -> None:
    beside = packing(1)
    assert apart(beside) is beside
    inner = tir.loop(
        "k",
        8,
        lambda k: tir.loop(
            "v",
            4,
            lambda v: tir.store(
                Y, (k * 4 + v,), select(lt(k + v, N), tir.load(X, v * 8 + k), const(0.0, F32))
            ),
            "vectorized",
        ),
    )
    assert apart(inner) is inner


@pytest.mark.parametrize("target", ["llvm -mcpu=x86-64-v3 -num-threads=1", "llvm -num-threads=2"])
def test_scores_of_any_number_of_columns(target: str) -> None:
    """Whole panels, a part of one, and vectors of which none is left."""
    n = dim("n", hint=64)
    x, y = (ir.Var(name, rt.TensorType((2, n, 24), "float32")) for name in "xy")
    built = rt.build(ir.Function((x, y), ops.batch_matmul(x, y, transpose_b=True)), target=target)
    random = np.random.default_rng(3)
    for size in (0, 1, 2, 7, 16, 17, 31, 32, 40, 65):
        a, b = (random.standard_normal((2, size, 24)).astype(np.float32) for _ in range(2))
        wanted = np.einsum("bik,bjk->bij", a.astype(np.float64), b)
        np.testing.assert_allclose(built.run([a, b]), wanted, rtol=1e-4, atol=1e-5)
