"""Hundreds of operands and results: what a kernel of many tensors gives, and how its loop IR grows with them."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable

import numpy as np
import pytest

from opgen_runtime import ir
from opgen_runtime.base.arith import Expr, lt, select
from opgen_runtime.base.target import Target
from opgen_runtime.compute import te
from opgen_runtime.lower import tir
from opgen_runtime.lower.library import schedules
from opgen_runtime.lower.tir.nodes.visit import statements
from opgen_runtime.operator.types import TensorType
from opgen_runtime.ops import concatenate, split, stack
from opgen_runtime.run.calls import eager
from opgen_runtime.run.compile.kernel.records import Request
from opgen_runtime.run.compile.pipeline import through_kernel, upto


@pytest.mark.parametrize("sizes", [range(1, 9), [1] * 60, [0, 3] * 30, [2, 0, 1, 5] * 5])
def test_concatenate(sizes: list[int]) -> None:
    arrays = [np.arange(2 * n, dtype=np.float32).reshape(2, n) + 10 * k for k, n in enumerate(sizes)]
    np.testing.assert_array_equal(eager.concatenate(arrays, axis=1), np.concatenate(arrays, axis=1))
    turned = [np.ascontiguousarray(a.T) for a in arrays]
    np.testing.assert_array_equal(eager.concatenate(turned), np.concatenate(turned))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float64"])
def test_every_axis(axis: int, dtype: str) -> None:
    shapes = [[2, 3, 5] for _ in range(70)]
    for k, shape in enumerate(shapes):
        shape[axis] = [1, 4, 0, 7, 33][k % 5]
    arrays = [np.arange(np.prod(shape)).reshape(shape).astype(dtype) for shape in shapes]
    whole = np.concatenate(arrays, axis)
    np.testing.assert_array_equal(eager.concatenate(arrays, axis=axis), whole)
    cuts = np.cumsum([a.shape[axis] for a in arrays])[:-1].tolist()
    got = eager.split(whole, indices_or_sections=cuts, axis=axis)
    for a, b in zip(got, arrays, strict=True):
        np.testing.assert_array_equal(a, b)


def test_operands_given_twice() -> None:
    a, b = np.arange(3.0), np.arange(4.0)
    np.testing.assert_array_equal(eager.concatenate([a, b] * 40), np.concatenate([a, b] * 40))


def test_large_operands_run_in_parallel() -> None:
    arrays = [np.full((1 << 15) + k % 2, k, np.int32) for k in range(50)]
    np.testing.assert_array_equal(eager.concatenate(arrays), np.concatenate(arrays))


def test_stack_and_split() -> None:
    arrays = [np.full((3,), k, np.int32) for k in range(300)]
    np.testing.assert_array_equal(eager.stack(arrays), np.stack(arrays))
    whole = np.arange(600, dtype=np.int32)
    for got, want in zip(eager.split(whole, indices_or_sections=[300]), np.split(whole, 300), strict=True):
        np.testing.assert_array_equal(got, want)


def chosen(count: int, size: int) -> tir.PrimFunc:
    """The lowered program of `count` tensors of `size` elements joined, chosen between by halves."""
    inputs = tuple(te.placeholder(f"x{k}", (size,), "float32") for k in range(count))

    def among(low: int, high: int, i: Expr) -> Expr:
        if high - low == 1:
            return te.read(inputs[low], i - low * size)
        middle = (low + high) // 2
        return select(lt(i, middle * size), among(low, middle, i), among(middle, high, i))

    out = te.compute("out", (count * size,), "float32", lambda i: among(0, count, i))
    target = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3")
    return tir.run_phases(tir.lower(schedules.generic((out,), target), inputs, (out,), "kernel"))


def test_a_loop_for_each() -> None:
    counts = {n: sum(1 for _ in statements(chosen(n, 4).body)) for n in (40, 80)}
    assert counts[80] <= 2 * counts[40] + 2
    func = chosen(40, 3)
    arrays = [np.full(3, k, np.float32) for k in range(40)]
    (got,) = tir.interpret(func, arrays)
    np.testing.assert_array_equal(got, np.concatenate(arrays))


def joined(count: int) -> ir.Function:
    sizes = [1 + k % 5 for k in range(count)]
    params = tuple(ir.var(f"x{k}", TensorType((2, size), "float32")) for k, size in enumerate(sizes))
    return ir.Function(params, concatenate(params, axis=1))


def stacked(count: int) -> ir.Function:
    params = tuple(ir.var(f"x{k}", TensorType((3,), "float32")) for k in range(count))
    return ir.Function(params, stack(params))


def cut(count: int) -> ir.Function:
    whole = ir.var("x", TensorType((2 * count,), "float32"))
    return ir.Function((whole,), split(whole, indices_or_sections=[count]))


def llvm(function: ir.Function, target: Target) -> str:
    *_, (_, emitted) = through_kernel(Request(function, target), upto("emit"))
    return str(emitted.text)


@pytest.mark.parametrize("program", [joined, stacked, cut])
def test_work_is_linear(program: Callable[[int], ir.Function]) -> None:
    """The calls of functions, from type inference to the text for LLVM, tell the work."""
    target = Target.host()

    def work(count: int) -> int:
        profile = cProfile.Profile()
        profile.enable()
        llvm(program(count), target)
        profile.disable()
        return int(pstats.Stats(profile).total_calls)

    work(20)
    few, more, most = work(150), work(300), work(600)
    assert most - more < 2.1 * (more - few)


@pytest.mark.parametrize("program", [joined, stacked, cut])
def test_code_does_not_grow(program: Callable[[int], ir.Function]) -> None:
    target = Target.host()

    def lines(count: int) -> int:
        return llvm(program(count), target).count("\n")

    assert lines(400) == lines(200)
