"""Reductions that stay inside expressions have one place each, under what guards them, whatever ways lead to them."""

from __future__ import annotations

import random
import sys
from types import FrameType

import numpy as np
import pytest

from opgen_runtime.base.arith import Expr, maximum, minimum, select
from opgen_runtime.base.vocabulary import DType
from opgen_runtime.compute import te
from opgen_runtime.compute.te import Tensor, read, reduce, reduce_axis
from opgen_runtime.compute.te.tensor import Scan, State
from opgen_runtime.lower import tir
from opgen_runtime.lower.schedule import create_schedule

X = te.placeholder("x", (5, 4), "int64")


def total(i: Expr, plus: Expr | int = 0) -> Expr:
    k = reduce_axis(4, "k")
    return reduce("sum", k, read(X, i, k.var) + plus)


def lowered(out: Tensor, x: Tensor = X) -> tir.PrimFunc:
    """Not normalized: reductions stay where they are."""
    return tir.lower(create_schedule((out,)), (x,), (out,), "kernel")


def check(out: Tensor, x: Tensor = X) -> tir.PrimFunc:
    func = lowered(out, x)
    values = np.random.default_rng(0).integers(-9, 9, x.shape)
    expected = te.evaluate([out], {x: values})[0]
    for version in (func, tir.run_phases(func)):
        np.testing.assert_array_equal(tir.interpret(version, [values])[0], expected.reshape(-1))
    return func


def test_both_branches_of_a_choice_and_another_share_one_loop() -> None:
    def body(i: Expr) -> Expr:
        shared = total(i)
        return select(i > 3, select(i < 2, shared, 7), 0) + select(i > 2, 1, shared)

    func = check(te.compute("out", (5,), "int64", body))
    assert (
        tir.to_text(func)
        == """\
kernel(x: int64[5, 4]) -> (out: int64[5]):
    for i0 in range(5):
        allocate kept1: bool[1] local
        allocate sum2: int64[1] local
        kept1[0] = i0 <= 2 or i0 > 3 and i0 < 2
        sum2[0] = int64(0)
        if kept1[0]:
            for k in range(4):
                sum2[0] = sum2[0] + x[i0, k]
        out[i0] = ((sum2[0] if i0 < 2 else int64(7)) if i0 > 3 else int64(0)) + (int64(1) if i0 > 2 else sum2[0])
"""
    )


def test_what_an_unconditional_use_needs_is_not_guarded() -> None:
    func = check(te.compute("out", (5,), "int64", lambda i: select(i > 3, t := total(i), t + 1)))
    assert "if" not in tir.to_text(func).replace("if i0 > 3", "", 1)


def test_what_decides_a_reduction_may_use_another_that_it_decides() -> None:
    """Which of two reductions runs first, only conditions tell."""

    def body(i: Expr) -> Expr:
        a, b, c, d = (read(X, i, n) > 0 for n in range(4))
        first, second = total(i), total(i, 1)
        return (
            select(a, first, 0)
            + select(select(b, first > 0, c), second, 0) * 3
            + select(select(b, second > 0, d), first, 0) * 5
            + select(b, second, 0) * 7
        )

    check(te.compute("out", (5,), "int64", body))


def calls(depth: int, chained: bool, shared: bool) -> int:
    """The Python calls that lowering takes."""

    def body(i: Expr) -> Expr:
        value, other = total(i), total(i)
        for n in range(depth):
            more = (total(i, value) if chained else 1) + (other if shared else 0)
            value = select(value > n, value + more, value - n)
        return value

    out = te.compute("out", (5,), "int64", body)
    count = 0

    def seen(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    schedule = create_schedule((out,))
    sys.setprofile(seen)
    try:
        tir.lower(schedule, (X,), (out,), "kernel")
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_lowering_is_linear_in_the_nodes(chained: bool, shared: bool) -> None:
    assert calls(60, chained, shared) < 2.3 * calls(30, chained, shared)


@pytest.mark.parametrize("chained", [False, True])
def test_deep_chains_have_the_right_values(chained: bool) -> None:
    def body(i: Expr) -> Expr:
        value, shared = read(X, i, 0), total(i)
        for n in range(40):
            value = select(
                value > n, value - (total(i, value) % 100 if chained else shared) + shared, value + n
            )
        return value

    check(te.compute("out", (5,), "int64", body))


def drawn(chance: random.Random, i: Expr) -> Expr:
    """Choices and reductions over values that were made before."""
    values: list[Expr] = [read(X, i, 0), read(X, i, 1) * 2]
    for _ in range(chance.randint(3, 12)):
        a, b, c, d = (chance.choice(values[-5:]) for _ in range(4))
        kind = chance.randrange(6)
        k = reduce_axis(minimum(maximum(a, 0), 4) if chance.random() < 0.2 else 4, "k")
        element = read(X, i, k.var)
        if kind == 0:
            values.append(total(i, a))
        elif kind == 1:
            condition = select(a > element, b > 0, c > d)
            values.append(reduce("first", k, element - b, condition, c))
        elif kind == 2:  # read only where it is inside
            before = reduce("max", k, read(X, i - 1, k.var) + a, element > b)
            values.append(select(i > 0, minimum(before, 9), c))
        elif kind == 3:
            values.append(select(select(a > 1, b > 0, c < d), a, select(d > b, c, b)))
        else:
            values.append(select(a > chance.randint(-4, 9), b, c + d if kind == 4 else d))
    return values[-1]


def test_random_choices_of_reductions() -> None:
    """Made without the proof that reads are inside, for which some of these conditions are too much."""
    for seed in range(60):
        axes = te.data_axes((5,))
        body = drawn(random.Random(seed), axes[0].var)
        check(Tensor("out", (5,), DType("int64"), te.Compute(axes, body)))


def test_a_scan_whose_choices_share_reductions() -> None:
    axes = te.data_axes((5,))
    state = State(axes, 0)
    tensor = Tensor("s", (5,), DType("int64"), Scan((state,), 5, 1))
    state.tensor = tensor
    t = axes[0].var
    before = select(t > 0, read(tensor, t - 1), 0)
    value = total(t, before)
    for n in range(40):
        value = select(value > n, value - total(t, before), value + n)
    state.body = value
    check(tensor)


WIDE = te.placeholder("x", (5, 40), "int64")


def test_elements_that_lie_side_by_side_are_reduced_in_lanes() -> None:
    def body(i: Expr) -> Expr:
        k = reduce_axis(i * 8, "k")
        return reduce("sum", k, read(WIDE, i, k.var) * read(WIDE, 2, k.var)) + 1

    func = check(te.compute("out", (5,), "int64", body), WIDE)
    assert (
        tir.to_text(func)
        == """\
kernel(x: int64[5, 40]) -> (out: int64[5]):
    for i0 in range(5):
        allocate sum1: int64[1] local
        sum1[0] = int64(0)
        allocate sum2: int64[8] local:
            vectorized for lane in range(8):
                sum2[lane] = int64(0)
            for k in range(i0 * 8 // 8):
                vectorized for lane in range(8):
                    sum2[lane] = sum2[lane] + x[i0, k * 8 + lane] * x[2, k * 8 + lane]
            vectorized for lane in range(8):
                if i0 * 8 // 8 * 8 + lane < i0 * 8:
                    sum2[lane] = sum2[lane] + x[i0, i0 * 8 // 8 * 8 + lane] * x[2, i0 * 8 // 8 * 8 + lane]
            sum1[0] = reduce_sum(sum2[ramp(0, 1, 8)])
        out[i0] = sum1[0] + int64(1)
"""
    )


@pytest.mark.parametrize("combiner", ["sum", "prod", "min", "max", "argmax", "argmin"])
@pytest.mark.parametrize("conditional", [False, True])
def test_lanes_give_what_one_accumulator_gives(combiner: str, conditional: bool) -> None:
    def body(i: Expr) -> Expr:
        outer, inner = reduce_axis(3, "r"), reduce_axis(37, "k")
        value = read(WIDE, outer.var, inner.var + 1) % 3
        condition = read(WIDE, i, inner.var) > 4 if conditional else None
        return reduce(combiner, [outer, inner], value, condition) + i

    func = check(te.compute("out", (5,), "int64", body), WIDE)
    assert "vectorized" in tir.to_text(func)
