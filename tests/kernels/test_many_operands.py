"""Hundreds of operands and results: what a kernel of many tensors gives, and how its loop IR grows with them."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime import eager, schedules, te, tir
from opgen_runtime.arith import Expr, lt, select
from opgen_runtime.target import Target
from opgen_runtime.tir.visit import statements


@pytest.mark.parametrize("sizes", [range(1, 9), [1] * 60, [0, 3] * 30, [2, 0, 1, 5] * 5])
def test_concatenate(sizes: list[int]) -> None:
    arrays = [np.arange(2 * n, dtype=np.float32).reshape(2, n) + 10 * k for k, n in enumerate(sizes)]
    np.testing.assert_array_equal(eager.concatenate(arrays, axis=1), np.concatenate(arrays, axis=1))
    turned = [np.ascontiguousarray(a.T) for a in arrays]
    np.testing.assert_array_equal(eager.concatenate(turned), np.concatenate(turned))


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
