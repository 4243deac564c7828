"""The text of a schedule: whole outputs, one for each primitive, and laws on random schedules."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import dataclass
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime.base.arith import Var, dim, evaluate_scalar
from opgen_runtime.base.vocabulary import FLOAT32, INDEX
from opgen_runtime.compute import te
from opgen_runtime.compute.te import IterVar, Loop, Put, State, Tensor, Update, read, reduce, reduce_axis
from opgen_runtime.lower.schedule import Schedule, Stage, create_schedule
from opgen_runtime.lower.schedule.text import to_text
from opgen_runtime.lower.tir.lowering.bound import infer_bound
from tests.lower.tir.programs import Program, programs, scramble

A = te.placeholder("a", (8, 10), "float32")
P = te.compute("p", (8, 10), "float32", lambda i, j: read(A, i, j) + 1.0)
K = reduce_axis(10, "k")
S = te.compute("s", (8,), "float32", lambda i: reduce("sum", K, read(P, i, K.var)))
D = te.compute("d", (8,), "float32", lambda i: read(S, i) * 2.0)


def text_of(*tensors: Tensor, change: Callable[[Schedule], object]) -> str:
    """The text of the schedule of `tensors` after a change."""
    schedule = create_schedule(tensors)
    change(schedule)
    return str(schedule)


def expected(text: str) -> str:
    return dedent(text).strip("\n")


def test_untouched() -> None:
    schedule = create_schedule((D,))
    assert repr(schedule) == "Schedule(d)"
    assert str(schedule) == expected("""
        a: float32[8, 10], input
        p: float32[8, 10], root, global
            i0   8
            i1  10
            p[i0, i1] = a[i0, i1] + 1.0
        s: float32[8], root, global
            i0   8
            k   10  reduce
            s[i0] = sum(p[i0, k] for k in range(10))
        d: float32[8], output
            i0  8
            d[i0] = s[i0] * 2.0
    """)


def split(s: Schedule) -> None:
    s[P].split(s[P].axes[0], 4)
    s[P].split(s[P].axes[1], 4)


def split_overlapping(s: Schedule) -> None:
    s[P].split(s[P].axes[0], 4, overlapping=True)
    s[P].split(s[P].axes[1], 4, overlapping=True)


def split_into_parts(s: Schedule) -> None:
    outer, _ = s[P].split(s[P].axes[1], nparts=5)
    s[P].split(outer, 2)


def split_by_more(s: Schedule) -> None:
    s[P].split(s[P].axes[0], 16)


def fuse(s: Schedule) -> None:
    s[P].fuse(*s[P].axes)


def fuse_then_split(s: Schedule) -> None:
    i, j = s[P].axes
    outer, inner = s[P].split(j, 5)
    s[P].split(s[P].fuse(s[P].fuse(i, outer), inner), 16)


def tile(s: Schedule) -> None:
    s[P].tile(*s[P].axes, 4, 5)


def kinds(s: Schedule) -> None:
    i, j = s[P].axes
    outer, inner = s[P].split(j, 5)
    s[P].parallel(i)
    s[P].virtual_thread(outer)
    s[P].vectorize(inner)


def align(s: Schedule) -> None:
    s[P].storage_align(s[P].axes[0], 16)
    s[P].set_scope("local")


def align_off(s: Schedule) -> None:
    s[P].storage_align(s[P].axes[0], 16, 1)


def prefetch(s: Schedule) -> None:
    s[P].prefetch(A, s[P].axes[0], 2)


def inline(s: Schedule) -> None:
    s[P].compute_inline()


OF_P = [
    (
        split,
        """
        p: float32[8, 10], output
            i0_o  2  i0 // 4
            i0_i  4  i0 % 4
            i1_o  3  i1 // 4
            i1_i  4  i1 % 4
            p[i0, i1] = a[i0, i1] + 1.0
            guarded: i1 < 10
        """,
    ),
    (
        split_overlapping,
        """
        p: float32[8, 10], output
            i0_o  2  i0 // 4
            i0_i  4  i0 % 4
            i1_o  3  i1 // 4
            i1_i  4  overlap(i1, 4)
            p[i0, i1] = a[i0, i1] + 1.0
        """,
    ),
    (
        split_into_parts,
        """
        p: float32[8, 10], output
            i0      8
            i1_o_o  3  i1 // 2 // 2
            i1_o_i  2  i1 // 2 % 2
            i1_i    2  i1 % 2
            p[i0, i1] = a[i0, i1] + 1.0
            guarded: i1_o < 5
        """,
    ),
    (
        split_by_more,
        """
        p: float32[8, 10], output
            i0_o   1  i0 // 16
            i0_i   8  i0 % 16
            i1    10
            p[i0, i1] = a[i0, i1] + 1.0
        """,
    ),
    (
        fuse,
        """
        p: float32[8, 10], output
            i0_i1  80  fuse(i0, i1)
            p[i0, i1] = a[i0, i1] + 1.0
        """,
    ),
    (
        fuse_then_split,
        """
        p: float32[8, 10], output
            i0_i1_o_i1_i_o   5  fuse(i0, i1 // 5, i1 % 5) // 16
            i0_i1_o_i1_i_i  16  fuse(i0, i1 // 5, i1 % 5) % 16
            p[i0, i1] = a[i0, i1] + 1.0
        """,
    ),
    (
        tile,
        """
        p: float32[8, 10], output
            i0_o  2  i0 // 4
            i1_o  2  i1 // 5
            i0_i  4  i0 % 4
            i1_i  5  i1 % 5
            p[i0, i1] = a[i0, i1] + 1.0
            reordered from i0_o, i0_i, i1_o, i1_i
        """,
    ),
    (
        kinds,
        """
        p: float32[8, 10], output
            i0    8  parallel
            i1_o  2  virtual     i1 // 5
            i1_i  5  vectorized  i1 % 5
            p[i0, i1] = a[i0, i1] + 1.0
        """,
    ),
    (
        prefetch,
        """
        p: float32[8, 10], output
            i0   8
                prefetch a, 2 ahead
            i1  10
            p[i0, i1] = a[i0, i1] + 1.0
        """,
    ),
]


@pytest.mark.parametrize(("change", "want"), OF_P, ids=[change.__name__ for change, _ in OF_P])
def test_loops(change: Callable[[Schedule], None], want: str) -> None:
    assert text_of(P, change=change) == "a: float32[8, 10], input\n" + expected(want)


def test_reorder_and_unroll() -> None:
    def change(s: Schedule) -> None:
        _, inner = s[S].split(K, 4)
        s[S].reorder(inner, s[S].axes[0])
        s[S].unroll(inner)
        s[P].compute_inline()
        s.normalize()

    assert text_of(S, change=change) == expected("""
        a: float32[8, 10], input
        p: float32[8, 10], inlined
            p[i0, i1] = a[i0, i1] + 1.0
        s: float32[8], output
            k_i  4  reduce unrolled  k % 4
            k_o  3  reduce           k // 4
            i0   8
            s[i0] = sum(a[i0, k] + 1.0 for k in range(10))
            guarded: k < 10
            reordered from i0, k_o, k_i
    """)


def test_computed_inside() -> None:
    def change(s: Schedule) -> None:
        outer, _ = s[D].split(s[D].axes[0], 4)
        s[S].compute_at(s[D], outer)
        k_outer, _ = s[S].split(K, 4)
        s[P].compute_at(s[S], k_outer)
        s[P].double_buffer()
        s[P].split(s[P].axes[1], 3)

    assert text_of(D, change=change) == expected("""
        a: float32[8, 10], input
        d: float32[8], output
            i0_o  2  i0 // 4
                s: float32[8], at i0_o, local
                    i0   <=8
                    k_o    3  reduce  k // 4
                        p: float32[8, 10], at k_o, double buffer
                            i0    <=8
                            i1_o  <=4  i1 // 3
                            i1_i  <=3  i1 % 3
                            p[i0, i1] = a[i0, i1] + 1.0
                    k_i    4  reduce  k % 4
                    s[i0] = sum(p[i0, k] for k in range(10))
                    guarded: k < 10
            i0_i  4  i0 % 4
            d[i0] = s[i0] * 2.0
    """)


def test_back_at_the_root_and_groups() -> None:
    def change(s: Schedule) -> None:
        group = s.create_group(outputs=[S], inputs=[A])
        group.compute_at(s[D], s[D].axes[0])
        s[P].compute_root()

    assert text_of(D, change=change) == expected("""
        a: float32[8, 10], input
        p: float32[8, 10], root, global
            i0   8
            i1  10
            p[i0, i1] = a[i0, i1] + 1.0
        d: float32[8], output
            i0  8
                s: float32[8], at i0, local
                    i0  <=8
                    k    10  reduce
                    s[i0] = sum(p[i0, k] for k in range(10))
            d[i0] = s[i0] * 2.0
    """)


@pytest.mark.parametrize(
    ("change", "facts"),
    [
        (align, "root, local, stride of i0 % 16 == 0"),
        (align_off, "root, global, stride of i0 % 16 == 1"),
    ],
)
def test_storage(change: Callable[[Schedule], None], facts: str) -> None:
    assert text_of(S, change=change).splitlines()[1] == f"p: float32[8, 10], {facts}"


def test_caches() -> None:
    def change(s: Schedule) -> None:
        s.cache_write(S)
        s.cache_read(A, "global", [P])
        s[P].compute_inline()
        s.normalize()

    assert text_of(S, change=change) == expected("""
        a: float32[8, 10], input
        a_global: float32[8, 10], cache_read of a, root, global
            a0   8
            a1  10
            a_global[a0, a1] = a[a0, a1]
        p: float32[8, 10], inlined
            p[i0, i1] = a_global[i0, i1] + 1.0
        s_local: float32[8], cache_write of s, root, local
            i0   8
            k   10  reduce
            s_local[i0] = sum(a_global[i0, k] + 1.0 for k in range(10))
        s: float32[8], output
            i0  8
            s[i0] = s_local[i0]
    """)


def test_rfactor() -> None:
    def change(s: Schedule) -> None:
        outer, _ = s[S].split(K, 4)
        s[s.rfactor(S, outer)].parallel(s.stages[2].axes[0])

    assert text_of(S, change=change).partition("\ns_rf")[2] == expected("""
        : float32[3, 8], rfactor of s over k_o, root, global
            k_o  3  parallel
            i0   8
            k_i  4  reduce
            s_rf[k_o, i0] = sum(p[i0, k_o * 4 + k_i] for k_i in range(4) if k_o * 4 + k_i < 10)
        s: float32[8], output
            i0   8
            k_o  3  reduce
            s[i0] = sum(s_rf[k_o, i0] for k_o in range(3))
    """)


def test_symbolic_extents() -> None:
    n = dim("n")
    x = te.placeholder("x", (n, 4), "float32")
    out = te.compute("out", (n, 4), "float32", lambda i, j: read(x, i, j))

    def change(s: Schedule) -> None:
        s[out].split(s[out].fuse(*s[out].axes), 16)

    assert text_of(out, change=change) == expected("""
        x: float32[n, 4], input
        out: float32[n, 4], output
            i0_i1_o  (n * 4 + 15) // 16  fuse(i0, i1) // 16
            i0_i1_i                  16  fuse(i0, i1) % 16
            out[i0, i1] = x[i0, i1]
            guarded: i0_i1 < n * 4
    """)


def test_rank_0() -> None:
    z = te.compute("z", (), "float32", lambda: read(A, 2, 3) * 2.0)
    assert str(create_schedule((z,))) == expected("""
        a: float32[8, 10], input
        z: float32[], output
            z[()] = a[2, 3] * 2.0
    """)


def test_stages_without_loops() -> None:
    axes = te.data_axes((8, 10), ("t", "j"))
    state = State(axes, 0)
    scan = te.Scan((state,), 8, 1)
    sums = state.tensor = Tensor("sums", (8, 10), FLOAT32, scan)
    state.body = read(A, axes[0].var, axes[1].var)
    u = IterVar(Var(INDEX, "u"), 8)
    done = Tensor(
        "done",
        (8, 10),
        FLOAT32,
        Update(sums, (Loop(u, (Put((u.var, u.var), "=", read(A, u.var, 0)),)),), (A,)),
    )
    extern = Tensor("extern", (8, 10), FLOAT32, te.Extern((done,), np.sort, ()))
    assert str(create_schedule((extern,))) == expected("""
        a: float32[8, 10], input
        sums: float32[8, 10], scan over t upwards, root, global
        done: float32[8, 10], update of sums, root, global
        extern: float32[8, 10], extern, output
    """)


@pytest.mark.parametrize(
    ("lose", "why"),
    [
        (lambda s: s[S].split(s[S].axes[0], 2), "at i0 of s, which is no longer a loop"),
        (lambda s: s[P].compute_inline(), "at i1 of p, which is inlined"),
    ],
)
def test_what_has_lost_its_loop_is_shown_at_the_root(lose: Callable[[Schedule], object], why: str) -> None:
    schedule = create_schedule((D,))
    cached = schedule.cache_read(A, "local", [P])
    if "inlined" in why:
        schedule[cached].compute_at(schedule[P], schedule[P].axes[1])
    else:
        schedule[P].compute_at(schedule[S], schedule[S].axes[0])
    lose(schedule)
    line = next(line for line in str(schedule).splitlines() if why in line)
    assert not line.startswith(" ")


# ------------------------------------------------------------------ laws

ROW = re.compile(r"    (\w+) +(<=)?(\d+)(?:  +(.*))?")
KINDS = {"reduce", "parallel", "vectorized", "unrolled", "virtual"}


@dataclass(frozen=True)
class Walk:
    """A position and how many there are: what the last column of a row is made of."""

    value: int
    extent: int

    def __floordiv__(self, factor: int) -> Walk:
        return Walk(self.value // factor, -(-self.extent // factor))

    def __mod__(self, factor: int) -> Walk:
        return Walk(self.value % factor, min(self.extent, factor))


def fused(*parts: Walk) -> Walk:
    whole = Walk(0, 1)
    for part in parts:
        whole = Walk(whole.value * part.extent + part.value, whole.extent * part.extent)
    return whole


def overlap(whole: Walk, factor: int) -> Walk:
    """Where a position is in its part, of which the last begins earlier."""
    return Walk(whole.value - min(whole.value // factor * factor, whole.extent - factor), factor)


def rows_of(stage: Stage) -> list[tuple[str, bool, int, str]]:
    """Name, whether it is a bound, trips, and what is walked, of each loop in the text of one stage."""
    rows = []
    for line in to_text([stage]).splitlines():
        if match := ROW.fullmatch(line):
            words = (match[4] or "").split(" ")
            walk = " ".join(itertools.dropwhile(lambda word: not word or word in KINDS, words))
            rows.append((match[1], match[2] is not None, int(match[3]), walk or match[1]))
    return rows


@settings(max_examples=150)
@given(st.data(), programs(st.integers(1, 5)))
def test_rows_are_the_loops_of_lowering(data: st.DataObject, program: Program) -> None:
    """At the root the trips are lowering's, and what the rows walk at a point of the axes leads back to it."""
    schedule = create_schedule(program.outputs)
    for stage in schedule.stages:
        if stage.body is not None:
            scramble(data.draw, stage)
    domains = infer_bound(schedule)
    for stage, domain in domains.items():
        rows = rows_of(stage)
        assert [row[0] for row in rows] == [leaf.var.name for leaf in stage.leaves]
        assert [row[2] for row in rows] == [domain.extents[leaf] for leaf in stage.leaves]
        assert not any(row[1] for row in rows)
        guards = [line for line in to_text([stage]).splitlines() if line.startswith("    guarded: ")]
        shown = guards[0].count("<") if guards else 0
        assert shown == len(domain.data_guards) + len(domain.reduce_guards)
        axes = (*stage.axes, *stage.reduce_axes)
        for point in itertools.product(*(range(int(str(axis.extent))) for axis in axes)):
            names = {a.var.name: Walk(v, int(str(a.extent))) for a, v in zip(axes, point, strict=True)}
            walked = [eval(row[3], {"fuse": fused, "overlap": overlap}, names).value for row in rows]
            loops = {leaf.var: value for leaf, value in zip(stage.leaves, walked, strict=True)}
            assert tuple(evaluate_scalar(domain.values[axis.var], loops) for axis in axes) == point


@settings(max_examples=100)
@given(st.data(), programs(st.integers(1, 6)))
def test_trips_of_attached_stages_are_bounds(data: st.DataObject, program: Program) -> None:
    schedule = create_schedule(program.outputs)
    leader = schedule[program.outputs[0]]
    scramble(data.draw, leader)
    for stage in schedule.stages:
        if not stage.is_output and stage.body is not None:
            readers = [s for s in schedule.stages if s.body is not None and stage.tensor in s.op.inputs()]
            if readers == [leader]:
                stage.compute_at(leader, data.draw(st.sampled_from(leader.leaves)))
                scramble(data.draw, stage)
    domains = infer_bound(schedule)
    for stage, domain in domains.items():
        for leaf, (_, bound, trips, _) in zip(stage.leaves, rows_of(stage), strict=True):
            found = domain.extents[leaf]
            assert isinstance(found, int)
            assert found <= trips if bound else found == trips
