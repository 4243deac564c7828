"""Elements of tensors, `A[i, j]`, and axes as numbers: `A[i, k + 1]` where k is a reduce axis."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ....base.arith import Const, Expr, eq, equality, ne
from ....base.errors import AccessError
from ..construct import read
from ..tensor import IterVar, Read, Tensor

_ARITHMETIC = (
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.truediv,
)  # fmt: skip
_COMPARISONS = (operator.lt, operator.le, operator.gt, operator.ge)


def number(value: object) -> object:
    """An axis as its variable; what is no axis stays."""
    return value.var if isinstance(value, IterVar) else value


def element(tensor: Tensor, *indices: object) -> Read:
    """`tensor[indices]`.

    Raises ShapeError for a wrong number of indices, DTypeError for one that is no integer, AccessError for a number
    that lies outside its dim.  That other indices stay inside is proved when a schedule is made.
    """
    made: list[int | Expr] = []
    for position, given in enumerate(indices):
        index = number(given)
        if isinstance(index, np.integer):
            index = int(index)
        if isinstance(index, bool) or not isinstance(index, int | Expr):
            raise AccessError(
                f"{tensor.name}: index {position} is {given!r:.80}; expected an integer, an axis or an expression"
            )
        dim = tensor.shape[position] if position < tensor.ndim else None
        at = int(index.value) if isinstance(index, Const) and index.dtype.is_int else index
        if isinstance(at, int) and (at < 0 or (isinstance(dim, int) and at >= dim)):
            inside = f"0..{dim - 1}" if isinstance(dim, int) else f"0 to {dim}, exclusive"
            raise AccessError(f"{tensor.name}: index {position} is {at}, the dim is {dim} ({inside})")
        made.append(index)
    return read(tensor, *made)


def _at(tensor: Tensor, indices: object) -> Read:
    return element(tensor, *(indices if isinstance(indices, tuple) else (indices,)))


def _method(function: Callable[[Any, Any], Any], swapped: bool) -> Callable[[IterVar, object], object]:
    def method(axis: IterVar, other: object) -> object:
        value = number(other)
        if not isinstance(value, Expr | int | float | np.generic):
            return NotImplemented
        return function(value, axis.var) if swapped else function(axis.var, value)

    return method


def _attach() -> None:
    for function in _ARITHMETIC:
        setattr(IterVar, f"__{function.__name__}__", _method(function, False))
        setattr(IterVar, f"__r{function.__name__}__", _method(function, True))
    for function in _COMPARISONS:
        setattr(IterVar, f"__{function.__name__}__", _method(function, False))
    for name, equal in (("__eq__", eq), ("__ne__", ne)):
        setattr(IterVar, name, lambda axis, other, fn=equal: equality(axis.var, number(other), fn))


Tensor.__getitem__ = _at
Tensor.__call__ = element
_attach()
