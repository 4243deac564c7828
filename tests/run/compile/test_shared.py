"""Compilation on two threads: order, what is raised, and what a build gives either way."""

from __future__ import annotations

import threading
from contextvars import ContextVar

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base import Target
from opgen_runtime.run.compile import pipeline
from opgen_runtime.run.compile.kernel.shared import shared_out
from opgen_runtime.run.compile.program.numbering import Numbering

HERE: ContextVar[str] = ContextVar("HERE")


def test_results_are_in_order_and_both_threads_work() -> None:
    meeting = threading.Barrier(2, timeout=60)
    HERE.set("here")

    def task(number: int) -> tuple[int, str, int]:
        if number < 2:
            meeting.wait()  # each of the first two needs the other to have begun
        return number, HERE.get(), threading.get_ident()

    found = shared_out([lambda number=number: task(number) for number in range(20)])  # type: ignore[misc]
    assert [(number, here) for number, here, _ in found] == [(number, "here") for number in range(20)]
    assert len({thread for *_, thread in found}) == 2
    assert threading.active_count() == len(threading.enumerate())
    assert not [thread for thread in threading.enumerate() if thread.name == "opgen-compile"]
    assert shared_out([]) == []


@pytest.mark.parametrize("failing", [{0, 1}, {1}, {3, 4, 5}])
def test_the_first_failure_is_raised_and_nothing_begins_after_it(failing: set[int]) -> None:
    begun: list[int] = []

    def task(number: int) -> None:
        begun.append(number)
        if number in failing:
            raise ValueError(number)

    with pytest.raises(ValueError, match=str(min(failing))):
        shared_out([lambda number=number: task(number) for number in range(100)])  # type: ignore[misc]
    assert set(range(min(failing) + 1)) <= set(begun)
    assert len(begun) < 100


def test_a_build_is_the_same_on_one_thread_and_on_two() -> None:
    x = ir.var("x", shape=(4, 6))
    value: ir.Expr = x
    for extent in (5, 7, 6, 8):
        weight = ir.const(np.full((extent, value.checked_type.concrete_shape[1]), 0.1, np.float32))  # type: ignore[attr-defined]
        value = ops.softmax(ops.dense(value, weight))
    program = ir.Function((x,), value)
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    found = []
    for threads in (1, 2):
        pipeline.forget_kernels()
        target = Target.parse(f"llvm -num-threads={threads}")
        executable = rt.build(program, target=target)
        found.append((executable.kernels, executable.run([array])))
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_constants_that_differ_anywhere_are_two() -> None:
    """Large ones are looked at in a few places first."""
    planner = Numbering()
    one = np.zeros((300, 300), np.float32)
    slots = [planner.constant(one), planner.constant(one.copy()), planner.constant(one.T)]
    assert slots == [slots[0]] * 3
    for place in (1, 7, 89_998):
        other = one.copy()
        other.reshape(-1)[place] = 1
        assert planner.constant(other) not in slots
        slots.append(planner.constant(other))
    assert planner.constant(-one) not in slots  # bits count
    assert planner.constant(one.reshape(-1)) not in slots
    assert planner.constant(one.view(np.int32)) not in slots
    assert planner.constant(np.zeros(0, np.float32)) == planner.constant(np.zeros(0, np.float32))
