"""Law: a scan that is rolled gives what its tensor expressions give, whatever reads it; and few rows are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime.base.arith import Expr, cast, const, maximum, minimum, select
from opgen_runtime.base.errors import ScheduleError
from opgen_runtime.base.vocabulary import INDEX, INT32
from opgen_runtime.compute import te
from opgen_runtime.compute.te import Tensor
from opgen_runtime.compute.te.tensor import Scan, State
from opgen_runtime.lower import tir
from opgen_runtime.lower.library import schedules
from opgen_runtime.lower.schedule import ForKind, create_schedule
from opgen_runtime.lower.tir.nodes.visit import statements
from tests.lower.library.test_library_preserves_results import WIDTHS, eager, target
from tests.lower.tir.programs import Program, check_lowered
from tests.opgen.safety.harness import FULL

Index = list[Expr]

ROW_BY_ROW = """\
kernel(x: int32[9, 4]) -> (out: int32[9, 4]):
    allocate s: int32[2, 4] global
    for step in range(9):
        for i in range(4):
            s[step % 2, i] = s[(step - 1) % 2, max(i - 1, 0)] + s[(step - 1) % 2, i] if step > 0 else x[step, i]
        for i1 in range(4):
            out[8 - step, i1] = s[(8 - (8 - step)) % 2, i1]
"""


@dataclass
class Recurrence:
    """A scan with its input, to make readers of: states of one shape, `shape[0]` steps, the step axis at `at`."""

    x: Tensor
    states: list[Tensor]
    shape: tuple[int, ...]
    at: int

    def row(self, state: int, step: int | Expr, others: list[Expr]) -> Expr:
        return te.read(self.states[state], *others[: self.at], step, *others[self.at :])


def bounded(e: Expr) -> Expr:
    return minimum(maximum(e, -1000), 1000)


def clipped(e: Expr, extent: int) -> Expr:
    return minimum(maximum(e, 0), extent - 1)


@st.composite
def recurrences(draw: st.DrawFn) -> Recurrence:
    """One to three states; each reads some earlier rows of any, and this row of earlier ones."""
    steps = draw(st.integers(1, 7))
    free = draw(st.lists(st.sampled_from([1, 2, 3, 5, 17, 40]), max_size=2))
    at = draw(st.integers(0, len(free)))
    direction = draw(st.sampled_from([1, -1]))
    shape = (*free[:at], steps, *free[at:])
    x = te.placeholder("x", shape, "int32")
    axes = [te.data_axes(shape) for _ in range(draw(st.integers(1, 3)))]
    states = [State(a, at) for a in axes]
    scan = Scan(tuple(states), steps, direction)
    for number, state in enumerate(states):
        state.tensor = Tensor(f"s{number}", shape, INT32, scan)
    near = draw(st.booleans())  # whether positions read their neighbours
    for number, state in enumerate(states):
        at_own: Index = [axis.var for axis in state.axes]
        body: Expr = te.read(x, *at_own)
        for _ in range(draw(st.integers(1, 3))):
            source = draw(st.integers(0, len(states) - 1))
            age = draw(st.integers(0 if source < number else 1, 3))
            indices: Index = list(at_own)
            indices[at] = indices[at] - direction * age
            if near and free:
                dim = draw(st.sampled_from([d for d in range(len(shape)) if d != at]))
                indices[dim] = clipped(indices[dim] + draw(st.integers(-1, 1)), shape[dim])
            tensor = states[source].tensor
            assert tensor is not None
            there = indices[at] >= 0 if direction > 0 else indices[at] < steps
            value = te.read(tensor, *indices) * draw(st.integers(-2, 2))
            body = bounded(body + select(there, value, 0))
        state.body = body
    return Recurrence(x, [s.tensor for s in states if s.tensor is not None], shape, at)


def reader(draw: st.DrawFn, r: Recurrence, number: int) -> Tensor:
    """A stage that reads the scan in one of the ways that there are."""
    steps = r.shape[r.at]
    free = [n for d, n in enumerate(r.shape) if d != r.at]
    state = draw(st.integers(0, len(r.states) - 1))
    back = draw(st.integers(0, min(2, steps - 1)))
    last = draw(st.sampled_from([steps - 1, 0, steps - 1 - back]))
    name = f"out{number}"

    def whole(fn: Callable[[Expr, Index], Expr]) -> Tensor:
        return te.compute(name, (steps, *free), "int32", lambda t, *o: fn(t, list(o)))

    kind = draw(st.integers(0, 9))
    if kind == 0:
        return r.states[state]
    if kind in (1, 2):
        return te.compute(name, tuple(free), "int32", lambda *o: r.row(state, last, list(o)) * 2)
    if kind == 3:
        return whole(lambda t, o: r.row(state, steps - 1 - t, o) + 1)
    if kind == 4:
        return whole(lambda t, o: select(t - back >= 0, r.row(state, clipped(t - back, steps), o), -1))
    if kind == 5:
        return whole(lambda t, o: select(t >= back, r.row(state, t - back, o), r.row(state, t, o)))
    if kind == 6:
        k = te.reduce_axis(steps, "k")
        return te.compute(
            name, tuple(free), "int32", lambda *o: te.reduce("sum", k, r.row(state, k.var, list(o)))
        )
    if kind == 7 and free:
        axis = te.reduce_axis(free[-1], "k")
        return te.compute(
            name,
            (*free[:-1], steps),
            "int32",
            lambda *o: te.reduce("max", axis, r.row(state, o[-1], [*o[:-1], axis.var])),
        )
    if kind == 8:
        return te.compute(name, (), "int32", lambda: r.row(state, last, [cast(0, INDEX) for _ in free]))
    return te.compute(
        name,
        (*reversed(free), max(0, steps - back)),
        "int32",
        lambda *o: (
            r.row(state, o[-1] + back, list(reversed(o[:-1]))) - r.row(0, o[-1], list(reversed(o[:-1])))
        ),
    )


class Drawn:
    """A program that shows in failures what it computes, and not how its objects are made."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def __repr__(self) -> str:
        return te.to_text(self.program.outputs)


@st.composite
def programs(draw: st.DrawFn) -> Drawn:
    """A recurrence and what reads it, one reader perhaps after another."""
    r = draw(recurrences())
    outputs = [reader(draw, r, number) for number in range(draw(st.integers(1, 3)))]
    inner = outputs[-1]
    if draw(st.booleans()) and inner not in r.states:
        with_input = draw(st.booleans()) and inner.shape == r.shape
        last = te.compute(
            "after",
            inner.shape,
            "int32",
            lambda *i: te.read(inner, *i) * 3 + (te.read(r.x, *i) if with_input else 1),
        )
        outputs[-1:] = [last, inner] if draw(st.booleans()) else [last]
    return Drawn(Program((r.x,), tuple(outputs)))


@settings(max_examples=300 if FULL else 15)
@given(programs(), st.sampled_from(WIDTHS), st.booleans())
def test_any_reader(drawn: Drawn, cpu: str, shared: bool) -> None:
    chosen = eager(cpu) if shared else target(cpu)
    check_lowered(drawn.program, schedules.generic(drawn.program.outputs, chosen))


@settings(max_examples=150 if FULL else 8)
@given(programs())
def test_every_row_kept(drawn: Drawn) -> None:
    check_lowered(drawn.program, create_schedule(drawn.program.outputs))


def life(steps: int, n: int) -> Recurrence:
    """A one-dimensional automaton: each position reads its left neighbour."""
    x = te.placeholder("x", (steps, n), "int32")
    axes = te.data_axes((steps, n), ("t", "i"))
    state = State(axes, 0)
    state.tensor = Tensor("s", (steps, n), INT32, Scan((state,), steps, 1))
    t, i = (axis.var for axis in axes)
    left, above = te.read(state.tensor, t - 1, maximum(i - 1, 0)), te.read(state.tensor, t - 1, i)
    state.body = select(t > 0, left + above, te.read(x, t, i))
    return Recurrence(x, [state.tensor], (steps, n), 0)


def running(steps: int, n: int, age: int) -> Recurrence:
    """Sums of every `age`th row: independent positions."""
    x = te.placeholder("x", (steps, n), "int32")
    axes = te.data_axes((steps, n), ("t", "i"))
    state = State(axes, 0)
    state.tensor = Tensor("s", (steps, n), INT32, Scan((state,), steps, 1))
    t, i = (axis.var for axis in axes)
    state.body = te.read(x, t, i) + select(t >= age, te.read(state.tensor, t - age, i), 0)
    return Recurrence(x, [state.tensor], (steps, n), 0)


@pytest.mark.parametrize(
    ("steps", "n", "width", "with_", "cpu", "tasks"),
    [
        (2, 2, 16, "", "x86-64-v4", 1),
        (2, 3, 18, "", "x86-64-v4", 2),
        (2, 17, 18, "", "x86-64-v4", 6),  # two panels, and three tiles of rows
        (2, 17, 34, "", "x86-64", 9),  # as many panels, each for all rows
        (2, 8, 18, "", "x86-64-v3", 6),  # three panels, and two tiles of rows: there are few registers
        (2, 2, 16, "n", "x86-64-v4", 0),
        (2, 2, 16, "t", "x86-64-v4", 0),
    ],
)
def test_products_with_constant_matrices(
    steps: int, n: int, width: int, with_: str, cpu: str, tasks: int
) -> None:
    """h[t, n, k] = x[t, n, k] + sum(h[t-1, n, j] * w[k, j] for j), with a matrix for each n, or for each t, too.

    Threads share so many tasks of a step, or the matrix is not packed.
    """
    x, shape = te.placeholder("x", (steps, n, width), "int32"), (steps, n, width)
    many = {"": 1, "n": n, "t": steps}[with_]
    w = te.placeholder("w", (many, width, width), "int32", is_constant=True)
    axes = te.data_axes(shape, ("t", "n", "k"))
    mixed, state = State(te.data_axes(shape, ("t", "n", "k")), 0), State(axes, 0)
    scan = Scan((mixed, state), steps, 1)
    mixed.tensor, state.tensor = (Tensor(name, shape, INT32, scan) for name in ("mixed", "h"))
    j = te.reduce_axis(width, "j")
    t, i, k = (axis.var for axis in mixed.axes)
    at: Expr = {"n": i, "t": t}.get(with_, const(0, INDEX))
    old = select(t > 0, te.read(state.tensor, maximum(t - 1, 0), i, j.var), 0)
    mixed.body = te.reduce("sum", j, old * te.read(w, at, k, j.var))
    t, i, k = (axis.var for axis in axes)
    state.body = bounded(te.read(x, t, i, k) + te.read(mixed.tensor, t, i, k))
    for chosen in (eager(cpu), target(cpu, threads=1)):
        schedule = schedules.generic((state.tensor,), chosen)
        assert any(stage.origin == "pack for mixed" for stage in schedule.stages) == (tasks > 0)
        if tasks:
            rows = schedule[state.tensor].rows
            assert rows is not None
            product = next(each for each in rows.members if each.reduce_axes)
            shared = [axis.extent for axis, kind in product.kinds.items() if kind is ForKind.PARALLEL]
            assert shared == ([tasks] if chosen.num_threads > 1 else [])
        check_lowered(Program((x, w), (state.tensor,)), schedule)


@pytest.mark.parametrize(("turned", "lanes"), [(False, True), (True, False)])
def test_positions_of_several_dims_that_lie_side_by_side_are_one(turned: bool, lanes: bool) -> None:
    shape = (3, 5, 7, 5)
    x, axes = te.placeholder("x", shape, "int32"), te.data_axes(shape)
    scan = Scan((state := State(axes, 1),), shape[1], 1)
    state.tensor = Tensor("s", shape, INT32, scan)
    b, t, i, j = (axis.var for axis in axes)
    old = select(t > 0, te.read(state.tensor, b, maximum(t - 1, 0), i, j), 0)
    state.body = bounded(old + te.read(x, b, t, *((minimum(j, 6), minimum(i, 4)) if turned else (i, j))))
    schedule = schedules.generic((state.tensor,), target("x86-64-v4"))
    func = tir.lower(schedule, (x,), (state.tensor,), "kernel")
    kinds = {each.kind for each in statements(func.body) if isinstance(each, tir.For)}
    assert (ForKind.VECTORIZED in kinds) == lanes
    check_lowered(Program((x,), (state.tensor,)), schedule)


@pytest.mark.parametrize("shape", [(9, 40), (3, 7, 33), (5, 1, 5)])
@pytest.mark.parametrize("shared", [True, False])
def test_positions_that_reduce_lines_go_through_all_steps(shape: tuple[int, ...], shared: bool) -> None:
    """The next lower number of each line, as often as there are steps: a block of lines stays near meanwhile."""
    x = te.placeholder("x", shape, "int32")
    axes, steps = te.data_axes((4, *shape[:-1])), 4
    scan = Scan((state := State(axes, 0),), steps, 1)
    state.tensor = Tensor("next", (4, *shape[:-1]), INT32, scan)
    k = te.reduce_axis(shape[-1], "k")
    t, *line = (axis.var for axis in axes)
    read, old = te.read(x, *line, k.var), te.read(state.tensor, maximum(t - 1, 0), *line)
    state.body = te.reduce("max", k, select(t > 0, select(read < old, read, -(1 << 31)), read))
    out = te.compute("out", (*shape[:-1], 4), "int32", lambda *i: te.read(state.tensor, i[-1], *i[:-1]))
    schedule = schedules.generic((out,), eager("x86-64-v4") if shared else target("x86-64-v4", threads=1))
    func = tir.lower(schedule, (x,), (out,), "kernel")
    (loop,) = [each for each in statements(func.body) if isinstance(each, tir.For)][:1]
    assert loop.kind is (ForKind.PARALLEL if shared else ForKind.SERIAL)
    assert isinstance(loop.body, tir.For)
    assert loop.body.var.name == "step"
    check_lowered(Program((x,), (out,)), schedule)


def kept(outputs: tuple[Tensor, ...], x: Tensor) -> int:
    """How many elements the temporaries of a lowered program have."""
    func = tir.lower(schedules.generic(outputs, target("x86-64-v3")), (x,), outputs, "kernel")
    final = tir.run_phases(func)
    sizes = [s.buffer.shape[0] for s in statements(final.body) if isinstance(s, tir.Allocate)]
    return sum(size for size in sizes if isinstance(size, int))


def test_few_rows_are_kept() -> None:
    near, alone, old = life(4000, 64), running(4000, 64, 1), running(4000, 64, 9)
    for r, rows in ((near, 2), (alone, 2), (old, 10)):
        last = te.compute("last", (64,), "int32", lambda i, r=r: r.row(0, 3999, [i]))
        twice = te.compute("twice", (4000, 64), "int32", lambda t, i, r=r: r.row(0, t, [i]) * 2)
        turned = te.compute("turned", (4000, 64), "int32", lambda t, i, r=r: r.row(0, 3999 - t, [i]))
        diagonal = te.compute("diagonal", (64,), "int32", lambda i, r=r: r.row(0, i, [i]))
        for outputs in ((last,), (twice,), (turned,), (last, twice, turned)):
            assert kept(outputs, r.x) <= rows * 64, (outputs, rows)
        assert kept((diagonal,), r.x) == (rows * 64 if r is near else 4000 * 64)
    first = te.compute("first", (64,), "int32", lambda i: near.row(0, 0, [i]))
    assert kept((near.states[0], first), near.x) == 0
    k = te.reduce_axis(4000, "k")
    total = te.compute("total", (64,), "int32", lambda i: te.reduce("sum", k, near.row(0, k.var, [i])))
    assert kept((total,), near.x) >= 4000 * 64  # every row is needed after the scan


def test_lowered() -> None:
    r = life(9, 4)
    out = te.compute("out", (9, 4), "int32", lambda t, i: r.row(0, 8 - t, [i]))
    schedule = create_schedule((out,))
    schedule.use_rolling_buffers(r.states[0])
    assert tir.to_text(tir.lower(schedule, (r.x,), (out,), "kernel")) == ROW_BY_ROW
    assert str(schedule).splitlines()[:3] == [
        "x: int32[9, 4], input",
        "s: int32[9, 4], scan over t upwards, 2 rows of s kept, root, global",
        "out: int32[9, 4], in the steps of s, output",
    ]


def test_lowered_alone() -> None:
    r = running(9, 4, 1)
    out = te.compute("out", (4,), "int32", lambda i: r.row(0, 8, [i]))
    schedule = create_schedule((out,))
    schedule.use_rolling_buffers(r.states[0])
    assert tir.to_text(tir.lower(schedule, (r.x,), (out,), "kernel")) == dedent("""\
        kernel(x: int32[9, 4]) -> (out: int32[4]):
            parallel for i in range(4):
                allocate s: int32[2] local
                s[0] = int32(0)
                for step in range(9):
                    s[1] = s[0]
                    s[0] = x[step, i] + (s[1] if step >= 1 else int32(0))
                out[i] = s[0]
        """)


def test_roll_refuses() -> None:
    x = te.placeholder("x", (3,), "int32")
    out = te.compute("out", (3,), "int32", lambda i: te.read(x, i))
    with pytest.raises(ScheduleError, match="use_rolling_buffers of out: it is no state of a scan"):
        create_schedule((out,)).use_rolling_buffers(out)
