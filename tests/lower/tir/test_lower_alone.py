"""Lowering by itself: rt.lower, schedule_ops, externs in loop IR, schedules of operations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import te, tir
from opgen_runtime.base.errors import CallError, ExecutorError, LanguageError, LoweringError, ScheduleError

N = te.var("n")
A = te.placeholder((N,), name="A")
B = te.compute((N,), lambda i: A[i] * 2.0, name="B")
C = te.compute((N,), lambda i: B[i] + 1.0, name="C")


def test_binds_are_the_buffers_of_parameters() -> None:
    x, y = tir.decl_buffer((N,), name="x"), tir.decl_buffer((N,), "float32", "y")
    func = rt.lower(te.create_schedule(B), [A, B], "twice", binds={A: x, B: y})
    assert str(func) == (
        "twice(x: float32[n]) -> (y: float32[n]):\n    for i in range(n):\n        y[i] = x[i] * 2.0\n"
    )
    assert func.inputs == (x,)


def test_tensors_are_loop_ir_without_a_schedule() -> None:
    func = rt.create_prim_func([A, C])
    assert str(func) == (
        "main(A: float32[n]) -> (C: float32[n]):\n"
        "    allocate B: float32[n] global\n"
        "    for i in range(n):\n        B[i] = A[i] * 2.0\n"
        "    for i in range(n):\n        C[i] = B[i] + 1.0\n"
    )
    np.testing.assert_array_equal(rt.build(func)(np.float32([1, 2])), [3, 5])
    for args, message in (
        ([A], "found no result"),
        ([C], "the program needs A, which is not among its arguments"),
        ([3], "expected"),
    ):
        with pytest.raises(ScheduleError, match=message):
            rt.create_prim_func(args)


@pytest.mark.parametrize(
    ("binds", "message"),
    [
        ({C: tir.decl_buffer((N,))}, "binds: C is not among the arguments"),
        ({A: "x"}, "binds: A is bound to 'x', expected a buffer"),
        (
            {A: tir.decl_buffer((N, 2), name="x")},
            r"binds: buffer x: float32\[n, 2\] cannot hold A: float32\[n\]",
        ),
        ({A: tir.decl_buffer((N,), "int8", "x")}, r"binds: buffer x: int8\[n\] cannot hold A: float32\[n\]"),
        (dict.fromkeys((A, B), tir.decl_buffer((N,))), "binds: a buffer is bound to two arguments"),
    ],
)
def test_binds_that_do_not_fit(binds: dict[te.Tensor, tir.Buffer], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        rt.lower(te.create_schedule(B), [A, B], binds=binds)


def test_all_phases() -> None:
    x = te.placeholder((4, 8), name="x")
    y = te.compute((4, 8), lambda i, j: x[i, j] + 1.0, name="y")
    schedule = te.create_schedule(y)
    schedule[y].vectorize(y.op.axis[1])
    assert str(rt.lower(schedule, [x, y], simple_mode=False)) == (
        "y(x: float32[32]) -> (y: float32[32]):\n    for i in range(4):\n"
        "        y[ramp(i * 8, 1, 8)] = x[ramp(i * 8, 1, 8)] + splat(1.0, 8)\n"
    )


def test_normalize_gives_the_schedule() -> None:
    schedule = te.create_schedule(C)
    schedule[B].compute_inline()
    assert schedule.normalize() is schedule
    assert str(schedule.trace).splitlines()[-1] == "schedule.normalize()"
    assert str(rt.lower(schedule, [A, C])).splitlines()[-1].strip() == "C[i] = A[i] * 2.0 + 1.0"


def test_schedule_ops_alone() -> None:
    schedule = te.create_schedule(C)
    stmt = tir.schedule_ops(schedule, tir.infer_bound(schedule))
    assert tir.stmt_text(stmt) == (
        "allocate B: float32[n] global\n"
        "for i in range(n):\n    B[i] = A[i] * 2.0\n"
        "for i in range(n):\n    C[i] = B[i] + 1.0\n"
    )
    with pytest.raises(LoweringError, match="schedule_ops: stage B has no bounds"):
        tir.schedule_ops(schedule, {})


def test_schedules_of_operations() -> None:
    assert te.create_schedule(C.op).outputs == (C,)
    assert te.create_schedule([C.op, B]).outputs == (C, B)
    low, high = te.compute((4,), lambda i: (i, i + 1), name="ends")
    assert te.create_schedule(high.op).outputs == (high,)
    assert te.create_schedule(low.op).outputs == (low,)
    with pytest.raises(ScheduleError, match="expected tensors, or operations of tensors"):
        te.create_schedule(te.Compute((), te.const(1.0)))


def reversed_rows(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
    (x,), (out,) = ins, outs
    return tir.loop(
        "i", 4, lambda i: tir.loop("j", 3, lambda j: tir.store(out, (i, j), tir.load(x, 3 - i, j)))
    )


def extern_program() -> tuple[te.Schedule, list[te.Tensor]]:
    x = te.placeholder((4, 3), name="x")
    double = te.compute((4, 3), lambda i, j: x[i, j] * 2.0, name="double")
    mirrored = te.extern((4, 3), [double], reversed_rows, name="mirrored")
    out = te.compute((4, 3), lambda i, j: mirrored[i, j] + 1.0, name="out")
    return te.create_schedule(out.op), [x, out]


def test_an_extern_of_loop_ir_is_machine_code() -> None:
    schedule, args = extern_program()
    assert str(rt.lower(schedule, args)) == (
        "out(x: float32[4, 3]) -> (out: float32[4, 3]):\n"
        "    allocate double: float32[4, 3] global\n"
        "    for i in range(4):\n        for j in range(3):\n            double[i, j] = x[i, j] * 2.0\n"
        "    allocate mirrored: float32[4, 3] global\n"
        "    for i in range(4):\n        for j in range(3):\n            mirrored[i, j] = double[3 - i, j]\n"
        "    for i in range(4):\n        for j in range(3):\n            out[i, j] = mirrored[i, j] + 1.0\n"
    )
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_array_equal(rt.build(schedule, args)(x), x[::-1] * 2 + 1)


class Reversed(te.LoopIRFunction):
    name = "Reversed"

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        return arrays[0][::-1]

    def loop_ir(self, ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
        return reversed_rows(ins, outs)

    def by_rows(self, wide: Sequence[bool]) -> te.LoopIRFunction:
        raise NotImplementedError


def test_loop_ir_that_is_a_function_of_arrays_runs_beside_python_functions() -> None:
    x = te.placeholder((4, 3), name="x")
    mirrored = te.extern((4, 3), [x], Reversed(), name="mirrored")
    same = te.extern((4, 3), [x], reversed_rows, name="mirrored")
    loops, same_loops = (str(rt.lower(te.create_schedule(each), [x, each])) for each in (mirrored, same))
    assert loops == same_loops
    smallest = te.extern((3,), [mirrored], lambda rows: rows.min(axis=0), name="smallest")
    array = np.arange(12, dtype=np.float32).reshape(4, 3)
    found = rt.build(te.create_schedule([mirrored, smallest]), [x, mirrored, smallest])(array)
    np.testing.assert_array_equal(found[0], array[::-1])
    np.testing.assert_array_equal(found[1], array[0])


def wrong_statement(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> object:
    return ins[0]


def stores_outside(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
    return tir.store(ins[0], (0,), 1.0)


def raises(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
    raise KeyError("no")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (wrong_statement, "wrong_statement gave Buffer.*, expected a statement of loop IR"),
        (stores_outside, "input x is stored to"),
        (raises, "raises raised KeyError: 'no'"),
    ],
)
def test_loop_ir_of_users_is_held_to_the_rules(function: object, message: str) -> None:
    x = te.placeholder((4,), name="x")
    made = te.extern((4,), [x], function, name="made")  # type: ignore[arg-type]
    with pytest.raises(LoweringError, match=message):
        rt.lower(te.create_schedule(made), [x, made])


def ends(ins: Sequence[tir.Buffer], outs: Sequence[tir.Buffer]) -> tir.Stmt:
    return tir.block(
        tir.store(outs[0], (0,), tir.load(ins[0], 0)), tir.store(outs[1], (0,), tir.load(ins[0], 3))
    )


def test_loop_ir_of_several_results() -> None:
    x = te.placeholder((4,), name="x")
    low, high = te.extern([(1,), (1,)], [x], ends, name="ends")
    found = rt.build(te.create_schedule([low.op, high.op]), [x, low, high])(np.float32([1, 2, 3, 7]))
    assert found == (1, 7)
    with pytest.raises(LanguageError, match="ends fills all its results, of which number 0 is not used"):
        rt.lower(te.create_schedule(high), [x, high])


def test_loop_ir_has_no_attrs() -> None:
    with pytest.raises(CallError, match="made: what gives loop IR takes no attrs"):
        te.extern((4,), [A], raises, name="made", attrs={"by": 2})
    x = te.placeholder((4, 3), name="x")
    mirrored = te.extern((4, 3), [x], reversed_rows, name="mirrored")
    with pytest.raises(ExecutorError, match="reversed_rows gives loop IR, which runs in machine code"):
        te.evaluate([mirrored], {x: np.zeros((4, 3), np.float32)})


def test_a_call_of_a_python_function_is_loop_ir() -> None:
    x = te.placeholder((4,), name="x")
    low, high = te.extern(
        [(), ()], [x], lambda a, by: (a.min() * by, a.max() * by), name="ends", attrs={"by": 2}
    )
    out = te.compute((4,), lambda i: x[i] * low[()] + high[()], name="out")
    schedule = te.create_schedule(out)
    func = rt.lower(schedule, [x, out])
    calls = [line.strip() for line in str(func).splitlines() if "call_packed" in line]
    named = "tests.lower.tir.test_lower_alone:test_a_call_of_a_python_function_is_loop_ir.<locals>.<lambda>"
    assert [call.replace(named, "f") for call in calls] == [
        "ends_0 = call_packed f(x)[0]",
        "ends_1 = call_packed f(x)[1]",
    ]
    array = np.array([3, 1, 4, 2], np.float32)
    wanted = rt.build(schedule, [x, out])(array)
    np.testing.assert_array_equal(tir.interpret(func, [array])[0], wanted)
    with pytest.raises(LoweringError, match="the schedule calls Python functions"):
        rt.lower(schedule, [x, out], simple_mode=False)
