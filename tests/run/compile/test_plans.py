"""Plans and their drivers: branches, loops and arenas against programs that run node by node."""

from __future__ import annotations

import gc
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import ExecutorError
from opgen_runtime.run.compile.program import program as programs
from opgen_runtime.run.compile.program.arena import laid_out
from opgen_runtime.run.compile.program.plan import (
    Copy,
    Else,
    End,
    Held,
    If,
    Instruction,
    Loop,
    Plan,
    Run,
    ends,
)
from opgen_runtime.run.executor.executable import Executable
from tests.run.hand_written import ordered

TYPE = rt.TensorType((3,), "float32")
FLAG = rt.TensorType((), "bool")


def planned(program: ir.Function | ir.IRModule, level: int = 2) -> tuple[Executable, Plan]:
    executable = rt.build(program, opt_level=level)
    assert executable.plan is not None
    return executable, executable.plan


def debug(program: ir.IRModule, *arrays: np.ndarray) -> Any:
    found: Any = rt.create_executor("debug", rt.transform.InferType()(program)).evaluate()
    result = found(*arrays)
    return tuple([part.numpy() for part in result]) if isinstance(result, tuple) else result.numpy()


# ------------------------------------------------------------------ the code of a plan


def test_a_branch_computes_in_the_place_of_its_result() -> None:
    flag, x = rt.var("flag", FLAG), rt.var("x", TYPE)
    executable, plan = planned(ir.Function((flag, x), ir.If(flag, ops.exp(x), x)))
    assert [type(each).__name__ for each in plan.code] == ["If", "Run", "Else", "Copy", "End"]
    assert plan.arena == 0
    data = np.array([1, 2, 3], np.float32)
    np.testing.assert_allclose(executable.run([np.array(True), data]), np.exp(data), rtol=1e-6)
    found = executable.run([np.array(False), data])
    assert not np.shares_memory(found, data)  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, data)


SUM_TO = """
def @main(%n: Tensor[(), int64], %w: Tensor[(3,), float32]) { @sum(%n, %w, multiply(%w, 0f)) }
def @sum(%n: Tensor[(), int64], %w: Tensor[(3,), float32], %s: Tensor[(3,), float32])
    -> Tensor[(3,), float32] {
  if (greater(%n, 0i64)) { @sum(subtract(%n, 1i64), %w, add(%s, %w)) } else { %s }
}
"""


def test_a_call_of_itself_at_the_end_is_a_loop() -> None:
    executable, plan = planned(rt.parse_module(SUM_TO))
    loop = next(each for each in plan.code if isinstance(each, Loop))
    assert len(loop.params) == 2  # %w is handed on as it is
    assert len(loop.buffers) == 4
    data = np.array([1, 2, 3], np.float32)
    for count in (0, 1, 2, 1000):
        np.testing.assert_array_equal(executable.run([np.array(count), data]), data * count)


SWAP = """
def @main(%n: Tensor[(), int64], %a: Tensor[(3,), float32], %b: Tensor[(3,), float32])
    -> (Tensor[(3,), float32], Tensor[(3,), float32]) {
  if (greater(%n, 0i64)) { @main(subtract(%n, 1i64), %b, %a) } else { (%a, %b) }
}
"""


def test_carried_values_may_change_places() -> None:
    executable, _ = planned(rt.parse_module(SWAP))
    a, b = np.ones(3, np.float32), np.zeros(3, np.float32)
    for count in range(5):
        found = executable.run([np.array(count), a, b])
        np.testing.assert_array_equal(found, (b, a) if count % 2 else (a, b))


NESTED = """
def @main(%n: Tensor[(), int64]) -> Tensor[(), int64] { @outer(%n, 0i64) }
def @outer(%n: Tensor[(), int64], %s: Tensor[(), int64]) -> Tensor[(), int64] {
  if (greater(%n, 0i64)) { @outer(subtract(%n, 1i64), @inner(%n, %s)) } else { %s }
}
def @inner(%k: Tensor[(), int64], %s: Tensor[(), int64]) -> Tensor[(), int64] {
  if (greater(%k, 0i64)) {
    if (equal(mod(%k, 3i64), 0i64)) { @inner(subtract(%k, 1i64), %s) }
    else { @inner(subtract(%k, 1i64), add(%s, %k)) }
  } else { %s }
}
"""


def test_loops_within_loops() -> None:
    executable, plan = planned(rt.parse_module(NESTED))
    assert sum(isinstance(each, Loop) for each in plan.code) == 2
    wanted = sum(k for n in range(1, 12) for k in range(1, n + 1) if k % 3)
    assert executable.run([np.array(11)]) == wanted


MUTUAL = """
def @main(%n: Tensor[(), int64]) -> Tensor[(), bool] { @even(%n) }
def @even(%n: Tensor[(), int64]) -> Tensor[(), bool] {
  if (less(%n, 1i64)) { True } else { @odd(subtract(%n, 1i64)) }
}
def @odd(%n: Tensor[(), int64]) -> Tensor[(), bool] {
  if (less(%n, 1i64)) { False } else { @even(subtract(%n, 1i64)) }
}
"""


def test_functions_that_call_each_other_at_the_end_are_a_loop() -> None:
    executable, _ = planned(rt.parse_module(MUTUAL))
    assert [bool(executable.run([np.array(n)])) for n in range(4)] == [True, False, True, False]


NOT_AT_THE_END = """
def @main(%n: Tensor[(), int64]) -> Tensor[(), int64] {
  if (less(%n, 1i64)) { 0i64 } else { add(@main(subtract(%n, 1i64)), 2i64) }
}
"""


def test_other_recursion_runs_node_by_node(tmp_path: Path) -> None:
    executable = rt.build(rt.parse_module(NOT_AT_THE_END))
    assert executable.plan is None
    assert executable.why_interpreted == "@main calls itself elsewhere than at its end"
    assert executable.run([np.array(6)]) == 12
    with pytest.raises(ExecutorError, match="cannot be saved: @main calls itself elsewhere than at its end"):
        executable.save(tmp_path / "program")


def test_functions_of_python_are_called_where_they_stand() -> None:
    x = rt.var("x", TYPE)
    data = np.array([1, 3, 2], np.float32)
    with ordered() as by_hand:
        executable, plan = planned(ir.Function((x,), ops.exp(by_hand(ops.negative(x)))))
        assert len(plan.runs) == 3
        np.testing.assert_allclose(executable.run([data]), np.exp(np.sort(-data)), rtol=1e-6)


def test_what_a_function_of_python_raises_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    x = rt.var("x", TYPE)
    with ordered() as by_hand:
        executable, _ = planned(ir.Function((x,), ops.exp(by_hand(ops.negative(x)))))
    kernel = next(each for each in executable.compiled if "ordered" in each.name)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kernel, "run", fail)
    with pytest.raises(KeyboardInterrupt):
        executable.run([np.zeros(3, np.float32)])
    monkeypatch.undo()
    executable.run([np.zeros(3, np.float32)])


def test_a_size_that_depends_on_data_may_come_last() -> None:
    x = rt.var("x", TYPE)
    executable, plan = planned(ir.Function((x,), ir.Tuple((ops.argwhere(ops.exp(x) - 1.0), ops.sum(x)))), 0)
    assert plan.lengths[0][:2] == (0, 0)
    found = executable.run([np.array([0, 1, 2], np.float32)])
    np.testing.assert_array_equal(found[0], [[1], [2]])
    assert found[1] == 3


def test_threads_and_arrays_for_results() -> None:
    x = rt.var("x", rt.TensorType((64, 64), "float32"))
    executable, _ = planned(ir.Function((x,), ops.softmax(ops.matmul(x, ops.softmax(x, axis=1)), axis=0)))
    data = [np.random.default_rng(k).normal(size=(64, 64)).astype(np.float32) for k in range(4)]
    wanted = [executable.run([each]) for each in data]
    with ThreadPoolExecutor(4) as pool:
        for found, want in zip(
            pool.map(executable.run, [[each] for each in data * 8]), wanted * 8, strict=True
        ):
            np.testing.assert_array_equal(found, want)
    inside = data[0].copy()
    executable.run([inside], [inside])
    np.testing.assert_array_equal(inside, wanted[0])


# ------------------------------------------------------------------ arenas


def lives(code: tuple[Instruction, ...], slot: int) -> set[int]:
    """The positions at which a slot may not be overwritten, found anew: from its first use to its last, inside loops
    and branches that it comes from outside to their ends."""
    end = ends(code)
    around: list[list[int]] = []
    stack: list[int] = []
    for position in range(len(code)):
        around.append(list(stack))
        if position in end:
            stack.append(position)
        elif stack and end[stack[-1]] == position:
            stack.pop()
    uses = [k for k, each in enumerate(code) if slot in mentioned(each)]
    first = uses[0]
    last = first
    for use in uses:
        enclosing = [*around[use], *([use] if use in end else [])]
        outside = [e for e in enclosing if e not in around[first]]
        last = max(last, end[outside[0]] if outside else use)
    return set(range(first, last + 1))


def mentioned(each: Instruction) -> set[int]:
    found: set[int] = set()
    for name in each.__slots__:
        value = getattr(each, name)
        if not (isinstance(each, Run) and name == "kernel") and not (
            isinstance(each, Loop) and name == "params"
        ):
            found.update((value,) if isinstance(value, int) else value)
    return found


def check_arena(plan: Plan) -> None:
    """No two slots that live at one time share a byte."""
    alive = {slot: lives(plan.code, slot) for slot in plan.offsets}
    for slot, offset in plan.offsets.items():
        assert offset % 64 == 0
        assert offset + plan.held[slot].nbytes <= plan.arena
        for other, begin in plan.offsets.items():
            if other > slot and alive[slot] & alive[other]:
                assert (
                    begin >= offset + plan.held[slot].nbytes or offset >= begin + plan.held[other].nbytes
                ), (slot, other)


def test_values_whose_lives_do_not_overlap_share_memory() -> None:
    x = rt.var("x", rt.TensorType((4, 4), "float32"))
    expr: ir.Expr = x
    for _ in range(6):
        expr = ops.sum(expr, axis=0, keepdims=True) + x
    _, plan = planned(ir.Function((x,), expr), level=0)
    assert len(plan.runs) == 12
    assert plan.arena == 128
    assert plan.tensors == 6 * (16 + 64)
    check_arena(plan)


@given(st.integers(0, 2**32))
@settings(max_examples=50)
def test_arenas_of_random_code(seed: int) -> None:
    random_ = random.Random(seed)
    code: list[Instruction] = []
    count = 3

    def block(visible: list[int], depth: int) -> list[int]:
        nonlocal count
        visible = list(visible)
        for _ in range(random_.randint(0, 5)):
            if random_.random() < 0.3 and depth < 3:
                result, count = count, count + 1
                code.append(If(random_.choice(visible), (result,)))
                for side in range(2):
                    code.append(Copy(random_.choice(block(visible, depth + 1)), result))
                    code.append((Else(), End())[side])
                visible.append(result)
            else:
                code.append(Run(0, tuple(random_.choices(visible, k=2)), (count,)))
                visible.append(count)
                count += 1
        return visible

    block([0, 1, 2], 0)
    held = tuple([Held((random_.choice((0, 1, 16, 33, 1000)),), np.dtype(np.float32)) for _ in range(count)])
    offsets, size = laid_out(code, held, {0, 1, 2})
    check_arena(Plan(3, {}, held, tuple(code), (), (), (), offsets, size))


# ------------------------------------------------------------------ random programs


def is_less(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """A condition that roundings do not decide, as they would which of two sums of probabilities is less."""
    return ops.less(ops.add(ops.sum(a), ir.const(np.float32(0.0371))), ops.sum(b))


def program(seed: int) -> ir.IRModule:
    """Branches, lets, tuples and loops over two vectors and a counter."""
    random_ = random.Random(seed)
    flag, x, y = rt.var("flag", FLAG), rt.var("x", TYPE), rt.var("y", TYPE)

    def value(seen: list[ir.Expr], depth: int) -> ir.Expr:
        seen = list(seen)
        for _ in range(random_.randint(1, 4)):
            a, b = random_.choice(seen), random_.choice(seen)
            kind = random_.randrange(8 if depth < 3 else 4)
            if kind < 2:
                seen.append(ops.add(a, ops.multiply(b, 0.5)))
            elif kind == 2:
                seen.append(ops.softmax(a, axis=0))
            elif kind == 3:
                seen.append(ir.TupleGetItem(ir.Tuple((a, b)), random_.randrange(2)))
            elif kind == 4:
                var = rt.Var("v", TYPE)
                seen.append(ir.Let(var, ops.cumsum(a), value([*seen, var], depth + 1)))
            elif kind == 5:
                condition = random_.choice([flag, is_less(a, b)])
                seen.append(ir.If(condition, value(seen, depth + 1), value(seen, depth + 1)))
            elif kind == 6:
                sides = [ir.Tuple((value(seen, depth + 1), random_.choice(seen))) for _ in range(2)]
                seen.append(ir.TupleGetItem(ir.If(flag, sides[0], sides[1]), random_.randrange(2)))
            else:
                count = ir.const(np.array(random_.randrange(4)))
                seen.append(ir.Call(ir.GlobalVar("loop"), (count, a, b)))
        return seen[-1]

    n, a, b = rt.var("n", rt.TensorType((), "int64")), rt.var("a", TYPE), rt.var("b", TYPE)

    def step() -> ir.Expr:
        values = [a, b, ops.add(a, b), ops.softmax(b, axis=0), ops.cumsum(a)]
        return ir.Call(
            ir.GlobalVar("loop"), (ops.subtract(n, np.array(1)), *[random_.choice(values) for _ in range(2)])
        )

    again = ir.If(is_less(a, b), step(), step()) if random_.random() < 0.5 else step()
    end = random_.choice([a, b, ops.add(a, b), ops.cumsum(b)])
    body = ir.If(ops.greater(n, np.array(0)), again, end)
    loop = ir.Function((n, a, b), body, TYPE)
    main = ir.Function((flag, x, y), ir.Tuple((value([x, y], 0), value([x, y], 0), x)))
    return ir.IRModule({ir.GlobalVar("main"): main, ir.GlobalVar("loop"): loop})


@given(st.integers(0, 2**32), st.sampled_from([0, 2]))
@settings(max_examples=6)
def test_random_programs(seed: int, level: int) -> None:
    module = program(seed)
    executable, plan = planned(module, level)
    check_arena(plan)
    x, y = np.array([0.5, -1, 2], np.float32), np.array([1, 0.25, -0.5], np.float32)
    for flag in (np.array(True), np.array(False)):
        for found, want in zip(executable.run([flag, x, y]), debug(module, flag, x, y), strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def test_plans_grow_with_the_program_alone() -> None:
    x, flag = rt.var("x", TYPE), rt.var("flag", FLAG)
    sizes = []
    for depth in (200, 400):
        body: ir.Expr = x
        for _ in range(depth):
            body = ir.If(flag, ops.softmax(body, axis=0), ops.cumsum(body))
        _, plan = planned(ir.Function((flag, x), body), level=0)
        sizes.append(len(plan.code))
    assert [b - a for a, b in pairwise(sizes)] == [1000]


def test_an_arena_whose_constructor_is_interrupted_goes_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    monkeypatch.setattr(programs, "_free", interrupt)
    with pytest.raises(KeyboardInterrupt):
        programs._Arena()
    gc.collect()
    assert unraisable == []
