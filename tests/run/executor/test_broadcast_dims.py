"""Different symbolic dims that meet in a broadcast: equal, or one of them 1, checked when the program runs."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import ExecutorError, ShapeError
from opgen_runtime.run.compile.pipeline import compile_parts

N, M = dim("n"), dim("m")
SIZES = (0, 1, 2, 5)


def var(name: str, *shape: object) -> ir.Var:
    return ir.Var(name, rt.TensorType(shape, "float32"))


X, Y, W = var("x", N, 6), var("y", M, 6), var("w", 6, 3)
SUM = ops.add(X, Y)
PROGRAMS = {
    "elementwise": SUM,
    "reduced": ops.sum(ops.multiply(SUM, X), axis=0),
    "several kernels": ops.matmul(ops.softmax(SUM, axis=1), W),
    "met once more": ops.maximum(ops.softmax(SUM, axis=1), Y),
}


def executable(name: str) -> rt.Executable:
    body = PROGRAMS[name]
    return rt.build(ir.Function(tuple([v for v in (X, Y, W) if v in ir.free_vars(body)]), body))


def by_numpy(name: str, x: np.ndarray, y: np.ndarray, *w: np.ndarray) -> np.ndarray:
    total = x + y
    if name == "elementwise":
        return total
    if name == "reduced":
        return (total * x).sum(axis=0)
    powers = np.exp(total - total.max(axis=1, keepdims=True))
    rows = powers / powers.sum(axis=1, keepdims=True)
    return rows @ w[0] if w else np.maximum(rows, y)


def arrays(built: rt.Executable, n: int, m: int) -> list[np.ndarray]:
    random = np.random.default_rng(n * 8 + m)
    shapes = {"x": (n, 6), "y": (m, 6), "w": (6, 3)}
    return [random.standard_normal(shapes[name]).astype(np.float32) for name in built.inputs]


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_pair_of_sizes_is_served_or_refused_by_its_names(name: str) -> None:
    built = executable(name)
    assert built.why_interpreted is None
    copies = (built, pickle.loads(pickle.dumps(built)))
    for n, m in itertools.product(SIZES, SIZES):
        given = arrays(built, n, m)
        for each in copies:
            if n == m or 1 in (n, m):
                wanted = by_numpy(name, *given)
                np.testing.assert_allclose(each.run(given), wanted, rtol=2e-5, atol=2e-6)
            else:
                found = f"'n' and 'm' meet in a broadcast, but are {n} and {m}: they must be equal, or one of them 1"
                with pytest.raises(ExecutorError, match=found):
                    each.run(given)


def test_the_type_says_what_it_is_and_is_read_again(tmp_path: Path) -> None:
    assert str(SUM.checked_type) == "Tensor[(m if n == 1 else n, 6), float32]"
    more = ir.Function((X, Y, var("z", *SUM.checked_type.shape)), ops.exp(SUM))
    text = str(ir.IRModule.from_expr(more))
    assert "%z: Tensor[(select(eq(n, 1), m, n), 6), float32]" in text
    assert str(rt.parse_module(text)) == text


def test_explain_names_the_variants() -> None:
    assert "opgen_add has versions for n == 1, m == 1 and the rest" in executable("elementwise").explain()


def test_dims_that_meet_in_more_ways_are_compiled_for_the_sizes_at_hand() -> None:
    x, y = var("x", N, M), var("y", M, N)
    built = rt.build(ir.Function((x, y), ops.multiply(x, y)))
    assert "known when it runs" in (built.why_interpreted or "")
    a, b = np.full((1, 4), 2, np.float32), np.full((4, 1), 3, np.float32)
    np.testing.assert_array_equal(built.run([a, b]), a * b)
    with pytest.raises(ShapeError, match="2 and 3 differ"):
        built.run([np.ones((2, 3), np.float32), np.ones((3, 2), np.float32)])


def test_sizes_that_no_dim_tells_are_dims_of_the_kernels_that_take_them() -> None:
    """What follows a concatenation of two dims is native too."""
    body = ops.matmul(ops.concatenate([X, Y], axis=0), W)
    built = rt.build(ir.Function((X, Y, W), body))
    assert built.why_interpreted is None
    for n, m in ((0, 1), (1, 0), (3, 4)):
        x, y, w = arrays(built, n, m)
        np.testing.assert_allclose(built.run([x, y, w]), np.concatenate([x, y]) @ w, rtol=1e-5, atol=1e-5)


def test_constants_that_variants_would_prepare_otherwise_are_prepared_in_each_run() -> None:
    """One row is no contraction, whose weight is not packed: none of the kernels takes a packed one."""
    weight = np.random.default_rng(3).standard_normal((16, 32)).astype(np.float32)
    x, w, z = var("x", N, 32), var("w", 16, 32), var("z", M, 16)
    parts = compile_parts(ir.Function((x, w, z), ops.add(ops.dense(x, w), z)), [1], "llvm -num-threads=1")
    assert parts.precompute is None
    for n, m in ((9, 9), (1, 9), (9, 1), (1, 1), (3, 1), (1, 3)):
        a, b = np.full((n, 32), 0.5, np.float32), np.full((m, 16), 2, np.float32)
        (found,) = parts.main.run([a, weight, b])
        np.testing.assert_allclose(found, a @ weight.T + b, rtol=1e-5, atol=1e-5)


def halved_and_doubled(x: ir.Expr) -> ir.Expr:
    """A plane beside what is made of one of half its size, as networks that look at images at several sizes have."""
    half = ops.max_pool2d(x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    quarter = ops.max_pool2d(half, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    doubled = ops.repeat(ops.repeat(quarter, repeats=2, axis=2), repeats=2, axis=3)
    return ops.multiply(ops.add(doubled, ops.relu(half)), doubled)


def test_sizes_that_are_no_whole_dims_meet() -> None:
    x = var("x", 1, 2, dim("h"), dim("w"))
    built = rt.build(ir.Function((x,), halved_and_doubled(x)))
    assert built.why_interpreted is None
    served = 0
    for h, w in itertools.product((1, 2, 3, 4, 6, 8, 12), (1, 4, 5, 16)):
        array = np.random.default_rng(h * 32 + w).standard_normal((1, 2, h, w)).astype(np.float32)
        given = var("x", 1, 2, h, w)
        try:
            expected = rt.build(ir.Function((given,), halved_and_doubled(given))).run([array])
        except ShapeError:
            with pytest.raises(ExecutorError, match="meet in a broadcast, but are"):
                built.run([array])
            continue
        np.testing.assert_array_equal(built.run([array]), expected)
        served += 1
    assert served == 18


def test_a_size_meets_the_dim_that_it_is_made_of() -> None:
    """n beside (n + 1) // 2 * 2: where n is even, or 1."""
    x = var("x", 1, 2, dim("n"))
    half = ops.max_pool1d(x, pool_size=(1,), strides=(2,))
    built = rt.build(ir.Function((x,), ops.add(ops.repeat(half, repeats=2, axis=2), x)))
    assert built.why_interpreted is None
    for n in (0, 1, 2, 6, 10):
        array = np.random.default_rng(n).standard_normal((1, 2, n)).astype(np.float32)
        expected = np.repeat(array[..., ::2], 2, axis=2) + array
        np.testing.assert_array_equal(built.run([array]), expected)
    with pytest.raises(ExecutorError, match="meet in a broadcast, but are 4 and 3"):
        built.run([np.zeros((1, 2, 3), np.float32)])
