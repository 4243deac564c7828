"""Programs of operators."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ir, ops

from .programs import F32, near, numbers, program


def layer() -> tuple[rt.Function, dict[str, np.ndarray]]:
    x, w = rt.var("x", shape=(2, 4), dtype=F32), rt.var("w", rt.TensorType((3, 4), F32))
    return rt.Function((x, w), ops.relu(ops.dense(x, w))), {"w": numbers(3, 4) - 1}


def runs_as_layer(run: Callable[[np.ndarray], object]) -> None:
    near(run(numbers(2, 4)), np.maximum(numbers(2, 4) @ (numbers(3, 4) - 1).T, 0))


@program("relay.Function([x, w], body)")
def built_with_params() -> None:
    function, params = layer()
    runs_as_layer(lambda x: rt.build(function, params=params, target="llvm").run({"x": x}))


@program("graph, lib, params = relay.build(...), and graph_executor.create")
def graph_runtime() -> None:
    function, params = layer()
    runtime = rt.GraphRuntime(rt.build(function, params=params))
    runtime.set_input("x", numbers(2, 4))
    runtime.run()
    runs_as_layer(lambda _: runtime.get_output(0).numpy())


@program("lib.get_graph_json()")
def graph_as_json() -> None:
    function, params = layer()
    assert '"opgen_dense_relu_2"' in rt.build(function, params=params).graph


@program(
    "lib.get_params(); relay.save_param_dict(params), load_param_dict; here a file of the form safetensors"
)
def params_in_files() -> None:
    function, params = layer()
    executable = rt.build(function, params=params)
    path = Path(tempfile.mkdtemp()) / "params"
    executable.save_params(path)
    executable.set_params({"w": np.zeros((3, 4), F32)})
    near(executable.run([numbers(2, 4)]), np.zeros((2, 3)))
    executable.load_params(path)
    runs_as_layer(lambda x: executable.run([x]))


@program("nnvm: sym.Variable(name, init=...), nnvm.compiler.build(..., shape=..., dtype=...)")
def initialised_variables() -> None:
    x = rt.var("x")
    bias = rt.var("bias", init=lambda kind: ops.full(rt.const(0.5, kind.dtype), shape=kind.shape))
    executable = rt.build(rt.Function((x, bias), ops.bias_add(x, bias)), shape={"x": (2, 3)}, dtype=F32)
    near(executable.run([numbers(2, 3)]), numbers(2, 3) + 0.5)


@program("nnvm.compiler.graph_util.infer_shape(graph, x=(2, 4))")
def types_by_name() -> None:
    function = rt.Function((x := rt.var("x"), w := rt.var("w")), ops.dense(x, w, units=3))
    typed = rt.infer(function, shape={"x": (2, 4)}, dtype={"x": F32})
    assert str(typed.checked_type.params[1]) == "Tensor[(3, 4), float32]"


@program("executor.evaluate(func)(x), of kinds debug, graph, vm, aot; here debug and graph")
def executors() -> None:
    function, params = layer()
    for kind in ("debug", "graph"):
        evaluate = rt.create_executor(kind, rt.IRModule.from_expr(function)).evaluate()
        runs_as_layer(lambda x, evaluate=evaluate: evaluate(x, params["w"]).numpy())


@program("mod.astext(), relay.parse")
def text_and_back() -> None:
    module = rt.IRModule.from_expr(layer()[0])
    assert rt.structural_equal(rt.parse_module(str(module))["main"], module["main"])


@program("relay.Let, relay.If; conditions are scalars of bool in both")
def let_and_if() -> None:
    x, v = rt.var("x", shape=()), rt.var("v", rt.TensorType((), F32))
    body = rt.Let(v, ops.exp(x), rt.If(ops.greater(v, 2.0), v, ops.negative(v)))
    near(rt.build(rt.Function((x,), body)).run([np.array(1, F32)]), np.exp(1))


@program()
def tuples() -> None:
    x = rt.var("x", shape=(4,))
    pair = rt.Tuple((ops.exp(x), ops.log(x)))
    near(rt.build(rt.Function((x,), rt.TupleGetItem(pair, 1))).run([numbers(4)]), np.log(numbers(4)))


@program("a loop is a function that calls itself; at its end it is a loop of machine code here")
def recursion() -> None:
    module = rt.parse_module(
        "def @main(%n: Tensor[(), int64], %x: Tensor[(), float32]) -> Tensor[(), float32] {\n"
        "  if (greater(%n, 0i64)) { @main(subtract(%n, 1i64), multiply(%x, 2f)) } else { %x }\n}"
    )
    near(rt.build(module).run([np.array(5), np.array(1, F32)]), 32)


@program("relay.Any(); the VM runs it")
def open_dims() -> None:
    x = rt.var("x", shape=(rt.dim("n"), 4))
    executable = rt.build(rt.Function((x,), ops.softmax(x)))
    for rows in (1, 3):
        near(executable.run([numbers(rows, 4)]).sum(axis=1), np.ones(rows))


@program("relay.nn.*; here all ops are in one namespace")
def convolution() -> None:
    x, w = rt.var("x", shape=(1, 2, 5, 5)), rt.var("w", shape=(3, 2, 3, 3))
    y = ops.conv2d(x, w, channels=3, kernel_size=(3, 3), padding=(1, 1, 1, 1))
    found = rt.build(rt.Function((x, w), y)).run([np.ones((1, 2, 5, 5), F32), np.ones((3, 2, 3, 3), F32)])
    assert found.shape == (1, 3, 5, 5)
    near(found[0, 0, 2, 2], 18)


@program("relay.transform.gradient(func)")
def gradient() -> None:
    square = rt.grad(lambda x: ops.sum(ops.multiply(x, x)))
    near(square(numbers(4)), 2 * numbers(4))


@program("visit_call calls self.visit; here it yields what to visit, so that no depth is too great")
def visitor() -> None:
    class Names(ir.ExprVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def visit_call(self, call: ir.Call) -> ir.Steps[None]:
            yield from self.visit_default(call)
            self.names.append(call.op.name)  # type: ignore[union-attr]

    names = Names()
    names.visit(layer()[0].body)
    assert names.names == ["dense", "relu"]
