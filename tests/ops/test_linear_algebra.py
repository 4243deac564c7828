"""Decompositions and systems beside numpy.linalg: interchanges of rows, broken-down input, gradients."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import eager

SWAPPED = np.array([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [3.0, 1.0, 4.0]])
RANDOM = np.random.default_rng(3).normal(size=(2, 5, 5))


def test_lu_interchanges_rows_as_lapack_does() -> None:
    packed, pivots, permutation = eager.lu(SWAPPED)
    lower, upper = np.tril(packed, -1) + np.eye(3), np.triu(packed)
    assert pivots.tolist() == [2, 2, 2]
    assert permutation.tolist() == [2, 0, 1]
    assert np.allclose(lower @ upper, SWAPPED[permutation])


@pytest.mark.parametrize("a", [SWAPPED, RANDOM, RANDOM.astype(np.float32)])
def test_systems_are_solved_and_inverted(a: np.ndarray) -> None:
    b = np.ones((*a.shape[:-1], 2), a.dtype)
    close = {"rtol": 1e-3 if a.dtype == np.float32 else 1e-10}
    assert np.allclose(eager.solve(a, b), np.linalg.solve(a, b), **close)
    assert np.allclose(eager.inv(a), np.linalg.inv(a), **close)
    assert np.allclose(eager.det(a), np.linalg.det(a), **close)
    for mine, theirs in zip(eager.slogdet(a), np.linalg.slogdet(a), strict=True):
        assert np.allclose(mine, theirs, **close)


def test_broken_down_input_gives_no_error() -> None:
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert eager.det(singular) == 0
    assert [float(each) for each in eager.slogdet(singular)] == [0.0, -np.inf]
    assert not np.isfinite(eager.inv(singular)).any()
    assert np.isnan(eager.cholesky(np.array([[-1.0]]))).all()


def test_qr_has_the_signs_of_lapack_where_nothing_is_below_the_diagonal() -> None:
    for a in (np.triu(SWAPPED), np.zeros((3, 2)), SWAPPED[:, :2], SWAPPED[:2]):
        for mine, theirs in zip(eager.qr(a), np.linalg.qr(a), strict=True):
            assert np.allclose(mine, theirs)


def test_one_program_serves_open_dims() -> None:
    n = rt.dim("n")
    x = rt.var("x", rt.TensorType((n, n), "float64"))
    program = rt.build(rt.Function((x,), rt.ops.inv(x)))
    for a in (SWAPPED, RANDOM[0]):
        assert np.allclose(program.run([a]), np.linalg.inv(a))


def test_numpys_functions_are_differentiated() -> None:
    slope = rt.grad(lambda a, b: np.sum(np.linalg.solve(a, b)))(RANDOM[0], np.ones(5))
    inverse = np.linalg.inv(RANDOM[0])
    assert np.allclose(slope, -np.outer(inverse.sum(axis=0), inverse @ np.ones(5)))


@pytest.mark.parametrize("shape", [(2, 20, 18), (17, 21)])
def test_blocks_of_reflections(shape: tuple[int, ...]) -> None:
    """More columns than one panel has: factors, solutions and their gradients along a direction."""
    rng = np.random.default_rng(4)
    a, b, along = rng.normal(size=shape), rng.normal(size=(*shape[:-1], 2)), rng.normal(size=shape)
    for mine, theirs in zip(eager.qr(a), np.linalg.qr(a), strict=True):
        assert np.allclose(mine, theirs, rtol=0, atol=1e-13)
    assert np.allclose(eager.lstsq(a, b), np.linalg.pinv(a) @ b, rtol=1e-10, atol=1e-10)
    weights = [rng.normal(size=each.shape) for each in np.linalg.qr(a)]

    def value(a: np.ndarray, numpys: bool = False) -> np.ndarray:
        factors = np.linalg.qr(a) if numpys else rt.ops.qr(a)
        found = np.linalg.pinv(a) @ b if numpys else rt.ops.lstsq(a, b)
        parts = [np.sum(each * w) for each, w in zip(factors, weights, strict=True)]
        return sum(parts, np.sum(found * found))

    step = 1e-6 * along
    differences = (value(a + step, numpys=True) - value(a - step, numpys=True)) / 2e-6
    assert np.sum(rt.grad(value)(a) * along) == pytest.approx(differences, rel=1e-5)


def test_spectra_of_stacks_with_nan_and_of_deficient_rank() -> None:
    deficient = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    u, s, vh = eager.svd(np.stack([deficient, np.full((3, 2), np.nan)]))
    assert np.allclose((u[0] * s[0]) @ vh[0], deficient)
    assert np.allclose(u[0].T @ u[0], np.eye(2))
    assert np.argmax(np.abs(vh[0]), axis=1).tolist() == np.argmax(vh[0], axis=1).tolist()
    assert all(np.isnan(each[1]).all() for each in (u, s, vh))
    assert rt.jit(lambda a: np.linalg.matrix_rank(a))(deficient) == 1
    assert np.allclose(rt.jit(lambda a: np.linalg.pinv(a))(deficient), np.linalg.pinv(deficient))


def test_gradients_of_singular_values_of_deficient_rank() -> None:
    deficient = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    length = np.sqrt(70.0)
    slope = rt.grad(lambda a: np.sum(np.linalg.svdvals(a)[:1]))(deficient)
    assert np.allclose(slope, deficient / length)
    norm = rt.grad(lambda a: np.linalg.norm(a, 2))(deficient)
    assert np.allclose(norm, deficient / length)
