"""numpy's functions of sequences: convolutions, interpolation, differences, polynomials, blocks and bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from .... import ops
from .functions import maps
from .operands import axes_of, element, one_axis, tensor, to
from .statistics import floats
from .ufuncs import SPECIAL

np: Any = numpy  # whose annotations know no tracers


@maps("i0")
def i0(x: Any) -> Any:
    return ops.i0(floats(x))


@maps("convolve")
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    x, y = np.ravel(tensor(a)), np.ravel(tensor(v))
    x, y = (x, y) if x.shape[0] >= y.shape[0] else (y, x)
    return _cut(_products(x, y), x.shape[0], y.shape[0], mode, (y.shape[0] - 1) // 2)


@maps("correlate")
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    x, y = np.ravel(tensor(a)), np.conj(np.ravel(tensor(v)))[::-1]
    n, m = max(x.shape[0], y.shape[0]), min(x.shape[0], y.shape[0])
    return _cut(_products(x, y), n, m, mode, (m - 1) // 2 if x.shape[0] == n else m // 2)


def _products(x: Any, y: Any) -> Any:
    """The full convolution: sums of products of what lies opposite."""
    n, m = x.shape[0], y.shape[0]
    if not n or not m:
        raise ValueError("operands of a convolution cannot be empty")
    wide = np.concatenate([np.zeros(m - 1, x.dtype), x, np.zeros(m - 1, x.dtype)])
    at = np.arange(n + m - 1)[:, None] + np.arange(m)
    return np.sum(np.take(wide, at, mode="clip") * y[::-1], axis=-1, dtype=np.result_type(x.dtype, y.dtype))


def _cut(full: Any, n: int, m: int, mode: str, start: int) -> Any:
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"mode must be one of full, same and valid; found {mode!r}")
    return full if mode == "full" else full[start : start + n] if mode == "same" else full[m - 1 : n]


@maps("interp")
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: float | None = None) -> Any:
    """Between points in order; with a period of points in any, which go on beyond both ends."""
    at, points, values = (to(tensor(each), np.float64) for each in (x, xp, fp))
    if period is not None:
        if period == 0:
            raise ValueError("period must be a non-zero value")
        span, left, right = abs(period), None, None
        at, points = np.mod(at, span), np.mod(points, span)
        order = np.argsort(points)
        points, values = np.take(points, order, mode="clip"), np.take(values, order, mode="clip")
        points = np.concatenate([points[-1:] - span, points, points[:1] + span])
        values = np.concatenate([values[-1:], values, values[:1]])
    last = points.shape[0] - 1
    j = np.clip(np.searchsorted(points, at, "right") - 1, 0, max(last - 1, 0))
    low, high = (np.take(points, k, mode="clip") for k in (j, j + 1))
    first, second = (np.take(values, k, mode="clip") for k in (j, j + 1))
    found = (second - first) / np.where(high == low, 1.0, high - low) * (at - low) + first
    found = np.where(at == points[last], values[last], found)
    found = np.where(at > points[last], values[last] if right is None else right, found)
    return np.where(at < points[0], values[0] if left is None else left, found)


@maps("gradient")
def gradient(f: Any, *varargs: Any, axis: int | tuple[int, ...] | None = None, edge_order: int = 1) -> Any:
    """Of each axis; `varargs`: no distance, one, or for each axis a distance or the places of its elements."""
    x = floats(f)
    axes = tuple(range(x.ndim)) if axis is None else axes_of(axis, x.ndim)
    if len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        varargs = varargs * len(axes)
    if len(varargs) not in (0, len(axes)):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    given = varargs or (1.0,) * len(axes)
    found = tuple([_slope(x, where, k, edge_order) for where, k in zip(given, axes, strict=True)])
    return found[0] if len(found) == 1 else found


def _slope(x: Any, where: Any, axis: int, edge_order: int) -> Any:
    """The slope at each element of the parabola through it and its neighbours; at the ends, of `edge_order`.

    `where`: the distance of elements, or their places.
    """
    rows = np.moveaxis(x, axis, -1)
    if rows.shape[-1] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    if np.ndim(where) not in (0, 1):
        raise ValueError("distances must be either scalars or 1d")
    if np.ndim(where) and where.shape[0] != rows.shape[-1]:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    steps = np.astype(np.diff(where) if np.ndim(where) else np.full(rows.shape[-1] - 1, where), x.dtype)
    rises = np.diff(rows) / steps
    before, behind = steps[:-1], steps[1:]
    inner = (rises[..., :-1] * behind + rises[..., 1:] * before) / (before + behind)
    first, last = rises[..., :1], rises[..., -1:]
    if edge_order == 2:
        bend = np.diff(rises) / (before + behind)
        first = first - bend[..., :1] * steps[:1]
        last = last + bend[..., -1:] * steps[-1:]
    return np.moveaxis(np.concatenate([first, inner, last], axis=-1), -1, axis)


@maps("lib.stride_tricks.sliding_window_view")
def sliding_window_view(x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False) -> Any:
    given = tensor(x)
    windows = (window_shape,) if isinstance(window_shape, int) else tuple(window_shape)
    axes = tuple(range(given.ndim)) if axis is None else axes_of(axis, given.ndim)
    if len(windows) != len(axes):
        raise ValueError(f"window_shape has {len(windows)} sizes for {len(axes)} axes")
    for size, at in zip(windows, axes, strict=True):
        if size > given.shape[at]:
            raise ValueError("window shape cannot be larger than input array shape")
        places = np.arange(given.shape[at] - size + 1)[:, None] + np.arange(size)
        given = np.moveaxis(np.take(given, places, axis=at, mode="clip"), at + 1, -1)
    return given


@maps("unwrap")
def unwrap(p: Any, discont: float | None = None, axis: int = -1, *, period: float = 2 * numpy.pi) -> Any:
    whole = element(tensor(p).dtype).is_int and isinstance(period, int) and discont is None
    p = tensor(p) if whole else floats(p)
    rows = np.moveaxis(p, one_axis(axis, p.ndim), -1)
    step = np.diff(rows)
    half, odd = divmod(period, 2) if whole else (period / 2, 0)
    around = np.mod(step + half, period) - half
    around = around if odd else np.where(np.logical_and(around == -half, step > 0), half, around)
    least = period / 2 if discont is None else discont
    corrections = np.where(np.abs(step) < least, 0, around - step)
    return np.moveaxis(
        np.concatenate([rows[..., :1], rows[..., 1:] + np.cumsum(corrections, axis=-1)], -1), -1, axis
    )


@maps("polyadd")
def polyadd(a1: Any, a2: Any) -> Any:
    return np.add(*_of_one_length(a1, a2))


@maps("polysub")
def polysub(a1: Any, a2: Any) -> Any:
    return np.subtract(*_of_one_length(a1, a2))


def _of_one_length(a1: Any, a2: Any) -> list[Any]:
    given = [np.atleast_1d(tensor(each)) for each in (a1, a2)]
    length = max(each.shape[0] for each in given)
    return [np.concatenate([np.zeros(length - each.shape[0], each.dtype), each]) for each in given]


@maps("polymul")
def polymul(a1: Any, a2: Any) -> Any:
    return convolve(a1, a2)


@maps("polyder")
def polyder(p: Any, m: int = 1) -> Any:
    found = tensor(p)
    for _ in range(m):
        found = found[:-1] * np.arange(found.shape[0] - 1, 0, -1)
    return found


@maps("polyint")
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """`k`: the constants, one for all or one for each of the integrations."""
    found = floats(p)
    constants = np.zeros(m) if k is None else np.atleast_1d(k)
    constants = np.repeat(constants, m) if constants.shape == (1,) else constants
    if constants.shape[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    for each in range(m):
        end = np.astype(constants[each : each + 1], found.dtype)
        found = np.concatenate([found / np.arange(found.shape[0], 0, -1), end])
    return found


@maps("choose", method="choose")
def choose(a: Any, choices: Sequence[Any], mode: str = "raise") -> Any:
    """By places; in the mode `raise` those outside are clipped, where numpy raises."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    places, given = tensor(a), [tensor(each) for each in choices]
    count = len(given)
    places = np.mod(places, count) if mode == "wrap" else np.clip(places, 0, count - 1)
    found = given[0]
    for k in range(1, count):
        found = np.where(places == k, given[k], found)
    return np.broadcast_to(found, np.broadcast_shapes(places.shape, *[each.shape for each in given]))


@maps("block")
def block(arrays: Any) -> Any:
    def depth(part: Any) -> int:
        return 1 + max(map(depth, part)) if isinstance(part, list) else 0

    def joined(part: Any, left: int, ndim: int) -> Any:
        if not isinstance(part, list):
            x = tensor(part)
            return np.reshape(x, (1,) * (ndim - x.ndim) + x.shape)
        return np.concatenate([joined(each, left - 1, ndim) for each in part], axis=-left)

    def leaves(part: Any) -> list[Any]:
        return [leaf for each in part for leaf in leaves(each)] if isinstance(part, list) else [part]

    levels = depth(arrays)
    return joined(arrays, levels, max(levels, *[tensor(leaf).ndim for leaf in leaves(arrays)]))


@maps("resize")
def resize(a: Any, new_shape: int | Sequence[int]) -> Any:
    x = np.ravel(tensor(a))
    shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    if not x.shape[0]:
        return np.zeros(shape, x.dtype)
    return np.reshape(np.take(x, np.arange(numpy.prod(shape, dtype=int)) % x.shape[0], mode="clip"), shape)


def _vecdot(x1: Any, x2: Any, *, axis: int = -1) -> Any:
    x, y = tensor(x1), tensor(x2)
    x, y = (np.moveaxis(each, one_axis(axis, each.ndim), -1) for each in (x, y))
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"vecdot: vectors of {x.shape[-1]} and {y.shape[-1]} elements")
    return np.sum(np.multiply(x, y), axis=-1, dtype=np.result_type(x.dtype, y.dtype))


def _matvec(x1: Any, x2: Any) -> Any:
    return np.matmul(tensor(x1), tensor(x2)[..., None])[..., 0]


def _vecmat(x1: Any, x2: Any) -> Any:
    return np.matmul(tensor(x1)[..., None, :], tensor(x2))[..., 0, :]


SPECIAL.update(
    {
        getattr(np, name): function
        for name, function in (("vecdot", _vecdot), ("matvec", _matvec), ("vecmat", _vecmat))
        if hasattr(np, name)
    }
)
