"""Decoders with a cache as ONNX models, with random weights: GPT-2 and Llama as exporters write them.

Both take tokens `ids` (batch, seq) and for each layer `past_key_N` and `past_value_N` (batch, heads, past, head size),
and give `logits` (batch, seq, vocabulary) and as many `present_key_N` and `present_value_N`, which are the past ones
joined with what the tokens add.  `batch`, `seq` and `past` are open; positions and the causal mask come of the shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper, parser

EPSILON: Final = 1e-5
BLOCKED: Final = -1e9  # what is added to the scores of tokens that are not seen


@dataclass(frozen=True)
class Shape:
    """The extents of a decoder."""

    layers: int = 6
    hidden: int = 512
    heads: int = 8
    key_heads: int = 8  # of keys and values; each serves `heads // key_heads` heads
    inner: int = 2048
    vocabulary: int = 8192
    positions: int = 1024

    @property
    def head(self) -> int:
        return self.hidden // self.heads


GPT2: Final = Shape()
LLAMA: Final = Shape(key_heads=4, inner=1376)


@dataclass
class Writer:
    """The nodes of a model as text, and its weights."""

    shape: Shape
    random: np.random.Generator
    nodes: list[str] = field(default_factory=list)
    weights: dict[str, np.ndarray] = field(default_factory=dict)

    def node(self, op: str, *inputs: str, name: str = "") -> str:
        """Writes a node of an op, which may have attributes: `Softmax <axis = -1>`; the name of what it gives."""
        name = name or f"n{len(self.nodes)}"
        self.nodes.append(f"{name} = {op} ({', '.join(inputs)})")
        return name

    def constant(self, value: object, dtype: type = np.float32) -> str:
        name = f"c{len(self.weights)}"
        self.weights[name] = np.array(value, dtype)
        return name

    def sizes(self, *values: int) -> str:
        return self.constant(values, np.int64)

    def weight(self, *shape: int) -> str:
        scale = 1 / np.sqrt(shape[0]) if len(shape) > 1 else 0.1
        return self.constant(self.random.standard_normal(shape) * scale)

    def dense(self, x: str, columns: int, rows: int, bias: bool) -> str:
        product = self.node("MatMul", x, self.weight(rows, columns))
        return self.node("Add", product, self.weight(columns)) if bias else product

    def heads(self, x: str, count: int) -> str:
        """(batch, seq, count * head) as (batch, count, seq, head)."""
        parts = self.node("Reshape", x, self.sizes(0, 0, count, self.shape.head))
        return self.node("Transpose <perm = [0, 2, 1, 3]>", parts)

    def cached(self, kind: str, layer: int, x: str) -> str:
        return self.node("Concat <axis = 2>", f"past_{kind}_{layer}", x, name=f"present_{kind}_{layer}")

    def attention(self, q: str, k: str, v: str, unseen: str) -> str:
        """(batch, seq, hidden) of queries, keys and values in heads."""
        scores = self.node("MatMul", q, self.node("Transpose <perm = [0, 1, 3, 2]>", k))
        scaled = self.node("Div", scores, self.constant(np.sqrt(self.shape.head)))
        shares = self.node("Softmax <axis = -1>", self.node("Add", scaled, unseen))
        mixed = self.node("Transpose <perm = [0, 2, 1, 3]>", self.node("MatMul", shares, v))
        return self.node("Reshape", mixed, self.sizes(0, 0, self.shape.hidden))

    def places(self) -> tuple[str, str]:
        """The positions of the tokens (seq), and what is added to scores (seq, past + seq)."""
        one, zero = self.constant(1, np.int64), self.constant(0, np.int64)
        seq = self.node("Squeeze", self.node("Shape <start = 1, end = 2>", "ids"))
        past = self.node("Squeeze", self.node("Shape <start = 2, end = 3>", "past_key_0"))
        total = self.node("Add", past, seq)
        own = self.node("Range", past, total, one)
        columns = self.node("Unsqueeze", self.node("Range", zero, total, one), self.sizes(0))
        seen = self.node("LessOrEqual", columns, self.node("Unsqueeze", own, self.sizes(1)))
        return own, self.node("Where", seen, self.constant(0), self.constant(BLOCKED))

    def model(self, name: str) -> ModelProto:
        s = self.shape
        kinds = [(kind, layer) for layer in range(s.layers) for kind in ("key", "value")]
        past = f"float[batch, {s.key_heads}, past, {s.head}]"
        present = f"float[batch, {s.key_heads}, total, {s.head}]"
        inputs = ["int64[batch, seq] ids", *[f"{past} past_{k}_{n}" for k, n in kinds]]
        results = [
            f"float[batch, seq, {s.vocabulary}] logits",
            *[f"{present} present_{k}_{n}" for k, n in kinds],
        ]
        head = (
            f'<ir_version: 8, opset_import: ["" : 17]> {name} ({", ".join(inputs)}) => ({", ".join(results)})'
        )
        made = parser.parse_model("\n".join([f"{head} {{", *self.nodes, "}"]))
        made.graph.initializer.extend([numpy_helper.from_array(a, n) for n, a in self.weights.items()])
        onnx.checker.check_model(made)
        return made


def gpt2(shape: Shape = GPT2, seed: int = 0) -> ModelProto:
    """Layer norms, learned positions, one product for queries, keys and values, GELU by tanh."""
    w = Writer(shape, np.random.default_rng(seed))
    own, unseen = w.places()
    words = w.node("Gather", w.weight(shape.vocabulary, shape.hidden), "ids")
    h = w.node("Add", words, w.node("Gather", w.weight(shape.positions, shape.hidden), own))

    def normal(x: str) -> str:
        scale, bias = w.constant(np.ones(shape.hidden)), w.weight(shape.hidden)
        return w.node(f"LayerNormalization <epsilon = {EPSILON}>", x, scale, bias)

    def gelu(x: str) -> str:
        cubed = w.node("Mul", w.node("Pow", x, w.constant(3)), w.constant(0.044715))
        inner = w.node("Mul", w.node("Add", x, cubed), w.constant(np.sqrt(2 / np.pi)))
        risen = w.node("Add", w.node("Tanh", inner), w.constant(1))
        return w.node("Mul", w.node("Mul", x, w.constant(0.5)), risen)

    for layer in range(shape.layers):
        joined = w.dense(normal(h), 3 * shape.hidden, shape.hidden, True)
        q, k, v = (f"{part}{layer}" for part in "qkv")
        w.node("Split <axis = 2>", joined, w.sizes(*[shape.hidden] * 3), name=f"{q}, {k}, {v}")
        keys = w.cached("key", layer, w.heads(k, shape.heads))
        values = w.cached("value", layer, w.heads(v, shape.heads))
        mixed = w.attention(w.heads(q, shape.heads), keys, values, unseen)
        h = w.node("Add", h, w.dense(mixed, shape.hidden, shape.hidden, True))
        inner = gelu(w.dense(normal(h), shape.inner, shape.hidden, True))
        h = w.node("Add", h, w.dense(inner, shape.hidden, shape.inner, True))
    w.node("MatMul", normal(h), w.weight(shape.hidden, shape.vocabulary), name="logits")
    return w.model("gpt2")


def llama(shape: Shape = LLAMA, seed: int = 0) -> ModelProto:
    """Root mean square norms, rotary positions, keys and values that several heads share, a gated inner layer."""
    w = Writer(shape, np.random.default_rng(seed))
    own, unseen = w.places()
    h = w.node("Gather", w.weight(shape.vocabulary, shape.hidden), "ids")
    turns = w.constant(10000.0 ** (-np.arange(0, shape.head, 2) / shape.head))
    angles = w.node("Mul", w.node("Unsqueeze", w.node("Cast <to = 1>", own), w.sizes(1)), turns)
    both = w.node("Concat <axis = 1>", angles, angles)
    cosine, sine = w.node("Cos", both), w.node("Sin", both)

    def normal(x: str) -> str:
        mean = w.node("ReduceMean <axes = [-1], keepdims = 1>", w.node("Mul", x, x))
        root = w.node("Sqrt", w.node("Add", mean, w.constant(EPSILON)))
        return w.node("Mul", w.constant(np.ones(shape.hidden)), w.node("Div", x, root))

    def rotated(x: str) -> str:
        half = shape.head // 2
        first = w.node("Slice", x, w.sizes(0), w.sizes(half), w.sizes(3))
        second = w.node("Slice", x, w.sizes(half), w.sizes(shape.head), w.sizes(3))
        swapped = w.node("Concat <axis = 3>", w.node("Neg", second), first)
        return w.node("Add", w.node("Mul", x, cosine), w.node("Mul", swapped, sine))

    def repeated(x: str) -> str:
        """Each head of keys or values for all the heads that it serves."""
        batch, total = w.node("Shape <end = 1>", "ids"), w.node("Shape <start = 2, end = 3>", x)
        apart, head = w.node("Unsqueeze", x, w.sizes(2)), w.sizes(shape.head)
        served = w.sizes(shape.key_heads, shape.heads // shape.key_heads)
        spread = w.node("Expand", apart, w.node("Concat <axis = 0>", batch, served, total, head))
        return w.node(
            "Reshape", spread, w.node("Concat <axis = 0>", batch, w.sizes(shape.heads), total, head)
        )

    for layer in range(shape.layers):
        x, width = normal(h), shape.key_heads * shape.head
        q = rotated(w.heads(w.dense(x, shape.hidden, shape.hidden, False), shape.heads))
        k = rotated(w.heads(w.dense(x, width, shape.hidden, False), shape.key_heads))
        v = w.heads(w.dense(x, width, shape.hidden, False), shape.key_heads)
        keys, values = w.cached("key", layer, k), w.cached("value", layer, v)
        mixed = w.attention(q, repeated(keys), repeated(values), unseen)
        h = w.node("Add", h, w.dense(mixed, shape.hidden, shape.hidden, False))
        x = normal(h)
        gate, up = (w.dense(x, shape.inner, shape.hidden, False) for _ in range(2))
        inner = w.node("Mul", w.node("Mul", gate, w.node("Sigmoid", gate)), up)
        h = w.node("Add", h, w.dense(inner, shape.hidden, shape.inner, False))
    w.node("MatMul", normal(h), w.weight(shape.hidden, shape.vocabulary), name="logits")
    return w.model("llama")


DECODERS: Final[dict[str, tuple[Callable[..., ModelProto], Shape]]] = {
    "gpt2": (gpt2, GPT2),
    "llama": (llama, LLAMA),
}
