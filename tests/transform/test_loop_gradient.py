"""Reverse mode through loops: against the same loop unrolled, and against differences; states that are kept or not."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import CallError, ExecutorError, PassError
from opgen_runtime.ir.loops import MOST
from opgen_runtime.run.compile.program import planning
from opgen_runtime.run.compile.program.plan import Again, Copy, Loop, Plan, Put, Run
from opgen_runtime.transform.gradient import pull
from tests.fuzz import loop_gradients

RANDOM = np.random.default_rng(0)
X, W = RANDOM.normal(size=(2, 3)), RANDOM.normal(size=(3, 3)) / 2
TYPE, NUMBER = rt.TensorType((3,), "float64"), rt.TensorType((), "int64")
STEPS = 7


def step(x: Any, y: Any, w: Any) -> Any:
    return np.tanh(y @ w) + x


def looped(x: Any, w: Any, **options: Any) -> Any:
    _, y = rt.while_loop(lambda s: s[0] < STEPS, lambda s: (s[0] + 1, step(x, s[1], w)), (0, x), **options)
    return (y * y).sum()


def unrolled(x: Any, w: Any) -> Any:
    y = x
    for _ in range(STEPS):
        y = step(x, y, w)
    return (y * y).sum()


def second(function: Callable[..., Any]) -> Callable[..., Any]:
    return rt.grad(lambda x, w: (rt.grad(function)(x, w) ** 2.0).sum(), argnums=(0, 1))


def test_a_loop_has_the_gradient_of_its_steps() -> None:
    wanted = rt.value_and_grad(unrolled, argnums=(0, 1))(X, W)
    compiled = rt.jit(rt.value_and_grad(looped, argnums=(0, 1)))
    value, found = compiled(X, W)
    assert value == wanted[0]
    for one, other in zip(found, wanted[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)
    executable: Any = compiled._made((X, W), {})[0].executable
    assert (
        sum(isinstance(each, Loop) for each in executable.plan.code) == 2
    )  # one native function: there and back
    # of what a step computes, its second operand alone is read by its adjoint
    assert sum(isinstance(each, Put) for each in executable.plan.code) == 1


def test_what_is_computed_again_is_the_same_to_the_bit() -> None:
    kept = rt.grad(looped, argnums=(0, 1))(X, W)
    for every in (2, 3, 7, 100):
        found = rt.grad(lambda x, w, k=every: looped(x, w, checkpoint=k), argnums=(0, 1))(X, W)
        for one, other in zip(found, kept, strict=True):
            np.testing.assert_array_equal(one, other)


def test_gradients_of_gradients_of_loops() -> None:
    wanted = second(unrolled)(X, W)
    for function in (looped, lambda x, w: looped(x, w, checkpoint=3)):
        for one, other in zip(second(function)(X, W), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11)
    t, u = RANDOM.normal(size=X.shape), RANDOM.normal(size=W.shape)
    np.testing.assert_allclose(
        rt.jvp(looped, (X, W), (t, u))[1], rt.jvp(unrolled, (X, W), (t, u))[1], rtol=1e-12
    )


def test_a_loop_ends_when_the_data_says() -> None:
    def grown(p: Any, w: Any, **options: Any) -> Any:
        def more(s: Any) -> Any:
            return (s["y"] * s["y"]).sum() < 50.0

        def again(s: Any) -> Any:
            return {"y": s["y"] * 1.3 + np.sin(s["y"]) @ w, "same": s["same"]}

        return (lambda s: (s["y"] * s["same"]).sum())(
            rt.while_loop(more, again, {"y": p, "same": p * 2.0}, **options)
        )

    gradient = rt.grad(lambda x, w: grown(x, w, most=100), argnums=(0, 1))(X, W)
    t, u, h = RANDOM.normal(size=X.shape), RANDOM.normal(size=W.shape), 1e-6
    ends = [grown(X + e * t, W + e * u) for e in (h, -h)]
    found = (gradient[0] * t).sum() + (gradient[1] * u).sum()
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2 * h), rtol=1e-6)
    cut = rt.jit(lambda x: rt.while_loop(lambda y: (y > 0.0).all(), lambda y: y + 1.0, x, most=4))
    np.testing.assert_array_equal(cut(np.ones(2)), np.full(2, 5.0))


def peak(function: Callable[..., Any], *args: Any) -> int:
    executable: Any = rt.jit(function)._made(args, {})[0].executable
    return int(executable.plan.memory)


def test_states_that_are_computed_again_take_less_memory() -> None:
    x = np.zeros((64, 3))

    def long(x: Any, w: Any, every: int) -> Any:
        return rt.while_loop(
            lambda s: s[0] < 100, lambda s: (s[0] + 1, step(x, s[1], w)), (0, x), checkpoint=every
        )[1].sum()

    whole, tenth = [peak(rt.grad(lambda x, w, k=k: long(x, w, k)), x, W) for k in (1, 10)]
    assert tenth < whole / 3


def bytes_of_a_step(plan: Plan) -> int:
    """What the steps of all loops fill at most."""
    inside, filled = 0, 0
    for each in plan.code:
        inside += isinstance(each, Loop)
        slots: tuple[int, ...] = ()
        if isinstance(each, Run):
            slots = each.outputs
        elif isinstance(each, Copy | Put):
            slots = (each.source if isinstance(each, Copy) else each.value,)
        elif isinstance(each, Again):
            slots = each.values
        filled += inside and sum([plan.held[slot].nbytes for slot in slots])
    return filled


@pytest.mark.parametrize("every", [1, 10])
def test_a_step_there_and_back_costs_the_same_however_many_there_are(every: int) -> None:
    found = []
    for steps in (100, 800):

        def long(x: Any, w: Any, steps: int = steps) -> Any:
            return rt.while_loop(
                lambda s: s[0] < steps, lambda s: (s[0] + 1, step(x, s[1], w)), (0, x), checkpoint=every
            )[1].sum()

        gradient = rt.jit(rt.grad(long, argnums=(0, 1)))
        executable: Any = gradient._made((X, W), {})[0].executable
        found.append((bytes_of_a_step(executable.plan), executable.plan.memory))
    (few, small), (many, large) = found
    assert few == many
    assert large < 8 * small


def test_rows_in_place_are_those_that_steps_would_give(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(seed: int) -> Any:
        called = rt.jit(loop_gradients.module(seed, None if seed % 2 else 2))
        gradient = rt.grad(lambda a, b, c: (called(a, b, c) ** 2.0).sum(), argnums=(0, 1, 2))
        return gradient.trace(*RANDOM.normal(size=(3, 3)))

    arrays = list(RANDOM.normal(size=(3, 3)))
    traced = [program(seed) for seed in range(4)]
    built: list[Any] = [rt.build(each) for each in traced]
    assert sum(isinstance(each, Put) for one in built for each in one.plan.code) > 4
    monkeypatch.setattr(planning, "in_place", lambda code, puts, kept: code)
    for executable, each in zip(built, traced, strict=True):
        wanted = rt.build(each).run(arrays)
        for one, other in zip(executable.run(arrays), wanted, strict=True):
            np.testing.assert_array_equal(one, other)


def layers(wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    layer = wrap(lambda p, x: {"x": ops.softmax(np.exp(-np.sin(np.tanh(x["x"] @ p))) * 3.0) + x["x"]})

    def net(x: Any, weights: Any) -> Any:
        found = {"x": x}
        for w in weights:
            found = layer(w, found)
        return (found["x"] * found["x"]).sum()

    return net


def test_checkpoint_keeps_arguments_alone() -> None:
    x, weights = RANDOM.normal(size=(256, 8)), list(RANDOM.normal(size=(5, 8, 8)) / 8)
    results, peaks = [], []
    for wrap in (lambda f: f, rt.checkpoint):
        gradient = rt.value_and_grad(layers(wrap), argnums=(0, 1))
        results.append(gradient(x, weights))
        peaks.append(peak(gradient, x, weights))
    (value, (dx, dw)), (again, (dy, dv)) = results
    assert value == again
    np.testing.assert_array_equal(dx, dy)
    np.testing.assert_array_equal(dw, dv)
    assert peaks[1] < 0.75 * peaks[0]


def test_floats_without_a_dtype_pass_through_checkpoint_as_they_are() -> None:
    def scaled(x: Any, by: float) -> Any:
        return (np.sin(x) * by).sum()

    x = X.astype("float32")
    expected = rt.jit(lambda x, by: rt.value_and_grad(scaled, (0, 1))(x, by))(x, 2.0)
    found = rt.jit(lambda x, by: rt.value_and_grad(rt.checkpoint(scaled), (0, 1))(x, by))(x, 2.0)
    for a, b in zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", range(4))
def test_random_loops(seed: int) -> None:
    loop_gradients.case(seed)


def test_a_loop_of_a_module_is_a_part_of_a_program() -> None:
    called = rt.jit(loop_gradients.module(3, None))
    a, b, c = RANDOM.normal(size=(3, 3))
    gradient = rt.grad(lambda a, b, c: (called(a, b, c) ** 2.0).sum(), argnums=(0, 1, 2))
    found, direction, h = gradient(a, b, c), RANDOM.normal(size=(3, 3)), 1e-6
    moved = [(called(*(np.array([a, b, c]) + e * direction)) ** 2.0).sum() for e in (h, -h)]
    np.testing.assert_allclose(
        (np.array(found) * direction).sum(), (moved[0] - moved[1]) / (2 * h), rtol=1e-5
    )


def of_most(most: int) -> ir.IRModule:
    """As many sines of the first argument as the second says, of which the loop states a greatest number."""
    n, x, count = rt.var("n", NUMBER), rt.var("x", TYPE), rt.var("count", NUMBER)
    own = ir.GlobalVar("loop", rt.FuncType((NUMBER, TYPE, NUMBER), TYPE))
    again = ir.Call(own, (ops.add(n, np.array(1)), ops.sin(x), count))
    body = ir.If(ops.less(n, count), again, x)
    loop = ir.Function((n, x, count), body, TYPE, attrs=MappingProxyType({MOST: most}))
    a, b = rt.var("a", TYPE), rt.var("b", NUMBER)
    main = ir.Function((a, b), ir.Call(own, (ir.const(np.array(0)), a, b)))
    return ir.IRModule({ir.GlobalVar("main"): main, own: loop})


def test_more_steps_than_a_loop_states_are_refused_when_it_runs() -> None:
    called = rt.jit(of_most(4))
    x, text = np.array([0.1, 0.2, 0.3]), "more often than 4 times, the most that it states .*'most'"
    gradient = rt.jit(rt.grad(lambda x, count: called(x, count).sum()))
    bend = rt.jit(rt.grad(lambda x, count: gradient(x, count).sum()))
    for function in (gradient, bend):
        for steps in (4, 3, 0):
            assert np.isfinite(function(x, np.array(steps))).all()
        for steps in (5, 100, 5):
            with pytest.raises(ExecutorError, match=text):
                function(x, np.array(steps))
        assert np.isfinite(function(x, np.array(4))).all()
    np.testing.assert_allclose(gradient(x, np.array(1)), np.cos(x))
    assert called(x, np.array(6)).shape == (3,)  # without a gradient no states are kept
    interpreted = rt.create_executor("debug").evaluate(gradient.trace(x, np.array(4)))
    np.testing.assert_allclose(interpreted(x, np.array(4)).numpy(), gradient(x, np.array(4)))
    with pytest.raises(ExecutorError, match=text):
        interpreted(x, np.array(5))


def test_arguments_by_name() -> None:
    called = rt.jit(of_most(4))
    x, three = np.array([0.1, 0.2, 0.3]), np.array(3)
    np.testing.assert_array_equal(called(b=three, a=x), called(x, three))
    wanted = rt.grad(lambda x: called(x, three).sum())(x)
    np.testing.assert_array_equal(rt.grad(lambda x, *, by: called(x, b=by).sum())(x, by=three), wanted)
    for given, named, text in (
        ((x,), {}, "main takes 2 arguments, %a, %b; found 1"),
        ((x, three), {"a": x}, "'a' is given twice"),
        ((x,), {"bb": three}, "'bb' is no parameter; did you mean 'b'"),
    ):
        with pytest.raises(CallError, match=text):
            called(*given, **named)

    def scaled(x: Any, *, by: Any, twice: bool = False) -> Any:
        return {"out": np.sin(x) * by["of"] * (2.0 if twice else 1.0)}

    def of(wrap: Callable[..., Any]) -> Any:
        return rt.grad(lambda x, y: wrap(scaled)(x, by={"of": y}, twice=True)["out"].sum(), (0, 1))(
            x, 2.0 * x
        )

    for one, other in zip(of(rt.checkpoint), of(lambda f: f), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("attempt", "error", "text"),
    [
        (
            lambda: rt.grad(lambda x: rt.while_loop(lambda y: y.sum() < 9.0, lambda y: y * 2.0, x).sum())(X),
            PassError,
            r"the gradient of while_loop keeps its states, and nothing says how many .* rt.while_loop\(..., most=n\)",
        ),
        (lambda: rt.while_loop(lambda x: x < 1.0, lambda x: x, X), CallError, r"the test gives Tensor\[\(2, 3\), bool"),
        (
            lambda: rt.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, s[1].sum()), (0, X)),
            CallError,
            r"state\[1\] is Tensor\[\(2, 3\), float64\], and a step gives Tensor\[\(\), float64\]",
        ),
        (
            lambda: rt.while_loop(lambda s: s[0] < 1, lambda s: s[0], (0, X)),
            CallError,
            r"what a step gives has values at the top, expected \[0\], \[1\]",
        ),
        (lambda: rt.while_loop(lambda s: s < 1, lambda s: s, 0, most=0), CallError, "most is 0, expected a count"),
    ],
)  # fmt: skip
def test_what_loops_refuse(attempt: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        attempt()


@pytest.mark.parametrize(
    ("test", "first", "pace", "steps"),
    [
        (lambda n: ops.less(n, np.array(9)), 0, 2, 5),
        (lambda n: ops.less_equal(n, np.array(8)), 0, 2, 5),
        (lambda n: ops.greater(n, np.array(1)), 4, -1, 3),
        (lambda n: ops.greater_equal(np.array(4), n), -1, 1, 6),
        (lambda n: ops.logical_and(ops.less(n, np.array(3)), ops.less(n, np.array(9))), 0, 1, 3),
    ],
)
def test_what_a_counter_says_of_the_steps(test: Any, first: int, pace: int, steps: int) -> None:
    n, x = rt.var("n", NUMBER), rt.var("x", TYPE)
    own = ir.GlobalVar("loop", rt.FuncType((NUMBER, TYPE), TYPE))
    body = ir.If(test(n), ir.Call(own, (ops.add(n, np.array(pace)), ops.sin(x))), x)
    module = ir.IRModule({own: ir.Function((n, x), body, TYPE)})
    a, g = rt.var("a", TYPE), rt.var("g", TYPE)
    (found,) = pull([ir.Call(own, (ir.const(np.array(first)), a))], [g], [a], module)
    assert f"rows1: Tensor[({steps}, 3), float64]" in str(ir.IRModule.from_expr(ir.Function((a, g), found)))  # type: ignore[arg-type]


def test_what_calls_itself_elsewhere_is_refused_by_name() -> None:
    n, x = rt.var("n", NUMBER), rt.var("x", TYPE)
    own = ir.GlobalVar("twice", rt.FuncType((NUMBER, TYPE), TYPE))
    inside = ops.sin(ir.Call(own, (ops.subtract(n, np.array(1)), x)))
    module = ir.IRModule({own: ir.Function((n, x), ir.If(ops.greater(n, np.array(0)), inside, x), TYPE)})
    a, g = rt.var("a", TYPE), rt.var("g", TYPE)
    with pytest.raises(
        PassError, match="of @twice, which calls itself elsewhere than at its end, is not there; a call"
    ):
        pull([ir.Call(own, (ir.const(np.array(3)), a))], [g], [a], module)
