"""Law: the text of a schedule's trace gives that schedule again, of every declared op; and what is refused."""

from __future__ import annotations

import pytest
from opgen_runtime.errors import ScheduleError

from opgen_runtime import ops, te
from opgen_runtime.lower.schedule import Schedule, replay
from tests.lower.library.traces import check_library


def test_every_op() -> None:
    """One case each; `python -m tests.fuzz traces` tries all of them."""
    steps = [check_library(name, 1) for name in ops.__all__]
    assert sum(steps) > 0.9 * len(steps)


N, M = 12, 40
A = te.placeholder((N, M), name="a")
B = te.placeholder((M, N), name="b")
K = te.reduce_axis((0, M), name="k")
C = te.compute((N, N), lambda i, j: te.sum(A[i, K] * B[K, j] + B[K, j], axis=K), name="c")
D = te.compute((N, N), lambda i, j: C[i, j] + 1.0, name="c")  # of the same name


def scheduled() -> Schedule:
    """Every kind of argument."""
    schedule = te.create_schedule(D)
    body = schedule[C].body
    assert body is not None
    product = body.children()[0]
    packed = schedule.pack(C, product.children()[1], [C.op.axis[1], K], panel=8)
    quotients = schedule.divide(D, {D.op.axis[0]: 4}, first=True)
    outer, inner = schedule[D].split(D.op.axis[1], nparts=3)
    schedule[C].compute_at(schedule[D], outer)
    schedule[D].vectorize(inner)
    schedule[C].prefetch(A, K, 2)
    cached = schedule.cache_read(A, "local", [C])
    schedule[cached].storage_align(schedule[cached].axes[0], 8, offset=1)
    schedule[packed].fuse(*schedule[packed].axes)
    schedule[quotients].parallel(schedule[quotients].axes[0])
    return schedule


TRACE = """\
c_packed = schedule.pack(c, 'b[k, j] #1', [j, k], panel=8)
c_divided = schedule.divide(c_2, {i: 4}, first=True)
j_o, j_i = c_2.split(j, nparts=3)
c.compute_at(c_2, j_o)
c_2.vectorize(j_i)
c.prefetch(a, k, 2)
a_local = schedule.cache_read(a, 'local', [c])
a_local.storage_align(a0, 8, offset=1)
k_o_j_k_i = c_packed.fuse(k_o, j, k_i)
c_divided.parallel(i_r)"""


def test_text() -> None:
    schedule = scheduled()
    trace = str(schedule.trace)
    assert trace == TRACE
    again = replay(trace, schedule.outputs)
    assert str(again) == str(schedule)
    assert str(again.trace) == trace


def test_names_on_the_left_may_be_others() -> None:
    schedule = replay("far, near = c_2.split(i, 5)  # blocks\n\nc_2.reorder(near, far)\n", [D])
    assert [axis.var.name for axis in schedule[D].leaves] == ["i_i", "i_o", "j"]


def test_lowering_is_no_step() -> None:
    schedule = te.create_schedule(D)
    half = te.create_schedule(te.compute((N,), lambda i: A[i, 0], name="half"))
    assert str(half.trace) == ""
    schedule[C].split(K, 4)
    before = str(schedule.trace)
    schedule.fold_inlined()
    assert str(schedule.trace) == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("c.spilt(i, 3)", "there is no primitive spilt; did you mean 'split'"),
        ("c.split(z, 3)", "there is no loop z; there are i, j, k"),
        ("d.split(i, 3)", "there is no stage d; there are a, b, c, c_2"),
        ("c.split(i, 3, 4, 5)", "too many positional arguments"),
        ("c.split(i, 0)", "factor must be at least 1, found 0"),
        ("a_o = c.split(i, 3)", "it gives 2 results, 1 are named"),
        ("x = schedule.cache_write(c)", "its result is called c_local, not x"),
        ("schedule.pack(c, 'b[k, i]', [j, k])", "has no operand `b\\[k, i\\]`"),
        ("c.tensorize(i, dots)", "there is no intrinsic dots; there are none"),
        ("c.stages.append(1)", "expected `names = stage.primitive"),
        ("c.split(i, __import__('os'))", "is not a number or a text"),
        ("c.split(i,", "expected `names = stage.primitive"),
        ("c.set_compute(i, 3)", "there is no primitive set_compute"),
    ],
)
def test_refused(text: str, reason: str) -> None:
    with pytest.raises(ScheduleError, match=f"line 2 of the trace, .*{reason}"):
        replay(f"# a line\n{text}", [D])
