"""IntegerProducts: which products of dequantised numbers become sums of integers, and that values agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import PassError
from opgen_runtime.base.target import Target
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import IntegerProducts, PassContext
from tests.transform.whole import gives

RANDOM = np.random.default_rng(11)


def numbers(name: str, *shape: int, dtype: str = "int8") -> ir.Var:
    return ir.var(name, TensorType(shape, dtype))


def real(q: ir.Expr, scale: Any, zero: int = 0, dtype: str = "float32") -> ir.Expr:
    """The numbers that integers stand for."""
    steps = ops.cast(q, dtype=dtype)
    if zero:
        steps = ops.subtract(steps, ir.const(float(zero), dtype))
    return ops.multiply(steps, ir.Constant(np.asarray(scale, dtype)))


def zero_of(value: int, dtype: str, *shape: int) -> ir.Constant:
    return ir.Constant(np.full(shape, value, dtype))


def test_a_product_of_matrices() -> None:
    a, b = numbers("a", 4, 40, dtype="uint8"), numbers("b", 40, 5)
    before = ops.matmul(real(a, 0.5, 7), real(b, 0.25))
    after = ops.cast(ops.quantised_matmul(a, b, zero_of(7, "uint8", 1)), dtype="float32")
    made = ops.multiply(after, ir.Constant(np.float32(0.125)))
    gives(IntegerProducts(), ir.Function((a, b), before), ir.Function((a, b), made))


def test_a_scale_for_each_column() -> None:
    a, b = numbers("a", 3, 4, 40), numbers("b", 40, 3)
    scales = np.array([[1, 2, 4]], np.float32)
    before = ops.matmul(real(a, 0.5), real(b, scales, -3))
    after = ops.quantised_matmul(a, b, None, zero_of(-3, "int8", 1))
    made = ops.multiply(ops.cast(after, dtype="float32"), ir.Constant(scales[None] / 2))
    gives(IntegerProducts(), ir.Function((a, b), before), ir.Function((a, b), made))


def test_a_layer() -> None:
    x, w = numbers("x", 2, 40), numbers("w", 3, 40, dtype="uint8")
    scales = np.array([[1], [2], [4]], np.float32)
    before = ops.dense(real(x, 0.5, 2), real(w, scales, 128))
    after = ops.quantised_dense(x, w, zero_of(2, "int32"), zero_of(128, "int32", 1))
    made = ops.multiply(ops.cast(after, dtype="float32"), ir.Constant(scales.T / 2))
    gives(IntegerProducts(), ir.Function((x, w), before), ir.Function((x, w), made))


def test_a_convolution() -> None:
    x, w = numbers("x", 1, 8, 6, 5, dtype="uint8"), numbers("w", 8, 4, 3, 3)
    scales = 2.0 ** np.arange(8, dtype=np.float32).reshape(8, 1, 1, 1)
    attrs: dict[str, Any] = {"strides": (2, 1), "padding": (1, 1, 1, 0), "groups": 2}
    before = ops.conv2d(real(x, 0.5, 128), real(w, scales), **attrs)
    after = ops.cast(ops.quantised_conv(x, w, zero_of(128, "uint8"), **attrs), dtype="float32")
    made = ops.multiply(after, ir.Constant(scales.reshape(1, 8, 1, 1) / 2))
    gives(IntegerProducts(), ir.Function((x, w), before), ir.Function((x, w), made))


@pytest.mark.parametrize("rank", [1, 3])
def test_convolutions_of_other_ranks(rank: int) -> None:
    x, w = numbers("x", 1, 8, *(6, 5, 4)[:rank]), numbers("w", 8, 8, *(4, 2, 2)[:rank])
    attrs = {"padding": (1, 0, 2)[:rank], "strides": (2, 1, 1)[:rank]}
    before = {1: ops.conv1d, 3: ops.conv3d}[rank](real(x, 0.5, 3), real(w, 0.25), **attrs)
    after = ops.cast(ops.quantised_conv(x, w, zero_of(3, "int8"), **attrs), dtype="float32")
    made = ops.multiply(after, ir.Constant(np.float32(0.125)))
    gives(IntegerProducts(), ir.Function((x, w), before), ir.Function((x, w), made))


def _products() -> dict[str, tuple[tuple[ir.Var, ...], ir.Expr]]:
    a, b = numbers("a", 4, 40), numbers("b", 40, 5)
    long, tall = numbers("long", 1, 33_026), numbers("tall", 33_026, 1)
    s = ir.var("s", TensorType((), "float32"))
    image, filters = numbers("image", 1, 6, 5, 4), numbers("filters", 8, 4, 3, 3)
    short, small = numbers("short", 4, 31), numbers("small", 31, 5)
    wide = numbers("wide", 40, 5, dtype="int16")
    steps = 2.0 ** np.arange(40, dtype=np.float32)
    return {
        "a scale along the sum": ((a, b), ops.matmul(real(a, steps), real(b, 1))),
        "a scale that is given": (
            (a, b, s),
            ops.matmul(ops.multiply(ops.cast(a, dtype="float32"), s), real(b, 1)),
        ),
        "scales that overflow together": ((a, b), ops.matmul(real(a, 1e30), real(b, 1e30))),
        "scales that vanish together": ((a, b), ops.matmul(real(a, 1e-30), real(b, 1e-30))),
        "a scale that is not finite": ((a, b), ops.matmul(real(a, np.inf), real(b, 1))),
        "zero points that differ": (
            (a, b),
            ops.matmul(
                ops.multiply(
                    ops.subtract(
                        ops.cast(a, dtype="float32"), ir.Constant(np.arange(4, dtype="float32")[:, None])
                    ),
                    ir.const(0.5, "float32"),
                ),
                real(b, 1),
            ),
        ),
        "a zero point that is no number of 8 bits": ((a, b), ops.matmul(real(a, 1, 128), real(b, 1))),
        "numbers of 16 bits": ((a, wide), ops.matmul(real(a, 1), real(wide, 1))),
        "float64": ((a, b), ops.matmul(real(a, 1, dtype="float64"), real(b, 1, dtype="float64"))),
        "a sum that may leave int32": ((long, tall), ops.matmul(real(long, 1), real(tall, 1))),
        "a short sum": ((short, small), ops.matmul(real(short, 1), real(small, 1))),
        "another layout": (
            (image, filters),
            ops.conv2d(real(image, 1), real(filters, 1), data_layout="NHWC"),
        ),
        "numbers that repeat": ((a, b), ops.matmul(real(a, np.ones((2, 1, 1))), real(b, 1))),
        "one operand": ((a,), ops.matmul(real(a, 1), ir.Constant(np.ones((40, 5), np.float32)))),
    }


@pytest.mark.parametrize("name", _products())
def test_stays(name: str) -> None:
    params, body = _products()[name]
    gives(IntegerProducts(), ir.Function(params, body))


def test_the_longest_sum() -> None:
    long, tall = numbers("long", 1, 33_025), numbers("tall", 33_025, 1)
    function = ir.Function((long, tall), ops.matmul(real(long, 1), real(tall, 1)))
    assert "quantised_matmul" in str(IntegerProducts()(ir.IRModule.from_expr(function)))


@pytest.mark.parametrize("threads", [1, 2])
def test_values(threads: int) -> None:
    """A layer as models have it: the sum is exact, and rounded as often as a float's operation."""
    x = ir.var("x", TensorType((2, 8, 9, 11), "uint8"))
    w = RANDOM.integers(-128, 128, (16, 8, 3, 3)).astype(np.int8)
    scales = RANDOM.uniform(0.001, 0.1, 16).astype(np.float32).reshape(16, 1, 1, 1)
    bias = RANDOM.standard_normal(16).astype(np.float32)
    layer = ops.conv2d(real(x, 0.03, 120), real(ir.Constant(w), scales, 5), padding=(1, 1))
    function = ir.Function((x,), ops.relu(ops.bias_add(layer, ir.Constant(bias))))
    target = Target.parse(f"llvm -num-threads={threads}")
    given = RANDOM.integers(0, 256, (2, 8, 9, 11)).astype(np.uint8)
    padded = np.pad(given.astype(np.float64) - 120, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    exact = np.einsum("ncyxkl,fckl->nfyx", windows, w.astype(np.float64) - 5)
    exact = exact * 0.03 * scales.reshape(16, 1, 1).astype(np.float64) + bias.reshape(16, 1, 1)
    found = rt.build(function, target=target).run([given])
    np.testing.assert_allclose(np.asarray(found), np.maximum(exact, 0), rtol=1e-6, atol=1e-5)


def test_a_trait_that_names_no_op(monkeypatch: pytest.MonkeyPatch) -> None:
    declaration = rt.Op.get("matmul").get_attr("declaration")
    monkeypatch.setitem(declaration.traits, "quantised", "nowhere")
    a, b = numbers("a", 4, 40), numbers("b", 40, 5)
    with pytest.raises(PassError, match="op matmul declares quantised 'nowhere': there is no such op"):
        IntegerProducts()(ir.IRModule.from_expr(ir.Function((a, b), ops.matmul(real(a, 1), real(b, 1)))))


def test_it_is_on_by_default() -> None:
    assert PassContext().enabled(IntegerProducts().info)
