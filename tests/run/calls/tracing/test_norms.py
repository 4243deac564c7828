"""Norms of every order, differences and slopes beside numpy's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt

MATRIX = (np.arange(12, dtype=np.float32) - 4).reshape(3, 4)
PLACES = np.array([0.0, 1.0, 3.0, 7.0])


def _same(function: Callable[..., Any], *arrays: np.ndarray) -> None:
    with np.errstate(divide="ignore"):
        wanted = function(*arrays)
    found = rt.jit(function)(*arrays)
    for mine, theirs in zip(
        *(each if isinstance(each, tuple) else (each,) for each in (found, wanted)), strict=True
    ):
        assert (np.shape(mine), np.asarray(mine).dtype) == (np.shape(theirs), np.asarray(theirs).dtype)
        np.testing.assert_allclose(mine, theirs, rtol=2e-6)


@pytest.mark.parametrize("order", [None, 0, 0.5, 1, 2, 3, -1, -2, np.inf, -np.inf])
def test_of_vectors(order: Any) -> None:
    _same(lambda x: np.linalg.norm(x, order, 1), MATRIX)
    _same(lambda x: np.linalg.norm(x, order, 0, keepdims=True), MATRIX.astype(np.int8))
    _same(lambda x: np.linalg.vector_norm(x, ord=2 if order is None else order), MATRIX)


@pytest.mark.parametrize("order", [None, "fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf])
def test_of_matrices(order: Any) -> None:
    _same(lambda x: np.linalg.norm(x, order, (1, 0)), MATRIX)
    _same(lambda x: np.linalg.norm(x, order, (0, 2), keepdims=True), MATRIX.reshape(2, 3, 2))
    _same(lambda x: np.linalg.matrix_norm(x, ord="fro" if order is None else order), MATRIX.reshape(2, 3, 2))


def test_of_nothing() -> None:
    _same(lambda x: np.linalg.norm(x, np.inf, 1), MATRIX[:, :0])
    _same(lambda x: np.linalg.norm(x, 1), MATRIX[:, :0])


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda x: np.linalg.norm(x, 3), ValueError, "Invalid norm order for matrices"),
        (lambda x: np.linalg.norm(x, "fro", 1), ValueError, "Invalid norm order 'fro' for vectors"),
        (lambda x: np.linalg.norm(x[None], 1), ValueError, "Improper number of dimensions"),
        (lambda x: np.vander(x), ValueError, "one-dimensional"),
        (lambda x: np.gradient(x, 1.0, 2.0, 3.0), TypeError, "invalid number of arguments"),
        (
            lambda x: np.gradient(x[:2], axis=0, edge_order=2),
            ValueError,
            r"at least \(edge_order \+ 1\) elements",
        ),
        (lambda x: np.lib.stride_tricks.sliding_window_view(x, 5, 1), ValueError, "larger than input array"),
    ],
)
def test_refusals(function: Callable[..., Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        rt.jit(function)(MATRIX)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.diff(x, prepend=0),
        lambda x: np.diff(x, 2, 0, prepend=x[:1], append=np.float32(3)),
        lambda x: np.gradient(x, edge_order=2),
        lambda x: np.gradient(x, 2.0, PLACES),
        lambda x: np.gradient(x, PLACES, axis=1, edge_order=2),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3)),
        lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=-1),
    ],
)
def test_differences(function: Callable[..., Any]) -> None:
    _same(function, MATRIX)
