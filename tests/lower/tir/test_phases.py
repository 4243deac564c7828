"""Every phase on the smallest kernel that it changes, and one that it must leave alone."""

from __future__ import annotations

import pytest

from opgen_runtime.base.arith import Expr, Var, const, lt, maximum, minimum, select
from opgen_runtime.base.errors import ScheduleError
from opgen_runtime.base.vocabulary import FLOAT32, INDEX
from opgen_runtime.compute import te
from opgen_runtime.compute.te import Tensor, read, reduce, reduce_axis
from opgen_runtime.lower import tir
from opgen_runtime.lower.schedule import Schedule, create_schedule
from opgen_runtime.lower.tir.nodes.stmt import Buffer, For, ForKind, If, Load, PrimFunc, Store
from opgen_runtime.lower.tir.phases.loop_partition import loop_partition

X = te.placeholder("x", (60,), "float32")
M = te.placeholder("m", (4, 6), "float32")
Y = te.compute("y", (60,), "float32", lambda i: read(X, i) + 1.0)
F = te.compute("f", (4, 6), "float32", lambda i, j: read(M, i, j) * 2.0)
T = te.compute("t", (4, 6), "float32", lambda i, j: read(F, i, j) + 1.0)


def after(phase: str, schedule: Schedule, *inputs: Tensor) -> str:
    """The kernel's body after a phase."""
    found: dict[str, str] = {}
    func = tir.lower(schedule, inputs, schedule.outputs, "kernel")
    tir.run_phases(func, lambda name, f: found.__setitem__(name, tir.to_text(f)))
    return found[phase].partition("\n")[2]


def tailed() -> Schedule:
    """A vectorized loop with a tail."""
    schedule = create_schedule((Y,))
    _, inner = schedule[Y].split(schedule[Y].axes[0], 16)
    schedule[Y].vectorize(inner)
    return schedule


def test_storage_flatten() -> None:
    assert after("storage_flatten", create_schedule((F,)), M) == (
        "    for i0 in range(4):\n"
        "        for i1 in range(6):\n"
        "            f[i0 * 6 + i1] = m[i0 * 6 + i1] * 2.0\n"
    )


def test_canonical_simplify_makes_fused_loops_linear() -> None:
    schedule = create_schedule((F,))
    schedule[F].fuse(*schedule[F].axes)
    assert after("storage_flatten", schedule, M) == (
        "    for i0_i1 in range(24):\n"
        "        f[i0_i1 // 6 * 6 + i0_i1 % 6] = m[i0_i1 // 6 * 6 + i0_i1 % 6] * 2.0\n"
    )
    assert after("canonical_simplify", schedule, M) == (
        "    for i0_i1 in range(24):\n        f[i0_i1] = m[i0_i1] * 2.0\n"
    )


def test_loop_partition() -> None:
    assert after("canonical_simplify", tailed(), X) == (
        "    for i0_o in range(4):\n"
        "        vectorized for i0_i in range(16):\n"
        "            if i0_o * 16 + i0_i < 60:\n"
        "                y[i0_o * 16 + i0_i] = x[i0_o * 16 + i0_i] + 1.0\n"
    )
    assert after("loop_partition", tailed(), X) == (
        "    for i0_o in range(3):\n"
        "        vectorized for i0_i in range(16):\n"
        "            y[i0_o * 16 + i0_i] = x[i0_o * 16 + i0_i] + 1.0\n"
        "    vectorized for i0_i in range(16):\n"
        "        if i0_i + 48 < 60:\n"
        "            y[i0_i + 48] = x[i0_i + 48] + 1.0\n"
    )


def test_loop_partition_leaves_the_tail_of_a_shared_loop_to_the_threads() -> None:
    schedule = create_schedule((F,))
    outer, inner = schedule[F].split(schedule[F].axes[1], 4)
    schedule[F].vectorize(inner)
    schedule[F].reorder(outer, schedule[F].axes[0], inner)
    schedule[F].parallel(schedule[F].fuse(outer, schedule[F].axes[0]))
    assert after("loop_partition", schedule, M) == (
        "    parallel for i1_o_i0 in range(8):\n"
        "        if i1_o_i0 // 4 < 1:\n"
        "            vectorized for i1_i in range(4):\n"
        "                f[i1_i + i1_o_i0 // 4 * 4 + i1_o_i0 % 4 * 6] = "
        "m[i1_i + i1_o_i0 // 4 * 4 + i1_o_i0 % 4 * 6] * 2.0\n"
        "        else:\n"
        "            vectorized for i1_i in range(2):\n"
        "                f[i1_i + 4 + i1_o_i0 % 4 * 6] = m[i1_i + 4 + i1_o_i0 % 4 * 6] * 2.0\n"
    )


def test_loop_partition_sets_apart_the_ends_that_read_elsewhere() -> None:
    cells = te.placeholder("cells", (9,), "int8")
    around = te.compute(
        "around",
        (9,),
        "int8",
        lambda i: read(cells, select(i > 0, i - 1, 8)) + read(cells, select(i >= 8, i - 8, i + 1)),
    )
    assert after("canonical_simplify", create_schedule((around,)), cells) == (
        "    for i0 in range(9):\n"
        "        around[i0] = cells[i0 - 1 if i0 > 0 else 8] + cells[i0 - 8 if i0 >= 8 else i0 + 1]\n"
    )
    assert after("simplify", create_schedule((around,)), cells) == (
        "    around[0] = cells[8] + cells[1]\n"
        "    for i0 in range(7):\n"
        "        around[i0 + 1] = cells[i0] + cells[i0 + 2]\n"
        "    around[8] = cells[7] + cells[0]\n"
    )


def test_loop_partition_sets_apart_where_a_remainder_starts_again() -> None:
    cells = te.placeholder("cells", (9,), "int8")
    turned = te.compute("turned", (9,), "int8", lambda i: read(cells, (i + 2) % 9) + read(cells, (1 - i) % 9))
    assert after("simplify", create_schedule((turned,)), cells) == (
        "    for i0 in range(2):\n"
        "        turned[i0] = cells[i0 + 2] + cells[1 - i0]\n"
        "    for i0 in range(5):\n"
        "        turned[i0 + 2] = cells[i0 + 4] + cells[1 - (i0 + 2) + 9]\n"
        "    for i0 in range(2):\n"
        "        turned[i0 + 7] = cells[i0] + cells[1 - (i0 + 7) + 9]\n"
    )


def test_loop_partition_keeps_a_loop_whose_halves_differ() -> None:
    cells = te.placeholder("cells", (9,), "int8")
    thirds = te.compute(
        "thirds", (9,), "int8", lambda i: read(cells, select(i < 3, i + 6, select(i < 6, i, i - 6)))
    )
    text = after("canonical_simplify", create_schedule((thirds,)), cells)
    assert after("loop_partition", create_schedule((thirds,)), cells) == text


def test_loop_partition_keeps_a_loop_unrolled_that_stores_between_lanes() -> None:
    pairs = te.placeholder("pairs", (2, 6), "int8")
    flat = te.compute("flat", (11,), "int8", lambda i: read(pairs, i % 2, i // 2))
    schedule = create_schedule((flat,))
    quotient, remainder = schedule[flat].split(schedule[flat].axes[0], 2)
    vectors, lane = schedule[flat].split(quotient, 4)
    schedule[flat].reorder(vectors, remainder, lane)
    schedule[flat].unroll(remainder)
    schedule[flat].vectorize(lane)
    text = after("loop_partition", schedule, pairs)
    assert text.count("unrolled for i0_i in range(2)") == text.count("for i0_i in range(2)") == 2


def test_loop_partition_leaves_a_shared_loop_whose_guard_compares_floats() -> None:
    source, result = Buffer("source", (8,), FLOAT32), Buffer("result", (8,), FLOAT32)
    var = Var(INDEX, "i")
    found = Load(FLOAT32, source, (var,))
    guard = If(lt(const(float("-inf"), FLOAT32), found), Store(result, (var,), found))
    loop = For(var, const(0, INDEX), const(8, INDEX), ForKind.PARALLEL, guard)
    func = PrimFunc("kernel", (source,), (result,), loop)
    assert str(loop_partition(func)) == str(func)


def test_loop_partition_shrinks_a_tail_to_a_power_of_two() -> None:
    schedule = create_schedule((F,))
    _, inner = schedule[F].split(schedule[F].axes[1], 4)
    schedule[F].vectorize(inner)
    assert after("loop_partition", schedule, M) == (
        "    for i0 in range(4):\n"
        "        vectorized for i1_i in range(4):\n"
        "            f[i0 * 6 + i1_i] = m[i0 * 6 + i1_i] * 2.0\n"
        "        vectorized for i1_i in range(2):\n"
        "            f[i0 * 6 + 4 + i1_i] = m[i0 * 6 + 4 + i1_i] * 2.0\n"
    )


def test_loop_partition_leaves_conditions_of_the_program() -> None:
    z = te.compute("z", (4, 6), "float32", lambda i, j: select(j < 3, read(M, i, j), 0.0))
    schedule = create_schedule((z,))
    assert after("loop_partition", schedule, M) == after("canonical_simplify", schedule, M)


def test_vectorize_loop_and_masks() -> None:
    assert after("vectorize_loop", tailed(), X) == (
        "    for i0_o in range(3):\n"
        "        y[ramp(i0_o * 16, 1, 16)] = x[ramp(i0_o * 16, 1, 16)] + splat(1.0, 16)\n"
        "    lanes = ramp(48, 1, 16) < splat(60, 16)\n"
        "    y[ramp(48, 1, 16); lanes] = x[ramp(48, 1, 16)] + splat(1.0, 16)\n"
    )
    assert after("rewrite_unsafe_select", tailed(), X) == (
        "    for i0_o in range(3):\n"
        "        y[ramp(i0_o * 16, 1, 16)] = x[ramp(i0_o * 16, 1, 16)] + splat(1.0, 16)\n"
        "    lanes = ramp(48, 1, 16) < splat(60, 16)\n"
        "    y[ramp(48, 1, 16); lanes] = x[ramp(48, 1, 16); lanes] + splat(1.0, 16)\n"
    )


def test_vectorized_reduction_has_a_vector_of_accumulators() -> None:
    k = reduce_axis(6, "k")
    r = te.compute("r", (4,), "float32", lambda i: reduce("sum", k, read(M, i, k.var)))
    schedule = create_schedule((r,))
    _, inner = schedule[r].split(k, 4)
    schedule[r].vectorize(inner)
    assert after("remove_no_op", schedule, M) == (
        "    for i0 in range(4):\n"
        "        allocate sum1: float32[4] local\n"
        "        sum1[ramp(0, 1, 4)] = splat(0.0, 4)\n"
        "        sum1[ramp(0, 1, 4)] = sum1[ramp(0, 1, 4)] + m[ramp(i0 * 6, 1, 4)]\n"
        "        sum1[ramp(0, 1, 2)] = sum1[ramp(0, 1, 2)] + m[ramp(i0 * 6 + 4, 1, 2)]\n"
        "        r[i0] = reduce_sum(sum1[ramp(0, 1, 4)])\n"
    )


def test_vectorize_loop_gives_up_where_trips_differ_between_lanes() -> None:
    lengths = te.placeholder("lengths", (4,), "int64")

    def body(i: Expr) -> Expr:
        r = te.IterVar(Var(INDEX, "r"), minimum(read(lengths, i), 6), "reduce")
        return reduce("sum", r, read(M, i, r.var))

    z = te.compute("z", (4,), "float32", body)
    schedule = create_schedule((z,))
    schedule[z].vectorize(schedule[z].axes[0])
    assert after("vectorize_loop", schedule, M, lengths).startswith("    for i0 in range(4):\n")


def test_inject_virtual_thread() -> None:
    k = reduce_axis(6, "k")
    r = te.compute("r", (2,), "float32", lambda i: reduce("sum", k, read(M, i, k.var)))
    schedule = create_schedule((r,))
    schedule[r].virtual_thread(schedule[r].axes[0])
    assert after("inject_virtual_thread", schedule, M) == (
        "    allocate sum1: float32[2] local\n"
        "    sum1[0] = 0.0\n"
        "    sum1[1] = 0.0\n"
        "    for k in range(6):\n"
        "        sum1[0] = sum1[0] + m[k]\n"
        "        sum1[1] = sum1[1] + m[k + 6]\n"
        "    r[0] = sum1[0]\n"
        "    r[1] = sum1[1]\n"
    )


def test_inject_double_buffer() -> None:
    schedule = create_schedule((T,))
    schedule[F].compute_at(schedule[T], schedule[T].axes[0])
    schedule[F].double_buffer()
    assert after("remove_no_op", schedule, M) == (
        "    allocate f: float32[12] local\n"
        "    for i1 in range(6):\n"
        "        f[i1] = m[i1] * 2.0\n"
        "    for i0 in range(4):\n"
        "        if i0 + 1 < 4:\n"
        "            for i1 in range(6):\n"
        "                f[i1 + (i0 + 1) % 2 * 6] = m[(i0 + 1) * 6 + i1] * 2.0\n"
        "        for i1 in range(6):\n"
        "            t[i0 * 6 + i1] = f[i1 + i0 % 2 * 6] + 1.0\n"
    )


def test_inject_prefetch() -> None:
    wide = te.placeholder("wide", (4, 40), "float32")
    z = te.compute("z", (4, 40), "float32", lambda i, j: read(wide, i, j) + 1.0)
    schedule = create_schedule((z,))
    schedule[z].prefetch(wide, schedule[z].axes[0], 2)
    assert after("inject_prefetch", schedule, wide) == (
        "    for i0 in range(4):\n"
        "        for p1 in range(3):\n"
        "            prefetch wide[i0 + 2, p1 * 16]\n"
        "        for i1 in range(40):\n"
        "            z[i0, i1] = wide[i0, i1] + 1.0\n"
    )


def _lines(tensor: Tensor | None = None, offset: int = 4, lines: int = 2, each: int = 1) -> Schedule:
    """t[i, j] = sum(p[k, j] for k), by tiles of a row and two columns; p = m + 1 is computed for each two columns."""
    p = te.compute("p", (4, 6), "float32", lambda i, j: read(M, i, j) + 1.0)
    k = te.reduce_axis(4, "k")
    t = te.compute("t", (3, 6), "float32", lambda i, j: te.reduce("sum", k, read(p, k.var, j)))
    schedule = create_schedule((t,))
    stage = schedule[t]
    i, j = stage.axes
    outer, inner = stage.split(j, 2)
    stage.reorder(outer, i, k, inner)
    schedule[p].compute_at(stage, outer)
    stage.prefetch_lines(tensor or p, k, j, i, 1, offset, 2, lines, each)
    return schedule


@pytest.mark.parametrize(
    ("lines", "each", "hints"),
    [
        (2, 1, ["prefetch m[k if i0 < 2 else 0, i1_o * 2 + 4 + min(i0, 1) * 2]"]),
        (
            2,
            2,
            [
                "prefetch m[k if i0 < 1 else 0, i1_o * 2 + 4 + min(i0, 0) * 4]",
                "prefetch m[k if i0 < 1 else 0, i1_o * 2 + 4 + (min(i0, 0) * 2 + 1) * 2]",
            ],
        ),
    ],
)
def test_lines_of_a_later_panel_are_shared_out_to_tiles(lines: int, each: int, hints: list[str]) -> None:
    schedule = _lines(lines=lines, each=each)
    text = tir.to_text(tir.lower(schedule, (M,), schedule.outputs, "f"))
    found = [line.strip() for line in text.splitlines() if "prefetch" in line]
    assert found == hints, text


def test_lines_that_cannot_be_shared_out_are_refused() -> None:
    with pytest.raises(ScheduleError, match="3 lines of 2 columns, 4 ahead, are not shared out by 2"):
        _lines(lines=3, each=2)
    with pytest.raises(ScheduleError, match="0 ahead"):
        _lines(offset=0)
    with pytest.raises(ScheduleError, match="it does not read m"):
        _lines(tensor=M)


def test_storage_rewrite_reuses_what_is_dead() -> None:
    a = te.compute("a", (4, 6), "float32", lambda i, j: read(M, i, j) + 1.0)
    b = te.compute("b", (4, 6), "float32", lambda i, j: read(a, i, j) + 1.0)
    c = te.compute("c", (4,), "float32", lambda i: read(b, i, 1) + 1.0)
    d = te.compute("d", (4,), "float32", lambda i: read(c, i) + 1.0)
    assert after("storage_rewrite", create_schedule((d,)), M) == (
        "    allocate a: float32[24] global\n"
        "    allocate b: float32[24] global\n"
        "    for i0 in range(4):\n"
        "        for i1 in range(6):\n"
        "            a[i0 * 6 + i1] = m[i0 * 6 + i1] + 1.0\n"
        "    for i0 in range(4):\n"
        "        for i1 in range(6):\n"
        "            b[i0 * 6 + i1] = a[i0 * 6 + i1] + 1.0\n"
        "    for i0 in range(4):\n"
        "        a[i0] = b[i0 * 6 + 1] + 1.0\n"
        "    for i0 in range(4):\n"
        "        d[i0] = a[i0] + 1.0\n"
    )


def test_unroll_loop() -> None:
    schedule = create_schedule((F,))
    schedule[F].reorder(*reversed(schedule[F].axes))
    schedule[F].unroll(schedule[F].axes[0])
    assert after("unroll_loop", schedule, M) == (
        "    for i1 in range(6):\n"
        "        f[i1] = m[i1] * 2.0\n"
        "        f[i1 + 6] = m[i1 + 6] * 2.0\n"
        "        f[i1 + 12] = m[i1 + 12] * 2.0\n"
        "        f[i1 + 18] = m[i1 + 18] * 2.0\n"
    )


def test_unroll_loop_keeps_what_would_be_too_much_code() -> None:
    big = te.compute("big", (60, 60), "float32", lambda i, j: read(X, i) * read(X, j))
    schedule = create_schedule((big,))
    for axis in schedule[big].axes:
        schedule[big].unroll(axis)
    assert after("unroll_loop", schedule, X).startswith("    for i0 in range(60):\n        big[i0 * 60]")


@pytest.mark.parametrize("vectorized", [False, True])
def test_rewrite_unsafe_select_masks_only_what_may_be_outside(vectorized: bool) -> None:
    z = te.compute("z", (4, 6), "float32", lambda i, j: select(j >= 1, read(M, i, j - 1), read(M, i, j)))
    schedule = create_schedule((z,))
    if vectorized:
        schedule[z].vectorize(schedule[z].axes[1])
        row, mask = "ramp(i0 * 6, 1, 6)", "ramp(0, 1, 6) >= splat(1, 6)"
        masked = f"m[ramp(i0 * 6 - 1, 1, 6); {mask}]"
        text = f"    for i0 in range(4):\n        z[{row}] = {masked} if {mask} else m[{row}]\n"
    else:
        text = (
            "    for i0 in range(4):\n"
            "        for i1 in range(6):\n"
            "            z[i0 * 6 + i1] = m[i0 * 6 + i1 - 1; i1 >= 1] if i1 >= 1 else m[i0 * 6 + i1]\n"
        )
    assert after("rewrite_unsafe_select", schedule, M) == text


def test_rewrite_unsafe_select_needs_no_choice_for_what_the_tail_guards() -> None:
    """Under the mask of a tail the position of the store is inside, so loads there need the mask alone."""
    x, y = te.placeholder("x", (7,), "float32"), te.placeholder("y", (9,), "float32")
    z = te.compute("z", (7,), "float32", lambda i: select(i > 0, read(x, i), read(y, i + 1)))
    schedule = create_schedule((z,))
    _, inner = schedule[z].split(schedule[z].axes[0], 4)
    schedule[z].vectorize(inner)
    assert after("rewrite_unsafe_select", schedule, x, y) == (
        "    z[ramp(0, 1, 4)] = x[ramp(0, 1, 4)] if ramp(0, 1, 4) > splat(0, 4) else y[ramp(1, 1, 4)]\n"
        "    lanes = ramp(4, 1, 4) < splat(7, 4)\n"
        "    z[ramp(4, 1, 4); lanes] = "
        "x[ramp(4, 1, 4); lanes] if ramp(4, 1, 4) > splat(0, 4) else y[ramp(5, 1, 4)]\n"
    )


def test_rewrite_unsafe_select_masks_an_index_that_is_another_number_where_it_is_not_wanted() -> None:
    """Equal indices in and outside of a choice are one number only where the choice wants them."""
    p, x = te.placeholder("p", (4,), "int64"), te.placeholder("x", (3,), "float32")

    def index(i: Expr) -> Expr:
        return maximum(minimum(select(i >= 2, read(p, i - 2), read(p, i)), 2), 0)

    z = te.compute("z", (4,), "float32", lambda i: read(x, index(i)) + select(i > 0, read(x, index(i)), 0.0))
    assert after("rewrite_unsafe_select", create_schedule((z,)), p, x) == (
        "    for i0 in range(4):\n"
        "        z[i0] = x[cast(max(min(p[i0 - 2; i0 >= 2] if i0 >= 2 else p[i0], int64(2)), int64(0)), index)] + "
        "(x[cast(max(min(p[i0 - 2; (i0 > 0) & (i0 >= 2)] if i0 >= 2 else p[i0], int64(2)), int64(0)), index); i0 > 0]"
        " if i0 > 0 else 0.0)\n"
    )


def test_a_long_chain_of_choices_in_a_tail_stays_linear() -> None:
    x = last = te.placeholder("x", (37,), "float32")
    for number in range(60):
        last = te.compute(
            f"t{number}",
            (37,),
            "float32",
            lambda i, t=last: select(read(t, i) > 0.0, read(t, i) * 0.5, read(x, i)),
        )
    schedule = create_schedule((last,))
    for stage in schedule.stages[1:-1]:
        stage.compute_inline()
    _, inner = schedule[last].split(schedule[last].axes[0], 16)
    schedule[last].vectorize(inner)
    func = tir.run_phases(tir.lower(schedule, (x,), (last,), "kernel"))
    assert isinstance(func.body, tir.Block)


def test_vectors_of_vectors_are_not_made() -> None:
    double = te.compute("double", (4, 6), "float32", lambda i, j: read(M, 3 - i, j) * 2.0)
    out = te.compute("out", (4, 6), "float32", lambda i, j: read(double, i, j) + 1.0)
    schedule = create_schedule((out,))
    outer, inner = schedule[out], schedule[double]
    outer.vectorize(outer.axes[0])
    inner.compute_at(outer, outer.axes[0])
    inner.vectorize(inner.axes[1])
    assert after("vectorize_loop", schedule, M).startswith("    for i0 in range(4):\n")


def test_order() -> None:
    assert [row.name for row in tir.PHASES] == [
        "loop_fission",
        "inject_prefetch",
        "storage_flatten",
        "canonical_simplify",
        "loop_fusion",
        "compaction",
        "loop_partition",
        "narrow_vectors",
        "partition_selects",
        "partition_edges",
        "partition_tiles",
        "partition_masks",
        "vectorize_loop",
        "wrap_vectors",
        "unmask_accumulators",
        "inject_virtual_thread",
        "inject_double_buffer",
        "alias_outputs",
        "storage_rewrite",
        "unroll_loop",
        "simplify",
        "remove_no_op",
        "rewrite_unsafe_select",
        "parallel_work",
        "group_repetitions",
        "nontemporal_stores",
        "outline_loops",
        "interleave_stores",
        "transpose_loads",
        "early_exit",
    ]
