"""Models with QuantizeLinear and DequantizeLinear around each layer: their layers are products of integers."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import numpy_helper  # noqa: E402

import opgen_runtime as rt  # noqa: E402
from opgen_runtime.frontend.onnx import load, prepare  # noqa: E402

RANDOM = np.random.default_rng(3)
SCALE, ZERO = np.float32(0.05), np.uint8(128)
FILTERS = RANDOM.integers(-127, 128, (6, 4, 3, 3)).astype(np.int8)
SCALES = RANDOM.uniform(0.001, 0.01, 6).astype(np.float32)
BIAS = RANDOM.integers(-500, 500, 6).astype(np.int32)


def quantised_layer() -> onnx.ModelProto:
    """A convolution of four channels and six filters, and a rectifier."""
    arrays = {
        "s": SCALE, "z": ZERO, "w": FILTERS, "ws": SCALES, "wz": np.zeros(6, np.int8), "b": BIAS,
        "bs": SCALES * SCALE, "bz": np.zeros(6, np.int32),
    }  # fmt: skip
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    layer (float[1, 4, 7, 8] x) => (uint8[1, 6, 7, 8] y) {
        q = QuantizeLinear(x, s, z)
        xr = DequantizeLinear(q, s, z)
        wr = DequantizeLinear<axis = 0>(w, ws, wz)
        br = DequantizeLinear<axis = 0>(b, bs, bz)
        c = Conv<pads = [1, 1, 1, 1]>(xr, wr, br)
        r = Relu(c)
        y = QuantizeLinear(r, s, z)
    }
    """
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend([numpy_helper.from_array(np.asarray(a), n) for n, a in arrays.items()])
    onnx.checker.check_model(model)
    return model


def expected(x: np.ndarray) -> np.ndarray:
    """The layer in float64, before it is quantised."""
    steps = np.clip(np.round(x / SCALE) + ZERO, 0, 255) - ZERO
    padded = np.pad(steps.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    sums = np.einsum("ncyxkl,fckl->nfyx", windows, FILTERS.astype(np.float64)) + BIAS.reshape(6, 1, 1)
    return np.maximum(sums * float(SCALE) * SCALES.reshape(6, 1, 1), 0)


def test_values() -> None:
    x = RANDOM.standard_normal((1, 4, 7, 8)).astype(np.float32)
    (found,) = prepare(quantised_layer())([x])
    steps = expected(x) / float(SCALE) + float(ZERO)
    assert found.dtype == np.uint8
    assert np.abs(found - np.clip(steps, 0, 255)).max() <= 0.5 + 1e-3


def test_layers_are_products_of_integers() -> None:
    module, weights = load(quantised_layer())
    text = rt.build(module, params=weights).explain()
    assert "quantised_conv" in text
    assert "conv2d" not in text


def test_constants_that_no_layer_multiplies_are_folded() -> None:
    text = """
    <ir_version: 8, opset_import: ["" : 17]>
    sum (float[3] x) => (float[3] y) <int8[3] q = {1, 2, 3}, float s = {0.5}> {
        r = DequantizeLinear(q, s)
        y = Add(x, r)
    }
    """
    (found,) = prepare(onnx.parser.parse_model(text))([np.ones(3, np.float32)])
    np.testing.assert_array_equal(found, [1.5, 2.0, 2.5])
