"""Eigenvalues and singular values, by LAPACK's iterations, which end where the values of elements say."""

from __future__ import annotations

import numpy as np


def eigh(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The eigenvalues of the symmetric parts of matrices, least first, and orthonormal eigenvectors as columns.

    Shapes: `a` is (..., N, N), the values (..., N), the vectors (..., N, N), in the dtype of `a`; it is computed in
    float64.  Of each vector the element of the greatest magnitude is positive.  A matrix with NaN or infinities has NaN
    throughout.
    """
    wide = a.astype(np.float64)
    sound = _sound(wide)
    even = np.where(sound[..., None, None], (wide + np.swapaxes(wide, -1, -2)) / 2, 0)
    values, vectors = np.linalg.eigh(even)
    vectors = vectors * _facing(vectors)
    return _marked(values, sound[..., None], a.dtype), _marked(vectors, sound[..., None, None], a.dtype)


def svd(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Left singular vectors as columns, singular values, greatest first, and right singular vectors as rows.

    Shapes: `a` is (..., M, N), the vectors (..., M, K) and (..., K, N), the values (..., K), K = min(M, N), in the
    dtype of `a`; it is computed in float64.  Of each vector on the side of K elements, the right one of square
    matrices, that of the greatest magnitude is positive.  A matrix with NaN or infinities has NaN throughout.
    """
    wide = a.astype(np.float64)
    sound = _sound(wide)
    left, values, right = np.linalg.svd(np.where(sound[..., None, None], wide, 0), full_matrices=False)
    rows, columns = a.shape[-2:]
    facing = _facing(np.swapaxes(right, -1, -2) if rows >= columns else left)
    left, right = left * facing, right * np.swapaxes(facing, -1, -2)
    everywhere = sound[..., None, None]
    return (
        _marked(left, everywhere, a.dtype),
        _marked(values, sound[..., None], a.dtype),
        _marked(right, everywhere, a.dtype),
    )


def _sound(a: np.ndarray) -> np.ndarray:
    """Which matrices are finite."""
    return np.asarray(np.isfinite(a).all(axis=(-2, -1)))


def _facing(vectors: np.ndarray) -> np.ndarray:
    """The sign of the element of the greatest magnitude of each column, (..., 1, N)."""
    if vectors.shape[-2] == 0:
        return np.ones((*vectors.shape[:-2], 1, vectors.shape[-1]))
    lead = np.argmax(np.abs(vectors), axis=-2)[..., None, :]
    return np.asarray(np.copysign(1.0, np.take_along_axis(vectors, lead, -2)))


def _marked(values: np.ndarray, sound: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The values in a dtype; NaN where they are not sound."""
    return np.asarray(np.where(sound, values, np.nan).astype(dtype))
