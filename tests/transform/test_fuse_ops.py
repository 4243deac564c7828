"""FuseOps: whole outputs, and what must stay apart."""

from __future__ import annotations

import cProfile
import pstats

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime import create_executor, ir, ops, testing
from opgen_runtime.operator.registry import Op
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import FuseOps, InferType, PassContext, Sequential

F = TensorType((2, 3), "float32")


def segments(expr: ir.Expr, **settings_: object) -> list[list[str]]:
    """The ops of each segment, in order of the segments."""
    fused = testing.run_opt_pass(expr, FuseOps(), PassContext(**settings_))  # type: ignore[arg-type]
    found = []
    for node in ir.post_order(fused):
        if isinstance(node, ir.Call) and isinstance(node.op, ir.Function) and "Primitive" in node.op.attrs:
            calls = [
                n for n in ir.post_order(node.op.body) if isinstance(n, ir.Call) and isinstance(n.op, Op)
            ]
            found.append([call.op.name for call in calls if isinstance(call.op, Op)])
    return found


def x(name: str = "x", type_: TensorType = F) -> ir.Var:
    return ir.Var(name, type_)


def test_a_chain_becomes_one_function() -> None:
    a, b = x("a"), x("b")
    fused = testing.run_opt_pass(ops.tanh(a * b + 0.5), FuseOps())
    assert ir.to_text(fused) == (
        "free_var %a: Tensor[(2, 3), float32];\n"
        "free_var %b: Tensor[(2, 3), float32];\n"
        "%0 = fn (%a_1: Tensor[(2, 3), float32], %b_1: Tensor[(2, 3), float32], Primitive=1) {\n"
        "  %1 = multiply(%a_1, %b_1);\n"
        "  %2 = add(%1, 0.5f);\n"
        "  tanh(%2)\n"
        "};\n"
        "%0(%a, %b)"
    )


def test_a_diamond_is_one_segment() -> None:
    y = ops.exp(x())
    assert segments(ops.add(ops.tanh(y), ops.abs(y))) == [["exp", "tanh", "abs", "add"]]


def test_level_0_gives_one_kernel_per_op() -> None:
    y = ops.exp(x())
    assert segments(ops.add(ops.tanh(y), y), opt_level=0) == [["exp"], ["tanh"], ["add"]]


def test_producers_go_into_reductions_and_epilogues_after_them() -> None:
    total = ops.sum(ops.transpose(ops.exp(x())), axis=0)
    assert segments(ops.sqrt(total * 0.5) + x("bias", TensorType((2,), "float32"))) == [
        ["exp", "transpose", "sum", "multiply", "sqrt", "add"]
    ]


def test_softmax_keeps_its_reductions_apart() -> None:
    data = x()
    shifted = data - ops.max(data, axis=1, keepdims=True)
    e = ops.exp(shifted)
    assert segments(e / ops.sum(e, axis=1, keepdims=True)) == [
        ["max"],
        ["subtract", "exp"],
        ["sum"],
        ["divide"],
    ]


def test_two_reductions_are_never_one_segment() -> None:
    a = x()
    assert segments(ops.add(ops.sum(a, axis=1), ops.max(a, axis=1))) == [["max"], ["sum", "add"]]
    assert segments(ops.sum(ops.sum(a, axis=1), axis=0)) == [["sum"], ["sum"]]


def test_an_epilogue_that_widens_the_result_stays_apart() -> None:
    a = x()
    assert segments(ops.subtract(a, ops.sum(a, axis=1, keepdims=True))) == [["sum"], ["subtract"]]


def test_what_the_result_needs_is_not_fused_away() -> None:
    y = ops.exp(x())
    z = ops.tanh(y)
    assert segments(ir.Tuple((y, z))) == [["exp"], ["tanh"]]
    assert segments(ir.Tuple((ops.tanh(y), ops.abs(y)))) == [["exp"], ["tanh"], ["abs"]]


def test_branches_and_lets_are_borders() -> None:
    y = ops.exp(x())
    branch = ir.If(x("c", TensorType((), "bool")), ops.abs(ops.tanh(y)), y)
    assert segments(branch) == [["exp"], ["tanh", "abs"]]
    v = x("v")
    assert segments(ir.Let(v, ops.abs(ops.exp(x())), ops.tanh(ops.abs(v)))) == [
        ["exp", "abs"],
        ["abs", "tanh"],
    ]


def test_array_constants_are_arguments_and_scalars_are_not() -> None:
    weights = ir.const(np.ones((2, 3), np.float32))
    fused = testing.run_opt_pass(ops.add(ops.multiply(x(), weights), 2.0), FuseOps())
    assert isinstance(fused, ir.Call)
    assert fused.args[1] is weights
    assert "2.0f" in ir.to_text(fused.op)  # type: ignore[arg-type]  # a function


def test_the_size_of_segments_is_limited() -> None:
    expr: ir.Expr = x()
    for _ in range(10):
        expr = ops.exp(expr)
    sizes = [len(ops_) for ops_ in segments(expr, config={"FuseOps.max_ops": 4})]
    assert sum(sizes) == 10
    assert max(sizes) <= 4


def test_fused_functions_are_left_alone() -> None:
    once = Sequential([InferType(), FuseOps()])(ir.IRModule.from_expr(ops.exp(ops.abs(x()))))
    assert ir.structural_equal(FuseOps()(once), once)


def test_a_long_chain_is_partitioned_in_linear_time() -> None:
    def calls(length: int) -> int:
        expr: ir.Expr = x()
        op = Op.get("exp")
        for _ in range(length):
            expr = ir.Call(op, (expr,))
        profile = cProfile.Profile()
        profile.runcall(segments, expr)
        return int(pstats.Stats(profile).total_calls)

    assert calls(8_000) < 9 * calls(1_000)


def test_a_dag_of_many_paths_is_partitioned() -> None:
    expr: ir.Expr = x()
    for _ in range(60):
        expr = ops.add(expr, expr)
    assert [len(names) for names in segments(expr)] == [60]


UNARY = ("exp", "tanh", "negative", "abs")
REDUCE = ("sum", "max")


@st.composite
def programs(draw: st.DrawFn) -> tuple[ir.Expr, list[ir.Var]]:
    """A random DAG of square tensors, so that transposes and reductions with broadcasting fit anywhere."""
    square = TensorType((3, 3), "float32")
    variables = [ir.Var("x", square), ir.Var("y", square)]
    nodes: list[ir.Expr] = list(variables)
    for _ in range(draw(st.integers(1, 10))):
        a, b = draw(st.sampled_from(nodes[-4:])), draw(st.sampled_from(nodes))
        match draw(st.integers(0, 3)):
            case 0 | 1:
                nodes.append(ops.tanh(ir.make_call(Op.get(draw(st.sampled_from(UNARY))), (a,))))
            case 2:
                nodes.append(ops.tanh(ops.add(ops.transpose(a), b)))
            case 3:
                reduce = draw(st.sampled_from([ops.sum, ops.max]))
                nodes.append(ops.tanh(ops.add(reduce(a, axis=draw(st.integers(0, 1)), keepdims=True), b)))
    used = draw(st.lists(st.sampled_from(nodes), min_size=1, max_size=2))
    return (ir.Tuple(tuple(used)) if len(used) > 1 else used[0]), variables


@given(programs())
@settings(max_examples=25, deadline=None)
def test_random_programs_mean_the_same_after_fusion(program: tuple[ir.Expr, list[ir.Var]]) -> None:
    expr, variables = program
    fused = testing.run_opt_pass(expr, FuseOps())
    assert ir.well_formed(fused)
    data = {
        v: np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3) * (k + 1) for k, v in enumerate(variables)
    }
    free = {v: data[v] for v in ir.free_vars(expr)}
    executor = create_executor("debug")
    before, after = executor.evaluate(expr, free), executor.evaluate(fused, free)
    for one, other in zip(_flat(before), _flat(after), strict=True):
        np.testing.assert_array_equal(one, other)


def _flat(result: object) -> list[np.ndarray]:
    parts = result if isinstance(result, tuple) else (result,)
    return [part.numpy() for part in parts]


@pytest.mark.parametrize("reduce", REDUCE)
def test_segments_have_one_reduction_at_most(reduce: str) -> None:
    a: ir.Expr = x("a", TensorType((3, 3), "float32"))
    for _ in range(4):
        a = ops.exp(
            ir.make_call(Op.get(reduce), (a,), Op.get(reduce).get_attr("declaration").attrs(keepdims=True))
            + a
        )
    for names in segments(a):
        assert names.count(reduce) <= 1
