"""Both executors: values, symbolic dims, control flow, memory, mistakes."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import ExecutorError
from opgen_runtime.run.executor import GraphExecutor, build
from opgen_runtime.transform import InferType

F = rt.TensorType((2, 3), "float32")
DATA = np.array([[-1.0, 2.0, -0.0], [4.0, -5.0, np.nan]], np.float32)
KINDS = pytest.mark.parametrize("kind", ["debug", "graph"])


def run(kind: str, expr: object, values: dict[ir.Var, object] | None = None) -> np.ndarray:
    found = rt.create_executor(kind).evaluate(expr, values)
    assert isinstance(found, rt.Value)
    return found.numpy()


@KINDS
def test_the_acceptance_case(kind: str) -> None:
    data = np.arange(-13, 14, dtype=np.int32).reshape(3, 3, 3)
    x = rt.var("x", rt.TensorType((3, 3, 3), "int32"))
    expected = data.copy()
    expected[:, 1] = np.abs(expected[:, 1])
    np.testing.assert_array_equal(run(kind, ops.axis_abs(x, axis=1, indice=1), {x: data}), expected)


@KINDS
def test_values_are_arrays_constants_results_and_numbers(kind: str) -> None:
    x, s = rt.var("x", F), rt.var("s", rt.TensorType((), "float32"))
    expected = np.abs(DATA) * np.float32(2)
    for value in (DATA, rt.const(DATA), rt.Value(DATA), np.asfortranarray(DATA)):
        np.testing.assert_array_equal(run(kind, ops.abs(x) * s, {x: value, s: 2}), expected)
    assert run(kind, 3).dtype == np.int32
    assert run(kind, rt.const(DATA)).tobytes() == DATA.tobytes()


@KINDS
def test_symbolic_dims_take_the_values_of_the_call(kind: str) -> None:
    n = rt.dim("n")
    x, y = rt.var("x", rt.TensorType((n, 3), "float32")), rt.var("y", rt.TensorType((n,), "float32"))
    expr = ops.sum(x, axis=1) + y
    executor = rt.create_executor(kind)
    for size in (1, 4, 0):
        a, b = np.ones((size, 3), np.float32), np.arange(size, dtype=np.float32)
        result = executor.evaluate(expr, {x: a, y: b})
        np.testing.assert_array_equal(result.numpy(), 3 + b)  # type: ignore[union-attr]  # a value
    with pytest.raises(
        ExecutorError, match="axis 0 of variable 'y' has extent 3, but dim 'n' is 2 by axis 0 of"
    ):
        executor.evaluate(expr, {x: np.ones((2, 3), np.float32), y: np.ones(3, np.float32)})


@KINDS
def test_any_dims_and_equations_of_dims(kind: str) -> None:
    n = rt.dim("n")
    x = rt.var("x", rt.TensorType((rt.Any(), n), "float32"))
    y = rt.var("y", rt.TensorType((n * 2,), "float32"))
    pair = ir.Tuple((ops.exp(x), y))
    one, two = rt.create_executor(kind).evaluate(
        pair, {x: np.zeros((2, 3), np.float32), y: np.zeros(6, np.float32)}
    )
    assert (one.shape, two.shape) == ((2, 3), (6,))
    with pytest.raises(ExecutorError, match=r"axis 0 of variable 'y' has extent 5, but n \* 2 is 6"):
        rt.create_executor(kind).evaluate(pair, {x: np.zeros((2, 3), np.float32), y: np.zeros(5, np.float32)})


@KINDS
def test_untyped_variables_take_the_types_of_their_values(kind: str) -> None:
    x = rt.var("x")
    np.testing.assert_array_equal(run(kind, ops.abs(x), {x: np.array([-1, 2], np.int8)}), [1, 2])


@KINDS
def test_tuples_lets_branches_and_functions(kind: str) -> None:
    x, c = rt.var("x", F), rt.var("c", rt.TensorType((), "bool"))
    v, p = ir.Var("v", F), ir.Var("p", F)
    square = ir.Function((p,), ops.multiply(p, p))
    expr = ir.Let(v, ops.abs(x), ir.If(c, ir.Tuple((v, square(v))), ir.Tuple((ops.negative(v), v))))
    data = np.ones((2, 3), np.float32) * -2
    for chosen, expected in ((True, (2, 4)), (False, (-2, 2))):
        found = rt.create_executor(kind).evaluate(expr, {x: data, c: np.array(chosen)})
        assert isinstance(found, tuple)
        assert [float(part.numpy()[0, 0]) for part in found] == list(expected)  # type: ignore[union-attr]
    nested = rt.create_executor(kind).evaluate(
        ir.Tuple((x, ir.Tuple((ops.abs(x),)), ir.Tuple(()))), {x: data}
    )
    assert isinstance(nested, tuple)
    assert nested[2] == ()
    assert not np.shares_memory(nested[0].numpy(), data)  # type: ignore[union-attr]  # results are the caller's own


@KINDS
def test_functions_and_modules_give_callables(kind: str) -> None:
    module = rt.parse_module(
        "def @main(%x: Tensor[(2,), float32], %y: Tensor[(2,), float32]) {\n"
        "  let %t = @twice(%x);\n  add(@twice(%t), @twice(%y))\n}\n"
        "def @twice(%a: Tensor[(2,), float32]) -> Tensor[(2,), float32] { let %b = %a; add(%a, %b) }"
    )
    call = rt.create_executor(kind, InferType()(module)).evaluate()
    one = np.ones(2, np.float32)
    np.testing.assert_array_equal(call(one, one).numpy(), [6, 6])  # type: ignore[operator]  # a callable
    with pytest.raises(ExecutorError, match="2 parameters, found 1"):
        call(one)  # type: ignore[operator]
    x, w = rt.var("x", F), rt.var("w", F)
    function = rt.create_executor(kind).evaluate(ir.Function((x,), ops.add(x, w)), {w: DATA})
    np.testing.assert_array_equal(function(DATA).numpy(), DATA + DATA)  # type: ignore[operator]


@KINDS
def test_a_function_may_call_itself(kind: str) -> None:
    module = rt.parse_module(
        "def @main(%x: Tensor[(), float32]) -> Tensor[(), float32] {\n"
        "  if (less(%x, 10f)) { @main(multiply(%x, 2f)) } else { %x }\n}"
    )
    module = InferType()(module)
    one = np.array(3, np.float32)
    assert rt.create_executor(kind, module).evaluate()(one).numpy() == 12  # type: ignore[operator,union-attr]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, r"variable 'x' has no value; expected Tensor\[\(2, 3\), float32\]"),
        (
            {"x": np.zeros((2, 3))},
            r"'x': expected Tensor\[\(2, 3\), float32\], found Tensor\[\(2, 3\), float64",
        ),
        (
            {"x": np.zeros((3, 2), np.float32)},
            r"expected Tensor\[\(2, 3\), float32\], found Tensor\[\(3, 2\)",
        ),
        ({"x": "text"}, "variable 'x' must be an array or a number, found str"),
        ({"x": np.zeros((2, 3), "M8[s]")}, r"dtype datetime64\[s\] is no element type"),
        ({"x": True}, "the bool True does not suit dtype float32"),
        ({"x": DATA, "z": DATA}, "variable 'z' is not a free variable of the program; these are: x"),
    ],
)
@KINDS
def test_values_that_do_not_fit(kind: str, values: dict[str, object], message: str) -> None:
    variables = {"x": rt.var("x", F), "z": rt.var("z", F)}
    with pytest.raises(ExecutorError, match=message):
        rt.create_executor(kind).evaluate(
            ops.exp(variables["x"]), {variables[n]: v for n, v in values.items()}
        )


def test_unknown_kinds_and_nothing_to_run() -> None:
    with pytest.raises(
        ExecutorError, match=r"unknown executor kind 'grahp'; expected .*did you mean 'graph'\?"
    ):
        rt.create_executor("grahp")
    with pytest.raises(ExecutorError, match="nothing to evaluate"):
        rt.create_executor().evaluate()
    with pytest.raises(ExecutorError, match="@f is evaluated, but the executor has no module"):
        rt.create_executor().evaluate(ir.GlobalVar("f"))


def test_a_program_is_compiled_once_for_each_combination_of_types() -> None:
    x = rt.var("x", rt.TensorType((rt.dim("n"),), "float32"))
    expr = ops.exp(x)
    executor = GraphExecutor()
    for size in (2, 3, 2, 3):
        executor.evaluate(expr, {x: np.zeros(size, np.float32)})
    assert len(executor._compiled) == 2


def test_results_stay_when_the_executable_runs_again() -> None:
    x = rt.var("x", F)
    y = ops.exp(ops.sum(x, axis=1, keepdims=True) + x)
    executable = build(ir.Function((x,), ir.Tuple((y, ops.max(y, axis=0)))))
    ones = np.ones((2, 3), np.float32)
    first = executable.run([ones * 0])
    kept = [part.copy() for part in first]
    executable.run([ones])
    for part, copy in zip(first, kept, strict=True):
        np.testing.assert_array_equal(part, copy)
    into = (np.zeros((2, 3), np.float32), np.zeros(3, np.float32))
    executable.run([ones * 0], into)
    for part, copy in zip(into, kept, strict=True):
        np.testing.assert_array_equal(part, copy)


def test_equal_segments_share_a_kernel() -> None:
    x, y = rt.var("x", F), rt.var("y", F)
    executable = build(ir.Function((x, y), ir.Tuple((ops.exp(x), ops.exp(y)))))
    assert len(executable.compiled) == 1


def test_several_threads_at_once() -> None:
    x = rt.var("x", rt.TensorType((64, 64), "float32"))
    executable = build(ir.Function((x,), ops.exp(ops.sum(x, axis=1, keepdims=True) * 0.01 + x)))
    barrier = threading.Barrier(4)

    def work(k: int) -> bool:
        data = np.full((64, 64), k / 10, np.float32)
        expected = np.exp(data.sum(1, keepdims=True) * np.float32(0.01) + data)
        barrier.wait()
        return all(np.allclose(executable.run([data]), expected, rtol=1e-5) for _ in range(50))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(4))) == [True] * 4


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(0, 2**31))
@settings(max_examples=10)
def test_both_executors_agree_on_random_programs(choices: list[int], seed: int) -> None:
    x, y = rt.var("x", F), rt.var("y", F)
    nodes: list[ir.Expr] = [x, y]
    for choice in choices:
        a, b = nodes[-1], nodes[-2]
        match choice:
            case 0:
                nodes.append(ops.tanh(a))
            case 1:
                nodes.append(ops.add(a, b))
            case 2:
                nodes.append(ops.multiply(a, b))
            case 3:
                nodes.append(ops.add(ops.sum(a, axis=1, keepdims=True), b))
            case 4:
                nodes.append(ops.maximum(a, b))
            case _:
                nodes.append(ops.where(ops.less(a, b), a, ops.exp(ops.tanh(b))))
    random = np.random.default_rng(seed)
    values = {v: random.normal(size=(2, 3)).astype(np.float32) for v in ir.free_vars(nodes[-1])}
    np.testing.assert_allclose(
        run("graph", nodes[-1], dict(values)), run("debug", nodes[-1], dict(values)), rtol=1e-5, atol=1e-5
    )


def test_the_level_of_the_passes() -> None:
    x = rt.var("x", rt.TensorType((3,), "float32"))
    y = ops.negative(ops.exp(x))

    def kernels(executor: rt.executor.GraphExecutor) -> int:
        executable = executor.compile(y, (x,), {}, None)
        return 1 if executable.plan is None else len(executable.plan.runs)

    assert kernels(rt.create_executor("graph", opt_level=0)) == 2
    assert kernels(rt.create_executor("graph", opt_level=2)) == 1
    with rt.PassContext(opt_level=0):
        assert kernels(rt.create_executor("graph")) == 2
        assert kernels(rt.create_executor("graph", opt_level=2)) == 1
    assert rt.create_executor("debug", opt_level=0).evaluate(y, {x: np.zeros(3, np.float32)}).numpy()[0] == -1
    for wrong in (-1, True, "2", 1.0):
        with pytest.raises(ExecutorError, match=r"opt_level is .*, expected an int of at least 0"):
            rt.create_executor("graph", opt_level=wrong)


def test_what_is_compiled_under_one_context_is_not_run_under_another() -> None:
    x = rt.var("x", rt.TensorType((3,), "float32"))
    y, data = ops.negative(ops.exp(x)), {x: np.zeros(3, np.float32)}
    seen: list[str] = []
    executor = rt.create_executor("graph")
    executor.evaluate(y, data)

    def hook(func: rt.tir.PrimFunc) -> rt.tir.PrimFunc:
        seen.append(func.name)
        return func

    with rt.PassContext(hooks={"lower": hook}):
        executor.evaluate(y, data)
        executor.evaluate(y, data)
    assert len(seen) == 1


@pytest.mark.parametrize("view", ["broadcast", "transposed", "reversed", "unaligned"])
def test_constants_that_do_not_lie_in_order(view: str) -> None:
    """An array of a constant may be a view of any strides; kernels read it by its address."""
    base = np.arange(6, dtype=np.int64).reshape(2, 3)
    raw = np.zeros(49, np.uint8)
    raw[1:] = base.view(np.uint8).reshape(-1)
    views = {
        "broadcast": np.broadcast_to(base[:, :1], (2, 3)),
        "transposed": base.reshape(3, 2).T,
        "reversed": base[::-1, ::-1],
        "unaligned": raw[1:].view(np.int64).reshape(2, 3),
    }
    constant = views[view]
    x = rt.var("x", rt.TensorType((2, 3), "int64"))
    function = rt.Function(
        [x], ir.Tuple((ops.stack([rt.const(constant), ops.sort(x)], axis=0), rt.const(constant)))
    )
    stacked, same = rt.create_executor("graph").evaluate(function)(base)
    np.testing.assert_array_equal(np.asarray(stacked), np.stack([constant, base]))
    np.testing.assert_array_equal(np.asarray(same), constant)


def test_what_a_hand_written_function_gives_has_its_own_size() -> None:
    """In a program of several steps, too, and where only a part of what it gives is taken."""
    x = rt.var("x", rt.TensorType((6,), "float32"))
    distinct, _, inverse, _ = (ir.TupleGetItem(ops.unique(ops.abs(x)), k) for k in range(4))
    given = np.array([2, -1, 1, 3, 4, -3], np.float32)
    for expr, expected in (
        (distinct, [[1, 2, 3, 4]]),
        (ir.Tuple((ops.abs(x), distinct, inverse)), [np.abs(given), [1, 2, 3, 4], [1, 0, 0, 2, 3, 2]]),
    ):
        found = rt.create_executor("graph").evaluate(rt.Function([x], expr))(given)
        parts = found if isinstance(expr, ir.Tuple) else [found]
        for part, wanted in zip(parts, expected, strict=True):
            np.testing.assert_array_equal(np.asarray(part), wanted)
