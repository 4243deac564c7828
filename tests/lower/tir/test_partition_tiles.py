"""Tiles that are not full are computed as far as they are needed: a form for each share that may be left."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.arith import Expr, Var, const, dim, lt
from opgen_runtime.base.vocabulary import INDEX, DType
from opgen_runtime.lower import tir
from opgen_runtime.lower.tir.nodes.stmt import If, Stmt
from opgen_runtime.lower.tir.nodes.text import stmt_text
from opgen_runtime.lower.tir.nodes.visit import statements
from opgen_runtime.lower.tir.phases.partition_tiles import _counts, partition_tiles

F32 = DType("float32")
X, Y, T = (tir.Buffer(name, (64,), F32) for name in "xyt")
N = dim("n")


def apart(stmt: Stmt) -> Stmt:
    """The statement after the phase."""
    return partition_tiles(tir.PrimFunc("kernel", (), (), stmt)).body


def tiled(bound: Expr, work: int = 5) -> Stmt:
    """Rows of y, four at a time, each the product of the elements of x: of as many as `work` says."""

    def rows(o: Var) -> Stmt:
        def tile(t: tir.Buffer) -> Stmt:
            def step(k: Var) -> Stmt:
                return tir.loop(
                    "v", 4, lambda v: tir.store(t, (v,), tir.load(t, v) * tir.load(X, k)), "unrolled"
                )

            def kept(u: Var) -> Stmt:
                return If(lt(o * 4 + u, bound), tir.store(Y, (o * 4 + u,), tir.load(t, u)))

            return tir.block(tir.loop("k", work, step), tir.loop("u", 4, kept, "unrolled"))

        return tir.local("t", (4,), F32, tile)

    return tir.loop("o", (N + 3) // 4, rows)


TILED = """\
for o in range((n + 3) // 4):
    if o * 4 + 2 < n:
        allocate t: float32[4] local
        for k in range(5):
            unrolled for v in range(4):
                t[v] = t[v] * x[k]
        unrolled for u in range(4):
            if o * 4 + u < n:
                y[o * 4 + u] = t[u]
    else:
        allocate t: float32[4] local
        for k in range(5):
            unrolled for v in range(4):
                t[v] = t[v] * x[k]
        unrolled for u in range(2):
            if o * 4 + u < n:
                y[o * 4 + u] = t[u]
"""


def test_a_tile_has_a_form_for_each_share_of_it() -> None:
    assert stmt_text(apart(tiled(N))) == TILED


@pytest.mark.parametrize(
    ("extent", "counts"),
    [(2, []), (3, [2]), (4, [2]), (6, [4, 2]), (8, [5, 3, 2]), (12, [8, 5, 3]), (16, [11, 8, 5])],
)
def test_the_next_form_is_a_quarter_smaller_at_least(extent: int, counts: list[int]) -> None:
    assert _counts(extent) == counts


def test_each_form_has_storage_of_its_own() -> None:
    made = apart(tiled(N))
    buffers = [each.buffer for each in _allocated(made)]
    assert len({id(buffer) for buffer in buffers}) == len(buffers) == 2


def _allocated(s: Stmt) -> list[tir.Allocate]:
    return [each for each in statements(s) if isinstance(each, tir.Allocate)]


def elementwise(o: Var) -> Stmt:
    return tir.loop(
        "u", 4, lambda u: If(lt(o * 4 + u, N), tir.store(Y, (o * 4 + u,), tir.load(X, o * 4 + u))), "unrolled"
    )


def unguarded(o: Var) -> Stmt:
    """One store of two stands under no guard."""
    free = tir.loop(
        "u",
        4,
        lambda u: tir.block(
            If(lt(o * 4 + u, N), tir.store(Y, (o * 4 + u,), 1.0)), tir.store(T, (o * 4 + u,), 2.0)
        ),
        "unrolled",
    )
    return tir.block(tir.loop("k", 5, lambda k: tir.store(T, (k,), 0.0)), free)


@pytest.mark.parametrize(
    "body",
    [
        tiled(const(50, INDEX)),
        tir.loop("o", (N + 3) // 4, elementwise),
        tir.loop("o", (N + 3) // 4, unguarded),
    ],
    ids=["of a known extent", "without work beside the stores", "with a store that no guard holds back"],
)
def test_other_loops_stay(body: Stmt) -> None:
    assert apart(body) is body


def test_every_rest_of_rows_and_columns_is_right() -> None:
    n, m, k = dim("n", 64), dim("m", 64), dim("k", 64)
    x, y = (ir.Var(name, rt.TensorType(shape, "float32")) for name, shape in (("x", (n, k)), ("y", (k, m))))
    built = rt.build(ir.Function((x, y), ops.matmul(x, y)))
    random = np.random.default_rng(0)
    for rows, columns in itertools.product((*range(18), 24, 31), (0, 1, 2, 15, 16, 17, 31, 32, 33, 47, 49)):
        a, b = (random.integers(-4, 5, s).astype(np.float32) for s in ((rows, 9), (9, columns)))
        np.testing.assert_array_equal(built.run([a, b]), a @ b)
