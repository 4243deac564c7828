"""FuseOps: whole outputs, and what must stay apart."""

from __future__ import annotations

import cProfile
import pstats

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime import build, create_executor, dim, ir, ops, testing
from opgen_runtime.base import Target
from opgen_runtime.operator.registry import Op
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import (
    DefuseOps,
    FuseOps,
    InferType,
    PassContext,
    Sequential,
    extract_fused_functions,
)
from opgen_runtime.transform.fuse_ops import why_apart

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


def softmax(data: ir.Expr, axis: int | tuple[int, ...] = 1) -> ir.Expr:
    e = ops.exp(data - ops.max(data, axis=axis, keepdims=True))
    return ops.divide(e, ops.sum(e, axis=axis, keepdims=True))


def test_a_softmax_of_basic_ops_is_one_segment() -> None:
    assert segments(softmax(x())) == [["max", "subtract", "exp", "sum", "divide"]]
    for shape, axis in (((16,), 0), ((1, 16), 1), ((2, 16, 3), 1)):
        (names,) = segments(softmax(x("v", TensorType(shape, "float32")), axis))
        assert names == ["max", "subtract", "exp", "sum", "divide"]
    assert segments(softmax(x()), opt_level=1) == [["max"], ["subtract", "exp"], ["sum"], ["divide"]]


def test_a_normalisation_of_basic_ops_is_one_segment() -> None:
    data = x("data", TensorType((8, 16, 5, 7), "float32"))
    centred = data - ops.mean(data, axis=(2, 3), keepdims=True)
    scale = ops.rsqrt(ops.mean(ops.multiply(centred, centred), axis=(2, 3), keepdims=True) + 1e-5)
    scaled = ops.multiply(centred, scale) * x("gamma", TensorType((16, 1, 1), "float32"))
    names = ["mean", "subtract", "multiply", "mean", "add", "rsqrt", "multiply", "multiply"]
    assert segments(scaled) == [names]


def test_reductions_of_the_same_rows_are_one_segment() -> None:
    a = x()
    assert segments(ops.add(ops.sum(a, axis=1), ops.max(a, axis=1))) == [["sum", "max", "add"]]


def test_what_is_needed_whole_stays_apart() -> None:
    a = x()
    assert segments(ops.sum(ops.sum(a, axis=1), axis=0)) == [["sum"], ["sum"]]
    assert segments(a - ops.sum(a)) == [["sum"], ["subtract"]]
    by_rows_and_columns = ops.add(ops.sum(a, axis=1, keepdims=True), ops.sum(a, axis=0, keepdims=True))
    assert segments(by_rows_and_columns) == [["sum"], ["sum", "add"]]


def test_few_large_rows_are_left_to_all_threads() -> None:
    def names(rows: int) -> list[list[str]]:
        data = x("data", TensorType((rows, 10_000_000), "float32"))
        return segments(ops.subtract(data, ops.max(data, axis=1, keepdims=True)))

    assert names(1) == [["max"], ["subtract"]]
    assert names(64) == [["max", "subtract"]]


def test_a_result_that_is_needed_elsewhere_too_is_a_second_result() -> None:
    y = ops.exp(x())
    fused = testing.run_opt_pass(ir.Tuple((y, ops.tanh(y))), FuseOps())
    assert ir.to_text(fused) == (
        "free_var %x: Tensor[(2, 3), float32];\n"
        "%0 = fn (%x_1: Tensor[(2, 3), float32], Primitive=1) {\n"
        "  %1 = exp(%x_1);\n"
        "  %2 = tanh(%1);\n"
        "  (%1, %2)\n"
        "};\n"
        "%3 = %0(%x);\n"
        "(%3.0, %3.1)"
    )
    assert segments(ir.Tuple((ops.tanh(y), ops.abs(y)))) == [["exp", "tanh", "abs"]]


def test_siblings_are_one_segment_where_they_share_all_that_they_sweep_over() -> None:
    a = x()
    assert segments(ir.Tuple((ops.exp(a), ops.tanh(a), ops.abs(a)))) == [["exp", "tanh", "abs"]]
    column = x("column", TensorType((2, 1), "float32"))
    wide = ir.Tuple((ops.add(a, column), ops.multiply(x("b"), column)))
    assert segments(wide) == [["add"], ["multiply"]]


@pytest.mark.parametrize("through", ["sum", "call of a function", "field of a tuple"])
def test_siblings_with_a_path_between_them_stay_apart(through: str) -> None:
    """Joined, each would wait for the other."""
    a = x()
    first = ops.exp(a)
    match through:
        case "sum":
            middle: ir.Expr = ops.cumsum(first, axis=1)
        case "call of a function":
            p = x("p")
            middle = ir.Call(ir.Function((p,), ops.cumsum(p, axis=0)), (first,))
        case _:
            middle = ops.split(first, indices_or_sections=(1, 2), axis=0)[0]
    second = ops.multiply(a, middle)
    names = segments(ir.Tuple((first, second)))
    assert ["exp", "multiply"] not in [[name for name in each if name != "cumsum"] for each in names]
    assert ir.well_formed(testing.run_opt_pass(ir.Tuple((first, second)), FuseOps()))


def test_pairs_that_may_be_joined_one_by_one_do_not_wait_for_each_other_together() -> None:
    """No path leads from either pair back to itself until the other has been joined."""
    a, b = x("a"), x("b", TensorType((2, 3), "int32"))
    first = ops.isfinite(a)
    compared = ops.greater(b, ops.cast(first, dtype="int32"))
    summed = ops.cumsum(ops.cast(b, dtype="int64"), axis=0)
    last = ops.minimum(ops.cast(a, dtype="float64"), ops.cast(summed, dtype="float64"))
    program = ir.Tuple((a, b, first, compared, summed, ops.cast(b, dtype="uint8"), last))
    assert ir.well_formed(testing.run_opt_pass(program, FuseOps()))


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 99), st.integers(0, 99)), min_size=2, max_size=14)
)
def test_segments_of_random_programs_can_be_computed_one_after_the_other(
    steps: list[tuple[int, int, int]],
) -> None:
    """Ops that are joined with others, and ops that are not, all of one shape, every result needed."""
    values: list[ir.Expr] = [x("a"), x("b"), x("c")]
    for kind, one, other in steps:
        first, second = values[one % len(values)], values[other % len(values)]
        match kind:
            case 0:
                values.append(ops.exp(first))
            case 1:
                values.append(ops.cumsum(first, axis=0))
            case 2:
                values.append(ops.sort(first, axis=1))
            case _:
                values.append(ops.add(first, second))
    assert ir.well_formed(testing.run_opt_pass(ir.Tuple(tuple(values)), FuseOps()))


def image(channels: int = 16) -> ir.Var:
    return x("image", TensorType((1, channels, 8, 8), "float32"))


def convolved(data: ir.Expr, name: str, kernel: int = 3, channels: int = 16) -> ir.Expr:
    weight = x(name, TensorType((16, channels, kernel, kernel), "float32"))
    return ops.conv2d(data, weight, padding=(kernel // 2, kernel // 2))


def test_a_sum_of_two_contractions_goes_after_one_of_them() -> None:
    first = convolved(ops.add(image(), 1.0), "a")
    y = ops.add(first, ops.add(first, 1.0))
    assert segments(ops.add(convolved(y, "b", kernel=1), convolved(y, "c"))) == [
        ["add"],
        ["conv2d", "add", "add"],
        ["conv2d"],
        ["conv2d", "add"],
    ]


def test_what_is_joined_is_no_epilogue() -> None:
    def branches(data: ir.Expr, channels: int) -> ir.Expr:
        return ops.concatenate([ops.relu(convolved(data, name, channels=channels)) for name in "ab"], axis=1)

    layer = [["conv2d", "relu"], ["conv2d", "relu"], ["concatenate"]]
    assert segments(branches(branches(image(), 16), 32)) == 2 * layer


def test_a_pool_takes_no_reader_that_spreads_it() -> None:
    data = image()
    pooled = ops.max_pool2d(data, pool_size=(2, 2), strides=(2, 2))
    wide = ops.upsampling(pooled, scale_h=2, scale_w=2)
    assert segments(ops.add(ops.concatenate([wide, data], axis=1), 1.0)) == [
        ["max_pool2d"],
        ["upsampling", "concatenate", "add"],
    ]
    assert segments(ir.Tuple((wide, data))) == [["max_pool2d"], ["upsampling"]]


def test_tuples_of_operands_are_inside() -> None:
    y = ops.squeeze(image(), axis=(0,))
    parts = [ops.add(y, 1.0), ops.add(ops.add(y, 2.0), 1.0), ops.add(y, 3.0)]
    joined = ops.add(ops.concatenate(parts, axis=1), 1.0)
    assert segments(joined) == [["squeeze", "add", "add", "add", "add", "concatenate", "add"]]


def test_functions_as_values_are_borders() -> None:
    a, b = x("a", TensorType((), "int64")), x("b", TensorType((), "int64"))
    chosen = ir.If(ops.greater(a, b), ir.Function((), a), ir.Function((), b))
    program = ir.Function((a, b), ir.Call(chosen, ()))
    assert segments(program) == [["greater"]]


def test_slices_whose_dims_are_not_known() -> None:
    n, m = dim("n"), dim("m")
    data, which = x("data", TensorType((1, n, 4), "float32")), x("which", TensorType((m,), "int64"))
    rows = ops.strided_slice(ops.squeeze(data, axis=(0,)), begin=(0, 0), end=(15130, 2**31 - 1))
    taken = ops.take(rows, which, axis=0)
    assert segments(taken) == [["squeeze", "strided_slice", "take"]]
    arrays = {data: np.arange(8, dtype=np.float32).reshape(1, 2, 4), which: np.array([1, 0, 1])}
    for kind in ("debug", "graph"):
        (found,) = _flat(create_executor(kind).evaluate(taken, arrays))
        np.testing.assert_array_equal(found, arrays[data][0][[1, 0, 1]])


def test_epilogues_of_symbolic_sizes_that_are_made_anew() -> None:
    n, h, w = dim("n"), dim("h"), dim("w")
    data, bias = x("data", TensorType((n, 3, h, w), "float32")), x("bias", TensorType((8, 1, 1), "float32"))
    weight = x("weight", TensorType((8, 3, 3, 3), "float32"))
    made = ops.conv2d(data, weight, strides=(2, 2), padding=(1, 1))
    assert segments(ops.relu(ops.add(made, bias))) == [["conv2d", "add", "relu"]]
    # of sizes that may differ, one of which may be 1, each element of the sum may read one for all
    other = ops.conv2d(data, weight, strides=(2, 2))
    assert segments(ops.add(made, other)) == [["conv2d"], ["conv2d"], ["add"]]


def test_the_program_that_is_fused_stays_as_it_was() -> None:
    module = InferType()(ir.IRModule.from_expr(ops.squeeze(ops.exp(ops.add(image(), 1.0)), axis=(0,))))
    before = str(module)
    assert str(FuseOps()(module)) != before
    assert str(module) == before


def test_why_ops_stay_apart_is_said() -> None:
    a, w = x(), x("w", TensorType((5, 3), "float32"))
    y = ops.exp(a)
    shares = softmax(ops.dense(y, w))
    function = ir.Function((a, w), ir.Tuple((ops.cumsum(y), shares - ops.sum(shares))))
    assert why_apart(function) == [
        "exp -> cumsum: cumsum is opaque",
        "exp -> dense: no op comes after all that read exp",
        "dense -> max: both are reductions, and one of them a contraction",
        "dense -> subtract: both are reductions, and one of them a contraction",
        "divide -> sum: no axis of the result is an axis of all that it is computed from",
        "divide -> subtract: no axis of the result is an axis of all that it is computed from",
        "sum -> subtract: no axis of the result is an axis of all that it is computed from",
    ]
    assert why_apart(ir.Function((a,), ops.tanh(ops.exp(a))), opt_level=0) == [
        "exp -> tanh: every op is a segment of its own at level 0"
    ]
    values, places = ops.topk(ops.exp(a), k=2)
    assert why_apart(
        ir.Function((a,), ops.multiply(ops.sigmoid(values), ops.cast(places, dtype="float32")))
    ) == [
        "exp -> topk: topk has several results",
        "topk -> sigmoid: topk has several results",
        "topk -> cast: topk has several results",
    ]
    first, second = ops.split(ops.exp(a), indices_or_sections=2, axis=0)
    assert why_apart(ir.Function((a,), ir.Tuple((ops.abs(first), second)))) == [
        "exp -> split: no op comes after all that read exp",
    ]


def test_rows_are_joined_for_the_target_of_the_build() -> None:
    """Eight long rows are enough for one thread, and too few for 64, which this machine need not have."""
    a = x("a", TensorType((8, 1 << 14), "float32"))
    function = ir.Function((a,), ops.exp(a - ops.max(a, axis=(1,), keepdims=True)))
    one, many = (f"llvm -num-threads={count}" for count in (1, 64))
    assert [len(build(function, target=target).kernels) for target in (one, many)] == [1, 2]
    fused = [
        str(FuseOps()(function, PassContext().for_target(target))).count("Primitive")
        for target in (one, many)
    ]
    assert fused == [1, 2]
    assert why_apart(function, target=Target.parse(one)) == []
    assert "max -> subtract: its 8 rows are too few to share among 64 threads" in why_apart(
        function, target=Target.parse(many)
    )


HALVES = ops.split(ops.exp(x()), indices_or_sections=2, axis=0)
FIELDS = {
    "all into one reader, with what they are made of": (
        ops.multiply(ops.sigmoid(HALVES[0]), HALVES[1]),
        [["exp", "split", "sigmoid", "multiply"]],
    ),
    "each into its reader": (
        ir.Tuple((ops.sum(HALVES[0], axis=1), ops.abs(HALVES[1]))),
        [["exp"], ["split", "sum"], ["split", "abs"]],
    ),
    "nothing reads them": (ir.Tuple((HALVES[0], HALVES[1])), [["exp", "split"]]),
    "one is not read": (ops.abs(HALVES[1]), [["exp", "split", "abs"]]),
    "some reader takes another op": (
        ir.Tuple((ops.cumsum(HALVES[0], axis=1), HALVES[1])),
        [["exp", "split"], ["cumsum"]],
    ),
    "read whole, too": (ir.Tuple((ops.abs(HALVES[0]), HALVES)), [["exp"], ["split"], ["abs"]]),
    "twice from one": (ops.add(HALVES[0], ops.abs(HALVES[0])), [["exp", "split", "abs", "add"]]),
    "fields of what is made of fields": (
        ops.add(*ops.split(ops.concatenate((HALVES[1], HALVES[0])), indices_or_sections=2, axis=0)),
        [["exp", "split", "concatenate", "split", "add"]],
    ),
    "an epilogue of a product": (
        ops.multiply(ops.dense(HALVES[0], x("w", TensorType((3, 3), "float32"))), HALVES[1]),
        [["exp"], ["split"], ["dense", "split", "multiply"]],
    ),
    "in branches": (
        ir.If(x("c", TensorType((), "bool")), ops.abs(HALVES[0]), ops.tanh(HALVES[1])),
        [["exp"], ["split", "abs"], ["split", "tanh"]],
    ),
}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_are_joined_each_for_itself(name: str) -> None:
    expr, expected = FIELDS[name]
    assert segments(expr) == expected
    variables = ir.free_vars(expr)
    types = [var.checked_type for var in variables]
    values = {
        var: np.linspace(-1, 1, int(np.prod(t.concrete_shape)), dtype=np.float32).reshape(t.concrete_shape)  # type: ignore[attr-defined]
        if t != TensorType((), "bool")
        else np.array(True)
        for var, t in zip(variables, types, strict=True)
    }
    whole = create_executor("debug").evaluate(expr, values)
    for one, other in zip(_flat(whole), _flat(create_executor("graph").evaluate(expr, values)), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-7)


def test_an_op_of_several_results_is_one_kernel_at_level_0() -> None:
    assert segments(ir.Tuple((ops.abs(HALVES[0]), HALVES[1])), opt_level=0) == [["exp"], ["split"], ["abs"]]


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

    assert calls(4_000) < 9 * calls(500)


def test_a_dag_of_many_paths_is_partitioned() -> None:
    expr: ir.Expr = x()
    for _ in range(60):
        expr = ops.add(expr, expr)
    assert [len(names) for names in segments(expr)] == [60]


UNARY = ("exp", "tanh", "negative", "abs")


@st.composite
def programs(draw: st.DrawFn) -> tuple[ir.Expr, list[ir.Var]]:
    """A random DAG of square tensors, so that transposes and reductions with broadcasting fit anywhere."""
    square = TensorType((3, 3), "float32")
    variables = [ir.Var("x", square), ir.Var("y", square)]
    nodes: list[ir.Expr] = list(variables)
    for _ in range(draw(st.integers(1, 10))):
        a, b = draw(st.sampled_from(nodes[-4:])), draw(st.sampled_from(nodes))
        match draw(st.integers(0, 4)):
            case 4:
                axis = draw(st.integers(0, 1))
                rows = ops.split(a, indices_or_sections=3, axis=axis)
                nodes.append(ops.concatenate((rows[1], ops.tanh(rows[2]), rows[0]), axis=axis))
                nodes.append(ops.tanh(ops.add(ops.multiply(rows[0], b), rows[1])))
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
@settings(max_examples=15)
def test_random_programs_compile_to_what_they_mean(program: tuple[ir.Expr, list[ir.Var]]) -> None:
    expr, variables = program
    data = {
        v: np.linspace(-1, 1, 9, dtype=np.float32).reshape(3, 3) * (k + 1) for k, v in enumerate(variables)
    }
    free = {v: data[v] for v in ir.free_vars(expr)}
    expected = create_executor("debug").evaluate(expr, free)
    found = create_executor("graph").evaluate(expr, free)
    for one, other in zip(_flat(expected), _flat(found), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)


@given(programs())
@settings(max_examples=25)
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
    if isinstance(result, tuple):
        return [array for part in result for array in _flat(part)]
    return [result.numpy()]  # type: ignore[attr-defined]


BATCHES = TensorType((2, 6, 8), "float32")
VIEWS = {
    "a transposition": (
        ops.matmul(x("q", TensorType((2, 1, 8), "float32")), ops.transpose(x("k", BATCHES), axes=(0, 2, 1))),
        [["transpose", "matmul"]],
    ),
    "a slice of what is computed": (
        ops.matmul(
            x("q", TensorType((2, 1, 4), "float32")),
            ops.strided_slice(ops.exp(x("k", BATCHES)), begin=(0,), end=(4,), axes=(1,)),
        ),
        [["exp", "strided_slice"], ["matmul"]],
    ),
    "one of two": (
        ops.matmul(
            x("q", TensorType((2, 1, 6), "float32")),
            ops.strided_set(x("k", BATCHES), x("v", BATCHES), begin=(0,), end=(2,)),
        ),
        [["strided_set"], ["matmul"]],
    ),
    "many rows": (
        ops.matmul(x("q", TensorType((2, 5, 8), "float32")), ops.transpose(x("k", BATCHES), axes=(0, 2, 1))),
        [["transpose"], ["matmul"]],
    ),
}


@pytest.mark.parametrize("name", VIEWS)
def test_products_of_few_rows_read_what_moves_elements_where_it_lies(name: str) -> None:
    """Others read each element often, or what is computed once."""
    expr, expected = VIEWS[name]
    assert segments(expr) == expected


def test_what_others_read_too_is_stored_once() -> None:
    k = ops.transpose(x("k", BATCHES), axes=(0, 2, 1))
    product = ops.matmul(x("q", TensorType((2, 1, 8), "float32")), k)
    assert segments(ir.Tuple((product, k))) == [["transpose"], ["matmul"]]


UNFUSED = {
    "a chain": ops.exp(ops.abs(x())),
    "several kernels": ops.softmax(ops.relu(ops.dense(ops.exp(x()), x("w")))),
    "several results": ir.Tuple(tuple(ops.split(x(), indices_or_sections=3, axis=1))),
}


@pytest.mark.parametrize("name", UNFUSED)
def test_kernels_come_apart(name: str) -> None:
    function = ir.Function(tuple(ir.free_vars(UNFUSED[name])), UNFUSED[name])
    fused = FuseOps()(function)
    assert not ir.structural_equal(fused, function)
    assert ir.structural_equal(DefuseOps()(fused), function)
    assert DefuseOps()(function) is function


def test_kernels_by_their_structure() -> None:
    """Two products of one structure are one kernel, and what is between them another."""
    w = x("w", TensorType((3, 3), "float32"))
    body = ops.dense(ops.softmax(ops.dense(x(), w)), w)
    found = extract_fused_functions(ir.IRModule.from_expr(body))
    calls = [each.body for each in found.values()]
    assert [each.op.name for each in calls if isinstance(each, ir.Call) and isinstance(each.op, Op)] == [
        "dense",
        "softmax",
    ]
    assert list(found) == [ir.structural_digest(each) for each in found.values()]
