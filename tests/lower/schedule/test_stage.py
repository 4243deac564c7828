"""Every primitive: the loops that it makes, and the uses that it refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import ScheduleError
from opgen_runtime.compute import te
from opgen_runtime.compute.te import read, reduce, reduce_axis
from opgen_runtime.lower.schedule import Schedule, Stage, create_schedule

A = te.placeholder("a", (8, 10), "float32")
P = te.compute("p", (8, 10), "float32", lambda i, j: read(A, i, j) + 1.0)
K = reduce_axis(10, "k")
S = te.compute("s", (8,), "float32", lambda i: reduce("sum", K, read(P, i, K.var)))
D = te.compute("d", (8,), "float32", lambda i: read(S, i) * 2.0)


def fresh() -> Schedule:
    return create_schedule((D,))


def loops(stage: Stage) -> str:
    return " ".join(f"{leaf.var.name}:{leaf.extent}" for leaf in stage.leaves)


def test_split() -> None:
    stage = fresh()[P]
    stage.split(stage.axes[1], 4)
    assert loops(stage) == "i0:8 i1_o:3 i1_i:4"


def test_split_into_parts() -> None:
    stage = fresh()[P]
    stage.split(stage.axes[1], nparts=4)
    assert loops(stage) == "i0:8 i1_o:4 i1_i:3"


def test_fuse() -> None:
    stage = fresh()[P]
    assert stage.fuse(*stage.axes) is stage.leaves[0]
    assert loops(stage) == "i0_i1:80"


def test_reorder() -> None:
    stage = fresh()[S]
    stage.reorder(K, stage.axes[0])
    assert loops(stage) == "k:10 i0:8"


def test_tile() -> None:
    stage = fresh()[P]
    stage.tile(*stage.axes, 4, 5)
    assert loops(stage) == "i0_o:2 i1_o:2 i0_i:4 i1_i:5"


def split_twice(s: Schedule) -> None:
    s[P].split(s[P].axes[0], 2)
    s[P].split(s[P].axes[0], 2)


def vectorize_two(s: Schedule) -> None:
    s[P].vectorize(s[P].axes[0])
    s[P].vectorize(s[P].axes[1])


def inline_scheduled(s: Schedule) -> None:
    s[P].split(s[P].axes[0], 2)
    s[P].compute_inline()


def inside_itself(s: Schedule) -> None:
    s[P].compute_at(s[S], K)
    s[S].compute_at(s[P], s[P].axes[0])


def loops_of_inlined(s: Schedule) -> None:
    s[P].compute_inline()
    s[P].split(s[P].axes[0], 2)


REFUSED: list[tuple[Callable[[Schedule], object], str]] = [
    (lambda s: s[A].split(A, 2), "split on stage a: a placeholder stage has no loops to schedule"),
    (
        split_twice,
        r"split on stage p: axis i0 is not a loop of it \(it was split or fused before\); its loops are i0_o",
    ),
    (lambda s: s[P].split(K, 2), r"axis k is not a loop of it \(it belongs to another stage\)"),
    (lambda s: s[P].split(s[P].axes[0], 0), "split of i0 on stage p: factor must be at least 1, found 0"),
    (lambda s: s[P].split(s[P].axes[0]), "split of i0 on stage p: give either factor or nparts"),
    (
        lambda s: s[S].split(s[S].axes[0], 3, overlapping=True),
        "split of i0 on stage s: it reduces; what is computed twice would count twice",
    ),
    (
        lambda s: s[P].fuse(s[P].axes[1], s[P].axes[0]),
        "fuse of i1 and i0 on stage p: they do not follow one another",
    ),
    (
        lambda s: s[S].fuse(s[S].axes[0], K),
        "fuse of i0 and k on stage s: one is a data axis, the other reduces",
    ),
    (
        lambda s: s[P].reorder(s[P].axes[0], s[P].axes[0]),
        "reorder on stage p: an axis is named twice in i0, i0",
    ),
    (lambda s: s[S].parallel(K), "parallel of k on stage s: its iterations would race; use rfactor first"),
    (vectorize_two, "vectorize of i1 on stage p: another loop of it is vectorized"),
    (
        lambda s: s[D].compute_at(s[P], s[P].axes[0]),
        "compute_at on stage d: an output is computed whole, at the root",
    ),
    (inside_itself, "compute_at on stage s: it would be computed inside itself"),
    (lambda s: s[D].compute_inline(), "compute_inline on stage d: it is an output"),
    (
        lambda s: s[S].compute_inline(),
        "compute_inline on stage s: a reduction is not inlined; use compute_at",
    ),
    (inline_scheduled, "compute_inline on stage p: its loops are scheduled already"),
    (loops_of_inlined, "split on stage p: the stage is inlined, it has no loops"),
    (
        lambda s: s[P].set_scope("shared"),
        "set_scope on stage p: expected 'global' or 'local', found 'shared'",
    ),
    (lambda s: s[D].set_scope("local"), "set_scope on stage d: parameters of the kernel are global"),
    (
        lambda s: s[P].pragma(s[P].axes[0], "unroll", 4),
        "pragma on stage p: there is no 'unroll'; there is 'auto_unroll_max_step'",
    ),
    (
        lambda s: s[P].pragma(s[P].axes[0], "auto_unroll_max_step", -1),
        "pragma auto_unroll_max_step on stage p: expected a number of statements, found -1",
    ),
    (lambda s: s[P].storage_align(K, 16), "storage_align on stage p: k is not a data axis of its tensor"),
    (
        lambda s: s[P].storage_align(s[P].axes[0], 4, 4),
        "needs 0 <= offset < factor, found offset 4, factor 4",
    ),
    (lambda s: s.rfactor(S, s[S].axes[0]), "rfactor of i0 on stage s: it is not a reduce axis"),
    (lambda s: s.cache_read(A, "local", [D]), "cache_read of a: stage d does not read it"),
    (lambda s: s.create_group([P], [P]), "create_group: nothing lies before p"),
    (
        lambda s: s[te.placeholder("z", (1,), "int32")],
        "tensor z is not part of this schedule; its stages are a, p, s, d",
    ),
]


@pytest.mark.parametrize(("use", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refused(use: Callable[[Schedule], object], message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        use(fresh())


def test_symbolic_extents_must_be_split_before_they_are_unrolled() -> None:
    n = dim("n")
    x = te.placeholder("x", (n,), "float32")
    out = te.compute("out", (n,), "float32", lambda i: read(x, i))
    stage = create_schedule((out,))[out]
    with pytest.raises(
        ScheduleError, match="unroll of i0 on stage out: needs a constant extent, found n; split it first"
    ):
        stage.unroll(stage.axes[0])


@pytest.mark.parametrize(("outputs", "inputs"), [([S], [A]), (S, A)])
def test_groups_move_together(outputs: te.Tensor, inputs: te.Tensor) -> None:
    s = fresh()
    group = s.create_group(outputs=outputs, inputs=inputs)
    assert [stage.name for stage in group.stages] == ["p", "s"]
    group.compute_at(s[D], s[D].axes[0])
    assert all(stage.attach is not None for stage in group.stages)
    group.compute_root()
    assert all(stage.attach is None for stage in group.stages)
