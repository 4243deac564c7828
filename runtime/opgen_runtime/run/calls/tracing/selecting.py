"""numpy's functions that select elements: by conditions, whose results have extents that depend on data, and by
positions that are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .... import ops
from ....base.errors import CallError
from ....ir import first_traced
from .elements import nonzero
from .functions import maps
from .operands import any_axis, element, tensor, to
from .tracer import Tracer

np: Any = numpy  # whose annotations know no tracers


@maps("argwhere")
def argwhere(a: Any) -> Any:
    return ops.argwhere(tensor(a))


@maps("flatnonzero")
def flatnonzero(a: Any) -> Any:
    return nonzero(np.ravel(tensor(a)))[0]


@maps("extract")
def extract(condition: Any, arr: Any) -> Any:
    return compress(np.ravel(tensor(condition)), arr)


@maps("compress")
def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    """By a condition that is known along any axis, by a computed one along a vector or the flattened tensor."""
    x = tensor(a)
    x, at = (np.ravel(x), 0) if axis is None else (x, any_axis(axis, x.ndim))
    if not isinstance(condition, Tracer):
        return np.take(x, np.flatnonzero(np.asarray(condition)), axis=at)
    if x.ndim != 1:
        raise CallError(
            "np.compress while a function is traced takes a condition that is known along an axis"
        )
    mask = to(condition, bool)
    if mask.ndim != 1 or mask.shape[0] > x.shape[0]:
        raise ValueError("condition must be a 1-d array, no longer than the axis")
    return ops.masked_select(x[: mask.shape[0]], mask)


@maps("unique")
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    sorted: bool = True,
) -> Any:
    """Sorted; NaN are one."""
    x = tensor(ar)
    at = None if axis is None else any_axis(axis, x.ndim)
    found, indices, inverse, counts = ops.unique(x, axis=at)
    wanted = (
        (True, found),
        (return_index, indices),
        (return_inverse, np.reshape(inverse, x.shape) if at is None else inverse),
        (return_counts, counts),
    )
    given = tuple([each for is_wanted, each in wanted if is_wanted])
    return given if len(given) > 1 else given[0]


@maps("unique_values")
def unique_values(x: Any, /) -> Any:
    return unique(x)


@maps("unique_all")
def unique_all(x: Any, /) -> Any:
    return unique(x, True, True, True)


@maps("unique_counts")
def unique_counts(x: Any, /) -> Any:
    return unique(x, return_counts=True)


@maps("unique_inverse")
def unique_inverse(x: Any, /) -> Any:
    return unique(x, return_inverse=True)


@maps("union1d")
def union1d(ar1: Any, ar2: Any) -> Any:
    return unique(np.concatenate([np.ravel(tensor(ar1)), np.ravel(tensor(ar2))]))


@maps("delete")
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """Without the elements at positions that are known."""
    x, at, places = _positioned("delete", arr, obj, axis)
    return np.take(x, np.delete(places, obj), axis=at)


@maps("insert")
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """With values before positions that are known."""
    x, at, places = _positioned("insert", arr, obj, axis)
    given = to(tensor(values), x.dtype)
    given = np.reshape(given, (1,) * max(x.ndim - given.ndim, 0) + given.shape)
    count = places[obj].size if isinstance(obj, slice) else np.size(obj)
    if isinstance(obj, int):
        given = np.moveaxis(given, 0, at)
    count = given.shape[at] if count == 1 else count
    given = np.broadcast_to(given, (*x.shape[:at], count, *x.shape[at + 1 :]))
    order = np.insert(places, obj, np.arange(places.size, places.size + count))
    return np.take(np.concatenate([x, given], at), order, axis=at)


def _positioned(name: str, arr: Any, obj: Any, axis: int | None) -> tuple[Any, int, Any]:
    """The tensor, the axis, and the positions along it. Raises CallError for positions that are computed."""
    if first_traced([obj]) is not None:
        raise CallError(f"np.{name} while a function is traced takes positions that are known")
    x = tensor(arr)
    x, at = (np.ravel(x), 0) if axis is None else (x, any_axis(axis, x.ndim))
    return x, at, np.arange(x.shape[at])


@maps("piecewise")
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """The functions are of elements: each is called with all of them, and the condition takes what it gives."""
    given = tensor(x)
    several = isinstance(condlist, list | tuple) or np.ndim(condlist) > 1
    conditions = [tensor(each) for each in (condlist if several else [condlist])]
    if any([each.shape != given.shape for each in conditions]):
        raise IndexError(f"conditions must have the shape {given.shape} of x")
    if len(funclist) == len(conditions) + 1:
        conditions.append(np.logical_not(np.any(np.stack(conditions), axis=0)))
    if len(funclist) != len(conditions):
        raise ValueError(
            f"{len(funclist)} functions for {len(conditions)} conditions; one more is for all else"
        )
    found = np.zeros_like(given)
    for condition, function in zip(conditions, funclist, strict=True):
        value = function(given, *args, **kw) if callable(function) else function
        found = np.where(condition, to(tensor(value), given.dtype), found)
    return found


@maps("apply_over_axes")
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """The function after itself, over each axis, which stays with one element."""
    found: Any = tensor(a)
    ndim = found.ndim
    for axis in (axes,) if isinstance(axes, int) else axes:
        at = any_axis(axis, ndim)
        made = func(found, at)
        found = made if made.ndim == ndim else np.expand_dims(made, at)
        if found.ndim != ndim:
            raise ValueError("function is not returning an array of the correct shape")
    return found


@maps("ix_")
def ix_(*args: Any) -> Any:
    vectors = [tensor(each) for each in args]
    if any([each.ndim != 1 for each in vectors]):
        raise ValueError("Cross index must be 1 dimensional")
    if any([element(each.dtype).is_bool for each in vectors]):
        raise CallError("np.ix_ while a function is traced takes positions, found a mask")
    return tuple(
        [
            np.reshape(x, tuple([-1 if k == at else 1 for k in range(len(vectors))]))
            for at, x in enumerate(vectors)
        ]
    )


@maps("diag_indices_from")
def diag_indices_from(arr: Any) -> Any:
    x = tensor(arr)
    if x.ndim < 2 or len(set(x.shape)) != 1:
        raise ValueError("All dimensions of input must be of equal length, and there are at least two")
    return np.diag_indices(x.shape[0], x.ndim)


@maps("tril_indices_from")
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    return np.tril_indices(*_matrix_shape(arr, k))


@maps("triu_indices_from")
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    return np.triu_indices(*_matrix_shape(arr, k))


def _matrix_shape(arr: Any, k: int) -> tuple[int, int, int]:
    shape = tensor(arr).shape
    if len(shape) != 2:
        raise ValueError("input array must be 2-d")
    return shape[0], k, shape[1]
