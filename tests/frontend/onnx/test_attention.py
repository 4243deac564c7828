"""Attention onto the declared op, against ONNX's reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import ModelProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from opgen_runtime.frontend.onnx import prepare

INPUTS = ("q", "k", "v", "mask", "past_key", "past_value", "seen")


def drawn(seed: int) -> tuple[dict[str, np.ndarray], dict[str, Any], int]:
    """Inputs by name, attributes, and how many outputs are asked for."""
    random = np.random.default_rng(seed)
    pick = random.integers
    batch, rows, keys, size, width = pick(1, 4), pick(1, 6), pick(1, 7), pick(1, 5), pick(1, 5)
    own, groups = pick(1, 3), pick(1, 3)
    attributes: dict[str, Any] = {"is_causal": int(pick(2))}
    cache = ("none", "past", "seen")[pick(3)]
    before = pick(1, 4) if cache == "past" else 0

    def numbers(*dims: int) -> np.ndarray:
        return random.standard_normal(dims).astype(np.float32)

    flat = cache != "past" and bool(pick(2))
    if flat:
        attributes |= {"q_num_heads": int(own * groups), "kv_num_heads": int(own)}
        given = {
            "q": numbers(batch, rows, own * groups * size),
            "k": numbers(batch, keys, own * size),
            "v": numbers(batch, keys, own * width),
        }
    else:
        given = {
            "q": numbers(batch, own * groups, rows, size),
            "k": numbers(batch, own, keys, size),
            "v": numbers(batch, own, keys, width),
        }
    if cache == "past":
        given |= {
            "past_key": numbers(batch, own, before, size),
            "past_value": numbers(batch, own, before, width),
        }
    if cache == "seen":
        given["seen"] = pick(0, keys + 1, batch)
    for side in ("left_window_size", "right_window_size"):
        if pick(2):
            attributes[side] = int(pick(0, 4))
    if pick(2):
        dims = [batch, own * groups, rows, keys + before - (pick(0, keys) if pick(2) else 0)]
        dims = [d if pick(4) or k > 1 else 1 for k, d in enumerate(dims)][pick(0, 3) :]
        given["mask"] = pick(0, 2, dims).astype(bool) if pick(2) else numbers(*dims)
    if pick(2):
        attributes["scale"] = 0.3
    return given, attributes, int(pick(1, 4))


def model(given: dict[str, np.ndarray], attributes: dict[str, Any], count: int) -> ModelProto:
    names = [name if name in given else "" for name in INPUTS]
    while not names[-1]:
        names.pop()
    results = ["y", "present_key", "present_value"][:count]
    node = helper.make_node("Attention", names, results, **attributes)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in given.items()
    ]
    made = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in results]
    opset = 25 if {"left_window_size", "right_window_size"} & set(attributes) else 24
    graph = helper.make_graph([node], "g", infos, made)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


@pytest.mark.parametrize("seed", range(40))
def test_attention_is_that_of_onnx(seed: int) -> None:
    given, attributes, count = drawn(seed)
    made = model(given, attributes, count)
    expected = ReferenceEvaluator(made).run(None, given)
    for one, wanted in zip(prepare(made)(given), expected, strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)
