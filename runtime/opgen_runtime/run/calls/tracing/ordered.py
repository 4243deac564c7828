"""numpy's functions by the order of elements: places among sorted elements, and their order."""

from __future__ import annotations

from typing import Any

import numpy

from .... import ops
from .functions import maps
from .operands import element, tensor, to

np: Any = numpy  # whose annotations know no tracers


@maps("partition")
def partition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """Sorted elements are in parts about every one of them."""
    x = tensor(a)
    return np.sort(np.ravel(x)) if axis is None else np.sort(x, axis=axis)


@maps("lexsort")
def lexsort(keys: Any, axis: int = -1) -> Any:
    order = None
    for key in keys if isinstance(keys, tuple | list) else list(tensor(keys)):
        x = np.moveaxis(tensor(key), axis, -1)
        if order is None:
            order = np.argsort(x, axis=-1, kind="stable")
        else:
            again = np.argsort(np.take_along_axis(x, order, axis=-1), axis=-1, kind="stable")
            order = np.take_along_axis(order, again, axis=-1)
    return np.moveaxis(order, -1, axis)


@maps("searchsorted", method="searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """By binary search.  NaN is greater than every number."""
    dtype = np.result_type(tensor(a).dtype, tensor(v).dtype)
    x, at = to(tensor(a), dtype), to(tensor(v), dtype)
    x = x if sorter is None else np.take(x, sorter, mode="clip")
    found = np.reshape(ops.searchsorted(x, np.ravel(at), right=side == "right"), at.shape)
    if not element(at.dtype).is_float:
        return found
    last = np.sum(np.logical_not(np.isnan(x))) if side == "left" else x.shape[0]
    return np.where(np.isnan(at), last, found)


@maps("digitize")
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    edges, at = tensor(bins), tensor(x)
    rising = searchsorted(edges, at, "left" if right else "right")
    falling = edges.shape[0] - searchsorted(edges[::-1], at, "right" if right else "left")
    return np.where(edges[0] <= edges[-1], rising, falling)


@maps("argpartition", method="argpartition")
def argpartition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """The order of sorted elements, which are in parts about every one of them."""
    x = tensor(a)
    return np.argsort(np.ravel(x)) if axis is None else np.argsort(x, axis=axis)


@maps("nanargmax")
def nanargmax(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Of NaN alone it is 0, where numpy raises ValueError."""
    x = tensor(a)
    return np.argmax(
        np.where(np.isnan(x), -np.inf, x) if element(x.dtype).is_float else x, axis, keepdims=keepdims
    )


@maps("nanargmin")
def nanargmin(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    """Of NaN alone it is 0, where numpy raises ValueError."""
    x = tensor(a)
    return np.argmin(
        np.where(np.isnan(x), np.inf, x) if element(x.dtype).is_float else x, axis, keepdims=keepdims
    )
