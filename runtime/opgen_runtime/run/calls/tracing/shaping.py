"""numpy's functions of shapes on tracers: reshaping, permuting, joining, cutting, repeating, filling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from .... import ops
from .functions import maps
from .operands import (
    DTypeLike,
    any_axis,
    axes_of,
    common_dtype,
    full,
    one_axis,
    operand,
    reduced_axes,
    tensor,
    to,
    unchecked,
    whole,
)
from .tracer import Tracer

Shape = int | Sequence[int]


def _listed(numbers: Any) -> Any:
    """Numbers as Python has them: numpy's functions take arrays for sequences."""
    return numbers.tolist() if isinstance(numbers, np.ndarray) else numbers


def _dims(shape: Any) -> tuple[int, ...]:
    """A shape as ints; raises CallError for traced values, TypeError for what is no integer."""
    shape = _listed(shape)
    if isinstance(shape, Sequence) and not isinstance(shape, str | bytes):
        return tuple([index(dim) for dim in shape])
    return (index(shape),)


def _ints(numbers: Any, what: str) -> tuple[int, ...]:
    """Ints of one or several; raises CallError for other numbers."""
    numbers = _listed(numbers)
    return tuple([whole(each, what) for each in (numbers if isinstance(numbers, Sequence) else (numbers,))])


@maps("reshape")
def reshape(a: Any, shape: Any, order: str = "C") -> Tracer:
    if order not in ("C", "A", "F"):
        raise ValueError(f"order must be one of 'C', 'F', or 'A' (got {order!r})")
    x = tensor(a)
    dims = _dims(shape)
    if order == "F":
        return transpose(reshape(transpose(x), dims[::-1]))
    known = math.prod([dim for dim in dims if dim >= 0])
    unknown = len([dim for dim in dims if dim < 0])
    if unknown > 1:
        raise ValueError("can only specify one unknown dimension")
    if unknown and (known == 0 or x.size % known):
        raise ValueError(f"cannot reshape array of size {x.size} into shape {dims}")
    dims = tuple([x.size // known if dim < 0 else dim for dim in dims])
    if math.prod(dims) != x.size:
        raise ValueError(f"cannot reshape array of size {x.size} into shape {dims}")
    if dims == x.shape:
        return x
    if x.size == 0:
        return full(dims, 0, x.dtype)
    return ops.reshape(x, newshape=dims)  # type: ignore[return-value]  # traced


@maps("ravel", method="ravel")
def ravel(a: Any, order: str = "C") -> Tracer:
    return reshape(a, (-1,) if tensor(a).size else (0,), "C" if order == "K" else order)


def along(a: Any, axis: Any) -> tuple[Tracer, int]:
    """A tensor and one axis of it, as numpy's functions along an axis have them: without one, that of the flattened
    tensor; a number is a vector of one element."""
    x = tensor(a)
    if axis is None or x.ndim == 0:
        x, axis = ravel(x), 0 if axis is None else axis
    return x, one_axis(axis, x.ndim)


@maps("permute_dims")
@maps("transpose")
def transpose(a: Any, axes: Any = None) -> Tracer:
    x = tensor(a)
    order = tuple(reversed(range(x.ndim))) if axes is None else axes_of(_listed(axes), x.ndim)
    if len(order) != x.ndim:
        raise ValueError("axes don't match array")
    return x if order == tuple(range(x.ndim)) else ops.transpose(x, axes=order)  # type: ignore[return-value]  # traced


@maps("matrix_transpose")
def matrix_transpose(x: Any) -> Tracer:
    return swapaxes(x, -1, -2)


@maps("swapaxes", method="swapaxes")
def swapaxes(a: Any, axis1: int, axis2: int) -> Tracer:
    x = tensor(a)
    order = list(range(x.ndim))
    first, second = any_axis(axis1, x.ndim), any_axis(axis2, x.ndim)
    order[first], order[second] = order[second], order[first]
    return transpose(x, order)


@maps("moveaxis")
def moveaxis(a: Any, source: Any, destination: Any) -> Tracer:
    x = tensor(a)
    sources, places = axes_of(source, x.ndim), axes_of(destination, x.ndim)
    if len(sources) != len(places):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return transpose(x, order)


@maps("expand_dims")
def expand_dims(a: Any, axis: Any) -> Tracer:
    x = tensor(a)
    count = len(axis) if isinstance(axis, tuple | list) else 1
    places = axes_of(axis, x.ndim + count)
    rest = iter(x.shape)
    return reshape(x, [1 if k in places else next(rest) for k in range(x.ndim + count)])


@maps("squeeze", method="squeeze")
def squeeze(a: Any, axis: Any = None) -> Tracer:
    x = tensor(a)
    axes = (
        tuple([k for k, dim in enumerate(x.shape) if dim == 1])
        if axis is None
        else reduced_axes(axis, x.ndim)
    )
    if any([x.shape[k] != 1 for k in axes]):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return reshape(x, [dim for k, dim in enumerate(x.shape) if k not in axes])


@maps("atleast_1d")
def atleast_1d(*arys: Any) -> Any:
    found = tuple([x if x.ndim else reshape(x, (1,)) for x in map(tensor, arys)])
    return found[0] if len(found) == 1 else found


@maps("flip")
def flip(m: Any, axis: Any = None) -> Tracer:
    x = tensor(m)
    for each in range(x.ndim) if axis is None else axes_of(axis, x.ndim):
        x = ops.reverse(x, axis=each) if x.size else x  # type: ignore[assignment]  # traced
    return x


@maps("roll")
def roll(a: Any, shift: Any, axis: Any = None) -> Tracer:
    x = tensor(a)
    if axis is None:
        return reshape(roll(ravel(x), shift, 0), x.shape)
    if x.ndim == 0:
        raise ValueError("np.roll along an axis takes a tensor with axes")
    shifts, places = _ints(shift, "np.roll"), tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    by: dict[int, int] = {}
    for amount, place in zip(*_paired(shifts, places), strict=True):
        at = any_axis(place, x.ndim)
        by[at] = by.get(at, 0) + amount
    for at, amount in by.items() if x.size else ():
        cut = -amount % x.shape[at]
        before: tuple[Any, ...] = (slice(None),) * at
        x = concatenate([x[(*before, slice(cut, None))], x[(*before, slice(None, cut))]], at)
    return x


def _paired(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two sequences of one length, one number as often as the other has some."""
    a, b = (a * len(b) if len(a) == 1 else a), (b * len(a) if len(b) == 1 else b)
    if len(a) != len(b):
        raise ValueError(f"{len(a)} shifts for {len(b)} axes")
    return a, b


def _joined(arrays: Any, dtype: DTypeLike | None, casting: Any) -> list[Tracer]:
    """The arrays in one dtype, which Python numbers take from the others: to `concatenate`, they are weak."""
    items = [operand(each) for each in arrays]
    if not items:
        raise ValueError("need at least one array to concatenate")
    wanted = common_dtype(items) if dtype is None else np.dtype(dtype)
    for item in items:
        if isinstance(item, Tracer) and not np.can_cast(item.dtype, wanted, casting):
            raise TypeError(f"Cannot cast array data from {item.dtype} to {wanted} by the rule {casting!r}")
    return [unchecked(item, wanted) for item in items]


@maps("concatenate", "concat")
def concatenate(
    arrays: Any, axis: int | None = 0, dtype: DTypeLike | None = None, casting: str = "same_kind"
) -> Tracer:
    items = _joined(arrays, dtype, casting)
    if axis is None:
        items, axis = [ravel(item) for item in items], 0
    if not all([item.ndim for item in items]):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    at = one_axis(axis, items[0].ndim)
    shapes = [x.type.shape for x in items]  # those of states have an open dim
    extents = [shape[:at] + shape[at + 1 :] for shape in shapes]
    if len({x.ndim for x in items}) > 1 or len(set(extents)) > 1:
        raise ValueError(f"all the input array dimensions except for axis {at} must match exactly")
    filled = [x for x, shape in zip(items, shapes, strict=True) if shape[at] != 0]
    if len(filled) < 2:
        return (filled or items)[0]
    return ops.concatenate(filled, axis=at)  # type: ignore[return-value]  # traced


@maps("stack")
def stack(arrays: Any, axis: int = 0, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Tracer:
    items = [tensor(each) for each in arrays]
    if not items:
        raise ValueError("need at least one array to stack")
    if len({x.shape for x in items}) > 1:
        raise ValueError("all input arrays must have the same shape")
    at = any_axis(axis, items[0].ndim + 1)
    return concatenate([expand_dims(x, at) for x in items], at, dtype, casting)


@maps("vstack")
def vstack(tup: Any, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Tracer:
    return concatenate(
        [reshape(x, (1, *(x.shape or (1,)))) if x.ndim < 2 else x for x in map(tensor, tup)],
        0,
        dtype,
        casting,
    )


@maps("hstack")
def hstack(tup: Any, dtype: DTypeLike | None = None, casting: str = "same_kind") -> Tracer:
    items = [atleast_1d(x) for x in tup]
    return concatenate(items, 0 if items[0].ndim == 1 else 1, dtype, casting)


@maps("array_split")
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    x = tensor(ary)
    at = any_axis(axis, x.ndim)
    extent = x.shape[at]
    cuts = _listed(indices_or_sections)
    if not isinstance(cuts, Sequence):
        parts = whole(cuts, "np.split")
        if parts <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, more = divmod(extent, parts)
        edges = [k * each + (k if k < more else more) for k in range(parts + 1)]
    else:
        edges = [0, *_ints(cuts, "np.split"), extent]
    before: tuple[Any, ...] = (slice(None),) * at
    return [x[(*before, slice(edges[k], edges[k + 1]))] for k in range(len(edges) - 1)]


@maps("split")
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    x = tensor(ary)
    parts = _listed(indices_or_sections)
    if isinstance(parts, Sequence):
        return array_split(x, parts, axis)
    count, extent = whole(parts, "np.split"), x.shape[any_axis(axis, x.ndim)]
    if count > 0 and extent % count:
        raise ValueError("array split does not result in an equal division")
    return array_split(x, count, axis)


@maps("broadcast_to")
def broadcast_to(array: Any, shape: Any) -> Tracer:
    x, dims = tensor(array), _dims(shape)
    if np.broadcast_shapes(x.shape, dims) != dims:
        raise ValueError(f"could not broadcast shape {x.shape} into {dims}")
    return x if x.shape == dims else ops.broadcast_to(x, shape=dims)  # type: ignore[return-value]  # traced


@maps("broadcast_arrays")
def broadcast_arrays(*args: Any) -> tuple[Tracer, ...]:
    items = [tensor(x) for x in args]
    shape = np.broadcast_shapes(*[x.shape for x in items])
    return tuple([broadcast_to(x, shape) for x in items])


@maps("repeat", method="repeat")
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tracer:
    x, at = along(a, axis)
    times = _ints(repeats, "np.repeat")
    if any([n < 0 for n in times]):
        raise ValueError("repeats may not contain negative values.")
    if len(times) == 1:
        return ops.repeat(x, repeats=times[0], axis=at)  # type: ignore[return-value]  # traced
    places = np.repeat(np.arange(x.shape[at]), times)
    found: Tracer = x[(*((slice(None),) * at), places)]
    return found


@maps("tile")
def tile(A: Any, reps: Any) -> Tracer:
    x, times = tensor(A), _ints(reps, "np.tile")
    x = reshape(x, (1,) * (len(times) - x.ndim) + x.shape)
    times = (1,) * (x.ndim - len(times)) + times
    if 0 in times or x.size == 0:
        return full(tuple([n * dim for n, dim in zip(times, x.shape, strict=True)]), 0, x.dtype)
    return ops.tile(x, reps=times) if times else x  # type: ignore[return-value]  # traced


@maps("zeros_like", "empty_like")
def zeros_like(a: Any, dtype: DTypeLike | None = None, shape: Any = None) -> Tracer:
    return full_like(a, 0, dtype, shape)


@maps("ones_like")
def ones_like(a: Any, dtype: DTypeLike | None = None, shape: Any = None) -> Tracer:
    return full_like(a, 1, dtype, shape)


@maps("full_like")
def full_like(a: Any, fill_value: Any, dtype: DTypeLike | None = None, shape: Any = None) -> Tracer:
    x = tensor(a)
    value, wanted = operand(fill_value), x.dtype if dtype is None else np.dtype(dtype)
    filled = to(tensor(value) if type(value) is float else value, wanted)
    return broadcast_to(filled, x.shape if shape is None else shape)


@maps("shape")
def shape_of(a: Any) -> tuple[int, ...]:
    return tensor(a).shape


@maps("ndim")
def ndim_of(a: Any) -> int:
    return tensor(a).ndim


@maps("size")
def size_of(a: Any, axis: Any = None) -> int:
    x = tensor(a)
    return math.prod([x.shape[each] for each in (range(x.ndim) if axis is None else axes_of(axis, x.ndim))])
