"""numpy's products of vectors and matrices that are made of other functions of numpy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from ....base.errors import CallError
from .functions import maps
from .operands import tensor
from .rearranging import diagonal

np: Any = numpy  # whose annotations know no tracers


@maps("cross")
def cross(a: Any, b: Any, axis: int = -1) -> Any:
    x, y = np.moveaxis(tensor(a), axis, -1), np.moveaxis(tensor(b), axis, -1)
    if x.shape[-1] != 3 or y.shape[-1] != 3:
        raise CallError("np.cross while a function is traced takes vectors of three elements")
    turns = [(1, 2), (2, 0), (0, 1)]
    parts = [x[..., i] * y[..., j] - x[..., j] * y[..., i] for i, j in turns]
    return np.moveaxis(np.stack(parts, -1), -1, axis)


@maps("linalg.cross")
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return cross(x1, x2, axis)


@maps("linalg.outer")
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    return np.outer(tensor(x1), tensor(x2))


@maps("linalg.matmul")
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    return np.matmul(tensor(x1), tensor(x2))


@maps("linalg.matrix_transpose")
def linalg_transpose(x: Any, /) -> Any:
    return np.swapaxes(tensor(x), -1, -2)


@maps("linalg.trace")
def linalg_trace(x: Any, /, *, offset: int = 0) -> Any:
    return np.sum(diagonal(x, offset, -2, -1), axis=-1)


@maps("linalg.vecdot")
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    return np.sum(np.multiply(tensor(x1), tensor(x2)), axis=axis)


@maps("linalg.tensordot")
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return np.tensordot(tensor(x1), tensor(x2), axes)


@maps("linalg.matrix_power")
def matrix_power(a: Any, n: int) -> Any:
    if n < 0:
        raise CallError("np.linalg.matrix_power while a function is traced takes a power >= 0")
    x = tensor(a)
    total: Any = None
    while n:
        total = (x if total is None else np.matmul(total, x)) if n & 1 else total
        n >>= 1
        x = np.matmul(x, x) if n else x
    return np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape) if total is None else total


@maps("linalg.multi_dot")
def multi_dot(arrays: Sequence[Any]) -> Any:
    first, *rest = map(tensor, arrays)
    for each in rest:
        first = np.dot(first, each)
    return first
