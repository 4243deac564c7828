"""numpy's products of vectors and matrices that are made of other functions of numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from .functions import maps
from .operands import tensor

np: Any = numpy  # whose annotations know no tracers


@maps("cross")
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Of vectors of three elements, or of two, whose third is 0."""
    axisa, axisb, axisc = (axisa, axisb, axisc) if axis is None else (axis,) * 3
    x, y = np.moveaxis(tensor(a), axisa, -1), np.moveaxis(tensor(b), axisb, -1)
    if x.shape[-1] not in (2, 3) or y.shape[-1] not in (2, 3):
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    if x.shape[-1] == 2 == y.shape[-1]:
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    x, y = (np.concatenate([each, np.zeros_like(each[..., : 3 - each.shape[-1]])], -1) for each in (x, y))
    turns = [(1, 2), (2, 0), (0, 1)]
    parts = [x[..., i] * y[..., j] - x[..., j] * y[..., i] for i, j in turns]
    return np.moveaxis(np.stack(parts, -1), -1, axisc)


@maps("linalg.cross")
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    if tensor(x1).shape[axis] != 3 or tensor(x2).shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return cross(x1, x2, axis=axis)


@maps("linalg.outer")
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    x, y = tensor(x1), tensor(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are of {x.ndim} and {y.ndim} axes")
    return np.outer(x, y)


@maps("linalg.matmul")
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    return np.matmul(tensor(x1), tensor(x2))


@maps("linalg.matrix_transpose")
def linalg_transpose(x: Any, /) -> Any:
    return np.swapaxes(tensor(x), -1, -2)


@maps("linalg.vecdot")
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return np.vecdot(tensor(x1), tensor(x2), axis=axis)


@maps("linalg.tensordot")
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return np.tensordot(tensor(x1), tensor(x2), axes)


@maps("linalg.multi_dot")
def multi_dot(arrays: Sequence[Any]) -> Any:
    first, *rest = map(tensor, arrays)
    for each in rest:
        first = np.dot(first, each)
    return first
