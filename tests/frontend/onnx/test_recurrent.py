"""Recurrent nodes with every option that ONNX gives them, beside a computation in float64 of what its text says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from onnx import TensorProto, helper

import opgen_runtime as rt
from opgen_runtime.frontend import onnx as frontend

Array = np.ndarray
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
NAMED: dict[str, tuple[int, Callable[..., Array]]] = {
    "Tanh": (0, lambda v: np.tanh(v)),
    "Sigmoid": (0, lambda v: 1 / (1 + np.exp(-v))),
    "Relu": (0, lambda v: np.maximum(v, 0)),
    "Affine": (2, lambda v, a, b: a * v + b),
    "LeakyRelu": (1, lambda v, a: np.where(v >= 0, v, a * v)),
    "ThresholdedRelu": (1, lambda v, a: np.where(v >= a, v, 0)),
    "ScaledTanh": (2, lambda v, a, b: a * np.tanh(b * v)),
    "HardSigmoid": (2, lambda v, a, b: np.minimum(np.maximum(a * v + b, 0), 1)),
    "Elu": (1, lambda v, a: np.where(v >= 0, v, a * (np.exp(v) - 1))),
    "Softsign": (0, lambda v: v / (1 + abs(v))),
    "Softplus": (0, lambda v: np.log(1 + np.exp(v))),
}


def functions(node: dict[str, Any], kind: str, directions: int) -> list[Callable[[Array], Array]]:
    names = node.get("activations") or (
        ["Tanh"] if kind == "RNN" else ["Sigmoid", "Tanh", "Tanh"][: FUNCTIONS[kind]]
    )
    alphas, betas = list(node.get("activation_alpha", [])), list(node.get("activation_beta", []))
    made: list[Callable[[Array], Array]] = []
    for name in names * (1 if node.get("activations") else directions):
        count, function = NAMED[name]
        numbers = [lot.pop(0) for lot in (alphas, betas)[:count]]
        made.append(lambda v, function=function, numbers=numbers: function(v, *numbers))
    return made


def expected(kind: str, node: dict[str, Any], given: dict[str, Array]) -> list[Array]:
    """All hidden states (T, D, N, H), the last one, the last cell, in float64."""
    g = {name: value.astype(np.float64) for name, value in given.items() if name != "lengths"}
    x, w, r = g["X"], g["W"], g["R"]
    steps, batch, _ = x.shape
    directions, _, hidden = r.shape
    lengths = given.get("lengths", np.full(batch, steps))
    way = node.get("direction", "forward")
    limit = node.get("clip", np.inf)
    acts = functions(node, kind, directions)
    y, yh, yc = np.zeros((steps, directions, batch, hidden)), *np.zeros((2, directions, batch, hidden))
    for d in range(directions):
        given_acts = acts[d * FUNCTIONS[kind] : (d + 1) * FUNCTIONS[kind]]
        f, *rest = [lambda v, each=each: each(np.clip(v, -limit, limit)) for each in given_acts]
        bx, bh = g["B"][d].reshape(2, -1) if "B" in g else np.zeros((2, w.shape[1]))
        holes = g["P"][d].reshape(3, hidden) if "P" in g else np.zeros((3, hidden))
        for n in range(batch):
            h = g["h0"][d, n] if "h0" in g else np.zeros(hidden)
            c = g["c0"][d, n] if "c0" in g else np.zeros(hidden)
            times = range(int(lengths[n]))
            for t in reversed(times) if way == "reverse" or d else times:
                a, b = w[d] @ x[t, n] + bx, r[d] @ h + bh
                if kind == "RNN":
                    h = f(a + b)
                elif kind == "GRU":
                    z, s = np.split(f((a + b)[: 2 * hidden]), 2)
                    last = r[d][2 * hidden :] @ (s * h) + bh[2 * hidden :]
                    inner = s * b[2 * hidden :] if node.get("linear_before_reset") else last
                    h = (1 - z) * rest[0](a[2 * hidden :] + inner) + z * h
                else:
                    zi, zo, zf, zc = np.split(a + b, 4)
                    into = f(zi + holes[0] * c)
                    kept = 1 - into if node.get("input_forget") else f(zf + holes[2] * c)
                    c = kept * c + into * rest[0](zc)
                    h = f(zo + holes[1] * c) * given_acts[2](c)
                y[t, d, n] = h
            yh[d, n], yc[d, n] = h, c
    return [y, yh, yc][: 3 if kind == "LSTM" else 2]


def tensors(
    kind: str, node: dict[str, Any], with_: str, rng: np.random.Generator, steps: int = 5
) -> dict[str, Array]:
    """The inputs of a node; `with_` holds the first letters of the optional ones."""
    directions, batch, size, hidden = 1 + (node.get("direction") == "bidirectional"), 3, 2, 4
    gates = GATES[kind] * hidden
    shapes = {
        "X": (steps, batch, size), "W": (directions, gates, size), "R": (directions, gates, hidden),
        "B": (directions, 2 * gates), "h0": (directions, batch, hidden), "c0": (directions, batch, hidden),
        "P": (directions, 3 * hidden),
    }  # fmt: skip
    made = {
        name: rng.uniform(-1, 1, shape).astype(np.float32)
        for name, shape in shapes.items()
        if name in "XWR" or (name[0] in with_ and (kind == "LSTM" or name not in ("c0", "P")))
    }
    if "l" in with_:
        made["lengths"] = rng.integers(1, steps + 1, batch).astype(np.int32)
    return made


def model_of(kind: str, node: dict[str, Any], given: dict[str, Array]) -> Any:
    order = ["X", "W", "R", "B", "lengths", "h0", "c0", "P"]
    outputs = ["Y", "Y_h", "Y_c"][: 3 if kind == "LSTM" else 2]
    names = [name if name in given else "" for name in order]
    while not names[-1]:
        names.pop()
    attrs = {name: value for name, value in node.items() if value != []}
    made = helper.make_node(kind, names, outputs, hidden_size=given["R"].shape[2], **attrs)
    inputs = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for name, a in given.items()
    ]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph([made], "g", inputs, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])


CASES = [
    *[
        (kind, {"direction": way, **more}, with_)
        for kind, more in (("RNN", {}), ("GRU", {}), ("GRU", {"linear_before_reset": 1}), ("LSTM", {}))
        for way in ("forward", "reverse", "bidirectional")
        for with_ in ("l", "Bhc", "Bhcl")
    ],
    *[("RNN", {"activations": [name], "clip": 0.8,
               "activation_alpha": [0.3][:count], "activation_beta": [0.4][: count - 1 if count else 0]}, "Bl")
      for name, (count, _) in NAMED.items()],
    ("RNN", {"direction": "bidirectional", "activations": ["LeakyRelu", "Affine"], "clip": 0.5,
             "activation_alpha": [0.1, 0.7], "activation_beta": [0.2]}, "Bhl"),
    ("GRU", {"direction": "bidirectional", "activations": ["HardSigmoid", "Tanh", "Sigmoid", "ScaledTanh"],
             "activation_alpha": [0.3, 0.9], "activation_beta": [0.4, 0.6], "clip": 0.7}, "Bhl"),
    ("LSTM", {"clip": 0.3, "direction": "bidirectional"}, "BhclP"),
    ("LSTM", {"input_forget": 1}, "BhcP"),
    ("LSTM", {"activations": ["HardSigmoid", "Softsign", "Relu"], "activation_alpha": [0.25],
              "activation_beta": [0.4], "direction": "reverse"}, "BhclP"),
    ("LSTM", {"activations": ["Sigmoid", "Tanh", "Tanh", "HardSigmoid", "Elu", "Softplus"],
              "activation_alpha": [0.2, 0.6], "activation_beta": [0.5],
              "direction": "bidirectional", "input_forget": 1}, "BhclP"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "node", "with_"), CASES)
def test_recurrent_nodes(kind: str, node: dict[str, Any], with_: str) -> None:
    given = tensors(kind, node, with_, np.random.default_rng(7))
    found = frontend.prepare(model_of(kind, node, given))(list(given.values()))
    for name, ours, wanted in zip(
        ("Y", "Y_h", "Y_c")[: len(found)], found, expected(kind, node, given), strict=True
    ):
        np.testing.assert_allclose(ours, wanted, rtol=2e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_steps_are_not_unrolled(kind: str) -> None:
    """A sequence of 200 steps takes as many kernels as one of 3, with lengths, clip and other activations."""
    node = {"direction": "bidirectional", "clip": 0.5, "activations": ["Softsign"] * 2 * FUNCTIONS[kind]}
    counts = []
    for steps in (3, 200):
        given = tensors(kind, node, "Bhl", np.random.default_rng(1), steps)
        module, weights = frontend.load(model_of(kind, node, given))
        counts.append(len(rt.build(module, weights).kernels))
    assert counts[0] == counts[1]
