"""Five programs as models: checked by onnx, run by onnxruntime, and imported again."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import opgen_runtime as rt  # noqa: E402
from opgen_runtime import ir, ops  # noqa: E402
from opgen_runtime.frontend import onnx as frontend  # noqa: E402

from .run_models import assert_equal_everywhere  # noqa: E402

Arrays = dict[str, np.ndarray]


def var(name: str, shape: tuple[object, ...], dtype: str = "float32") -> ir.Var:
    return ir.Var(name, rt.TensorType(shape, dtype))


class Weights:
    """Variables with arrays of seeded numbers."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(0)
        self.vars: list[ir.Var] = []
        self.arrays: Arrays = {}

    def __call__(self, *shape: int) -> ir.Var:
        name = f"w{len(self.vars)}"
        self.vars.append(var(name, shape))
        self.arrays[name] = (self.random.standard_normal(shape) * 0.3).astype(np.float32)
        return self.vars[-1]


def operators(model: onnx.ModelProto) -> list[str]:
    return [f"{node.domain}.{node.op_type}".strip(".") for node in model.graph.node]


def encoder_layer(batch: object, length: object) -> tuple[ir.Function, Arrays]:
    """Self-attention of 4 heads, and a layer of gelu, each with its residual and norm."""
    weight, width, heads = Weights(), 16, 4
    x = var("x", (batch, length, width))

    def projected(value: ir.Expr, units: int) -> ir.Expr:
        return ops.bias_add(
            ops.dense(value, weight(units, value.checked_type.shape[-1])), weight(units), axis=-1
        )

    def split(value: ir.Expr) -> ir.Expr:
        shaped = ops.reshape(value, newshape=(batch, length, heads, width // heads), allowzero=True)
        return ops.transpose(shaped, axes=(0, 2, 1, 3))

    q, k, v = [split(projected(x, width)) for _ in range(3)]
    scores = ops.multiply(ops.matmul(q, ops.transpose(k, axes=(0, 1, 3, 2))), 0.5)
    mixed = ops.transpose(ops.matmul(ops.softmax(scores), v), axes=(0, 2, 1, 3))
    joined = ops.reshape(mixed, newshape=(batch, length, width), allowzero=True)
    y = ops.layer_norm(ops.add(x, projected(joined, width)), weight(width), weight(width))
    hidden = ops.gelu(projected(y, 4 * width))
    y = ops.layer_norm(ops.add(y, projected(hidden, width)), weight(width), weight(width))
    return ir.Function((x, *weight.vars), y), weight.arrays


def test_encoder_layer() -> None:
    """Its dims are open: they have names in the model, and shapes are made of those of the input."""
    function, weights = encoder_layer(rt.dim("batch"), rt.dim("length"))
    model = frontend.export(function, params=weights)
    onnx.checker.check_model(model, full_check=True)
    dims = model.graph.input[0].type.tensor_type.shape.dim
    assert [dim.dim_param or dim.dim_value for dim in dims] == ["batch", "length", 16]
    random = np.random.default_rng(1)
    for batch, length in ((1, 1), (2, 7)):
        x = random.standard_normal((batch, length, 16)).astype(np.float32)
        assert_equal_everywhere(function, weights, model, x)


def network() -> tuple[ir.Function, Arrays]:
    weight = Weights()
    image = var("image", (2, 3, 16, 16))
    y = ops.relu(
        ops.bias_add(ops.conv2d(image, weight(8, 3, 3, 3), strides=(2,), padding=(1, 0, 2, 1)), weight(8))
    )
    mean, variance = weight(8), weight(8)
    weight.arrays[variance.name_hint] = np.abs(weight.arrays[variance.name_hint]) + 1
    y = ops.batch_norm(y, weight(8), weight(8), mean, variance)[0]
    y = ops.conv2d(y, weight(8, 1, 3, 3), padding=(1,), groups=8, dilation=(2, 1))
    y = ops.max_pool2d(ops.leaky_relu(y), pool_size=(2,), strides=(2,))
    y = ops.batch_flatten(ops.global_avg_pool2d(y))
    y = ops.softmax(ops.dense(y, weight(5, 8)))
    return ir.Function((image, *weight.vars), y), weight.arrays


def test_network() -> None:
    function, weights = network()
    model = frontend.export(function, params=weights)
    assert operators(model) == [
        "Conv", "Unsqueeze", "Add", "Relu", "BatchNormalization", "Conv", "LeakyRelu", "MaxPool", "GlobalAveragePool",
        "Flatten", "Gemm", "Softmax",
    ]  # fmt: skip
    image = np.random.default_rng(2).standard_normal((2, 3, 16, 16)).astype(np.float32)
    assert_equal_everywhere(function, weights, model, image)


def test_own_ops() -> None:
    """Nodes of the domain of the ops: what is imported again is the same program."""
    x = var("x", (3, 4))
    body = ops.softmax(
        ops.axis_abs(ops.put_slice(x, ops.square(var_y := var("y", (3, 1))), axis=1), axis=1, indice=2)
    )
    function = ir.Function((x, var_y), body)
    model = frontend.export(function)
    assert operators(model) == ["Mul", "opgen.put_slice", "opgen.axis_abs", "Softmax"]
    whole = frontend.export(function, standard=False)
    assert operators(whole) == ["opgen.square", "opgen.put_slice", "opgen.axis_abs", "opgen.softmax"]
    module, weights = frontend.load(whole)
    assert weights == {}
    assert ir.structural_equal(module["main"], function)
    random = np.random.default_rng(3)
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (3, 1))]
    wanted = rt.build(function).run(arrays)
    for each in (model, whole):
        onnx.checker.check_model(each, full_check=True)
        assert frontend.run(each, arrays)[0].tobytes() == wanted.tobytes()


LOOP = """
def @main(%n: Tensor[(), int64], %x: Tensor[(3,), float32]) {
  @f(%n, %x, const([1.5, 2, 0.5], float32))
}
def @f(%n: Tensor[(), int64], %x: Tensor[(3,), float32], %k: Tensor[(3,), float32]) {
  if (greater(%n, const(0, int64))) {
    %0 = multiply(%x, %k);
    @f(subtract(%n, const(1, int64)), sin(%0), %k)
  } else {
    negative(%x)
  }
}
"""


def test_loop() -> None:
    """A function that calls itself at its end is a Loop; what no step changes is read from around it."""
    module = ir.parse_module(LOOP)
    model = frontend.export(module)
    assert operators(model) == ["Greater", "Loop", "Neg"]
    (body,) = [attribute.g for attribute in model.graph.node[1].attribute]
    assert [node.op_type for node in body.node] == ["Sub", "Mul", "Sin", "Greater"]
    assert [value.name for value in body.input] == ["step", "going", "carried", "carried_1"]
    x = np.array([0.1, -0.7, 2], np.float32)
    for steps in (0, 1, 20):
        assert_equal_everywhere(module, {}, model, np.array(steps, np.int64), x)


def quantised() -> tuple[ir.Function, Arrays]:
    random, x = np.random.default_rng(4), var("x", (2, 4, 8, 8))
    filters = random.integers(-90, 90, (6, 4, 3, 3), np.int8)
    rows = random.integers(-90, 90, (6, 5), np.int8)
    steps, zero = np.float32(0.05), np.array(7, np.uint8)
    y = ops.quantize(x, steps, zero, out_dtype="uint8")
    y = ops.quantised_conv(y, filters, zero, np.array([0], np.int8), padding=(1,))
    y = ops.requantize(
        y, np.float32(0.001), np.array(0, np.int32), steps, np.array(7, np.int32), out_dtype="uint8"
    )
    y = ops.dequantize(y, steps, zero)
    y = ops.mean(y, axis=(2, 3))
    y, scale, offset = ops.dynamic_quantize(y)
    y = ops.cast(ops.quantised_matmul(y, rows, ops.reshape(offset, newshape=(1,))), dtype="float32")
    return ir.Function((x,), ops.multiply(y, scale)), {}


def test_quantised() -> None:
    function, weights = quantised()
    model = frontend.export(function)
    assert {
        "QuantizeLinear",
        "ConvInteger",
        "DequantizeLinear",
        "DynamicQuantizeLinear",
        "MatMulInteger",
    }.issubset(operators(model))
    x = np.random.default_rng(5).standard_normal((2, 4, 8, 8)).astype(np.float32)
    assert_equal_everywhere(function, weights, model, x)


@pytest.mark.parametrize(
    "program", [encoder_layer(2, 5), network(), quantised()], ids=["layer", "network", "quantised"]
)
def test_own_nodes_are_the_same_program(program: tuple[ir.Function, Arrays]) -> None:
    """Written as nodes of their own domain, calls come back as they were."""
    function, weights = program
    model = frontend.export(function, params=weights, standard=False)
    onnx.checker.check_model(model, full_check=True)
    module, found = frontend.load(model)
    main = module["main"]
    values = {param: ir.Constant(found[param.name_hint]) for param in main.params if param.name_hint in found}
    given = {
        param: ir.Constant(weights[param.name_hint])
        for param in function.params
        if param.name_hint in weights
    }
    again = ir.Function((main.params[0],), ir.substitute(main.body, {**values}))
    assert ir.structural_equal(
        again, ir.Function((function.params[0],), ir.substitute(function.body, {**given}))
    )
