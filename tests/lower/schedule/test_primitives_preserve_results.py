"""Law: whatever is scheduled, the results are those of the tensor expressions."""

from __future__ import annotations

import opgen_runtime.te as dsl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime.base.arith import (
    Binary,
    Expr,
    const,
    eq,
    floordiv,
    floormod,
    free_vars,
    ge,
    logical_and,
    lt,
    post_order,
    select,
)
from opgen_runtime.base.errors import ScheduleError
from opgen_runtime.base.vocabulary import BOOL
from opgen_runtime.compute import te
from opgen_runtime.compute.te import Reduce
from opgen_runtime.lower.library import schedules
from opgen_runtime.lower.schedule import (
    create_schedule,
    reads_of,
    residue_conditions,
    simplified,
    why_not_separable,
)
from tests.lower.library.test_library_preserves_results import eager
from tests.lower.tir.programs import Program, check_lowered, programs, scramble


@settings(max_examples=150)
@given(st.data(), programs())
def test_random_loops(data: st.DataObject, program: Program) -> None:
    schedule = create_schedule(program.outputs)
    for stage in schedule.stages:
        if stage.body is None:
            continue
        if not stage.is_output and not isinstance(stage.body, Reduce) and data.draw(st.booleans()):
            stage.compute_inline()
        elif stage.leaves:
            scramble(data.draw, stage)
    check_lowered(program, schedule, every_phase=True)


@settings(max_examples=100)
@given(st.data(), programs())
def test_random_attachment(data: st.DataObject, program: Program) -> None:
    schedule = create_schedule(program.outputs)
    leader = schedule[program.outputs[0]]
    scramble(data.draw, leader)
    for stage in schedule.stages:
        if stage.is_output or stage.is_placeholder or stage.body is None:
            continue
        readers = [s for s in schedule.stages if s.body is not None and stage.tensor in s.op.inputs()]
        if readers == [leader] and data.draw(st.booleans()):
            stage.compute_at(leader, data.draw(st.sampled_from(leader.leaves)))
            scramble(data.draw, stage)
            if data.draw(st.booleans()):
                stage.double_buffer()
    source = data.draw(st.sampled_from(reads_of(leader)))
    leader.prefetch(source, data.draw(st.sampled_from(leader.leaves)), 2)
    check_lowered(program, schedule, every_phase=True)


def test_a_reduction_computed_in_a_tail_begins_in_the_lanes_that_it_has() -> None:
    x = te.placeholder("x", (9,), "float32")
    k, j = te.reduce_axis(3, "k"), te.reduce_axis(2, "j")
    least = te.compute(
        "least", (6,), "float32", lambda i: te.reduce("min", k, te.read(x, i + k.var), lt(i, 5))
    )
    out = te.compute("out", (5,), "float32", lambda i: te.reduce("sum", j, te.read(least, i + j.var)))
    schedule = create_schedule((out,))
    _, inner = schedule[out].split(schedule[out].axes[0], 4)
    schedule[out].vectorize(inner)
    schedule[least].compute_at(schedule[out], schedule[out].reduce_axes[0])
    check_lowered(Program((x,), (out,)), schedule, every_phase=True)


@settings(max_examples=60)
@given(st.data(), programs())
def test_caches_and_partial_reductions(data: st.DataObject, program: Program) -> None:
    schedule = create_schedule(program.outputs)
    for stage in list(schedule.stages):
        if stage.body is None:
            continue
        if stage.reduce_axes and stage.tensor.dtype != "int64" and data.draw(st.booleans()):
            outer, inner = stage.split(stage.reduce_axes[0], data.draw(st.integers(1, 4)))
            schedule.rfactor(stage.tensor, data.draw(st.sampled_from([outer, inner])))
        elif data.draw(st.booleans()):
            schedule.cache_write(stage.tensor, data.draw(st.sampled_from(["local", "global"])))
        source = data.draw(st.sampled_from(reads_of(stage)))
        if data.draw(st.booleans()):
            schedule.cache_read(source, "local", [stage.tensor])
    check_lowered(program, schedule)


@st.composite
def congruent(draw: st.DrawFn) -> Program:
    """Sums of products of the elements of which a sum of axes is a multiple of a number, and more is asked.

    Some ask an element of a tensor, which is there for some steps only.
    """
    n, k, m = draw(st.integers(1, 9)), draw(st.integers(1, 6)), draw(st.integers(1, 4))
    a, b = te.placeholder("a", (n + k, m), "float32"), te.placeholder("b", (k, m), "float32")
    wanted = te.placeholder("wanted", (n,), "float32")
    steps, across = te.reduce_axis(k, "k"), te.reduce_axis(m, "j")
    asks = draw(st.booleans())
    modulus, up, down, off = (draw(st.integers(low, 6)) for low in (2, 0, -4, -9))

    def value(i: Expr) -> Expr:
        term = te.read(a, i + steps.var, across.var) * te.read(b, steps.var, across.var)
        condition = eq(floormod(i * up + steps.var * down + off, modulus), 0)
        if draw(st.booleans()):
            condition = logical_and(condition, across.var < i)
        if asks:
            at = i + steps.var - 1
            condition = logical_and(logical_and(ge(at, 0), lt(at, n)), condition)
            condition = select(condition, lt(te.read(wanted, at), 0.5), const(False, BOOL))
        return te.reduce("sum", (steps, across), term, condition)

    return Program((a, b, wanted) if asks else (a, b), (te.compute("c", (n,), "float32", value),))


@settings(max_examples=120)
@given(st.data(), st.one_of(programs(), congruent()))
def test_repacked_stages(data: st.DataObject, program: Program) -> None:
    """Axes divided, rounded up, flattened and permuted; congruences solved; conditions pushed into factors; packing."""
    schedule = create_schedule(program.outputs)
    for stage in list(schedule.stages):
        if stage.body is None:
            continue
        if (
            isinstance(stage.body, Reduce)
            and any(residue_conditions(stage.body))
            and data.draw(st.booleans())
        ):
            schedule.solve(stage.tensor)
        if isinstance(stage.body, Reduce) and data.draw(st.booleans()):
            schedule.simplify(stage.tensor)
        made = stage
        if data.draw(st.booleans()):
            factors = {axis: data.draw(st.integers(1, 4)) for axis in stage.axes if data.draw(st.booleans())}
            made = schedule[schedule.divide(stage.tensor, factors, data.draw(st.booleans()))]
        if data.draw(st.booleans()):
            multiples = {axis: data.draw(st.integers(1, 4)) for axis in made.axes if data.draw(st.booleans())}
            made = schedule[schedule.round_up(made.tensor, multiples)]
        if data.draw(st.booleans()):
            count = data.draw(st.integers(1, len(made.axes)))
            made = schedule[schedule.flatten(made.tensor, count, data.draw(st.sampled_from([1, 4])))]
        if data.draw(st.booleans()):
            made = schedule[schedule.permute(made.tensor, data.draw(st.permutations(made.axes)))]
        body = made.body
        if isinstance(body, Reduce) and body.combiner == "sum":
            if body.condition is not None and isinstance(body.value, Binary) and body.value.op == "mul":
                axes = made.axes[data.draw(st.integers(0, len(made.axes))) :]
                schedule.push_conditions(made.tensor, data.draw(st.sampled_from([None, axes])))
            body = made.body
            assert isinstance(body, Reduce)
            factor = body.value.a if isinstance(body.value, Binary) else body.value
            moving = set(free_vars(factor))
            axes = [axis for axis in (*made.axes, *made.reduce_axes) if axis.var in moving]
            if axes:
                packing = schedule[schedule.pack(made.tensor, factor, data.draw(st.permutations(axes)))]
                scramble(data.draw, packing)
        scramble(data.draw, made)
    check_lowered(program, schedule)


@settings(max_examples=25)
@given(
    st.data(), st.integers(1, 5), st.integers(1, 4), st.integers(1, 3), st.integers(-2, 2), st.integers(0, 2)
)
def test_windows_are_covered(
    data: st.DataObject, n: int, window: int, stride: int, dilation: int, padding: int
) -> None:
    """Windows of a padded line, of any step and direction: covered where a loop moves by one, else refused."""
    size = data.draw(st.integers(1, 8))
    a, b = te.placeholder("a", (size, 2), "float32"), te.placeholder("b", (window, n), "float32")
    k, j = te.reduce_axis(window, "k"), te.reduce_axis(2, "j")

    def value(i: Expr) -> Expr:
        at = i * stride + k.var * dilation - padding
        inside = logical_and(at >= 0, at < size)
        return te.reduce("sum", (k, j), select(inside, te.read(a, at, j.var), 0.0) * te.read(b, k.var, i))

    program = Program((a, b), (te.compute("c", (n,), "float32", value),))
    schedule = create_schedule(program.outputs)
    (stage,) = [stage for stage in schedule.stages if stage.body is not None]
    assert isinstance(stage.body, Reduce)
    assert isinstance(stage.body.value, Binary)
    operand = stage.body.value.a
    known = simplified(stage.axes, stage.body).value
    reads = any(isinstance(node, te.Read) and node.tensor is a for node in post_order(known))
    if not reads or (n > 1 < window and dilation and 1 not in (stride, abs(dilation))):
        with pytest.raises(ScheduleError, match=r"one read|by one"):
            schedule.stage_operand(stage.tensor, operand)
    else:
        covering = schedule[schedule.stage_operand(stage.tensor, operand)]
        assert covering.tensor.shape[-1] == 2
        scramble(data.draw, covering)
    scramble(data.draw, stage)
    check_lowered(program, schedule)


@settings(max_examples=60)
@given(st.data(), st.tuples(*[st.integers(1, 6)] * 3))
def test_partial_reductions_of_fused_axes(data: st.DataObject, extents: tuple[int, int, int]) -> None:
    n, m, depth = extents
    x = dsl.placeholder((n, m, depth), name="x")
    j, k = dsl.reduce_axis((0, m), name="j"), dsl.reduce_axis((0, depth), name="k")
    inside = (j + k) % 3 < 2 if data.draw(st.booleans()) else None
    out = dsl.compute((n,), lambda i: dsl.sum(x[i, j, k], axis=[j, k], where=inside), name="out")
    schedule = create_schedule((out,))
    stage = schedule[out]
    if data.draw(st.booleans()):
        _, inner = stage.split(stage.reduce_axes[0], data.draw(st.integers(1, 4)))
        stage.fuse(inner, stage.reduce_axes[1])
    else:
        stage.split(stage.fuse(*stage.reduce_axes), data.draw(st.integers(1, 7)))
    partial = schedule.rfactor(out, data.draw(st.sampled_from(stage.leaves[1:])))
    scramble(data.draw, schedule[partial])
    check_lowered(Program((x,), (out,)), schedule, every_phase=True)


@settings(max_examples=60)
@given(st.data(), st.integers(2, 5), st.integers(1, 7))
def test_loops_of_a_scan(data: st.DataObject, steps: int, width: int) -> None:
    x = dsl.placeholder((steps, width), name="x")
    h = dsl.placeholder((steps, width), name="h")
    start = dsl.compute((1, width), lambda t, i: x[0, i], name="start")
    k = dsl.reduce_axis((0, width), name="k")
    mixed = dsl.compute((steps, width), lambda t, i: dsl.sum(h[t - 1, k], axis=k), name="mixed")
    alone = data.draw(st.booleans())  # each position by itself
    rule = dsl.compute(
        (steps, width), lambda t, i: (h[t - 1, i] if alone else mixed[t, i]) * 0.5 + x[t, i], name="rule"
    )
    states = dsl.scan(start, rule, h, inputs=[x], name="states")
    schedule = create_schedule((states,))
    scramble(data.draw, schedule[rule])
    if not alone:
        scramble(data.draw, schedule[mixed])
    if data.draw(st.booleans()):
        schedule.use_rolling_buffers(states)
    check_lowered(Program((x,), (states,)), schedule, every_phase=True)


@st.composite
def windows(draw: st.DrawFn) -> Program:
    """Sums and extremes over windows of two axes, with the elements beyond the edges left out."""
    n, m, r, s = (draw(st.integers(1, 8)) for _ in range(4))
    up, across, off = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    x = te.placeholder("x", (n, m), "float32")
    k, j = te.reduce_axis(r, "k"), te.reduce_axis(s, "j")
    combiner = draw(st.sampled_from(["sum", "max", "min"]))

    def value(y: Expr, z: Expr) -> Expr:
        row, column = y * up + k.var - off, z * across + j.var - off
        inside = logical_and(logical_and(ge(row, 0), lt(row, n)), logical_and(ge(column, 0), lt(column, m)))
        return te.reduce(combiner, (k, j), te.read(x, row, column), inside)

    return Program(
        (x,), (te.compute("c", (draw(st.integers(1, 6)), draw(st.integers(1, 6))), "float32", value),)
    )


@settings(max_examples=60)
@given(st.data(), windows())
def test_separated_windows(data: st.DataObject, program: Program) -> None:
    schedule = create_schedule(program.outputs)
    (out,) = program.outputs
    stage = schedule[out]
    data_axis, window = data.draw(st.sampled_from([(0, 0), (1, 1)]))
    assert why_not_separable(stage, stage.axes[data_axis], stage.reduce_axes[1 - window]) is not None or (
        stage.axes[data_axis].extent == 1 or stage.reduce_axes[1 - window].extent == 1
    )
    if why_not_separable(stage, stage.axes[data_axis], stage.reduce_axes[window]) is None:
        lines = schedule[schedule.separate_reduction(out, stage.axes[data_axis], stage.reduce_axes[window])]
        scramble(data.draw, stage)
        if data.draw(st.booleans()):
            lines.compute_at(stage, data.draw(st.sampled_from(stage.leaves)))
        scramble(data.draw, lines)
    check_lowered(program, schedule)
    check_lowered(program, schedules.generic(program.outputs, eager("x86-64-v3")))


@st.composite
def scatterable(draw: st.DrawFn) -> Program:
    """Transposed convolutions, written as sums over what each result is made of; some weights are infinite."""
    channels, r, s = 2, draw(st.integers(2, 3)), draw(st.integers(2, 3))
    filters, n, up, across = (draw(st.integers(1, 2)) for _ in range(4))
    m = draw(st.integers(1, 2)) if n > 1 else 2  # nothing slides over one position
    x = te.placeholder("x", (channels, n, m), "float32")
    w = te.placeholder("w", (channels, filters, r, s), "float32")
    c, k, j = te.reduce_axis(channels, "c"), te.reduce_axis(r, "k"), te.reduce_axis(s, "j")
    scale = const(draw(st.sampled_from([1.0, float("inf")])), "float32")
    weights = te.compute(
        "weights",
        w.shape,
        "float32",
        lambda *at: select(eq(at[3], 1), te.read(w, *at) * scale, te.read(w, *at)),
    )

    def value(o: Expr, y: Expr, z: Expr) -> Expr:
        row, column = y - k.var, z - j.var
        up_there, left_of = floordiv(row, up), floordiv(column, across)
        inside = logical_and(
            logical_and(ge(row, 0), lt(up_there, n)), logical_and(ge(column, 0), lt(left_of, m))
        )
        products = select(inside, te.read(x, c.var, up_there, left_of), const(0, x.dtype))
        counts = logical_and(eq(floormod(row, up), 0), eq(floormod(column, across), 0))
        return te.reduce("sum", (c, k, j), products * te.read(weights, c.var, o, k.var, j.var), counts)

    shape = (filters, (n - 1) * up + r + draw(st.integers(0, 1)), (m - 1) * across + s)
    return Program((x, w), (te.compute("out", shape, "float32", value),))


@settings(max_examples=12)
@given(st.data(), scatterable())
def test_scattered_products(data: st.DataObject, program: Program) -> None:
    schedule = create_schedule(program.outputs)
    (out,) = program.outputs
    products = schedule[schedule.gemm_col2im(out)]
    scramble(data.draw, products)
    while isinstance(schedule[out].body, Reduce) and any(residue_conditions(schedule[out].body)):
        schedule.solve(out)
    scramble(data.draw, schedule[out])
    check_lowered(program, schedule)
    check_lowered(program, schedules.generic(program.outputs, eager("x86-64-v3")))


def test_sums_without_windows_are_not_scattered() -> None:
    """Nothing slides; nothing is around what is read; another condition than that of the windows is asked."""
    x, w = dsl.placeholder((4, 9), name="x"), dsl.placeholder((4, 3), name="w")
    c, k = dsl.reduce_axis((0, 4), name="c"), dsl.reduce_axis((0, 3), name="k")

    def refused(value: Expr, what: str) -> None:
        made = dsl.compute((7,), lambda i: dsl.sum(value(i), axis=(c, k)), name="out")
        with pytest.raises(ScheduleError, match=f"gemm_col2im on stage out: {what}"):
            create_schedule((made,)).gemm_col2im(made)

    refused(lambda i: x[c, i] * w[c, k], "it has no windows")
    refused(lambda i: x[c, i + k] * w[c, k], "it has no windows")
    refused(lambda i: dsl.if_then_else(c < i, x[c, i + k], 0.0) * w[c, k], "it has no windows")
    refused(lambda i: x[c, i + k], "its elements are no products")
