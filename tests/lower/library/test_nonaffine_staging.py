"""Reductions over windows whose positions move unevenly: read once a position, and right for every window."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opgen_runtime as rt
from opgen_runtime import te
from opgen_runtime.base.arith import Expr, post_order
from opgen_runtime.base.errors import ScheduleError
from opgen_runtime.base.target import Target
from opgen_runtime.compute.te import Read, Tensor
from opgen_runtime.lower import tir
from opgen_runtime.lower.library import schedules
from opgen_runtime.lower.schedule import create_schedule

CPU = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")
EDGES: dict[str, Callable[[Expr, int], Expr]] = {
    "ring": lambda p, n: p % n,
    "repeated": lambda p, n: te.maximum(te.minimum(p, n - 1), 0),
    "halved": lambda p, n: te.maximum(te.minimum(p // 2, n - 1), 0),
    "backwards": lambda p, n: n - 1 - p % n,
}


Dims = tuple[int, ...]


def windows(
    dtype: str, shape: Dims, window: Dims, edge: str, steps: Dims, combine: str
) -> tuple[Tensor, Tensor, Tensor]:
    """out[b, i..] = combine(x[b, edge(i + k * step)..] * w[k..] for k..)"""
    x, w = te.placeholder((2, *shape), dtype, name="x"), te.placeholder(window, dtype, name="w")
    ks = [te.reduce_axis((0, extent), name=f"k{n}") for n, extent in enumerate(window)]

    def value(b: Expr, *i: Expr) -> Expr:
        at = [EDGES[edge](p + k * step, n) for p, k, step, n in zip(i, ks, steps, shape, strict=True)]
        return getattr(te, combine)(x[(b, *at)] * w[tuple(ks)], axis=ks)

    return x, w, te.compute((2, *shape), value, name="out")


@given(
    st.sampled_from(["float32", "float64", "int32", "int8"]),
    st.lists(
        st.tuples(
            st.sampled_from([1, 2, 5, 16, 33, 40]), st.integers(1, 9), st.sampled_from([1, 1, 2, -1, -3])
        ),
        min_size=1,
        max_size=2,
    ),
    st.sampled_from(list(EDGES)),
    st.sampled_from(["sum", "max"]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=20, deadline=None)
def test_windows_equal_the_reference(
    dtype: str, dims: list[tuple[int, int, int]], edge: str, combine: str, seed: int
) -> None:
    shape, window, steps = (tuple(column) for column in zip(*dims, strict=True))
    x, w, out = windows(dtype, shape, window, edge, steps, combine)
    random = np.random.default_rng(seed)
    arrays = [random.integers(-9, 9, t.shape).astype(dtype) for t in (x, w)]
    (wanted,) = te.evaluate([out], {x: arrays[0], w: arrays[1]})
    runs = CPU if CPU.is_host else Target.host()
    found = rt.build(schedules.generic((out,), CPU), [x, w, out], runs)(*arrays, np.empty_like(wanted))
    np.testing.assert_array_equal(found, wanted)  # sums of small whole numbers are exact


@pytest.mark.parametrize(
    ("edge", "steps", "extent"), [("ring", (-1,), 108), ("repeated", (1,), 108), ("halved", (1,), 108)]
)
def test_positions_are_read_once(edge: str, steps: tuple[int, ...], extent: int) -> None:
    _, _, out = windows("float32", (100,), (9,), edge, steps, "sum")
    schedule = schedules.generic((out,), CPU)
    staging = next(stage for stage in schedule.stages if stage.origin.startswith("stage_operand"))
    assert staging.tensor.shape == (2, extent)


def test_one_position_is_no_line() -> None:
    _, _, out = windows("float32", (1,), (9,), "ring", (0,), "sum")
    assert not any(
        stage.origin.startswith("stage_operand") for stage in schedules.generic((out,), CPU).stages
    )


def test_few_steps_compute_positions_where_they_are_read() -> None:
    _, _, out = windows("float32", (100,), (3,), "ring", (-1,), "sum")
    assert not any(
        stage.origin.startswith("stage_operand") for stage in schedules.generic((out,), CPU).stages
    )


def test_what_is_read_under_a_condition_alone_stays_under_it() -> None:
    """Positions that only a guard keeps inside are not read for all windows."""
    x, k = te.placeholder((50,), name="x"), te.reduce_axis((0, 9), name="k")
    inside: Callable[[Expr], Expr] = lambda p: te.all(p % 3 == 0, p < 150)  # noqa: E731
    out = te.compute(
        (200,), lambda i: te.sum(te.if_then_else(inside(i + k), x[(i + k) // 3], 0.0), axis=k), name="out"
    )
    assert not any(
        stage.origin.startswith("stage_operand") for stage in schedules.generic((out,), CPU).stages
    )


def test_a_ring_is_copied_in_pieces() -> None:
    _, _, out = windows("float32", (100,), (9,), "ring", (-1,), "sum")
    schedule = schedules.generic((out,), CPU)
    x, w = out.op.inputs()
    text = tir.to_text(tir.run_phases(tir.lower(schedule, (x, w), (out,), "kernel")))
    copies = [line.strip() for line in text.splitlines() if line.strip().startswith("out_staged[")]
    assert copies == [
        "out_staged[b * 108 + i1_k0] = x[b * 100 + (i1_k0 + 92)]",
        "out_staged[b * 108 + (i1_k0 + 8)] = x[b * 100 + i1_k0]",
    ], text


def test_what_is_read_evenly_behind_a_quotient_of_one_group_is_not_copied() -> None:
    """The channel of a convolution is found by its group, which is always 0 where there is one."""
    x, w = te.placeholder((32, 9, 9), name="x"), te.placeholder((64, 32), name="w")
    c = te.reduce_axis((0, 32), name="c")
    out = te.compute(
        (64, 9, 9), lambda o, y, z: te.sum(x[o // 64 * 32 + c, y, z] * w[o, c], axis=c), name="out"
    )
    assert not any(
        stage.origin.startswith("stage_operand") for stage in schedules.generic((out,), CPU).stages
    )


def test_what_moves_with_a_sum_inside_is_not_staged() -> None:
    """Positions of loops that are bound within the body are no positions of the stage."""
    x = te.placeholder((7,), name="x")
    k, j = te.reduce_axis((0, 64), name="k"), te.reduce_axis((0, 3), name="j")
    out = te.compute((8,), lambda i: te.sum(te.max(x[(i + k + j * 2) % 7], axis=j), axis=k), name="out")
    schedule = create_schedule((out,))
    (stage,) = [stage for stage in schedule.stages if stage.body is not None]
    (read,) = [node for node in post_order(stage.body) if isinstance(node, Read)]
    with pytest.raises(ScheduleError, match="it depends on j otherwise than by the position"):
        schedule.stage_operand(out, read)


def test_a_quotient_that_is_zero_throughout_copies_nothing() -> None:
    """The group of an output channel, where there is one group."""
    x, w = te.placeholder((9, 40), name="x"), te.placeholder((6, 9), name="w")
    c = te.reduce_axis((0, 9), name="c")
    out = te.compute((6, 40), lambda o, i: te.sum(x[o // 6 * 9 + c, i] * w[o, c], axis=c), name="out")
    assert not any(
        stage.origin.startswith("stage_operand") for stage in schedules.generic((out,), CPU).stages
    )
