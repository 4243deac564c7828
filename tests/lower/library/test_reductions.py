"""Schedules of reductions along rows: how many vectors of accumulators they have."""

from __future__ import annotations

import opgen_runtime.te as dsl
import pytest

from opgen_runtime.base.arith import Expr
from opgen_runtime.base.target import Target
from opgen_runtime.compute.te import Tensor
from opgen_runtime.lower import tir
from opgen_runtime.lower.library import schedules

_TARGET = Target.parse("llvm -mcpu=x86-64-v3 -num-threads=1")


def rows(n: int, m: int, kind: str) -> Tensor:
    x, k = dsl.placeholder((n, m), name="x"), dsl.reduce_axis((0, m), name="k")

    def value(i: Expr) -> Expr:
        if kind in ("max", "argmax"):
            return (dsl.max if kind == "max" else dsl.argmax)(x[i, k], axis=k)
        return dsl.sum(x[i, k] * x[i, k] if kind == "squares" else x[i, k], axis=k)

    return dsl.compute((n,), value, name="out")


@pytest.mark.parametrize(
    ("n", "m", "kind", "vectors"),
    [
        (100, 1000, "sum", 4),  # a cache holds it
        (10_000, 1000, "sum", 4),  # memory feeds it
        (10_000, 1000, "max", 4),  # of longer latency
        (10_000, 1000, "squares", 4),
        (10_000, 1000, "argmax", 2),  # two for each
    ],
)
def test_accumulators(n: int, m: int, kind: str, vectors: int) -> None:
    out = rows(n, m, kind)
    trace = str(schedules.generic((out,), _TARGET).trace)
    assert f"k_o_o, k_o_i = out.split(k_o, {vectors})" in trace, trace
    assert "k_o, k_i = out.split(k, 8)" in trace


@pytest.mark.parametrize(
    ("n", "kind", "cpu", "ahead"),
    [
        (10_000, "sum", "x86-64-v4", True),
        (1000, "sum", "x86-64-v4", False),  # a cache holds it
        (10_000, "squares", "x86-64-v4", False),  # it does more than to read
        (10_000, "sum", "x86-64-v3", False),  # two vectors a line
    ],
)
def test_memory_is_asked_for_what_is_summed_next(n: int, kind: str, cpu: str, ahead: bool) -> None:
    """8 KB before it is read, in steps of four vectors."""
    target = Target.parse(f"llvm -mcpu={cpu} -num-threads=1")
    trace = str(schedules.generic((rows(n, 1000, kind),), target).trace)
    assert ("out.prefetch(x, k_o_o, 32)" in trace) == ahead, trace


def softmax(n: int, m: int) -> Tensor:
    x, k = dsl.placeholder((n, m), name="x"), dsl.reduce_axis((0, m), name="k")
    e = dsl.compute((n, m), lambda i, j: dsl.exp(x[i, j]), name="e")
    s = dsl.compute((n,), lambda i: dsl.sum(e[i, k], axis=k), name="s")
    return dsl.compute((n, m), lambda i, j: e[i, j] / s[i], name="out")


@pytest.mark.parametrize(
    ("n", "m", "threads", "rows"),
    [
        (1000, 100, 1, 4),
        (1001, 100, 1, 4),  # the last tile has fewer
        (999, 100, 1, 3),  # no tile is left over
        (8, 100, 1, 2),  # few rows
        (3, 100, 1, 1),
        (1000, 600, 1, 2),  # so many are near
        (1000, 2000, 1, 1),
        (32, 500, 2, 4),  # enough for two threads
        (24, 500, 2, 3),
    ],
)
def test_rows_at_once(n: int, m: int, threads: int, rows: int) -> None:
    target = Target.parse(f"llvm -mcpu=x86-64-v3 -num-threads={threads}")
    trace = str(schedules.generic((softmax(n, m),), target).trace)
    assert (f"i_o, i_i = out.split(i, {rows})" in trace) == (rows > 1), trace
    assert f"s.compute_at(out, {'i_o' if rows > 1 else 'i'})" in trace


@pytest.mark.parametrize(
    ("n", "m", "ahead"),
    [
        (4000, 1000, 250),  # of two rows
        (4000, 100, 50),  # of four
        (100, 1000, 0),  # a cache holds it
    ],
)
def test_later_rows_come_near_meanwhile(n: int, m: int, ahead: int) -> None:
    trace = str(schedules.generic((softmax(n, m),), _TARGET).trace)
    assert (f"e.prefetch(x, i_j_o, {ahead})" in trace) == (ahead > 0), trace
    assert ("prefetch" in trace) == (ahead > 0), trace


def test_rows_of_cheap_functions_are_left_to_the_machine() -> None:
    x, k = dsl.placeholder((4000, 1000), name="x"), dsl.reduce_axis((0, 1000), name="k")
    s = dsl.compute((4000,), lambda i: dsl.sum(x[i, k], axis=k), name="s")
    out = dsl.compute(x.shape, lambda i, j: x[i, j] / s[i], name="out")
    assert "prefetch" not in str(schedules.generic((out,), _TARGET).trace)


def test_rows_of_several_axes_are_computed_once() -> None:
    """What is stored has the elements of the rows at once, and no others are computed."""
    x, k = dsl.placeholder((1, 3, 8, 50), name="x"), dsl.reduce_axis((0, 50), name="k")
    e = dsl.compute(x.shape, lambda a, b, i, j: dsl.exp(x[a, b, i, j]), name="e")
    s = dsl.compute((1, 3, 8), lambda a, b, i: dsl.sum(e[a, b, i, k], axis=k), name="s")
    out = dsl.compute(x.shape, lambda a, b, i, j: e[a, b, i, j] / s[a, b, i], name="out")
    func = tir.run_phases(tir.lower(schedules.generic((out,), _TARGET), (x,), (out,), "kernel"))
    text = tir.to_text(func)
    assert "allocate e: float32[200]" in text, text
    assert "allocate s: float32[4]" in text, text


def test_what_is_small_does_not_decide_that_a_sum_runs_across() -> None:
    """The shift lies along the results, and the image along what is summed: vectors are of the image."""
    x, shift = dsl.placeholder((4, 32, 700), name="x"), dsl.placeholder((4, 32), name="shift")
    n, k = dsl.reduce_axis((0, 4), name="n"), dsl.reduce_axis((0, 700), name="k")
    out = dsl.compute((32,), lambda c: dsl.sum(x[n, c, k] - shift[n, c], axis=(n, k)), name="out")
    trace = str(schedules.generic((out,), _TARGET).trace)
    assert "out.vectorize(k_i)" in trace, trace


def planes(steps: int) -> Tensor:
    """Weighted sums of eight planes, each shifted by windows of `steps` by `steps`."""
    x, w = dsl.placeholder((16, 9, 30), name="x"), dsl.placeholder((2, 8, steps, steps), name="w")
    c, r, s = (dsl.reduce_axis((0, n), name=name) for n, name in ((8, "c"), (steps, "r"), (steps, "s")))

    def value(o: Expr, i: Expr, j: Expr) -> Expr:
        inside = (i + r < 9) & (j + s < 30)
        return dsl.sum(
            dsl.if_then_else(inside, x[o * 8 + c, i + r, j + s], 0.0) * w[o, c, r, s], axis=(c, r, s)
        )

    return dsl.compute((2, 9, 30), value, name="out")


def test_columns_that_lie_side_by_side_are_one() -> None:
    trace = str(schedules.generic((planes(1),), _TARGET).trace)
    assert "i_j = out.fuse(i, j)" in trace, trace
    assert "i_j_o, i_j_i = out.split(i_j, 8)" in trace, trace


def test_windows_that_overlap_keep_their_rows() -> None:
    assert "out.fuse(i, j)" not in str(schedules.generic((planes(3),), _TARGET).trace)


def test_a_short_line_of_windows_is_one_vector() -> None:
    x, r, s = (
        dsl.placeholder((4, 10, 10), name="x"),
        dsl.reduce_axis((0, 3), "r"),
        dsl.reduce_axis((0, 3), "s"),
    )
    out = dsl.compute((4, 8, 8), lambda c, i, j: dsl.max(x[c, i + r, j + s], axis=(r, s)), name="out")
    trace = str(schedules.generic((out,), Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")).trace)
    assert "out_lines.split(j, 16)" in trace, trace


@pytest.mark.parametrize(
    ("threads", "columns", "tile"), [(1, 2500, 848), (2, 1158, 592), (2, 2500, 640), (1, 1024, 1024)]
)
def test_tiles_of_columns_are_even_and_serve_all_threads(threads: int, columns: int, tile: int) -> None:
    x, k = dsl.placeholder((700, columns), name="x"), dsl.reduce_axis((0, 700), name="k")
    out = dsl.compute((columns,), lambda j: dsl.sum(x[k, j], axis=k), name="out")
    trace = str(schedules.generic((out,), Target.parse(f"llvm -mcpu=x86-64-v4 -num-threads={threads}")).trace)
    assert f"out.split(j, {tile})" in trace, trace
    assert "rfactor" not in trace, trace


def windows(rows: int) -> str:
    """The loop IR of the greatest elements of windows of three by three along rows of 98."""
    x, r, s = (
        dsl.placeholder((4, rows + 2, 100), name="x"),
        dsl.reduce_axis((0, 3), "r"),
        dsl.reduce_axis((0, 3), "s"),
    )
    out = dsl.compute(
        (4, rows, 98),
        lambda c, i, j: dsl.max(x[c, i + r, j + s], axis=(r, s), where=(j + s >= 2)),
        name="out",
    )
    schedule = schedules.generic((out,), Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1"))
    return tir.to_text(tir.run_phases(tir.lower(schedule, (x,), (out,), "kernel")))


@pytest.mark.parametrize(("rows", "at_once"), [(16, 16), (30, 15), (41, 14)])
def test_lines_of_several_rows_are_made_before_any_is_read(rows: int, at_once: int) -> None:
    """A load that spans two stores which have just been made waits until they are in the cache."""
    text = windows(rows)
    assert f"allocate out_lines: float32[{at_once * 100}] local" in text, text


def test_steps_that_a_guard_skips_join_what_changes_nothing() -> None:
    """A chain of max is as long as its steps then, without a choice behind each."""
    text = windows(16)
    assert " if lanes else splat(-inf, 16))\n" in text, text
    assert ") if lanes else " not in text, text


@pytest.mark.parametrize("shape", [(64,), (64, 1), (1, 64, 1, 1)])
def test_columns_run_in_vectors_whatever_axes_of_one_element_follow(shape: tuple[int, ...]) -> None:
    """As gradients of products of a matrix and a vector have them."""
    x, k = dsl.placeholder((40, 64), name="x"), dsl.reduce_axis((0, 40), name="k")
    at = shape.index(64)
    out = dsl.compute(shape, lambda *axes: dsl.sum(x[k, axes[at]], axis=k), name="out")
    func = tir.run_phases(tir.lower(schedules.generic((out,), _TARGET), (x,), (out,), "kernel"))
    text = tir.to_text(func)
    assert ", 1, 8)] + x[ramp(" in text, text
