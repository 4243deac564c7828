"""Random programs: nodes of their own domains come back as the same program, operators of ONNX mean the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import opgen_runtime as rt  # noqa: E402
from opgen_runtime import ir, ops  # noqa: E402
from opgen_runtime.frontend import onnx as frontend  # noqa: E402

from .run_models import assert_close, by_onnxruntime  # noqa: E402

SQUARE = rt.TensorType((3, 3), "float32")
CHOICES = 9


@st.composite
def programs(draw: st.DrawFn) -> ir.Function:
    """A random DAG of square tensors, with parts of tensors, branches, functions and shared nodes."""
    variables = [ir.Var("x", SQUARE), ir.Var("y", SQUARE)]
    nodes: list[ir.Expr] = list(variables)
    for _ in range(draw(st.integers(1, 8))):
        a, b = draw(st.sampled_from(nodes[-3:])), draw(st.sampled_from(nodes))
        match draw(st.integers(0, CHOICES)):
            case 0:
                nodes.append(ops.tanh(ops.add(a, b)))
            case 1:
                nodes.append(ops.maximum(a, ops.transpose(b)))
            case 2:
                nodes.append(ops.softmax(a, axis=draw(st.integers(-2, 1))))
            case 3:
                first, rest = ops.split(a, indices_or_sections=(1,), as_positions=True, axis=1)
                nodes.append(ops.concatenate([rest, first], axis=1))
            case 4:
                nodes.append(ops.where(ops.less(a, b), a, 0.25))
            case 5:
                nodes.append(ops.layer_norm(a, *[np.arange(3, dtype=np.float32) + k for k in (1, 2)]))
            case 6:
                begin = draw(st.integers(0, 1))
                part = ops.strided_slice(a, begin=(begin,), end=(begin + 1,), axes=(0,))
                nodes.append(ops.broadcast_to(part, shape=(3, 3)))
            case 7:
                condition = ops.greater(ops.sum(a), ops.sum(b))
                nodes.append(ir.If(condition, ops.add(a, b), draw(st.sampled_from([b, ops.negative(b)]))))
            case 8:
                p = ir.Var("p", SQUARE)
                nodes.append(ir.Call(ir.Function((p,), ops.subtract(p, a)), (b,)))
            case 9:
                nodes.append(ops.clip(ops.mean(a, axis=(0,), keepdims=True), a_min=-0.5) + b)
    results = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=2))
    return ir.Function(tuple(variables), results[0] if len(results) == 1 else ir.Tuple(tuple(results)))


@given(programs())
@settings(max_examples=30, deadline=None)
def test_they_mean_the_same(function: ir.Function) -> None:
    arrays = [np.linspace(-1, 2, 9, dtype=np.float32).reshape(3, 3) * sign for sign in (1, -1)]
    free = ir.free_vars(function.body)
    given_arrays = {var: array for var, array in zip(function.params, arrays, strict=True) if var in free}
    value = rt.create_executor("debug").evaluate(function.body, given_arrays)
    wanted = [np.asarray(each) for each in (value if isinstance(value, tuple) else (value,))]
    model = frontend.export(function)
    assert {node.domain for node in model.graph.node} <= {""}
    assert_close(by_onnxruntime(model, *arrays), wanted)
    assert_close(frontend.run(frontend.export(function, standard=False), arrays), wanted)


@given(programs().filter(lambda function: not any(_is_block(node) for node in ir.post_order(function.body))))
@settings(max_examples=30, deadline=None)
def test_own_nodes_are_the_same_program(function: ir.Function) -> None:
    """But for results that are variables, or the same twice, which are copied."""
    model = frontend.export(function, standard=False)
    module, weights = frontend.load(model)
    main = module["main"]
    known = {
        param: ir.Constant(weights[param.name_hint]) for param in main.params if param.name_hint in weights
    }
    again = ir.Function(main.params[:2], ir.substitute(main.body, {**known}))
    assert ir.structural_equal(again, function)


def _is_block(node: ir.Expr) -> bool:
    """What is written otherwise: a branch is chosen, a function is written where it is called."""
    return isinstance(node, ir.If | ir.Function)
