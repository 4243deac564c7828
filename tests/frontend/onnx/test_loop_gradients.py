"""Models with loops as functions that have gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

import opgen_runtime as rt
from opgen_runtime.frontend.onnx import load
from tests.frontend.onnx.test_program import f32, model

LOOP = """g (float[3] x, float[20,3] w) => (float[3] y, float[20,3] r) {
    n = Constant <value_int = 20> ()
    y, r = Loop (n, , x) <body = b (int64 i, bool go, float[3] s) => (bool more, float[3] d, float[3] e)
        { more = Identity (go)  q = Sin (s)  v = Gather (w, i)  d = Add (q, v)  e = Mul (d, d) }> }"""
SCAN = """g (float[3] x, float[20,3] w) => (float[3] y, float[20,3] r) {
    y, r = Scan <num_scan_inputs = 1, body = b (float[3] s, float[3] v) => (float[3] d, float[3] e)
        { q = Sin (s)  d = Add (q, v)  e = Mul (d, d) }> (x, w) }"""


def unrolled(x: Any, w: Any) -> Any:
    total = 0.0
    for k in range(20):
        x = np.sin(x) + w[k]
        total = total + (x * x).sum()
    return x.sum() + total


@pytest.mark.parametrize("text", [LOOP, SCAN])
def test_gradients_of_loops_and_scans(text: str) -> None:
    module, _ = load(model(text))
    assert len(module) == 2  # main and the loop
    called = rt.jit(module)
    x, w = f32(3), np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    found = rt.grad(lambda x, w: sum(each.sum() for each in called(x, w)), argnums=(0, 1))(x, w)
    for one, other in zip(found, rt.grad(unrolled, argnums=(0, 1))(x, w), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
