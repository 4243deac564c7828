"""Gradients of pools over windows of every kind: against loops in Python, ties and NaN included; what is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.compute import te
from opgen_runtime.compute.te.derivative import pullback
from opgen_runtime.compute.te.evaluation import evaluate
from opgen_runtime.declaration.evaluate import call_tensors
from opgen_runtime.ir import var
from opgen_runtime.operator import Op
from opgen_runtime.operator.types import TensorType

Window = tuple[tuple[int, int], tuple[int, int], tuple[int, int, int, int], tuple[int, int]]


def first_takes_all(x: np.ndarray, g: np.ndarray, window: Window) -> np.ndarray:
    """The adjoint of the greatest of each window, of equal ones (and of NaN) the first in order of rows."""
    (kh, kw), (sh, sw), (top, left, _, _), (dh, dw) = window
    found = np.zeros_like(x)
    for n, c, i, j in np.ndindex(*g.shape):
        best: tuple[int, int] | None = None
        for r, s in np.ndindex(kh, kw):
            y, z = i * sh + r * dh - top, j * sw + s * dw - left
            if not (0 <= y < x.shape[2] and 0 <= z < x.shape[3]):
                continue
            now = None if best is None else x[n, c, best[0], best[1]]
            if now is None or x[n, c, y, z] > now or (np.isnan(x[n, c, y, z]) and not np.isnan(now)):
                best = y, z
        assert best is not None
        found[n, c, best[0], best[1]] += g[n, c, i, j]
    return found


def drawn(seed: int) -> tuple[np.ndarray, Window]:
    """Few different values, so that most windows have ties, and some NaN."""
    random = np.random.default_rng(seed)
    kernel = tuple(random.integers(1, 5, 2).tolist())
    strides = tuple(random.integers(1, 4, 2).tolist())
    dilation = tuple(random.integers(1, 3, 2).tolist())
    padding = tuple([int(random.integers(0, kernel[k % 2] // 2 + 1)) for k in range(4)])
    sizes = [
        int(random.integers((k - 1) * d + 1, (k - 1) * d + 9)) for k, d in zip(kernel, dilation, strict=True)
    ]
    x = random.integers(0, 3, (2, 1, *sizes)).astype("float64")
    x[random.random(x.shape) < 0.05] = np.nan
    return x, (kernel, strides, padding, dilation)


def pool(x: Any, window: Window) -> Any:
    kernel, strides, padding, dilation = window
    return ops.max_pool2d(x, pool_size=kernel, strides=strides, padding=padding, dilation=dilation)


def tensors(shape: tuple[int, ...], window: Window) -> tuple[te.Tensor, te.Tensor]:
    """The result and the image, as tensor expressions."""
    type_ = TensorType(shape, "float64")
    made = call_tensors(Op.get("max_pool2d"), pool(var("x", type_), window).attrs, [type_])
    (data,) = made.operands
    assert isinstance(data, te.Tensor)
    return made.outputs[0], data


@pytest.mark.parametrize("seed", range(60))
def test_the_first_of_each_window_by_its_expression(seed: int) -> None:
    x, window = drawn(seed)
    try:
        out, data = tensors(x.shape, window)
    except rt.errors.OpgenError:
        return  # a window that is greater than the image
    g = te.placeholder("g", out.shape, out.dtype)
    found = pullback([out], [g], data, first=True)
    assert found is not None
    given = np.arange(1.0, 1.0 + np.prod(out.shape)).reshape(out.shape)
    feeds = {data: x, g: given}
    np.testing.assert_array_equal(evaluate([found], feeds)[0], first_takes_all(x, given, window))


@pytest.mark.parametrize(
    ("size", "window"),
    [
        ((9, 57), ((3, 3), (2, 2), (0, 0, 0, 0), (1, 1))), ((8, 56), ((3, 3), (2, 2), (1, 1, 1, 1), (1, 1))),
        ((7, 35), ((3, 3), (1, 1), (1, 1, 1, 1), (1, 1))), ((8, 75), ((2, 2), (2, 2), (0, 0, 0, 1), (1, 1))),
        ((9, 90), ((5, 5), (4, 4), (2, 2, 2, 2), (1, 1))), ((9, 40), ((2, 3), (1, 2), (1, 0, 0, 1), (2, 1))),
        ((11, 40), ((3, 3), (3, 3), (1, 1, 1, 1), (1, 1))),
    ],
)  # fmt: skip
def test_native_code_of_lines_longer_than_vectors(size: tuple[int, int], window: Window) -> None:
    x = np.random.default_rng(1).integers(0, 9, (2, 2, *size)).astype("float32")
    value, pull = rt.vjp(lambda x: pool(x, window), x)
    given = np.random.default_rng(2).integers(1, 99, value.shape).astype("float32")
    (found,) = pull(given)
    np.testing.assert_array_equal(found, first_takes_all(x, given, window))


@pytest.mark.parametrize("kernel", [2, 3, 5, 7])
@pytest.mark.parametrize("stride", [1, 2])
def test_windows_that_overlap_are_gathered(kernel: int, stride: int) -> None:
    """No window writes to the elements, one after the other: each of these asks the few lines that hold it."""
    out, data = tensors((1, 1, 33, 33), ((kernel, kernel), (stride, stride), (0, 0, 0, 0), (1, 1)))
    found = pullback([out], [te.placeholder("g", out.shape, out.dtype)], data, first=True)
    assert found is not None
    assert not any(isinstance(t.op, te.Update) for t in te.tensor_order([found]))
