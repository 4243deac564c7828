"""numpy's norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy

from .... import ops
from .functions import maps
from .operands import reduced_axes, tensor
from .statistics import Axis, floats

np: Any = numpy  # whose annotations know no tracers

Order = float | str | None


@maps("linalg.norm")
def norm(x: Any, ord: Order = None, axis: Axis = None, keepdims: bool | int = False) -> Any:
    """Of a matrix where there are two axes, else of vectors; without an order the square root of the sum of squares."""
    given = floats(x)
    axis = axis if axis is None or isinstance(axis, tuple) else int(axis)
    axes = reduced_axes(axis, given.ndim)
    if axis is None and ord is None:
        return _length(given, axes, keepdims)
    if len(axes) not in (1, 2):
        raise ValueError("Improper number of dimensions to norm.")
    return (_vector if len(axes) == 1 else _matrix)(given, ord, axes, keepdims)


@maps("linalg.vector_norm")
def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: Order = 2) -> Any:
    given = floats(x)
    return _vector(given, ord, reduced_axes(axis, given.ndim), keepdims)


@maps("linalg.matrix_norm")
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Order = "fro") -> Any:
    given = floats(tensor(x))
    return _matrix(given, ord, reduced_axes((-2, -1), given.ndim), keepdims)


def _length(x: Any, axes: tuple[int, ...], keepdims: bool | int) -> Any:
    """The square root of the sum of squares; its derivative at 0 counts as 0, a subgradient."""
    squared = np.sum(np.square(x), axis=axes, keepdims=keepdims)
    nothing = squared == 0
    return np.where(
        nothing, ops.zeros_like(squared), np.sqrt(np.where(nothing, ops.ones_like(squared), squared))
    )


def _vector(x: Any, ord: Order, axes: tuple[int, ...], keepdims: bool | int) -> Any:
    """(sum |x|^ord)^(1/ord), and its limits at infinity; 0 counts what is not 0."""
    if ord is None or ord == 2:
        return _length(x, axes, keepdims)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order {ord!r} for vectors")
    size = np.abs(x)
    if ord == np.inf:
        return np.max(size, axis=axes, keepdims=keepdims, initial=0)
    if ord == -np.inf:
        return np.min(size, axis=axes, keepdims=keepdims)
    if ord == 0:
        return np.astype(np.sum(x != 0, axis=axes, keepdims=keepdims), x.dtype)
    if ord == 1:
        return np.sum(size, axis=axes, keepdims=keepdims)
    return np.power(np.sum(np.power(size, ord), axis=axes, keepdims=keepdims), 1.0 / ord)


def _matrix(x: Any, ord: Order, axes: tuple[int, ...], keepdims: bool | int) -> Any:
    """The greatest or least sum of absolute values in a column (1, -1) or a row (inf, -inf); the greatest or least
    singular value (2, -2) or the sum of them (nuc); or the norm of Frobenius."""
    rows, columns = axes
    if ord in (None, "fro", "f"):
        return _length(x, axes, keepdims)
    if ord in (2, -2, "nuc"):
        values = ops.svd(np.moveaxis(x, axes, (-2, -1)))[1]
        if ord == -2:
            found = np.min(values, axis=-1)
        else:
            found = np.max(values, axis=-1, initial=0) if ord == 2 else np.sum(values, axis=-1)
        return np.expand_dims(found, axes) if keepdims else found
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    summed, other = (rows, columns) if ord in (1, -1) else (columns, rows)
    sums = np.sum(np.abs(x), axis=summed, keepdims=True)
    if float(ord) > 0:
        found = np.max(sums, axis=other, keepdims=True, initial=0)
    else:
        found = np.min(sums, axis=other, keepdims=True)
    return found if keepdims else np.squeeze(found, axes)
