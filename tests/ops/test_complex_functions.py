"""Functions of complex elements beside numpy's: on all pairs of special parts, and how far from exact values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opgen_runtime.run.calls import eager
from tests.ops.test_complex import DTYPES, assert_same, ordinary, special

OF_ANNEX_G = ["exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"]
OTHERS = ["log2", "log10", "reciprocal", "square", "sign", "isnan", "isinf", "isfinite"]


def one_by_one(function: Callable[..., Any], *operands: np.ndarray) -> np.ndarray:
    """numpy's values of single elements: of rows it fuses multiplications and additions of some functions."""
    with np.errstate(all="ignore"):
        return np.array([function(*each) for each in zip(*operands, strict=True)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OF_ANNEX_G + OTHERS)
def test_special_values(name: str, dtype: str) -> None:
    """Signs of zeros included, also of those beside a NaN."""
    z = special(dtype)
    assert_same(getattr(eager, name)(z), one_by_one(getattr(np, name), z), 8)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["exp2", "log1p", "expm1"])
def test_what_numpy_defines_by_plain_formulas(name: str, dtype: str) -> None:
    """numpy has NaN where an infinity times zero is; elsewhere both agree.  numpy's log1p is not precise near 0."""
    z = special(dtype)
    expected = one_by_one(getattr(np, name), z)
    defined = np.isfinite(expected.real) & np.isfinite(expected.imag)
    assert_same(getattr(eager, name)(z)[defined], expected[defined], 8)


def wide(name: str, z: np.ndarray) -> np.ndarray:
    return np.asarray(getattr(np, name)(z.astype(np.clongdouble)))


def distance(found: np.ndarray, exact: np.ndarray) -> float:
    """The greatest error of a part, in units of the element's size times eps."""
    size = np.abs(exact) * np.finfo(found.dtype).eps
    return float(
        max(np.max(np.abs(f - e) / size) for f, e in ((found.real, exact.real), (found.imag, exact.imag)))
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OF_ANNEX_G)
def test_errors_of_ordinary_values(name: str, dtype: str) -> None:
    random = np.random.default_rng(1)
    sizes = 10.0 ** random.uniform(-3, 1.5, 2000)
    z = np.asarray(sizes * np.exp(1j * random.uniform(-np.pi, np.pi, 2000))).astype(dtype)
    assert distance(getattr(eager, name)(z), wide(name, z)) < 4


def test_logarithms_near_the_unit_circle() -> None:
    """The real part is a difference from 1 that squares cancel to."""
    z = np.exp(1j * np.linspace(-3, 3, 1000))
    found, exact = eager.log(z), wide("log", z)
    assert np.max(np.abs(found.real - exact.real) / np.maximum(np.abs(exact.real), 1e-18)) < 1e-12


def test_values_whose_factors_overflow() -> None:
    """exp(x) is infinite where exp(x) cos(y) is not."""
    z = np.array([710 + 1.5707j, 800 + 0j, 1420 + 1j, -710 - 1.5707j])
    with np.errstate(all="ignore"):
        for name in ("exp", "sinh", "cosh"):
            assert_same(getattr(eager, name)(z), getattr(np, name)(z), 2048)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_square_root_of_extreme_numbers(dtype: str) -> None:
    limits = np.finfo(dtype)
    size = np.array([limits.max, limits.tiny, float(limits.smallest_subnormal)])
    z = np.array([unit * size for unit in (1 + 1j, -1 + 1j, 0.5 - 1j)]).reshape(-1).astype(dtype)
    found = eager.sqrt(z)
    assert distance(found, wide("sqrt", z)) < 4


def test_log1p_near_zero() -> None:
    z = np.array([1e-10 + 0j, 1e-9j, 1e-9 + 1e-5j, -1e-12 + 1e-12j])
    exact = [1e-10 - 5e-21, 1e-9j + 5e-19, 1e-9 + 5e-11 + 1e-5j * (1 - 1e-9), z[3] - z[3] ** 2 / 2]
    np.testing.assert_allclose(eager.log1p(z).real, np.real(exact), rtol=1e-9)


@pytest.mark.parametrize("dtype", DTYPES)
def test_powers(dtype: str) -> None:
    z, w = ordinary((5, 7), dtype), ordinary((7,), dtype)
    assert_same(eager.power(z, w), np.power(z, w), 64)
    zero, one = np.zeros(4, dtype), np.array([0, 2, -1, 1j]).astype(dtype)
    found = eager.power(zero, one)
    assert found[:2].tolist() == [1, 0]
    assert np.isnan(found[2:]).all()


CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "matmul": (lambda a, b: eager.matmul(a, b), lambda a, b: a @ b),
    "dense": (lambda a, b: eager.dense(a, b.T.copy()), lambda a, b: a @ b),
    "batch_matmul": (
        lambda a, b: eager.batch_matmul(a[None], b[None], transpose_b=False),
        lambda a, b: (a @ b)[None],
    ),
    "einsum": (lambda a, b: eager.einsum((a, b), equation="ij,jk->ki"), lambda a, b: (a @ b).T),
    "vector": (lambda a, b: eager.matmul(a, b[:, :1]), lambda a, b: a @ b[:, :1]),
    "prod": (lambda a, b: eager.prod(a, axis=(0,)), lambda a, b: a.prod(0)),
    "prod of nothing": (lambda a, b: eager.prod(a[:0], axis=(0,)), lambda a, b: a[:0].prod(0)),
    "mean": (lambda a, b: eager.mean(a, axis=(1,), keepdims=True), lambda a, b: a.mean(1, keepdims=True)),
    "cumsum": (lambda a, b: eager.cumsum(a, axis=1), lambda a, b: a.cumsum(1)),
    "cumprod": (lambda a, b: eager.cumprod(a, axis=0), lambda a, b: a.cumprod(0)),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_products_and_means(name: str, dtype: str) -> None:
    ours, numpys = CALLS[name]
    a, b = ordinary((6, 33), dtype) / 3, ordinary((33, 20), dtype)
    found, expected = ours(a, b), numpys(a, b)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    scale = max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert np.abs(found - expected).max(initial=0.0) <= 64 * np.finfo(dtype).eps * scale


def test_infinities_in_products() -> None:
    assert_same(
        eager.cumprod(np.array([math.inf + 1j, 1 + 0j])), np.array([math.inf + 1j, complex("inf+nanj")])
    )
