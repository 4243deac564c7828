"""Programs as graphs: sizes of open dims, branches, loops, and calls that operators do not say."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import printer  # noqa: E402

import opgen_runtime as rt  # noqa: E402
from opgen_runtime import ir, ops  # noqa: E402
from opgen_runtime.frontend import onnx as frontend  # noqa: E402
from opgen_runtime.frontend.onnx.exporter import nodes, registry  # noqa: E402

from .run_models import assert_equal_everywhere, run_within  # noqa: E402


def var(name: str, *shape: object, dtype: str = "float32") -> ir.Var:
    return ir.Var(name, rt.TensorType(shape, dtype))


def lines(model: onnx.ModelProto) -> list[str]:
    """The nodes as text, without their names."""
    text = printer.to_text(model).splitlines()
    return [line.strip().partition("] ")[2] for line in text if line.strip().startswith("[")]


def test_a_whole_model() -> None:
    x = var("x", 2, 3)
    model = frontend.export(ir.Function((x,), ops.softmax(ops.axis_abs(ops.relu(x), axis=1, indice=1))))
    assert lines(model) == [
        "relu = Relu (x)",
        "axis_abs = opgen.axis_abs <axis: int = 1, indice: int = 1> (relu)",
        "output = Softmax <axis: int = -1> (axis_abs)",
    ]
    assert {each.domain: each.version for each in model.opset_import} == {"": 21, "opgen": 1}


@pytest.mark.parametrize(
    ("size", "wanted"),
    [
        (lambda n, m: n * m, 15),
        (lambda n, m: (n + 3) // 4, 2),
        (lambda n, m: n % 2 + m, 4),
        (lambda n, m: n - m, 2),
        (lambda n, m: rt.arith.maximum(n, m), 5),
        (lambda n, m: rt.arith.select(rt.arith.gt(n, m), n + 1, m), 6),
    ],
)
def test_sizes_of_open_dims(size: object, wanted: int) -> None:
    n, m = rt.dim("n"), rt.dim("m")
    x = var("x", n, m)
    made = ir.Function((x,), ops.shape_to_tensor(shape=(size(n, m), 7)))  # type: ignore[operator]
    model = frontend.export(made)
    array = np.zeros((5, 3), np.float32)
    assert_equal_everywhere(made, {}, model, array, exact=True)
    assert frontend.run(model, [array])[0].tolist() == [wanted, 7]


def test_branches() -> None:
    """What both sides need is written once, around them; a side that is a value of the outside is copied."""
    x, flag = var("x", 3), var("flag", dtype="bool")
    shared = ops.exp(x)
    body = ir.If(flag, ir.Tuple((ops.sin(shared), shared)), ir.Tuple((ops.add(shared, x), x)))
    function = ir.Function((x, flag), body)
    model = frontend.export(function)
    assert [node.op_type for node in model.graph.node] == ["Exp", "If"]
    sides = {each.name: [node.op_type for node in each.g.node] for each in model.graph.node[1].attribute}
    assert sides == {"then_branch": ["Sin", "Identity"], "else_branch": ["Add", "Identity"]}
    array = np.array([0.5, -1, 2], np.float32)
    for value in (True, False):
        assert_equal_everywhere(function, {}, model, array, np.array(value))


LOOPS = {
    "the end comes first": """
        def @f(%n: Tensor[(), int32], %x: Tensor[(2,), float32]) {
          if (less(%n, const(1, int32))) { %x } else { @f(subtract(%n, const(1, int32)), add(%x, %x)) }
        }""",
    "three ends": """
        def @f(%n: Tensor[(), int32], %x: Tensor[(2,), float32]) {
          if (less(%n, const(1, int32))) { %x } else {
            if (equal(%n, const(3, int32))) { @f(subtract(%n, const(2, int32)), negative(%x)) }
            else { @f(subtract(%n, const(1, int32)), add(%x, %x)) }
          }
        }""",
    "values in turn": """
        def @f(%n: Tensor[(), int32], %x: Tensor[(2,), float32], %y: Tensor[(2,), float32]) {
          if (greater(%n, const(0, int32))) { @f(subtract(%n, const(1, int32)), %y, add(%x, %y)) } else { %x }
        }""",
}


@pytest.mark.parametrize("text", LOOPS.values(), ids=list(LOOPS))
def test_loops(text: str) -> None:
    operands = "%n, %x, %x" if "%y" in text else "%n, %x"
    main = f"def @main(%n: Tensor[(), int32], %x: Tensor[(2,), float32]) {{ negative(@f({operands})) }}"
    module = ir.parse_module(f"{main}\n{text}")
    model = frontend.export(module)
    assert [node.op_type for node in model.graph.node].count("Loop") == 1
    for steps in (0, 1, 5):
        assert_equal_everywhere(module, {}, model, np.array(steps, np.int32), np.array([1, -2], np.float32))


def test_a_loop_that_never_ends_fails_in_onnxruntime() -> None:
    """As one would that was exported wrongly; it does not keep the tests waiting."""
    module = ir.parse_module("""
        def @main(%x: Tensor[(), float32]) { @f(%x) }
        def @f(%x: Tensor[(), float32]) {
          if (greater(%x, const(0, float32))) { @f(add(%x, const(1, float32))) } else { %x }
        }
    """)
    session = onnxruntime.InferenceSession(
        frontend.export(module).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    with pytest.raises(TimeoutError, match=r"onnxruntime takes more than 0\.2 s"):
        run_within(session, {"x": np.array(1, np.float32)}, seconds=0.2)
    assert run_within(session, {"x": np.array(-1, np.float32)}) == [-1]


def test_a_traced_loop() -> None:
    """What `jit` traces of a function is a program like others."""

    @rt.jit
    def converged(x: object) -> object:
        return rt.while_loop(
            lambda state: state[0] < 5, lambda state: (state[0] + 1, np.sin(state[1]) + x), (0, x)
        )

    x = np.ones((2, 3), np.float32)
    program = converged.trace(x)
    model = frontend.export(program)
    assert [node.op_type for node in model.graph.node] == ["Less", "Loop"]
    assert_equal_everywhere(program, {}, model, x, exact=True)


def test_functions_and_lets() -> None:
    module = ir.parse_module("""
        def @main(%x: Tensor[(2,), float32]) { let %a = @g(%x); add(%a, @g(%a)) }
        def @g(%x: Tensor[(2,), float32]) { exp(negative(%x)) }
    """)
    model = frontend.export(module)
    assert [node.op_type for node in model.graph.node] == ["Neg", "Exp", "Neg", "Exp", "Add"]
    assert_equal_everywhere(module, {}, model, np.array([0.5, 2], np.float32))


def test_outputs() -> None:
    """An input that is a result, and a result that comes twice, are copied."""
    x = var("x", 2)
    y = ops.relu(x)
    model = frontend.export(ir.Function((x,), ir.Tuple((x, y, y))))
    assert lines(model) == ["output1 = Relu (x)", "output0 = Identity (x)", "output2 = Identity (output1)"]


def test_what_schemas_do_not_take() -> None:
    """The opset says which operators, attributes and dtypes there are."""
    x = var("x", 2, 3, dtype="int32")
    assert lines(frontend.export(ir.Function((x,), ops.max_pool1d(ops.reshape(x, newshape=(1, 2, 3)))))) == [
        "reshape = Reshape <allowzero: int = 1> (x, constant)",
        "output = opgen.max_pool1d <pool_size: ints = [1], strides: ints = [1], dilation: ints = [1], padding: ints = "
        '[0], layout: string = "NCW", ceil_mode: int = 0> (reshape)',
    ]
    f = var("f", 2)
    made = ir.Function((f,), ops.gelu(f))
    assert [node.domain for node in frontend.export(made, opset=19).graph.node] == ["opgen"]
    assert [node.domain for node in frontend.export(made, opset=20).graph.node] == [""]


def test_numbers_of_attrs() -> None:
    """Those that float32 holds by their decimals are floats, others tensors of float64."""
    x = var("x", 2)
    kept = ir.Function((x,), ops.leaky_relu(ops.leaky_relu(x, alpha=0.1), alpha=1 / 3))
    model = frontend.export(kept, standard=False)
    assert [each.attribute[0].type for each in model.graph.node] == [
        onnx.AttributeProto.FLOAT,
        onnx.AttributeProto.TENSOR,
    ]
    assert ir.structural_equal(frontend.load(model)[0]["main"], kept)


def test_writers_are_of_declared_ops() -> None:
    assert set(registry.written_ops()) <= set(rt.registry.list_ops())
    with pytest.raises(rt.errors.RegistryError, match="op 'relu' has a writer of ONNX's operators already"):
        registry.writes("relu")(lambda to, data: data)


def test_constants() -> None:
    """Small ones of one value are one initializer; a number that a dtype does not hold is none."""
    to = nodes.Nodes(nodes.Names(21))
    assert to.ints(1, 2) is to.ints(1, 2)
    assert to.number(2.0, "int64") is to.number(2, "int64")
    with pytest.raises(nodes.NoStandard, match=r"^0.5 is no int64$"):
        to.number(0.5, "int64")
