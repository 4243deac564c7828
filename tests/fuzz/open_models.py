"""Random ONNX models with two open dims: one program, run at several shapes, gives what onnxruntime gives.

A model is a graph of 2 to 8 nodes over images or rows, of operators that take open dims.  Some models are run at all
their shapes from three threads at once.  What onnxruntime refuses may be refused, in words of ours.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

COUNT = 500
SECONDS = 240.0
NEEDS = "onnxruntime"
_CALLS = 6  # of a model
_SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 23, 31, 32, 33, 48, 50, 64, 97)
_MOST = 1 << 16  # elements of an input
_THREADED = 0.3

Dim = int | str  # a size, or the text of what it is computed from


@dataclass(frozen=True)
class Value:
    """A tensor of the graph; dims of one text are equal."""

    name: str
    shape: tuple[Dim, ...]


class Graph:
    """Nodes over the inputs x and z; a new one reads values that are there."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.numpy = np.random.default_rng(rng.getrandbits(32))
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        shapes: tuple[tuple[Dim, ...], ...] = (
            (2, 4, "n", "m"),
            ("n", 4, "m", 6),
            ("n", "m", 8),
            ("n", "m", 8),
            ("n", "m"),
        )
        shape = rng.choice(shapes)
        other = rng.choice(
            (shape, shape, tuple(1 if k == rng.randrange(len(shape)) else d for k, d in enumerate(shape)))
        )
        self.inputs = [Value("x", shape), Value("z", other)]
        self.values = list(self.inputs)

    def grow(self, count: int) -> Any:
        """The model after so many more nodes."""
        import onnx
        from onnx import TensorProto, helper

        while len(self.nodes) < count:
            x = self.rng.choice(self.values[-3:])
            self.rng.choice(_STEPS)(self, x)
        read = {name for node in self.nodes for name in node.input}
        results = [v for v in self.values if v.name not in read and v not in self.inputs]
        inputs = [
            helper.make_tensor_value_info(v.name, TensorProto.FLOAT, list(v.shape))
            for v in self.inputs
            if v.name in read
        ]
        outputs = [helper.make_tensor_value_info(v.name, TensorProto.FLOAT, None) for v in results]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)

    def weight(self, array: np.ndarray) -> str:
        from onnx import numpy_helper

        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def floats(self, *shape: int) -> str:
        return self.weight((self.numpy.standard_normal(shape) / 4).astype(np.float32))

    def ints(self, *values: int) -> str:
        return self.weight(np.array(values, np.int64))

    def node(
        self, op: str, inputs: Sequence[str], shape: Sequence[Dim], outputs: int = 1, **attrs: Any
    ) -> None:
        """A node whose outputs have one shape."""
        from onnx import helper

        names = [f"v{len(self.nodes)}_{k}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attrs))
        self.values.extend(Value(name, tuple(shape)) for name in names)

    def like(self, x: Value, but: int | None = None) -> list[Value]:
        """The values that have the shape of another, but for one axis."""
        return [
            v
            for v in self.values
            if len(v.shape) == len(x.shape)
            and all(a == b for k, (a, b) in enumerate(zip(v.shape, x.shape, strict=True)) if k != but)
        ]


Step = Callable[[Graph, Value], None]


def _unary(g: Graph, x: Value) -> None:
    ops = ("Relu", "Tanh", "Sigmoid", "Abs", "Neg", "HardSwish", "Softplus", "Erf", "LeakyRelu", "Elu", "Sin")
    g.node(g.rng.choice(ops), [x.name], x.shape)


def _binary(g: Graph, x: Value) -> None:
    fitting = [
        v
        for v in g.values
        if len(v.shape) == len(x.shape)
        and all(a == b or b == 1 for a, b in zip(x.shape, v.shape, strict=True))
    ]
    names = [x.name, g.rng.choice(fitting).name]
    g.rng.shuffle(names)
    g.node(g.rng.choice(("Add", "Sub", "Mul", "Max", "Min")), names, x.shape)


def _scaled(g: Graph, x: Value) -> None:
    shape = [d if isinstance(d, int) and g.rng.random() < 0.7 else 1 for d in x.shape]
    g.node(g.rng.choice(("Add", "Mul")), [x.name, g.floats(*shape)], x.shape)


def _matmul(g: Graph, x: Value) -> None:
    last = x.shape[-1]
    if isinstance(last, int):
        width = g.rng.choice((1, 4, 8, 16, 33))
        g.node("MatMul", [x.name, g.floats(last, width)], (*x.shape[:-1], width))


def _scores(g: Graph, x: Value) -> None:
    rank = len(x.shape)
    perm = [*range(rank - 2), rank - 1, rank - 2]
    g.node("Transpose", [x.name], [x.shape[k] for k in perm], perm=perm)
    turned = g.values[-1]
    g.node("MatMul", [x.name, turned.name], (*x.shape[:-1], x.shape[-2]))
    g.node("Softmax", [g.values[-1].name], g.values[-1].shape, axis=-1)


def _softmax(g: Graph, x: Value) -> None:
    g.node(g.rng.choice(("Softmax", "LogSoftmax")), [x.name], x.shape, axis=g.rng.randrange(len(x.shape)))


def _normal(g: Graph, x: Value) -> None:
    last = x.shape[-1]
    channels = x.shape[1]
    if len(x.shape) == 4 and isinstance(channels, int):
        four = [g.floats(channels) for _ in range(3)]
        kind = g.rng.randrange(3)
        if kind == 0:
            g.node("InstanceNormalization", [x.name, *four[:2]], x.shape)
        elif kind == 1:
            var = g.weight(np.full(channels, 0.5, np.float32))
            g.node("BatchNormalization", [x.name, *four, var], x.shape)
        else:
            g.node("LRN", [x.name], x.shape, size=3)
    elif isinstance(last, int) and last > 1:
        g.node("LayerNormalization", [x.name, g.floats(last), g.floats(last)], x.shape)


def _reduced(g: Graph, x: Value) -> None:
    axis = g.rng.randrange(len(x.shape))
    keep = len(x.shape) < 3 or g.rng.random() < 0.6
    shape = [1 if k == axis else d for k, d in enumerate(x.shape) if keep or k != axis]
    op = g.rng.choice(("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceLogSumExp"))
    g.node(op, [x.name], shape, axes=[axis], keepdims=int(keep))


def _transposed(g: Graph, x: Value) -> None:
    perm = g.rng.sample(range(len(x.shape)), len(x.shape))
    g.node("Transpose", [x.name], [x.shape[k] for k in perm], perm=perm)


def _joined(g: Graph, x: Value) -> None:
    axis = g.rng.randrange(len(x.shape))
    y = g.rng.choice(g.like(x, axis))
    a, b = x.shape[axis], y.shape[axis]
    size: Dim = a + b if isinstance(a, int) and isinstance(b, int) else f"({a}+{b})"
    g.node("Concat", [x.name, y.name], [*x.shape[:axis], size, *x.shape[axis + 1 :]], axis=axis)


def _sliced(g: Graph, x: Value) -> None:
    axis = g.rng.randrange(len(x.shape))
    begin, end, step = g.rng.choice(
        ((0, 5, 1), (1, 1 << 40, 1), (0, -1, 1), (-3, 1 << 40, 1), (0, 9, 2), (-1, -(1 << 40), -1))
    )
    d = x.shape[axis]
    size: Dim = len(range(d)[begin:end:step]) if isinstance(d, int) else f"{d}[{begin}:{end}:{step}]"
    if size != 0:
        shape = [*x.shape[:axis], size, *x.shape[axis + 1 :]]
        g.node("Slice", [x.name, *(g.ints(k) for k in (begin, end, axis, step))], shape)


def _padded(g: Graph, x: Value) -> None:
    rank = len(x.shape)
    pads = [g.rng.choice((0, 0, 0, 1, 2)) for _ in range(2 * rank)]
    shape: list[Dim] = []
    for d, low, high in zip(x.shape, pads[:rank], pads[rank:], strict=True):
        shape.append(d + low + high if isinstance(d, int) else f"({d}+{low + high})" if low + high else d)
    g.node("Pad", [x.name, g.ints(*pads)], shape, mode=g.rng.choice(("constant", "edge")))


def _window(d: Dim, kernel: int, stride: int, pads: int, dilation: int = 1) -> Dim:
    if isinstance(d, int):
        return (d + pads - dilation * (kernel - 1) - 1) // stride + 1
    less = dilation * (kernel - 1) - pads
    return d if stride == 1 and not less else f"({d}-{less})/{stride}"


def _conv(g: Graph, x: Value) -> None:
    channels = x.shape[1]
    if len(x.shape) not in (3, 4) or not isinstance(channels, int):
        return
    count = len(x.shape) - 2
    groups = g.rng.choice([n for n in (1, 1, 2, channels) if channels % n == 0])
    out = groups * g.rng.choice((1, 2, 4))
    kernel = [g.rng.choice((1, 1, 3, 3, 5)) for _ in range(count)]
    strides = [g.rng.choice((1, 1, 2)) for _ in range(count)]
    pads = [k // 2 for k in kernel]
    after = [
        _window(d, *each)
        for d, *each in zip(x.shape[2:], kernel, strides, [2 * p for p in pads], strict=True)
    ]
    if all(d != 0 for d in after):
        weight = g.floats(out, channels // groups, *kernel)
        g.node(
            "Conv",
            [x.name, weight, g.floats(out)],
            [x.shape[0], out, *after],
            group=groups,
            strides=strides,
            pads=pads * 2,
        )


def _transposed_conv(g: Graph, x: Value) -> None:
    channels = x.shape[1]
    if len(x.shape) != 4 or not isinstance(channels, int):
        return
    stride, kernel, out = g.rng.choice((1, 2)), g.rng.choice((2, 3)), g.rng.choice((1, 3, 4))
    after = [
        (d - 1) * stride + kernel if isinstance(d, int) else f"({d}-1)*{stride}+{kernel}" for d in x.shape[2:]
    ]
    g.node(
        "ConvTranspose",
        [x.name, g.floats(channels, out, kernel, kernel)],
        [x.shape[0], out, *after],
        strides=[stride] * 2,
    )


def _pooled(g: Graph, x: Value) -> None:
    if len(x.shape) != 4:
        return
    if g.rng.random() < 0.2:
        g.node(g.rng.choice(("GlobalAveragePool", "GlobalMaxPool")), [x.name], (*x.shape[:2], 1, 1))
        return
    kernel, stride = g.rng.choice((2, 3)), g.rng.choice((1, 2))
    after = [_window(d, kernel, stride, 2) for d in x.shape[2:]]
    attrs = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [1] * 4}
    g.node(g.rng.choice(("MaxPool", "AveragePool")), [x.name], [*x.shape[:2], *after], **attrs)


def _resized(g: Graph, x: Value) -> None:
    if len(x.shape) == 4:
        scales = g.weight(np.array((1, 1, 2, 2), np.float32))
        after = [2 * d if isinstance(d, int) else f"2*{d}" for d in x.shape[2:]]
        attrs = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        g.node("Resize", [x.name, "", scales], [*x.shape[:2], *after], **attrs)


def _reshaped(g: Graph, x: Value) -> None:
    """The last two axes as one, or the last one in two."""
    rank, last = len(x.shape), x.shape[-1]
    if isinstance(last, int) and last % 2 == 0 and g.rng.random() < 0.6:
        g.node("Reshape", [x.name, g.ints(*[0] * (rank - 1), 2, last // 2)], (*x.shape[:-1], 2, last // 2))
    elif rank > 2:
        a, b = x.shape[-2:]
        size: Dim = a * b if isinstance(a, int) and isinstance(b, int) else f"({a}*{b})"
        g.node("Reshape", [x.name, g.ints(*[0] * (rank - 2), -1)], (*x.shape[:-2], size))


def _as_before(g: Graph, x: Value) -> None:
    """Flat, and by the shape of what it was again."""
    g.node("Shape", [x.name], (len(x.shape),))
    shape = g.values.pop()  # no value of floats
    g.node("Flatten", [x.name], ("?", "?"), axis=g.rng.randrange(len(x.shape)))
    flat = g.values[-1]
    g.node("Reshape", [flat.name, shape.name], x.shape)
    g.values.remove(flat)


def _gathered(g: Graph, x: Value) -> None:
    axis = g.rng.randrange(len(x.shape))
    d = x.shape[axis]
    most = d if isinstance(d, int) else 1
    index = [g.rng.randrange(-most, most) for _ in range(g.rng.choice((1, 3)))]
    shape = [*x.shape[:axis], len(index), *x.shape[axis + 1 :]]
    g.node("Gather", [x.name, g.ints(*index)], shape, axis=axis)


def _summed(g: Graph, x: Value) -> None:
    axis = g.ints(g.rng.randrange(len(x.shape)))
    g.node("CumSum", [x.name, axis], x.shape, exclusive=g.rng.randrange(2), reverse=g.rng.randrange(2))


def _tiled(g: Graph, x: Value) -> None:
    times = [g.rng.choice((1, 1, 2)) for _ in x.shape]
    shape = [
        d if t == 1 else 2 * d if isinstance(d, int) else f"2*{d}"
        for d, t in zip(x.shape, times, strict=True)
    ]
    g.node("Tile", [x.name, g.ints(*times)], shape)


def _chosen(g: Graph, x: Value) -> None:
    from onnx import helper

    y = g.rng.choice(g.like(x))
    name = f"c{len(g.nodes)}"
    g.nodes.append(helper.make_node("Greater", [x.name, g.floats(1)], [name]))
    g.node("Where", [name, x.name, y.name], x.shape)


def _split(g: Graph, x: Value) -> None:
    for axis, d in enumerate(x.shape):
        if isinstance(d, int) and d % 2 == 0:
            half = [*x.shape[:axis], d // 2, *x.shape[axis + 1 :]]
            g.node("Split", [x.name], half, outputs=2, axis=axis)
            return


_STEPS: tuple[Step, ...] = (
    _unary,
    _unary,
    _binary,
    _binary,
    _scaled,
    _matmul,
    _scores,
    _softmax,
    _normal,
    _reduced,
    _transposed,
    _joined,
    _sliced,
    _padded,
    _conv,
    _conv,
    _transposed_conv,
    _pooled,
    _resized,
    _reshaped,
    _as_before,
    _gathered,
    _summed,
    _tiled,
    _chosen,
    _split,
)


def case(seed: int) -> None:
    """One model at several shapes."""
    from opgen_runtime.base.errors import OpgenError
    from opgen_runtime.frontend import onnx as frontend

    rng = random.Random(seed)
    graph = Graph(rng)
    model = graph.grow(rng.randint(2, 8))
    content = model.SerializeToString()
    reference = _session(content)
    if reference is None:
        return  # a graph that ONNX's own checks refuse
    program = frontend.prepare(model)
    names = [value.name for value in model.graph.input]
    calls = [_arrays(graph, rng, names) for _ in range(_CALLS)]

    def run(given: list[np.ndarray]) -> None:
        try:
            wanted = reference.run(None, dict(zip(names, given, strict=True)))
        except Exception:  # it raises classes of its own making
            wanted = None
        where = f"{[array.shape for array in given]} of\n{_text(model)}"
        try:
            found = program(given)
        except OpgenError as error:
            if wanted is not None:
                raise AssertionError(f"{error}: {where}") from error
            return
        if wanted is not None:
            _same(found, wanted, where)

    if rng.random() < _THREADED:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(run, calls))
    else:
        for given in calls:
            run(given)


def _session(content: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception:  # it raises classes of its own making
        return None


def _arrays(graph: Graph, rng: random.Random, names: Sequence[str]) -> list[np.ndarray]:
    while True:
        sizes = {"n": rng.choice(_SIZES), "m": rng.choice(_SIZES)}
        shapes = [
            [sizes[d] if isinstance(d, str) else d for d in v.shape] for v in graph.inputs if v.name in names
        ]
        if all(np.prod(shape) <= _MOST for shape in shapes):
            random_ = np.random.default_rng(rng.getrandbits(32))
            return [random_.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]


def _text(model: Any) -> str:
    from onnx import printer

    return str(printer.to_text(model))


def _same(found: Sequence[Any], wanted: Sequence[Any], where: str) -> None:
    assert len(found) == len(wanted), where
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), (
            f"{ours.shape}, {theirs.shape}: {where}"
        )
        finite = np.abs(theirs[np.isfinite(theirs)])
        atol = 1e-5 + 1e-4 * float(finite.max(initial=0.0))
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=atol, err_msg=where)
