"""numpy's functions that rearrange elements, made of other functions of numpy, which find their ops themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .functions import maps
from .operands import one_axis, tensor, to
from .tracer import Tracer

np: Any = numpy  # whose annotations know no tracers


@maps("fliplr")
def fliplr(m: Any) -> Any:
    x = tensor(m)
    if x.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return x[:, ::-1]


@maps("flipud")
def flipud(m: Any) -> Any:
    x = tensor(m)
    if x.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return x[::-1]


@maps("rot90")
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    x = tensor(m)
    first, second = (one_axis(axis, x.ndim) for axis in axes)
    if first == second:
        raise ValueError("Axes must be different.")
    rotated = x
    for _ in range(k % 4):
        rotated = np.flip(np.swapaxes(rotated, first, second), first)
    return rotated


@maps("atleast_2d")
def atleast_2d(*arys: Any) -> Any:
    found = tuple([led(tensor(x), 2) for x in arys])
    return found[0] if len(found) == 1 else found


@maps("atleast_3d")
def atleast_3d(*arys: Any) -> Any:
    found = tuple([led(x, 2)[..., None] if (x := tensor(each)).ndim < 3 else x for each in arys])
    return found[0] if len(found) == 1 else found


def led(x: Tracer, ndim: int) -> Any:
    """With as many dims of one element before it as make `ndim`."""
    return np.reshape(x, (1,) * (ndim - x.ndim) + x.shape)


@maps("dstack")
def dstack(tup: Sequence[Any]) -> Any:
    return np.concatenate([atleast_3d(x) for x in tup], 2)


@maps("column_stack")
def column_stack(tup: Sequence[Any]) -> Any:
    return np.concatenate([x if x.ndim > 1 else np.reshape(x, (-1, 1)) for x in map(tensor, tup)], 1)


@maps("hsplit")
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    x = _of_axes(ary, 1, "hsplit")
    return np.split(x, indices_or_sections, 1 if x.ndim > 1 else 0)


@maps("vsplit")
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    return np.split(_of_axes(ary, 2, "vsplit"), indices_or_sections, 0)


@maps("dsplit")
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    return np.split(_of_axes(ary, 3, "dsplit"), indices_or_sections, 2)


def _of_axes(ary: Any, least: int, name: str) -> Tracer:
    """The operand. Raises ValueError where it has fewer axes."""
    x = tensor(ary)
    if x.ndim < least:
        raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
    return x


@maps("unstack")
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    return tuple(np.moveaxis(tensor(x), axis, 0))


@maps("meshgrid")
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Any, ...]:
    vectors = [np.ravel(tensor(x)) for x in xi]
    ndim = len(vectors)
    order = [1, 0, *range(2, ndim)] if indexing == "xy" and ndim > 1 else list(range(ndim))
    grids = [
        np.reshape(x, tuple([-1 if axis == at else 1 for axis in range(ndim)]))
        for x, at in zip(vectors, order, strict=True)
    ]
    shape = np.broadcast_shapes(*[x.shape for x in grids])
    return tuple(grids if sparse else [np.broadcast_to(x, shape) for x in grids])


@maps("rollaxis")
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    x = tensor(a)
    axis, start = one_axis(axis, x.ndim), start + x.ndim if start < 0 else start
    return np.moveaxis(x, axis, start - 1 if axis < start else start)


@maps("fft.fftshift")
def fftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(tensor(x), axes, lambda n: n // 2)


@maps("fft.ifftshift")
def ifftshift(x: Any, axes: Any = None) -> Any:
    return _shifted(tensor(x), axes, lambda n: -(n // 2))


def _shifted(x: Tracer, axes: Any, shift: Callable[[int], int]) -> Any:
    along = tuple(range(x.ndim)) if axes is None else (axes,) if isinstance(axes, int) else tuple(axes)
    return np.roll(x, tuple([shift(x.shape[axis]) for axis in along]), along)


@maps("diagonal", method="diagonal")
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    x = np.moveaxis(tensor(a), (axis1, axis2), (-2, -1))
    rows, columns = x.shape[-2:]
    count = max(0, min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns))
    first = np.arange(count)
    flat = np.reshape(x, (*x.shape[:-2], rows * columns))
    return np.take(flat, (first + max(-offset, 0)) * columns + first + max(offset, 0), -1)


@maps("trace", method="trace")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@maps("linalg.trace")
def matrix_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return trace(x, offset, -2, -1, dtype)


@maps("linalg.diagonal")
def matrix_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return diagonal(x, offset, -2, -1)


@maps("diag")
def diag(v: Any, k: int = 0) -> Any:
    x = tensor(v)
    if x.ndim == 2:
        return diagonal(x, k)
    if x.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    side = x.shape[0] + abs(k)
    padded = np.pad(x, (max(k, 0), max(-k, 0)))
    return to(np.where(np.eye(side, k=k, dtype=bool), padded[None, :], 0), x.dtype)


@maps("diagflat")
def diagflat(v: Any, k: int = 0) -> Any:
    return diag(np.ravel(tensor(v)), k)


@maps("kron")
def kron(a: Any, b: Any) -> Any:
    x, y = tensor(a), tensor(b)
    ndim = max(x.ndim, y.ndim)
    x, y = led(x, ndim), led(y, ndim)
    left = np.reshape(x, tuple([n for extent in x.shape for n in (extent, 1)]))
    right = np.reshape(y, tuple([n for extent in y.shape for n in (1, extent)]))
    return np.reshape(left * right, tuple([m * n for m, n in zip(x.shape, y.shape, strict=True)]))


@maps("vander")
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    base = tensor(x)
    if base.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    powers = np.arange(base.shape[0] if N is None else N)
    return np.power(base[:, None], powers if increasing else powers[::-1])


@maps("packbits")
def packbits(a: Any, /, axis: int | None = None, bitorder: str = "big") -> Any:
    x = tensor(a)
    if x.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    rows = np.reshape(x, (-1,)) if axis is None else np.moveaxis(x, one_axis(axis, x.ndim), -1)
    count = rows.shape[-1]
    bits = to(np.not_equal(rows, 0), np.uint8)
    bits = np.pad(bits, [(0, 0)] * (rows.ndim - 1) + [(0, -count % 8)])
    parts = np.reshape(bits, (*rows.shape[:-1], -(-count // 8), 8))
    found = np.sum(np.left_shift(parts, _places(bitorder)), axis=-1, dtype=np.uint8)
    return found if axis is None else np.moveaxis(found, -1, axis)


@maps("unpackbits")
def unpackbits(a: Any, /, axis: int | None = None, count: int | None = None, bitorder: str = "big") -> Any:
    x = tensor(a)
    if x.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    rows = np.reshape(x, (-1,)) if axis is None else np.moveaxis(x, one_axis(axis, x.ndim), -1)
    bits = np.bitwise_and(np.right_shift(rows[..., None], _places(bitorder)), np.uint8(1))
    whole = 8 * rows.shape[-1]
    found = np.reshape(bits, (*rows.shape[:-1], whole))
    kept = whole if count is None else count if count >= 0 else whole + count
    found = np.pad(found[..., :kept], [(0, 0)] * (rows.ndim - 1) + [(0, max(kept - whole, 0))])
    return found if axis is None else np.moveaxis(found, -1, axis)


def _places(bitorder: str) -> Any:
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    places = np.arange(8, dtype=np.uint8)
    return places[::-1] if bitorder == "big" else places


@maps("unravel_index")
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Of positions inside the shape; the first place takes what lies beyond, where numpy raises."""
    dims = (shape,) if isinstance(shape, int) else tuple(shape)
    if not dims:
        return ()
    rest, found = to(tensor(indices), np.int64), []
    for extent in dims[:0:-1] if order == "C" else dims[:-1]:
        found.append(np.remainder(rest, extent))
        rest = np.floor_divide(rest, extent)
    found.append(rest)
    return tuple(found[::-1] if order == "C" else found)


@maps("ravel_multi_index")
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """Of positions inside the dims; in the mode `raise` those outside are clipped, where numpy raises."""
    extents = (dims,) if isinstance(dims, int) else tuple(dims)
    modes = (mode,) * len(extents) if isinstance(mode, str) else tuple(mode)
    if any(each not in ("raise", "clip", "wrap") for each in modes):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    rows = list(zip(multi_index, extents, modes, strict=True))
    found: Any = 0
    for index, extent, how in rows if order == "C" else rows[::-1]:
        x = to(tensor(index), np.int64)
        found = found * extent + (np.remainder(x, extent) if how == "wrap" else np.clip(x, 0, extent - 1))
    return found
