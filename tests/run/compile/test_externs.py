"""Hand-written functions (externs), results of data-dependent size, and special implementations."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import ExecutorError
from opgen_runtime.base.vocabulary import OpPattern
from opgen_runtime.compute import lang as _l
from opgen_runtime.declaration import OpDeclaration, StrategyEntry, register
from opgen_runtime.declaration.statement import call
from opgen_runtime.lower.schedule import create_schedule
from opgen_runtime.operator import TensorType
from opgen_runtime.operator.registry import remove_op
from opgen_runtime.operator.types import Input, Output, Signature, Spread
from opgen_runtime.run.compile import pipeline, stage_texts
from opgen_runtime.run.executor import create_executor
from tests.run import hand_written
from tests.run.hand_written import ordered


def sort_with_positions(data):
    """A stable sort of a vector."""
    order = np.argsort(data, kind="stable")
    return data[order], order


def wrong_sort(data):
    return data.astype(np.float64), np.zeros(3, np.int32)


def positives(data, out, n):
    """out holds the elements above zero, in order; n says how many."""
    size = data.shape[0]
    count = _l.tensor("count", (size,))
    count.define(
        lambda i: (
            _l.select(_l.greater(i, 0), lambda: count[i - 1], lambda: _l.cast(0, _l.dtype("int64")))
            + _l.select(_l.greater(data[i], 0.0), lambda: 1, lambda: 0)
        )
    )
    n.define(lambda: count[size - 1])
    out.define(
        lambda r: _l.next(
            _l.over(_l.range(size), lambda i: _l.when(_l.equal(count[i], r + 1), lambda: data[i])),
            lambda: 0.0,
        )
    )


def distinct(data):
    """The distinct elements of a vector, and one more than fits where the first is 0."""
    found = np.unique(data)
    return found if data[0] != 0 else np.zeros(data.size + 1, data.dtype)


def op(name, signature, **given):
    fields = {"compute": None, "extern": None, "pattern": OpPattern.OPAQUE, **given}
    declaration = OpDeclaration(
        name=name, doc=name, support_level=10, arity=1, attrs=None, signature=signature, digest=name, **fields
    )
    return register(declaration, __file__)


@pytest.fixture
def vector(make):
    return make.variable("data", (5,))


@pytest.fixture
def sort(vector, request):
    name = f"test_{request.param}"
    outputs = (
        Output("values", shape="data.shape", dtype="data.dtype"),
        Output("order", shape="data.shape", dtype="int64"),
    )
    made = op(name, Signature(inputs=(Input("data"),), outputs=outputs), extern=f"{__name__}:{request.param}")
    yield ir.Function((vector,), call(made, (vector,)))
    remove_op(name)


DATA = np.array([3, -1, 0, 7, -5], np.float32)


@pytest.mark.parametrize("sort", ["sort_with_positions"], indirect=True)
def test_a_hand_written_function(sort):
    kernel = pipeline.compile_segment(sort)
    values, order = kernel.run([DATA])
    np.testing.assert_array_equal(values, np.sort(DATA))
    np.testing.assert_array_equal(order, np.argsort(DATA))
    out = [np.zeros(5, np.float32), np.zeros(5, np.int64)]
    assert kernel.run([DATA], out)[0] is out[0]
    np.testing.assert_array_equal(out[0], np.sort(DATA))
    assert [name for name, _ in stage_texts.kernel_texts(sort)] == ["tensor expressions", "strategy"]


@pytest.mark.parametrize("sort", ["wrong_sort"], indirect=True)
def test_what_a_hand_written_function_gives_is_checked(sort):
    with pytest.raises(ExecutorError) as caught:
        pipeline.compile_segment(sort).run([DATA])
    assert "result values is float64[5], expected float32 (rule: results have their dtype)" in str(
        caught.value
    )


KEPT = np.arange(5, dtype=np.float32)
ORDER = np.arange(5)


def one_result(data):
    return data


def three_results(data):
    return data, ORDER, ORDER


def objects(data):
    return data.astype(object), ORDER


def ragged(data):
    return [[1.0], [2.0, 3.0]], ORDER


def too_long(data):
    return np.zeros(6, np.float32), ORDER


def too_short(data):
    return np.zeros(4, np.float32), ORDER


def another_rank(data):
    return np.zeros((5, 1), np.float32), ORDER


def in_place(data):
    data.sort()
    return data, ORDER


def raises(data):
    raise ZeroDivisionError("by zero")


WRONG = {
    "one_result": "gave 1 arrays, expected 2",
    "three_results": "gave 3 arrays, expected 2",
    "objects": r"result values is object\[5\], expected float32",
    "ragged": "raised ValueError: setting an array element",
    "too_long": r"result values is float32\[6\], expected float32\[5\]",
    "too_short": r"result values is float32\[4\], expected float32\[5\]",
    "another_rank": r"result values is float32\[5, 1\], expected float32\[5\]",
    "in_place": "raised ValueError: sort array is read-only",
    "raises": "raised ZeroDivisionError: by zero",
}


@pytest.mark.parametrize("executor", ["graph", "debug"])
@pytest.mark.parametrize("sort", WRONG, indirect=True)
def test_a_wrong_result_is_never_copied_anywhere(sort, executor, request):
    name = request.node.callspec.params["sort"]
    data = DATA.copy()
    with pytest.raises(
        ExecutorError, match=f"the function tests.run.compile.test_externs:{name}.* {WRONG[name]}"
    ):
        create_executor(executor).evaluate(sort)(data)
    np.testing.assert_array_equal(data, DATA)


def other_byte_order(data):
    return data.astype(">f4"), ORDER.astype(">i8")


def strided(data):
    return np.repeat(data, 2)[::2], ORDER[::-1][::-1]


def its_own(data):
    return KEPT, ORDER


def its_operand(data):
    return data, ORDER


@pytest.mark.parametrize("executor", ["graph", "debug"])
@pytest.mark.parametrize("sort", ["other_byte_order", "strided", "its_own", "its_operand"], indirect=True)
def test_what_a_function_gives_may_be_of_any_layout_and_stays_its_own(sort, executor, request):
    data = DATA.copy()
    values, order = (part.numpy() for part in create_executor(executor).evaluate(sort)(data))
    expected = KEPT if request.node.callspec.params["sort"] == "its_own" else DATA
    np.testing.assert_array_equal(values, expected)
    assert values.dtype.isnative
    assert order.dtype.isnative
    assert not any(np.shares_memory(values, other) for other in (data, KEPT))


def test_a_result_of_data_dependent_size(make, cache_directory):
    outputs = (Output("out", shape=("n",), dtype="data.dtype"),)
    signature = Signature(
        inputs=(Input("data", dtype="float"),), outputs=outputs, dynamic={"n": lambda data: data.shape[0]}
    )
    made = op("test_positives", signature, compute=positives)
    data = make.variable("data", (9,))
    function = ir.Function((data,), call(made, (data,)))
    try:
        for _ in range(2):  # compiled, then from the disk
            kernel = pipeline.compile_segment(function)
            for values in ([1, -2, 3, 0, 5, -6, -7, 8, 9], [-1] * 9, [1] * 9):
                array = np.array(values, np.float32)
                (out,) = kernel.run([array])
                np.testing.assert_array_equal(out, array[array > 0])
            pipeline.forget_kernels()
    finally:
        remove_op("test_positives")


def corner(x, k, n, out, N, M):
    n.define(lambda: N // 2)
    k.define(lambda: M // 3)
    out.define(lambda c, j, i: x[i, j])


@pytest.mark.parametrize("executor", ["graph", "debug"])
def test_data_dependent_dims_in_any_order_and_between_starred_ones(make, executor):
    signature = Signature(
        inputs=(Input("x", shape=("N", "M")),),
        outputs=(
            Output("out", shape=(1, Spread(lambda k, n: (k, n)), Spread(lambda x: ())), dtype="x.dtype"),
        ),
        dynamic={"n": lambda N: N, "k": lambda M: M},
    )
    made = op("test_corner", signature, compute=corner)
    x = make.variable("x", (4, 7))
    try:
        data = np.arange(28, dtype=np.float32).reshape(4, 7)
        found = create_executor(executor).evaluate(ir.Function((x,), call(made, (x,))))(data).numpy()
        np.testing.assert_array_equal(found, data.T[None, :2, :2])
        assert found.shape == (1, 2, 2)
    finally:
        remove_op("test_corner")


@pytest.mark.parametrize("executor", ["graph", "debug"])
def test_a_hand_written_function_decides_a_data_dependent_size(make, executor):
    signature = Signature(
        inputs=(Input("data", shape=("N",)),),
        outputs=(Output("out", shape=("n",), dtype="data.dtype"),),
        dynamic={"n": lambda N: N},
    )
    made = op("test_distinct", signature, extern=f"{__name__}:distinct")
    data = make.variable("data", (5,))
    function = ir.Function((data,), call(made, (data,)))
    run = create_executor(executor).evaluate(function)
    try:
        np.testing.assert_array_equal(run(np.array([3, 1, 3, 1, 1], np.float32)).numpy(), [1, 3])
        with pytest.raises(ExecutorError):
            run(np.zeros(5, np.float32)).numpy()
    finally:
        remove_op("test_distinct")


def special(outputs, target):
    """A schedule of a user's own package."""
    special.used += 1
    return create_schedule(outputs)


special.used = 0


def double(data, out):
    out.define(lambda i: data[i] + data[i])


def test_a_schedule_of_the_strategy_is_used(vector):
    entry = StrategyEntry(name="special", target="cpu", schedule=f"{__name__}:special", plevel=15)
    outputs = (Output("out", shape="data.shape", dtype="data.dtype"),)
    signature = Signature(inputs=(Input("data", shape=("N",)),), outputs=outputs)
    made = op("test_double", signature, compute=double, strategy=(entry,), pattern=OpPattern.ELEMWISE)
    function = ir.Function((vector,), call(made, (vector,)))
    try:
        (out,) = pipeline.compile_segment(function).run([DATA])
        np.testing.assert_array_equal(out, DATA * 2)
        assert special.used == 1
        assert "special, plevel 15" in dict(stage_texts.kernel_texts(function))["strategy"]
    finally:
        remove_op("test_double")


def open_program(body):
    """A program of float32[n, m] with open dims."""
    x = ir.Var("x", TensorType((dim("n", 3), dim("m", 4)), "float32"))
    return rt.build(ir.Function((x,), body(x)))


def test_a_program_of_open_dims_calls_functions():
    random = np.random.default_rng(4)
    with ordered() as by_hand:
        built = open_program(lambda x: ops.relu(by_hand(ops.negative(x))))
        assert built.why_interpreted is None
        for shape in [(3, 4), (2, 9), (0, 4), (5, 0), (3, 4), (1, 1)]:
            x = random.standard_normal(shape).astype(np.float32)
            np.testing.assert_array_equal(built.run([x]), np.maximum(np.sort(-x, 1), 0))


def test_a_function_alone_is_a_program_of_open_dims():
    with ordered() as by_hand:
        built = open_program(by_hand)
        for shape in [(3, 4), (7, 2), (3, 4), (3, 4)]:
            x = np.random.default_rng(5).standard_normal(shape).astype(np.float32)
            np.testing.assert_array_equal(built.run([x]), np.sort(x, 1))


def test_what_a_function_needs_of_open_dims_is_checked_before_it_runs():
    built = open_program(lambda x: ops.topk(x, k=3, axis=1)[0])
    np.testing.assert_array_equal(built.run([np.float32([[1, 4, 2, 3]])]), [[4, 3, 2]])
    with pytest.raises(ExecutorError, match="topk requires"):
        built.run([np.float32([[1, 2]])])


def test_what_a_function_raises_in_a_program_of_open_dims_is_raised(monkeypatch):
    monkeypatch.setattr(hand_written, "order", wrong_order)
    with ordered() as by_hand:
        built = open_program(lambda x: ops.exp(by_hand(ops.exp(x))))
        with pytest.raises(ExecutorError, match="raised ZeroDivisionError: by zero"):
            built.run([DATA.reshape(1, 5)])


def wrong_order(data):
    raise ZeroDivisionError("by zero")
