"""What types take to hold of symbolic dims is checked with the values, before a kernel reads or writes a byte."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import ExecutorError
from opgen_runtime.run.compile.pipeline import forget_kernels

N, M = dim("n"), dim("m")
X, Y = (ir.Var(name, rt.TensorType((size, 3), "float32")) for name, size in (("x", N), ("y", M)))
C = ir.Var("c", rt.TensorType((), "bool"))
FOUR = ir.Constant(np.arange(8, dtype=np.float32).reshape(2, 4))

Case = tuple[ir.Expr, Callable[[int, int], bool], str]
CASES: dict[str, Case] = {
    "a number": (
        ops.matmul(FOUR, X),
        lambda n, m: n == 4,
        r"matmul requires 4 == n \(K of b: 4 == n\), but n is",
    ),
    "two dims": (
        ops.concatenate([X, Y], axis=1),
        lambda n, m: n == m,
        "concatenate: the tensors must have .*; it requires m == n .*, but m is",
    ),
    "a quotient": (
        ops.split(X, indices_or_sections=2)[0],
        lambda n, m: n % 2 == 0,
        "split: .*; it requires n % 2 == 0",
    ),
    "in its own words": (
        ops.bias_add(X, ops.sum(Y, axis=1), axis=0),
        lambda n, m: n == m,
        "bias_add: the bias must have the extent of the axis; it requires .* == .* \\(.*\\), but",
    ),
    "all elements": (
        ops.reshape(X, newshape=(4, 3)),
        lambda n, m: n == 4,
        r"reshape: .*; it requires 12 == n \* 3",
    ),
    "after a kernel": (
        ops.matmul(FOUR, ops.softmax(ops.cumsum(X, axis=0), axis=0)),
        lambda n, m: n == 4,
        "matmul requires 4 == n",
    ),
    "after a size that no dim tells": (
        ops.matmul(FOUR, ops.cumsum(ops.concatenate([X, Y], axis=0), axis=0)),
        lambda n, m: n + m == 4,
        "matmul requires 4 == n \\+ m .*, but n is",
    ),
    "branches": (
        ir.If(C, ops.exp(X), ops.tanh(Y)),
        lambda n, m: n == m,
        r"a value of shape \(n, 3\) requires n == m",
    ),
    "copied branches": (ir.If(C, X, Y), lambda n, m: n == m, r"a value of shape \(n, 3\) requires n == m"),
}


@pytest.mark.parametrize("name", CASES)
def test_sizes_are_served_or_refused_by_what_is_declared(name: str) -> None:
    body, fits, message = CASES[name]
    built = rt.build(ir.Function(tuple([v for v in (C, X, Y) if v in ir.free_vars(body)]), body))
    assert built.why_interpreted is None
    for each in (built, pickle.loads(pickle.dumps(built))):
        for n, m in ((4, 4), (2, 2), (1, 3), (3, 1), (0, 0), (0, 4), (4, 5), (3, 500), (500, 3)):
            given = {"c": np.array(n < m), "x": np.ones((n, 3), np.float32), "y": np.ones((m, 3), np.float32)}
            arrays = [given[name] for name in each.inputs]
            if fits(n, m):
                each.run(arrays)
            else:
                with pytest.raises(ExecutorError, match=message):
                    each.run(arrays)


Y6 = ir.Var("y", rt.TensorType((6, 3), "float32"))
BROADCASTS: dict[str, tuple[ir.Expr, Callable[[np.ndarray, np.ndarray], np.ndarray]]] = {
    "one kernel": (ops.add(X, Y6), lambda a, b: a + b),
    "reduced": (ops.sum(ops.multiply(X, Y6), axis=0), lambda a, b: (a * b).sum(axis=0)),
    "several kernels": (ops.cumsum(ops.add(X, Y6), axis=0), lambda a, b: np.cumsum(a + b, axis=0)),
}


@pytest.mark.parametrize("name", BROADCASTS)
def test_a_dim_that_meets_a_number_in_a_broadcast_is_that_or_one(name: str) -> None:
    """Native, saved, and from the cache."""
    body, expected = BROADCASTS[name]
    function = ir.Function((X, Y6), body)
    b = np.arange(18, dtype=np.float32).reshape(6, 3)
    for _ in range(2):
        built = rt.build(function)
        assert built.why_interpreted is None
        for each in (built, pickle.loads(pickle.dumps(built))):
            for n in (1, 6):
                a = np.full((n, 3), 2, np.float32)
                np.testing.assert_allclose(each.run([a, b]), expected(a, b), rtol=1e-6)
            for n in (0, 2, 7):
                with pytest.raises(
                    ExecutorError, match=f"'n' and '6' meet in a broadcast, but are {n} and 6"
                ):
                    each.run([np.ones((n, 3), np.float32), b])
        forget_kernels()


def test_results_whose_sizes_depend_on_data_and_on_dims() -> None:
    """Alone, in a chain, and beside what they came from."""
    x = ir.Var("x", rt.TensorType((N,), "float32"))
    kept = ops.masked_select(x, ops.greater(x, ir.const(np.float32(0))))
    programs: list[tuple[ir.Expr, Callable[[np.ndarray], np.ndarray]]] = [
        (kept, lambda a: a[a > 0]),
        (ops.exp(kept), lambda a: np.exp(a[a > 0])),
        (ops.concatenate([kept, x], axis=0), lambda a: np.concatenate([a[a > 0], a])),
    ]
    for body, expected in programs:
        built = rt.build(ir.Function((x,), body))
        for n in (0, 1, 9):
            a = np.linspace(-1, 2, n).astype(np.float32)
            np.testing.assert_allclose(built.run([a]), expected(a), rtol=1e-6)
