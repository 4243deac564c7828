"""Lowering of every kind of operation: values against `te.evaluate`, and small kernels as whole text."""

from __future__ import annotations

import pytest

from opgen_runtime.base.arith import Expr, Table, Var, call, cast, const, eq, maximum, minimum, select
from opgen_runtime.base.errors import LoweringError
from opgen_runtime.base.vocabulary import FLOAT32, INDEX
from opgen_runtime.compute import te
from opgen_runtime.compute.te import (
    Guard,
    IterVar,
    Loop,
    Put,
    Scan,
    State,
    Tensor,
    Update,
    read,
    reduce,
    reduce_axis,
)
from opgen_runtime.lower import tir
from opgen_runtime.lower.schedule import create_schedule
from tests.lower.tir.programs import Program, centred, chain, check_lowered

X = te.placeholder("x", (6, 7), "float32")
LENGTHS = te.placeholder("lengths", (6,), "int64")
PLACES = te.placeholder("places", (9,), "int32")


def check(*outputs: Tensor, inputs: tuple[Tensor, ...] = (X,)) -> None:
    program = Program(inputs, te.normalize(outputs))
    check_lowered(program, create_schedule(program.outputs))


def text_of(program: Program) -> str:
    return tir.to_text(tir.lower(create_schedule(program.outputs), program.inputs, program.outputs, "kernel"))


def test_elementwise_and_reduction_text() -> None:
    assert text_of(chain(2, 3)) == (
        "kernel(a: float32[2, 3], b: float32[3]) -> (q: float32[2, 3], s: float32[2]):\n"
        "    allocate p: float32[2, 3] global\n"
        "    for i0 in range(2):\n"
        "        for i1 in range(3):\n"
        "            p[i0, i1] = a[i0, i1] * b[i1]\n"
        "    for i0 in range(2):\n"
        "        for i1 in range(3):\n"
        "            q[i0, i1] = abs(p[i0, i1] + 1.0)\n"
        "    for i0 in range(2):\n"
        "        allocate sum1: float32[1] local\n"
        "        sum1[0] = 0.0\n"
        "        for k in range(3):\n"
        "            sum1[0] = sum1[0] + q[i0, k]\n"
        "        s[i0] = sum1[0]\n"
    )


def test_compute_at_text() -> None:
    program = centred(2, 3)
    schedule = create_schedule(program.outputs)
    out, top = schedule[program.outputs[0]], schedule.stages[1]
    top.compute_at(out, out.axes[0])
    assert tir.to_text(tir.lower(schedule, program.inputs, program.outputs, "kernel")) == (
        "kernel(x: float32[2, 3]) -> (out: float32[2, 3]):\n"
        "    for i0 in range(2):\n"
        "        allocate top: float32[1] local\n"
        "        allocate max1: float32[1] local:\n"
        "            max1[0] = -inf\n"
        "            for k in range(3):\n"
        "                max1[0] = max(max1[0], x[i0, k])\n"
        "            top[0] = max1[0]\n"
        "        for i1 in range(3):\n"
        "            out[i0, i1] = (x[i0, i1] - top[0]) / 2.0\n"
    )


def test_overlapping_splits_have_whole_parts() -> None:
    out = te.compute("out", (7, 6), "float32", lambda i, j: read(X, minimum(i, 5), j) + 1.0)
    program = Program((X,), (out,))
    schedule = create_schedule(program.outputs)
    stage = schedule[out]
    i, j = stage.axes
    outer, _ = stage.split(i, 2, overlapping=True)
    stage.split(outer, 3, overlapping=True)
    stage.split(j, 3, overlapping=True)
    assert tir.to_text(tir.lower(schedule, program.inputs, program.outputs, "kernel")) == (
        "kernel(x: float32[6, 7]) -> (out: float32[7, 6]):\n"
        "    for i0_o_o in range(2):\n"
        "        for i0_o_i in range(3):\n"
        "            for i0_i in range(2):\n"
        "                for i1_o in range(2):\n"
        "                    for i1_i in range(3):\n"
        "                        out[min((min(i0_o_o * 3, 1) + i0_o_i) * 2, 5) + i0_i, i1_o * 3 + i1_i] ="
        " x[min(min((min(i0_o_o * 3, 1) + i0_o_i) * 2, 5) + i0_i, 5), i1_o * 3 + i1_i] + 1.0\n"
    )
    check_lowered(program, schedule, every_phase=True)


def test_outputs_that_are_inputs_or_given_twice() -> None:
    y = te.compute("y", (6, 7), "float32", lambda i, j: read(X, i, j) + 1.0)
    check(X, y, y)


def test_rank_0_and_empty() -> None:
    empty = te.placeholder("empty", (0, 7), "float32")
    k = reduce_axis(0, "k")
    check(te.compute("z", (), "float32", lambda: read(X, 2, 3) * 2.0))
    check(te.compute("z", (0, 7), "float32", lambda i, j: read(empty, i, j)), inputs=(empty,))
    for combiner in ("sum", "prod", "min", "max"):
        z = te.compute("z", (7,), "float32", lambda j, c=combiner: reduce(c, k, read(empty, k.var, j)))
        check(z, inputs=(empty,))
    check(
        te.compute("z", (7,), "int64", lambda j: reduce("argmax", k, read(empty, k.var, j))), inputs=(empty,)
    )


@pytest.mark.parametrize("combiner", ["sum", "max", "argmax", "argmin"])
def test_reductions_over_ragged_rows(combiner: str) -> None:
    def body(i: Expr) -> Expr:
        extent = minimum(maximum(cast(read(LENGTHS, i), INDEX), 0), 7)
        r = IterVar(Var(INDEX, "r"), extent, "reduce")
        return reduce(combiner, r, read(X, i, r.var))

    dtype = "int64" if combiner.startswith("arg") else "float32"
    check(te.compute("z", (6,), dtype, body), inputs=(X, LENGTHS))


@pytest.mark.parametrize("combiner", ["sum", "prod", "min", "max", "argmax", "argmin"])
def test_conditional_reductions(combiner: str) -> None:
    dtype = "int64" if combiner.startswith("arg") else "float32"
    k, r = reduce_axis(7, "k"), reduce_axis(6, "r")
    rows = te.compute(
        "rows", (6,), dtype, lambda i: reduce(combiner, k, read(X, i, k.var), read(X, i, k.var) > 0.0)
    )
    columns = te.compute(
        "columns", (7,), dtype, lambda j: reduce(combiner, r, read(X, r.var, j), read(X, r.var, j) > 0.0)
    )
    check(rows, columns)


def test_first_any_and_all() -> None:
    k = reduce_axis(7, "k")
    default = const(-9.0, "float32")
    check(
        te.compute(
            "f",
            (6,),
            "float32",
            lambda i: reduce("first", k, read(X, i, k.var), read(X, i, k.var) > 1.0, default),
        ),
        te.compute("a", (6,), "bool", lambda i: reduce("any", k, read(X, i, k.var) > 3.0)),
        te.compute("b", (6,), "bool", lambda i: reduce("all", k, read(X, i, k.var) < 4.0)),
    )


def test_position_over_two_axes() -> None:
    r, k = reduce_axis(6, "r"), reduce_axis(7, "k")
    check(te.compute("z", (), "int64", lambda: reduce("argmin", (r, k), read(X, r.var, k.var))))


def test_a_reduction_under_a_choice_stays_inline() -> None:
    k = reduce_axis(7, "k")

    def body(i: Expr, j: Expr) -> Expr:
        return select(i < j, reduce("sum", k, read(X, i, k.var) * read(X, i, j)), read(X, i, j))

    check(te.compute("z", (6, 7), "float32", body))


def test_gather_and_table() -> None:
    def body(i: Expr, j: Expr) -> Expr:
        place = read(PLACES, i)
        return select(place >= 0, read(X, maximum(minimum(place, 5), 0), j), 0.0)

    check(te.compute("z", (9, 7), "float32", body), inputs=(X, PLACES))
    weights = tuple(float(n) for n in range(6))
    check(te.compute("z", (6, 7), "float32", lambda i, j: read(X, i, j) * Table(FLOAT32, weights, i)))


def test_half_sums_are_kept_in_single_precision() -> None:
    half = te.placeholder("half", (3, 40), "float16")
    k = reduce_axis(40, "k")
    z = te.compute("z", (3,), "float16", lambda i: reduce("sum", k, read(half, i, k.var)))
    program = Program((half,), (z,))
    check_lowered(program, create_schedule(program.outputs))
    assert "sum1: float32[1]" in text_of(program)


def running_sum(axis: int, direction: int, diagonal: bool) -> Tensor:
    """x summed along an axis; with `diagonal`, each row adds its neighbour of the row before."""
    axes = te.data_axes((6, 7))
    state = State(axes, axis)
    tensor = Tensor("sums", (6, 7), FLOAT32, Scan((state,), (6, 7)[axis], direction))
    state.tensor = tensor
    i, j = axes[0].var, axes[1].var
    before: list[Expr] = [i, j]
    before[axis] = before[axis] - direction
    if diagonal:
        other = 1 - axis
        before[other] = minimum(before[other] + 1, (6, 7)[other] - 1)
    start = eq(axes[axis].var, 0 if direction > 0 else (6, 7)[axis] - 1)
    state.body = select(start, read(X, i, j), read(tensor, *before) + read(X, i, j))
    return tensor


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("diagonal", [False, True])
def test_scan(axis: int, direction: int, diagonal: bool) -> None:
    sums = running_sum(axis, direction, diagonal)
    doubled = te.compute("doubled", (6, 7), "float32", lambda i, j: read(sums, i, j) * 2.0)
    check(sums)
    check(doubled)


@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 40), 0), ((2, 600), 0), ((4, 3, 32), 1), ((9, 5), 1), ((2, 6, 5), 2)]
)
def test_scan_in_rows_and_columns(shape: tuple[int, ...], axis: int) -> None:
    x = te.placeholder("x", shape, "float32")
    axes = te.data_axes(shape)
    state = State(axes, axis)
    sums = state.tensor = Tensor("sums", shape, FLOAT32, Scan((state,), shape[axis], 1))
    here: list[Expr] = [a.var for a in axes]
    before = [*here[:axis], here[axis] - 1, *here[axis + 1 :]]
    state.body = select(eq(here[axis], 0), read(x, *here), read(sums, *before) + read(x, *here))
    check(sums, inputs=(x,))


@pytest.mark.parametrize("first", [1, -1])
@pytest.mark.parametrize("shift", [0, 1])
def test_a_stage_that_reads_two_scans_follows_one_of_them(first: int, shift: int) -> None:
    """Rolled in any order, each scan is there whole or in time."""
    up, down = running_sum(1, first, False), running_sum(1, -first, False)
    product = te.compute("product", (6, 6), "float32", lambda i, j: read(up, i, j + shift) * read(down, i, j))
    for order in (("sums", "sums1"), ("sums1", "sums")):
        schedule = create_schedule([product])
        scans = {f"sums{k or ''}": s.tensor for k, s in enumerate([s for s in schedule.stages if s.rows])}
        for name in order:
            schedule.use_rolling_buffers(scans[name])
        check_lowered(Program((X,), (product,)), schedule)


@pytest.mark.parametrize("op", ["=", "add", "mul", "min", "max"])
def test_update(op: str) -> None:
    base = te.compute("base", (6, 7), "float32", lambda i, j: read(X, i, j) + 1.0)
    u = IterVar(Var(INDEX, "u"), 9)
    place = read(PLACES, u.var)
    put = Put((place, const(2, INDEX)), op, cast(u.var, "float32"))
    guarded = Guard(place >= 0, (Guard(place < 6, (put,)),))
    update = Update(base, (Loop(u, (guarded,)),), (PLACES,))
    scattered = Tensor("scattered", (6, 7), FLOAT32, update)
    check(scattered, inputs=(X, PLACES))
    check(scattered, base, inputs=(X, PLACES))


def test_many_stages_inlined_into_one_stay_linear() -> None:
    """Each stage reads the one before twice: 2^200 paths, 400 nodes."""
    last = te.placeholder("x", (4,), "float32")
    x = last
    for number in range(200):
        last = te.compute(f"t{number}", (4,), "float32", lambda i, t=last: (read(t, i) + read(t, i)) * 0.5)
    schedule = create_schedule((last,))
    for stage in schedule.stages[1:-1]:
        stage.compute_inline()
    func = tir.run_phases(tir.lower(schedule, (x,), (last,), "kernel"))
    assert isinstance(func.body, tir.For)


def test_missing_input_is_named() -> None:
    program = chain(2, 3)
    with pytest.raises(LoweringError, match="placeholder b is read but is not among the inputs"):
        tir.lower(create_schedule(program.outputs), program.inputs[:1], program.outputs, "kernel")


def test_a_loop_that_is_gone_is_named() -> None:
    program = centred(4, 8)
    schedule = create_schedule(program.outputs)
    out, top = schedule[program.outputs[0]], schedule.stages[1]
    top.compute_at(out, out.axes[0])
    out.split(out.axes[0], 2)
    with pytest.raises(
        LoweringError,
        match=r"stage top is attached to i0 of stage out, which is no longer a loop; its loops are i0_o, i0_i, i1",
    ):
        tir.lower(schedule, program.inputs, program.outputs, "kernel")


def test_a_read_from_outside_the_loop_is_named() -> None:
    x = te.placeholder("x", (4,), "float32")
    p = te.compute("p", (4,), "float32", lambda i: call("exp", read(x, i)))
    a = te.compute("a", (4,), "float32", lambda i: read(p, i))
    b = te.compute("b", (4,), "float32", lambda i: read(p, i))
    schedule = create_schedule((a, b))
    schedule[p].compute_at(schedule[a], schedule[a].axes[0])
    with pytest.raises(
        LoweringError, match="stage p is attached to i0 of stage a, but stage b reads it outside that loop"
    ):
        tir.lower(schedule, (x,), (a, b), "kernel")


@pytest.mark.parametrize("parts", [(2, 11), (3, 5), (4, 1)])
@pytest.mark.parametrize("tile", [2, 4, 6])
def test_a_ragged_tile_of_a_part_needs_that_tile_alone(parts: tuple[int, int], tile: int) -> None:
    """b = a[q, r], c[o] = b[o // n, o % n], in tiles of each part that do not divide it: no element twice."""
    count, size = parts
    a = te.placeholder("a", parts, "float32")
    b = te.compute("b", parts, "float32", lambda q, r: call("exp", te.read(a, q, r)))
    c = te.compute("c", (count * size,), "float32", lambda o: te.read(b, o // size, o % size) + 1.0)
    program = Program((a,), te.normalize([c]))
    schedule = create_schedule(program.outputs)
    *_, b, c = (stage.tensor for stage in schedule.stages)
    part, place = schedule[c].split(schedule[c].axes[0], size)
    tiles, _ = schedule[c].split(place, tile)
    around = schedule[c].fuse(part, tiles)
    schedule[b].compute_at(schedule[c], around)
    domain = tir.infer_bound(schedule)[schedule[b]]
    assert domain.shape == [1, min(tile, size)]
    check_lowered(program, schedule)
