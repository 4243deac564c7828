"""Windows of small planes: channels lie in vectors, the image is turned before its sums and they are turned after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opgen_runtime import ir, ops, te
from opgen_runtime.base.arith import Expr, logical_and, select
from opgen_runtime.base.target import Target
from opgen_runtime.compute.te import construct as constructing
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.schedule import Schedule
from opgen_runtime.operator.types import TensorType
from opgen_runtime.run.compile import pipeline

HOST = str(Target.host())


def target(threads: int, wide: bool) -> Target:
    options = [word for word in HOST.split() if not word.startswith(("-num-threads", "-mcpu"))]
    cpu = [word for word in HOST.split() if word.startswith("-mcpu")] if wide else ["-mcpu=x86-64-v3"]
    return Target.parse(" ".join([*options, *cpu, f"-num-threads={threads}"]))


def convolved(
    x: np.ndarray, w: np.ndarray, pads: tuple[int, ...], strides: tuple[int, ...], dilation: tuple[int, ...]
) -> np.ndarray:
    """By definition, in float64; `pads` are the first of all axes, then the last."""
    rank = w.ndim - 2
    wide = np.pad(x.astype("float64"), [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)])
    spans = [step * (n - 1) + 1 for step, n in zip(dilation, w.shape[2:], strict=True)]
    shape = [(n - span) // s + 1 for n, span, s in zip(wide.shape[2:], spans, strides, strict=True)]
    found = np.zeros((*x.shape[:2], *shape))
    for at in np.ndindex(*w.shape[2:]):
        parts = [
            slice(k * d, k * d + (n - 1) * s + 1, s)
            for k, d, n, s in zip(at, dilation, shape, strides, strict=True)
        ]
        found += wide[(slice(None), slice(None), *parts)] * w[(slice(None), 0, *at)].reshape(-1, *[1] * rank)
    return found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize(
    ("data", "kernel", "pads", "strides", "dilation", "dtype"),
    [
        ((1, 64, 7, 7), (3, 3), (1, 1, 1, 1), (2, 2), (1, 1), "float32"),
        ((2, 68, 9, 8), (5, 3), (2, 0, 1, 1), (1, 2), (1, 1), "float32"),  # the last vector begins earlier
        (
            (1, 48, 8, 8),
            (3, 3),
            (0, 0, 0, 0),
            (2, 2),
            (1, 1),
            "float32",
        ),  # neither the last row nor column is read
        ((1, 33, 8, 8), (4, 4), (2, 2, 2, 2), (3, 3), (1, 1), "float64"),
        ((3, 32, 5, 5), (5, 5), (2, 2, 2, 2), (1, 1), (1, 1), "float32"),
        ((1, 32, 11, 10), (3, 3), (2, 2, 2, 2), (3, 3), (2, 2), "float32"),
        ((1, 32, 5, 5), (3, 3), (2, 2, 2, 2), (1, 1), (2, 2), "float32"),
        ((2, 64, 13), (7,), (3, 3), (2,), (1,), "float32"),
        ((1, 32, 5, 6, 6), (3, 3, 3), (1, 1, 1, 1, 1, 1), (2, 2, 2), (1, 1, 1), "float32"),
    ],
)
def test_beside_numpy(
    data: tuple[int, ...],
    kernel: tuple[int, ...],
    pads: tuple[int, ...],
    strides: tuple[int, ...],
    dilation: tuple[int, ...],
    dtype: str,
    wide: bool,
    threads: int,
) -> None:
    random = np.random.default_rng(0)
    channels, rank = data[1], len(kernel)
    x = random.standard_normal(data).astype(dtype)
    w = random.standard_normal((channels, 1, *kernel)).astype(dtype)
    expected = convolved(x, w, pads, strides, dilation)
    residual = random.standard_normal(expected.shape).astype(dtype)
    variables = [
        ir.Var(name, TensorType(each.shape, dtype)) for name, each in (("x", x), ("w", w), ("r", residual))
    ]
    conv = {1: ops.conv1d, 2: ops.conv2d, 3: ops.conv3d}[rank]
    made = conv(*variables[:2], strides=strides, padding=pads, dilation=dilation, groups=channels)
    function = ir.Function(variables, ops.relu(ops.add(made, variables[2])), attrs={"Primitive": 1})
    parts = pipeline.compile_parts(function, {1}, target(threads, wide))
    inputs = [x, w, residual] if parts.precompute is None else [x, residual, *parts.precompute.run([w])]
    (found,) = parts.main.run(inputs)
    np.testing.assert_allclose(found, np.maximum(expected + residual, 0), rtol=1e-5, atol=1e-5)


def depthwise(channels: int, side: int, kernel: int, stride: int, constant: bool = True) -> Schedule:
    pad, out = kernel // 2, (side + 2 * (kernel // 2) - kernel) // stride + 1
    x = te.placeholder((1, channels, side, side), name="X")
    w = constructing.placeholder("W", (channels, 1, kernel, kernel), "float32", constant)
    r, s = (te.reduce_axis((0, kernel), name=name) for name in "rs")

    def padded(n: Any, c: Any, i: Any, j: Any) -> Expr:
        inside = logical_and(logical_and(i >= pad, i < side + pad), logical_and(j >= pad, j < side + pad))
        return select(inside, x[n, c, i - pad, j - pad], 0.0)

    made = te.compute(
        (1, channels, out, out),
        lambda n, o, i, j: te.sum(padded(n, o, i * stride + r, j * stride + s) * w[o, 0, r, s], axis=[r, s]),
        name="C",
    )
    return generic([made], Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))


@pytest.mark.parametrize(
    ("channels", "side", "kernel", "stride", "expected"),
    [
        (64, 7, 3, 2, True),
        (64, 8, 4, 3, True),
        (64, 9, 7, 1, True),
        (64, 28, 3, 1, False),  # lines fill vectors, and few steps do not pay for turning
        (64, 112, 3, 2, False),  # what is turned would not stay near
        (17, 7, 3, 1, False),  # half of the vectors would be computed twice
        (8, 7, 3, 2, False),
    ],
)
def test_where_channels_are_vectors(
    channels: int, side: int, kernel: int, stride: int, expected: bool
) -> None:
    made = str(depthwise(channels, side, kernel, stride))
    assert ("X_local" in made) == expected
    assert "X_local" not in str(depthwise(channels, side, kernel, stride, constant=False))


def test_text() -> None:
    assert str(depthwise(32, 7, 3, 2)) == TEXT


TEXT = """\
X: float32[1, 32, 7, 7], input
X_local_flat: float32[1, 32, 49], flatten of X_local, inlined
    X_local_flat[a0, a1, a2_a3] = X_local_flat_permuted[a0, a2_a3, a1]
X_local: float32[1, 32, 7, 7], cache_read of X, inlined
    X_local[a0, a1, a2, a3] = X_local_flat[a0, a1, a2 * 7 + a3]
W: float32[32, 1, 3, 3], input
C_permuted_packed: float32[2, 3, 3, 16], pack for C_permuted, root, global
    o_o    2
    r_s_o  3              fuse(r, s) // 4
    o_i_o  4              o_i // 4
    r_s_i  4              overlap(fuse(r, s), 4)
    o_i_i  4  vectorized  o_i % 4
    C_permuted_packed[o_o, r, s, o_i] = W[o_o * 16 + o_i, 0, r, s]
    reordered from o_o, r_s_o, r_s_i, o_i_o, o_i_i
C_permuted_staged: float32[32, 9, 9], stage_operand for C_permuted, inlined
    C_permuted_staged[o, i_r, j_s] = C_permuted_staged_permuted[i_r, j_s, o]
C: float32[1, 32, 4, 4], output
    n_o_o   2              fuse(n, o // 16)
        X_local_flat_permuted: float32[1, 49, 32], permute of X_local_flat, at n_o_o, local
            a0_a2_a3_o   <=2              fuse(a0, a2_a3) // 32
            a1_o         <=2              a1 // 16
            a0_a2_a3_i  <=32              fuse(a0, a2_a3) % 32
            a1_i        <=16  vectorized  a1 % 16
            X_local_flat_permuted[a0, a2_a3, a1] = X[a0, a1, a2_a3 // 7, a2_a3 % 7]
            reordered from a0_a2_a3_o, a0_a2_a3_i, a1_o, a1_i
        C_permuted_staged_permuted: float32[9, 9, 32], permute of C_permuted_staged, at n_o_o, local
            i_r         <=9
            j_s_o_o_o   <=9              fuse(j_s, o) // 16 // 2
            j_s_o_o_i   <=2  unrolled    fuse(j_s, o) // 16 % 2
            j_s_o_i    <=16  vectorized  fuse(j_s, o) % 16
            C_permuted_staged_permuted[i_r, j_s, o] = X_local_flat_permuted[0, (i_r - 1) * 7 + (j_s - 1), o] \
if (i_r >= 1) & (i_r < 8) & ((j_s >= 1) & (j_s < 8)) else 0.0
        C_permuted: float32[1, 4, 4, 32], permute of C, at n_o_o, local
            n     <=1
            i_o   <=1                   i // 4
            j_o   <=1                   j // 4
            o_o   <=2                   o // 16
            r       3  reduce
            s       3  reduce unrolled
            i_i   <=4  unrolled         i % 4
            j_i   <=4  unrolled         j % 4
            o_i  <=16  vectorized       o % 16
            C_permuted[n, i, j, o] = sum(C_permuted_staged_permuted[i * 2 + r, j * 2 + s, o] \
* C_permuted_packed[o // 16, r, s, o % 16] for r in range(3) for s in range(3))
            reordered from n, i_o, i_i, j_o, j_i, o_o, o_i, r, s
    o_i_o   1              o % 16 // 16
    i_j_o   1              fuse(i, j) // 16
    o_i_i  16              o % 16 % 16
    i_j_i  16  vectorized  fuse(i, j) % 16
    C[n, o, i, j] = C_permuted[n, i, j, o]
    reordered from n_o_o, o_i_o, o_i_i, i_j_o, i_j_i\
"""
