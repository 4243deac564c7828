"""Strips: what large windows cover, and the result that is turned, are made in parts that fit the second-level
cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opgen_runtime import ir, ops, te
from opgen_runtime.base.arith import Expr, logical_and, select
from opgen_runtime.base.target import Target
from opgen_runtime.compute.te import construct as constructing
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.library.schedules.contraction import packing
from opgen_runtime.lower.library.schedules.contraction import row_strips as strips_module
from opgen_runtime.lower.schedule import Schedule
from opgen_runtime.lower.tir.lowering.bound import infer_bound
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import pipeline

HOST = str(Target.host())


def target(threads: int) -> Target:
    options = [word for word in HOST.split() if not word.startswith("-num-threads")]
    return Target.parse(" ".join([*options, f"-num-threads={threads}"]))


def convolved(x: np.ndarray, w: np.ndarray, pads: tuple[int, int, int, int], groups: int) -> np.ndarray:
    """By definition, in float64; `pads` are top, left, bottom, right."""
    padded = np.pad(x.astype("float64"), ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    high, wide = padded.shape[2] - w.shape[2] + 1, padded.shape[3] - w.shape[3] + 1
    batch, channels = x.shape[0], w.shape[1]
    found = np.zeros((batch, groups, w.shape[0] // groups, high, wide))
    for r in range(w.shape[2]):
        for s in range(w.shape[3]):
            part = padded[:, :, r : r + high, s : s + wide].reshape(batch, groups, channels, high, wide)
            weight = w[:, :, r, s].reshape(groups, -1, channels)
            found += np.einsum("ngcij,gfc->ngfij", part, weight, optimize=True)
    return found.reshape(batch, w.shape[0], high, wide)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("data", "weight", "pads", "groups", "dtype", "strips"),
    [
        ((2, 64, 36, 60), (64, 64, 3, 3), (1, 1, 1, 1), 1, "float32", True),
        (
            (1, 64, 113, 48),
            (64, 64, 3, 3),
            (0, 1, 1, 1),
            1,
            "float32",
            True,
        ),
        ((1, 128, 48, 48), (128, 64, 3, 3), (1, 1, 1, 1), 2, "float32", True),
        ((1, 64, 44, 48), (64, 64, 5, 3), (2, 1, 2, 1), 1, "float64", True),
        (
            (1, 64, 71, 71),
            (64, 64, 3, 3),
            (1, 1, 1, 1),
            1,
            "float32",
            True,
        ),  # a prime: the last one begins earlier
        (
            (1, 128, 53, 67),
            (96, 64, 3, 3),
            (1, 1, 1, 1),
            2,
            "float32",
            True,
        ),  # filters of a group are no whole tiles
        ((1, 64, 28, 28), (64, 64, 3, 3), (1, 1, 1, 1), 1, "float32", False),  # near as it is
    ],
)
def test_beside_numpy(
    monkeypatch: pytest.MonkeyPatch,
    data: tuple[int, ...],
    weight: tuple[int, ...],
    pads: tuple[int, int, int, int],
    groups: int,
    dtype: str,
    strips: bool,
    threads: int,
) -> None:
    made: list[Any] = []
    real = strips_module.row_strips_of

    def spy(*args: Any) -> Any:
        made.append(real(*args))
        return made[-1]

    monkeypatch.setattr(packing, "row_strips_of", spy)
    random = np.random.default_rng(0)
    x, w = random.standard_normal(data).astype(dtype), random.standard_normal(weight).astype(dtype)
    operands = ir.Var("x", TensorType(data, dtype)), ir.Var("w", TensorType(weight, dtype))
    body = ops.relu(ops.conv2d(*operands, padding=pads, groups=groups))
    function = ir.Function(operands, body, attrs={"Primitive": 1})
    parts = pipeline.compile_parts(function, {1}, target(threads))
    prepared = [] if parts.precompute is None else parts.precompute.run([w])
    (found,) = parts.main.run([x, *prepared])
    if target(threads).vector_bits == 512:
        assert any(each is not None for each in made) == strips
    expected = np.maximum(convolved(x, w, pads, groups), 0)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * np.abs(expected).max())


def convolution(batch: int, high: int, wide: int) -> Schedule:
    """The schedule of 64 filters over padded images of 64 channels."""
    x = te.placeholder((batch, 64, high, wide), name="X")
    w = constructing.placeholder("W", (64, 64, 3, 3), "float32", True)
    c, r, s = (te.reduce_axis((0, n), name=name) for n, name in ((64, "c"), (3, "r"), (3, "s")))

    def padded(n: Any, c: Any, i: Any, j: Any) -> Expr:
        inside = logical_and(logical_and(i >= 1, i < high + 1), logical_and(j >= 1, j < wide + 1))
        return select(inside, x[n, c, i - 1, j - 1], 0.0)

    out = te.compute(
        (batch, 64, high, wide),
        lambda n, o, i, j: te.sum(padded(n, c, i + r, j + s) * w[o, c, r, s], axis=[c, r, s]),
        name="C",
    )
    return generic([out], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))


def test_text() -> None:
    assert str(convolution(2, 56, 56)) == TEXT


def test_a_strip_that_begins_earlier_covers_no_more() -> None:
    found = str(convolution(1, 71, 71))
    assert "overlap(i, 6)" in found
    domains = infer_bound(schedule := convolution(1, 71, 71))
    strip, covered = (
        next(domains[stage] for stage in schedule.stages if stage.name == name)
        for name in ("C_permuted", "C_permuted_flat_staged")
    )
    assert strip.shape == [1, 6, 71, 64]
    assert covered.shape == [64, 8, 73]


TEXT = """\
X: float32[2, 64, 56, 56], input
W: float32[64, 64, 3, 3], input
C_permuted_flat_packed: float32[2, 64, 3, 3, 32], pack for C_permuted_flat, root, global
    o_o       2
    c_r_s_o   9              fuse(c, r, s) // 64
    o_i_o     2              o_i // 16
    c_r_s_i  64              fuse(c, r, s) % 64
    o_i_i    16  vectorized  o_i % 16
    C_permuted_flat_packed[o_o, c, r, s, o_i] = W[o_o * 32 + o_i, c, r, s]
    reordered from o_o, c_r_s_o, c_r_s_i, o_i_o, o_i_i
C: float32[2, 64, 56, 56], output
    n_i_o    14              fuse(n, i // 8)
        C_permuted_flat_staged: float32[2, 64, 58, 58], stage_operand for C_permuted_flat, at n_i_o, local
            n_c      <=128              fuse(n, c)
            i_r       <=58
            j_s_o_o    <=2              j_s // 16 // 2
            j_s_o_i    <=2  unrolled    j_s // 16 % 2
            j_s_i     <=16  vectorized  j_s % 16
            C_permuted_flat_staged[n, c, i_r, j_s] = X[n, c, i_r - 1, j_s - 1] \
if (i_r >= 1) & (i_r < 57) & ((j_s >= 1) & (j_s < 57)) else 0.0
        C_permuted: float32[2, 56, 56, 64], permute of C, at n_i_o, local
            o_o     <=2              o // 32
            n       <=2
            i      <=56
            j_o     <=7              j // 8
                C_permuted_flat: float32[2, 56, 56, 64], flatten of C_permuted, at j_o, local
                    n       <=2
                    i      <=56
                    j_o     <=7              j // 8
                    o_o     <=2              o // 32
                    c        64  reduce
                    r         3  reduce
                    s         3  reduce
                    j_i     <=8  unrolled    j % 8
                    o_i_o   <=2  unrolled    o % 32 // 16
                    o_i_i  <=16  vectorized  o % 32 % 16
                    C_permuted_flat[n, i, j, o] = sum(C_permuted_flat_staged[n, c, i + r, j + s] \
* C_permuted_flat_packed[o // 32, c, r, s, o % 32] for c in range(64) for r in range(3) for s in range(3))
                    reordered from n, i, j_o, j_i, o_o, o_i_o, o_i_i, c, r, s
            j_i     <=8  unrolled    j % 8
            o_i_o   <=2  unrolled    o % 32 // 16
            o_i_i  <=16  vectorized  o % 32 % 16
            C_permuted[n, i, j, o] = C_permuted_flat[n, i, j, o]
            reordered from n, i, j_o, j_i, o_o, o_i_o, o_i_i
    o_o       1              o // 64
    i_i_j_o  28              fuse(i % 8, j) // 16
    o_i      64              o % 64
    i_i_j_i  16  vectorized  fuse(i % 8, j) % 16
    C[n, o, i, j] = C_permuted[n, i, j, o]
    reordered from n_i_o, o_o, o_i, i_i_j_o, i_i_j_i\
"""
