"""DFT and STFT beside numpy.fft: factors and primes, one side there and back, lengths that are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

from opgen_runtime.frontend.onnx import prepare  # noqa: E402

RANDOM = np.random.default_rng(7)


def ran(operator: str, *inputs: np.ndarray | None, **attributes: Any) -> np.ndarray:
    """What a node gives of its first input, the others being constants."""
    names = ["" if each is None else f"i{k}" for k, each in enumerate(inputs)]
    constants = [
        numpy_helper.from_array(each, name)
        for name, each in zip(names[1:], inputs[1:], strict=True)
        if each is not None
    ]
    x = inputs[0]
    assert x is not None
    graph = helper.make_graph(
        [helper.make_node(operator, names, ["y"], **attributes)],
        "g",
        [helper.make_tensor_value_info("i0", helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return np.asarray(prepare(model)([x])[0])


def pairs(z: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs along a last axis."""
    return np.stack([z.real, z.imag], axis=-1)


@pytest.mark.parametrize("length", [8, 30, 97])
def test_one_side_there_and_back(length: int) -> None:
    x = RANDOM.normal(size=(2, length, 3))
    axis, size = np.array(1), np.array(length)
    spectrum = ran("DFT", x[..., None], None, axis, onesided=1)
    np.testing.assert_allclose(spectrum, pairs(np.fft.rfft(x, axis=1)), atol=1e-12)
    back = ran("DFT", spectrum, size, axis, onesided=1, inverse=1)
    np.testing.assert_allclose(back, x[..., None], atol=1e-12)


@pytest.mark.parametrize("length", [7, 20, 101])
def test_of_another_length(length: int) -> None:
    """Cut or filled up with zeros."""
    z = RANDOM.normal(size=(3, 20)) + 1j * RANDOM.normal(size=(3, 20))
    for inverse, expected in enumerate((np.fft.fft, np.fft.ifft)):
        found = ran("DFT", pairs(z), np.array(length), inverse=inverse)
        np.testing.assert_allclose(found, pairs(expected(z, length)), atol=1e-12)


def test_frames_of_a_signal() -> None:
    x, window = RANDOM.normal(size=(2, 500)), np.hanning(100)
    found = ran("STFT", x[..., None], np.array(50), window, np.array(100))
    frames = np.lib.stride_tricks.sliding_window_view(x, 100, axis=1)[:, ::50]
    np.testing.assert_allclose(found, pairs(np.fft.rfft(frames * window)), atol=1e-12)
