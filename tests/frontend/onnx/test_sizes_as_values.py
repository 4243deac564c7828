"""Sizes as values, where dims are open: what exporters compute of a `Shape` has one program for all sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, numpy_helper, parser  # noqa: E402

from opgen_runtime.frontend.onnx import prepare  # noqa: E402

SHAPES = [(2, 7), (3, 5), (1, 1), (4, 1), (1, 9), (5, 2)]
CONSTANTS = {
    "none": np.array(0),
    "unit": np.array(1),
    "two": np.array(2),
    "first": np.array([0]),
    "second": np.array([1]),
    "last": np.array([-1]),
    "third": np.array([2]),
    "eight": np.array([8]),
    "pair": np.array([0, 1]),
    "table": np.arange(64, dtype=np.float32).reshape(1, 64),
    "far": np.array([(1 << 63) - 1]),
    "beyond": np.array([-(1 << 63)]),
    "half": np.array(0.5, np.float32),
}
SIZES = "s = Shape (x)  b = Shape <end = 1> (x)  n = Squeeze (b)  q = Shape <start = 1> (x)  m = Squeeze (q) "
MODELS = {
    "Range": SIZES + "y = Range (none, m, unit)",
    "Range of two sizes": SIZES + "l = Add (n, m)  y = Range (n, l, two)",
    "Range of int32": SIZES + "i = Cast <to = 6> (m)  z = Cast <to = 6> (none)  u = Cast <to = 6> (unit) "
    "r = Range (z, i, u)  f = Cast <to = 1> (r)  y = Add (x, f)",
    "a causal mask": SIZES + "r = Range (none, m, unit)  p = Unsqueeze (r, first)  c = Unsqueeze (r, second) "
    "k = LessOrEqual (p, c)  f = Cast <to = 1> (k)  y = MatMul (x, f)",
    "positions of a table": SIZES
    + "t = Slice (table, first, q, second, second)  e = Expand (t, s)  y = Add (x, e)",
    "Slice to a size": SIZES + "h = Div (m, two)  e = Unsqueeze (h, first)  y = Slice (x, first, e, second)",
    "Slice from a size": SIZES + "h = Div (m, two)  e = Unsqueeze (h, first)  y = Slice (x, e, far, second)",
    "ConstantOfShape": SIZES + "z = ConstantOfShape (s)  y = Add (x, z)",
    "Expand and Concat": SIZES + "t = Concat <axis = 0> (second, s)  y = Expand (x, t)",
    "Where of a shape": SIZES
    + "l = Shape (s)  o = ConstantOfShape <value = int64[1] {1}> (l)  e = Equal (s, last) "
    "t = Where (e, o, s)  y = Expand (x, t)",
    "Size as a value": "z = Size (x)  f = Cast <to = 1> (z)  y = Div (x, f)",
    "a size as a value": SIZES + "f = Cast <to = 1> (m)  r = Sqrt (f)  y = Mul (x, r)",
    "sizes as results": SIZES + "y = Concat <axis = 0> (s, q)",
    "a comparison of sizes": SIZES + "c = Less (n, m)  y = Where (c, x, half)",
    "Reshape with a rest": SIZES
    + "a = Unsqueeze (x, third)  u = Concat <axis = 0> (b, q, eight)  e = Expand (a, u) "
    "t = Concat <axis = 0> (last, q, eight)  r = Reshape (e, t)  v = Concat <axis = 0> (b, last)  y = Reshape (r, v)",
    "GatherND of positions": SIZES
    + "r = Range (none, n, unit)  p = Unsqueeze (r, second)  c = Range (none, m, unit) "
    "k = Unsqueeze (c, first)  l = Max (p, k)  d = Shape (l)  i = Expand (p, d)  j = Expand (k, d) "
    "i1 = Unsqueeze (i, last)  j1 = Unsqueeze (j, last)  w = Concat <axis = -1> (i1, j1)  y = GatherND (x, w)",
    "extents of a window": SIZES + "a = Add (last, q)  d = Div (a, two)  e = Add (d, second) "
    "t = Slice (table, first, e, second)  u = MaxPool <kernel_shape = [1], strides = [2]> (v) "
    "v = Unsqueeze (x, second)  w = Squeeze (u, second)  y = Add (w, t)",
    "Trilu": SIZES + "k = Sub (m, unit)  y = Trilu (x, k)",
    "Tile": SIZES + "t = Concat <axis = 0> (b, second)  y = Tile (x, t)",
}


def model(text: str) -> Any:
    """A model of nodes in any order."""
    made = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> g (float[batch, seq] x) => (float[a] y) {{ {text} }}'
    )
    made.graph.output[0].ClearField("type")
    used = {name for node in made.graph.node for name in node.input}
    made.graph.initializer.extend(
        [numpy_helper.from_array(CONSTANTS[name], name) for name in sorted(used & set(CONSTANTS))]
    )
    given = {"x", "", *CONSTANTS}
    nodes, waiting = [], list(made.graph.node)
    while waiting:  # those whose inputs are there
        ready = next(node for node in waiting if set(node.input) <= given)
        waiting.remove(ready)
        nodes.append(ready)
        given.update(ready.output)
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


@pytest.mark.parametrize("name", MODELS)
def test_one_program_for_all_sizes(name: str) -> None:
    made = model(MODELS[name])
    inferred = onnx.shape_inference.infer_shapes(made)
    kind = (
        next((v.type.tensor_type.elem_type for v in inferred.graph.output), TensorProto.FLOAT)
        or TensorProto.FLOAT
    )
    made.graph.output[0].type.tensor_type.elem_type = kind
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    program = prepare(made)
    random = np.random.default_rng(3)
    for shape in SHAPES:
        x = random.standard_normal(shape).astype(np.float32)
        (wanted,) = session.run(None, {"x": x})
        (found,) = program([x])
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    assert "for all sizes:" in program.explain(), program.explain()
    made_for = [each for key in program._compiled for each in program._compiled.get(key) or ()]
    assert len({id(each) for each in made_for}) == len(made_for) == 2, "the first, and one for all"


def test_sizes_that_grow_are_numbers_that_the_program_computes() -> None:
    """Each squared: neither numbers nor expressions grow without end while the model is converted."""
    squares = "  ".join([f"q{k + 1} = Mul (q{k}, q{k})" for k in range(60)])
    made = model(f"s = Shape (x)  q0 = Concat <axis = 0> (s, third)  {squares}  y = Cast <to = 1> (q60)")
    program = prepare(made)
    for shape in SHAPES[:3]:
        wanted = np.array([*shape, 2])
        for _ in range(60):
            wanted = wanted * wanted
        np.testing.assert_array_equal(program([np.ones(shape, np.float32)])[0], wanted.astype(np.float32))
    assert "for all sizes:" in program.explain()


DECODER = """
g (int64[batch, seq] ids, float[batch, 2, past, 4] pk, float[batch, 2, past, 4] pv)
    => (float[batch, seq, 8] y, float[batch, 2, total, 4] k, float[batch, 2, total, 4] v) {
    b = Shape <end = 1> (ids)  q = Shape <start = 1> (ids)  p = Shape <start = 2, end = 3> (pk)
    n = Squeeze (q)  before = Squeeze (p)  all = Add (before, n)
    own = Range (before, all, unit)  keys = Range (none, all, unit)
    e = Gather (words, ids)  f = Gather (places, own)  h = Add (e, f)
    to = Concat <axis = 0> (b, q, heads)  r = Reshape (h, to)  t = Transpose <perm = [0, 2, 1, 3]> (r)
    k = Concat <axis = 2> (pk, t)  v = Concat <axis = 2> (pv, t)
    turned = Transpose <perm = [0, 1, 3, 2]> (k)  scores = MatMul (t, turned)
    row = Unsqueeze (own, second)  column = Unsqueeze (keys, first)  seen = LessOrEqual (column, row)
    mask = Where (seen, zero, low)  masked = Add (scores, mask)  shares = Softmax (masked)
    o = MatMul (shares, v)  u = Transpose <perm = [0, 2, 1, 3]> (o)
    back = Concat <axis = 0> (b, q, eight)  y = Reshape (u, back)
}"""


def test_a_decoder_with_a_cache_is_compiled_once() -> None:
    """What it has seen grows by one each step, along an open axis."""
    random = np.random.default_rng(7)
    made = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {DECODER}')
    constants = {
        **{name: CONSTANTS[name] for name in ("none", "unit", "first", "second", "eight")},
        "heads": np.array([2, 4]),
        "zero": np.array(0, np.float32),
        "low": np.array(-1e9, np.float32),
        "words": random.standard_normal((11, 8)).astype(np.float32),
        "places": random.standard_normal((64, 8)).astype(np.float32),
    }
    made.graph.initializer.extend([numpy_helper.from_array(a, name) for name, a in constants.items()])
    session = runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    program = prepare(made)
    k = v = np.zeros((3, 2, 0, 4), np.float32)
    kernels: list[int] = []
    for step in range(50):
        ids = random.integers(0, 11, (3, 4 if step == 0 else 1))
        y, new_k, new_v = program([ids, k, v])
        wanted = session.run(None, {"ids": ids, "pk": k, "pv": v})
        for found, expected in zip((y, new_k, new_v), wanted, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        k, v = new_k, new_v
        kernels.append(
            len({id(each) for key in program._compiled for each in program._compiled.get(key) or ()})
        )
    assert kernels[1:] == [2] * 49, "the first shapes, and one for all"
    assert "for all sizes:" in program.explain()
