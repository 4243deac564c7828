"""States: what is appended is written in place, and no result is another than that of the copying way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from opgen_runtime.errors import CallError, ExecutorError, PassError

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.run.compile.program.plan import PutSlice, Run
from opgen_runtime.run.executor import Growing, Stateful, stateful

WIDTH = 4


def cache(name: str, length: object, axis: int = 1) -> ir.Var:
    shape: list[object] = [2, WIDTH]
    shape.insert(axis, length)
    return rt.var(name, rt.TensorType(tuple(shape), "float32"))


def attention(axis: int = 1) -> ir.Function:
    """(batch 2, new, width) tokens attend to all that came: the result, and what came then."""
    past, new = rt.dim("past", hint=8), rt.dim("new", hint=1)
    x = rt.var("x", rt.TensorType((2, new, WIDTH), "float32"))
    keys, values = cache("keys", past, axis), cache("values", past, axis)
    turned = x if axis == 1 else ops.transpose(x, axes=(1, 0, 2) if axis == 0 else (0, 2, 1))
    k = ops.concatenate((keys, ops.multiply(turned, ir.const(2.0, "float32"))), axis=axis)
    v = ops.concatenate((values, ops.add(turned, ir.const(1.0, "float32"))), axis=axis)
    to = {0: (1, 0, 2), 1: (0, 1, 2), 2: (0, 2, 1)}[axis]
    scores = ops.matmul(x, ops.transpose(ops.transpose(k, axes=to), axes=(0, 2, 1)))
    mixed = ops.matmul(ops.softmax(scores), ops.transpose(v, axes=to))
    old = ops.sum(keys, axis=(axis,))  # the state as it was is read, too
    return ir.Function((x, keys, values), ir.Tuple((mixed, k, v, old)))


GROWING = (Growing(1, 1), Growing(2, 2))


def states(axis: int = 1, capacity: int = 16) -> list[rt.State]:
    return [rt.State((2, WIDTH), axis, capacity) for _ in range(2)]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_values_are_those_of_the_copying_way(axis: int) -> None:
    function = attention(axis)
    program, copying = stateful(function, GROWING, 16), rt.build(function)
    random = np.random.default_rng(axis)
    held = states(axis)
    shape = [2, WIDTH]
    shape.insert(axis, 0)
    past = [np.zeros(shape, np.float32)] * 2
    for count in (3, 1, 1, 5, 0, 1):
        x = random.standard_normal((2, count, WIDTH)).astype(np.float32)
        y, keys, values, old = program.run([x, *held])
        wanted, *past, before = copying.run([x, *past])
        assert keys is held[0]
        assert values is held[1]
        np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(old, before, rtol=1e-5, atol=1e-6)
        for state, array in zip(held, past, strict=True):
            assert state.shape == array.shape
            np.testing.assert_array_equal(state.value, array)


def test_the_plan_writes_what_is_new_alone() -> None:
    plan = stateful(attention(), GROWING, 16).executable.plan
    assert plan is not None
    put = [each for each in plan.code if isinstance(each, PutSlice)]
    assert sorted([plan.outputs.index(each.whole) for each in put]) == [1, 2]
    kernels = [each for each in plan.code if isinstance(each, Run)]
    filled = {slot for each in kernels for slot in each.outputs}
    capacity = next(dim for dim in plan.dims if dim.name == "past_capacity")
    assert not [slot for slot in filled if capacity in plan.held[slot].shape], (
        "no kernel fills a whole buffer"
    )


def test_memory_stays_where_it_is() -> None:
    program, held = stateful(attention(), GROWING, 16), states()
    x = np.ones((2, 1, WIDTH), np.float32)
    program.run([x, *held])
    first = held[0].value
    where = first.ctypes.data
    before = first.copy()
    program.run([x, *held])
    assert held[0].value.ctypes.data == where
    np.testing.assert_array_equal(first, before)
    assert first.base is not None
    with pytest.raises(ValueError, match="read-only"):
        first[...] = 0


def test_states_of_other_capacities_take_the_same_program() -> None:
    program = stateful(attention(), GROWING, 16)
    x = np.ones((2, 1, WIDTH), np.float32)
    wanted = program.run([x, *states()])[0]
    np.testing.assert_array_equal(program.run([x, *states(capacity=33)])[0], wanted)


def test_beyond_the_capacity_is_refused_and_changes_nothing() -> None:
    program, held = stateful(attention(), GROWING, 16), states(capacity=4)
    x = np.ones((2, 3, WIDTH), np.float32)
    program.run([x, *held])
    before = held[0].value.copy()
    with pytest.raises(ExecutorError, match=r"capacity=4\) has no room: its length would be 6"):
        program.run([x, *held])
    assert held[0].length == 3
    np.testing.assert_array_equal(held[0].value, before)
    program.run([x[:, :1], *held])
    assert held[0].length == 4


def _run(program: Stateful, *values: object) -> None:
    program.run([np.ones((2, 1, WIDTH), np.float32), *values])


def test_states_that_do_not_fit_are_refused() -> None:
    program = stateful(attention(), GROWING, 16)
    keys, values = states()
    with pytest.raises(ExecutorError, match="keys grows: expected a State, found ndarray"):
        _run(program, keys.value, values)
    with pytest.raises(ExecutorError, match="is given twice"):
        _run(program, keys, keys)
    with pytest.raises(ExecutorError, match=r"keys is float32 and grows along axis 1, found .* axis=2"):
        _run(program, rt.State((2, WIDTH), 2, 16), values)
    with pytest.raises(ExecutorError, match=r"keys is float32 .* found State\(float64"):
        _run(program, rt.State((2, WIDTH), 1, 16, "float64"), values)
    with pytest.raises(ExecutorError, match="values has length 1, keys 0"):
        _run(program, keys, rt.State.of(np.ones((2, 1, WIDTH), np.float32), 1, 16))
    with pytest.raises(ExecutorError, match="past_capacity"):
        _run(program, keys, rt.State((2, WIDTH), 1, 17))
    with pytest.raises(ExecutorError, match="takes 3 values, found 2"):
        program.run([np.ones((2, 1, WIDTH), np.float32), keys])
    _run(program, keys, values)
    assert (keys.length, values.length) == (1, 1)


def test_what_is_no_concatenation_behind_the_parameter_is_refused() -> None:
    past = rt.dim("past")
    keys = cache("keys", past)
    x = rt.var("x", rt.TensorType((2, 1, WIDTH), "float32"))
    before = ops.concatenate((x, keys), axis=1)
    for result in (before, ops.add(keys, keys), ops.concatenate((keys, x, x), axis=1)):
        with pytest.raises(
            PassError, match=r"%keys grows into a result that must be concatenate\(\(%keys, more\)"
        ):
            stateful(ir.Function((keys, x), result), [Growing(0, 0)], 8)
    closed = cache("closed", 3)
    joined = ops.concatenate((closed, x), axis=1)
    with pytest.raises(PassError, match="whose extent must be an open dim"):
        stateful(ir.Function((closed, x), joined), [Growing(0, 0)], 8)


def test_a_function_of_the_state_alone() -> None:
    past = rt.dim("past")
    keys = cache("keys", past)
    x = rt.var("x", rt.TensorType((2, 1, WIDTH), "float32"))
    program = stateful(ir.Function((keys, x), ops.concatenate((keys, x), axis=1)), [Growing(0, 0)], 8)
    state = rt.State((2, WIDTH), 1, 8)
    rows = np.arange(24, dtype=np.float32).reshape(3, 2, 1, WIDTH)
    for row in rows:
        assert program.run([state, row]) is state
    np.testing.assert_array_equal(state.value, np.concatenate(rows, axis=1))


def test_two_threads_with_states_of_their_own() -> None:
    program, copying = stateful(attention(), GROWING, 64), rt.build(attention())

    def decode(seed: int) -> None:
        random, held = np.random.default_rng(seed), states(capacity=64)
        past = [np.zeros((2, 0, WIDTH), np.float32)] * 2
        for _ in range(40):
            x = random.standard_normal((2, 1, WIDTH)).astype(np.float32)
            y = program.run([x, *held])[0]
            wanted, *past, _ = copying.run([x, *past])
            np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(held[0].value, past[0])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(decode, range(4)))


def test_a_state_by_itself() -> None:
    state = rt.State.of(np.arange(6).reshape(2, 3), axis=-1, capacity=4)
    assert (state.shape, state.length, state.capacity, state.axis) == ((2, 3), 3, 4, 1)
    assert str(state) == "State(int64[2, 3], axis=1, capacity=4)"
    state.append(np.array([[7], [8]]))
    np.testing.assert_array_equal(state.value, [[0, 1, 2, 7], [3, 4, 5, 8]])
    with pytest.raises(ExecutorError, match="has no room: its length would be 5"):
        state.append(np.array([[7], [8]]))
    with pytest.raises(ExecutorError, match=r"takes no int64\[3, 1\]"):
        state.append(np.array([[7], [8], [9]]))
    other = state.copy()
    state.truncate(1)
    np.testing.assert_array_equal(state.value, [[0], [3]])
    np.testing.assert_array_equal(other.value, [[0, 1, 2, 7], [3, 4, 5, 8]])
    with pytest.raises(ExecutorError, match="cannot be cut to 2: expected 0 to 1"):
        state.truncate(2)
    state.reset()
    assert state.value.shape == (2, 0)
    for axis, capacity in ((2, 1), (0, -1)):
        with pytest.raises(ExecutorError):
            rt.State((2,), axis, capacity)


def test_jit_has_one_program_for_all_lengths() -> None:
    @rt.jit
    def step(x: np.ndarray, cache: dict[str, np.ndarray]) -> tuple[object, object]:
        keys = np.concatenate((cache["keys"], x * 2), axis=1)
        values = np.concatenate((cache["values"], x + 1), axis=1)
        shares = ops.softmax(x @ np.swapaxes(keys, 1, 2))
        return shares @ values, {"keys": keys, "values": values}

    held = dict(zip(("keys", "values"), states(), strict=True))
    copying, past = rt.build(attention()), [np.zeros((2, 0, WIDTH), np.float32)] * 2
    random = np.random.default_rng(0)
    for _ in range(16):
        x = random.standard_normal((2, 1, WIDTH)).astype(np.float32)
        y, again = step(x, held)
        wanted, *past, _ = copying.run([x, *past])
        assert again["keys"] is held["keys"]
        np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(held["values"].value, past[1])
    assert len(step._compiled) == 1
    with pytest.raises(ExecutorError, match="has no room"):
        step(x, held)
    with pytest.raises(CallError, match="not profiled"):
        step.profile(x, held)


def test_jit_refuses_a_state_that_is_not_given_back() -> None:
    state = rt.State((2, WIDTH), 1, 8)
    with pytest.raises(
        CallError, match=r"the state x must be given back once, as concatenate\(\(state, more\), axis\)"
    ):
        rt.jit(lambda x: ops.sum(x))(state)
