"""Every registered pass: linear time, valid IR, and equal values on random programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

import pytest

from opgen_runtime import ir, ops
from opgen_runtime.operator.registry import Op
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import (
    ConvertLayout,
    DeadCodeElimination,
    DivToMul,
    Pass,
    PassContext,
    all_passes,
)
from opgen_runtime.transform.gradient import pull
from tests.fuzz.passes import check, program

OWN: list[Callable[[], Pass]] = [
    *[maker for maker in all_passes() if maker.__module__.startswith("opgen_runtime.")],
    partial(ConvertLayout, {"conv2d": "NHWC"}),
    partial(DeadCodeElimination, inline_once=True),
    partial(DivToMul, approximate=True),
]


def names(maker: object) -> str:
    found = maker.func if isinstance(maker, partial) else maker
    return str(getattr(found, "__name__", found))


def chain(length: int) -> ir.IRModule:
    """A chain of calls with a second user a step, lets between, and constants on the way."""
    x = ir.Var("x", TensorType((2, 3), "float32"))
    exp, add = Op.get("tanh"), Op.get("add")
    one = ir.const(1.0)
    node: ir.Expr = x
    while length > 0:
        node = ir.Call(exp, (ir.Call(add, (ir.Call(add, (node, one)), node)),))
        length -= 3
    return ir.IRModule.from_expr(ir.Function((x,), node))


def paths() -> ir.IRModule:
    """A DAG of 2^60 paths."""
    x = ir.Var("x", TensorType((2, 3), "float32"))
    node: ir.Expr = x
    for _ in range(60):
        node = ops.add(node, node)
    return ir.IRModule.from_expr(ir.Function((x,), node))


def reverse_mode(module: ir.IRModule) -> ir.Expr | None:
    """The adjoint of main's parameter."""
    main = module["main"]
    (found,) = pull([main.body], [ops.ones_like(main.body)], main.params)
    return found


def work(run: Callable[[ir.IRModule], object], module: ir.IRModule) -> int:
    """The lines of Python that a pass runs, which a quiet or a busy machine does not change."""
    count = 0

    def trace(frame: object, event: str, _: object) -> object:
        nonlocal count
        count += 1
        return trace

    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        run(module)
    finally:
        sys.settrace(None)
    return count


Run = Callable[[ir.IRModule], object]
RUNS: dict[str, Run] = {
    **{f"{k} {names(maker)}": maker() for k, maker in enumerate(OWN)},
    "reverse mode": reverse_mode,
}


@pytest.mark.parametrize("name", RUNS)
def test_the_work_grows_with_the_length_alone(name: str) -> None:
    """`python -m benchmarks.passes` times chains of 100,000 calls."""
    run = RUNS[name]
    run(chain(60))  # what is remembered by op and type is remembered now
    short, long = work(run, chain(150)), work(run, chain(600))
    assert long < 4.5 * short + 1_000


@pytest.mark.parametrize("name", RUNS)
def test_a_dag_of_many_paths(name: str) -> None:
    RUNS[name](paths())


KEEPING = [maker for maker in OWN if not maker().info.changes_type]
"""Passes after which programs give what they gave."""


@pytest.mark.parametrize("maker", KEEPING, ids=names)
@pytest.mark.parametrize("seed", range(3))
def test_programs_mean_the_same(maker: Callable[[], Pass], seed: int) -> None:
    made = maker()
    check(made, program(seed, tame=made.stated(PassContext()).changes_values), seed)
