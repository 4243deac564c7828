"""numpy's functions by the order of elements: quantiles, places among sorted elements, histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from .... import ops
from ....base.errors import CallError
from .functions import maps
from .operands import element, tensor, to
from .statistics import floats
from .tracer import Tracer

np: Any = numpy  # whose annotations know no tracers

_METHODS = {"linear": None, "lower": np.floor, "higher": np.ceil, "nearest": np.rint}


@maps("quantile")
def quantile(a: Any, q: Any, axis: int | None = None, method: str = "linear", keepdims: bool = False) -> Any:
    return _quantiles("quantile", a, _known("quantile", q), axis, method, keepdims, whole=True)


@maps("percentile")
def percentile(
    a: Any, q: Any, axis: int | None = None, method: str = "linear", keepdims: bool = False
) -> Any:
    share = _known("percentile", q) / 100
    return _quantiles("percentile", a, share, axis, method, keepdims, whole=True)


@maps("nanquantile")
def nanquantile(
    a: Any, q: Any, axis: int | None = None, method: str = "linear", keepdims: bool = False
) -> Any:
    return _quantiles("nanquantile", a, _known("nanquantile", q), axis, method, keepdims, whole=False)


@maps("nanpercentile")
def nanpercentile(
    a: Any, q: Any, axis: int | None = None, method: str = "linear", keepdims: bool = False
) -> Any:
    share = _known("nanpercentile", q) / 100
    return _quantiles("nanpercentile", a, share, axis, method, keepdims, whole=False)


@maps("nanmedian")
def nanmedian(a: Any, axis: int | None = None, keepdims: bool = False) -> Any:
    ordered, count = _rows(floats(a), axis, False)
    low, high = (
        _at(ordered, np.maximum(k, 0)) for k in ((count - 1) // 2, np.minimum(count // 2, count - 1))
    )
    return _spread(np.where(count > 0, (low + high) / 2, np.nan), tensor(a).ndim, axis, keepdims)


def _known(name: str, q: Any) -> Any:
    """Which quantiles: the tracer decides places by them, so they are no values of the program."""
    if isinstance(q, Tracer):
        raise CallError(
            f"np.{name} while a function is traced takes quantiles that are known, found a traced q"
        )
    return q if isinstance(q, int | float) else np.asarray(q, np.float64)


def _quantiles(name: str, a: Any, q: Any, axis: int | None, method: str, keepdims: bool, whole: bool) -> Any:
    """Along the last axis in numpy's form of interpolation; `whole`: one NaN makes all of them NaN."""
    if method not in _METHODS:
        raise CallError(
            f"np.{name} while a function is traced takes the methods {', '.join(_METHODS)}; found {method!r}"
        )
    if not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    x = floats(a)
    ordered, count = _rows(x, axis, whole)
    dtype = x.dtype if isinstance(q, int | float) else np.result_type(x.dtype, np.float64)
    found = [
        _spread(_one_quantile(ordered, count, float(each), method, dtype), x.ndim, axis, keepdims)
        for each in np.ravel(q)
    ]
    return found[0] if not np.ndim(q) else np.reshape(np.stack(found), np.shape(q) + found[0].shape)


def _one_quantile(ordered: Any, count: Any, q: float, method: str, dtype: Any) -> Any:
    place = np.multiply(q, to(np.maximum(count - 1, 0), np.float64))
    rounded = _METHODS[method]
    place = place if rounded is None else rounded(place)
    below = np.floor(place)
    ends: list[Any] = [to(_at(ordered, to(k, np.int64)), dtype) for k in (below, np.ceil(place))]
    low, high = ends
    share: Any = to(place - below, dtype)
    step = high - low
    found = np.where(share < 0.5, low + step * share, high - step * (1 - share))
    found = np.where(low == high, low, found)
    return np.where(np.logical_and(count > 0, np.logical_not(np.isnan(high))), found, np.nan)


def _rows(x: Tracer, axis: int | None, whole: bool) -> tuple[Any, Any]:
    """The elements sorted along the last axis, NaN last, and how many count: with `whole` none where one is NaN."""
    rows = np.reshape(x, (-1,)) if axis is None else np.moveaxis(x, axis, -1)
    if not rows.shape[-1]:
        raise CallError(
            "quantiles while a function is traced are of elements that are there; the axis is empty"
        )
    ordered = np.sort(rows, axis=-1)
    there = np.sum(np.logical_not(np.isnan(rows)), axis=-1)
    return ordered, np.where(there == rows.shape[-1], there, 0) if whole else there


def _at(ordered: Any, place: Any) -> Any:
    return np.take_along_axis(ordered, place[..., None], axis=-1)[..., 0]


def _spread(found: Any, ndim: int, axis: int | None, keepdims: bool) -> Any:
    if not keepdims:
        return found
    return np.reshape(found, (1,) * ndim) if axis is None else np.expand_dims(found, axis)


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


@maps("histogram_bin_edges")
def histogram_bin_edges(a: Any, bins: Any = 10, range: Sequence[float] | None = None) -> Any:
    if isinstance(bins, str):
        raise CallError(
            f"np.histogram while a function is traced takes a number of bins or edges, found {bins!r}"
        )
    if not isinstance(bins, int):
        return tensor(bins)
    x = tensor(a)
    first, last = (np.min(x), np.max(x)) if range is None else map(tensor, range)
    first, last = (to(end, floats(x).dtype) for end in (first, last))
    same: Any = to(np.where(first == last, 0.5, 0.0), first.dtype)
    first, last = first - same, last + same
    inner = to(tensor(np.arange(bins)), first.dtype) * ((last - first) / bins) + first
    return np.concatenate([inner, np.reshape(last, (1,))])


@maps("histogram")
def histogram(
    a: Any, bins: Any = 10, range: Sequence[float] | None = None, density: bool | None = None
) -> Any:
    x, edges = np.ravel(tensor(a)), histogram_bin_edges(a, bins, range)
    below = np.sum(x < edges[:, None], axis=-1)
    within = np.sum(x <= edges[-1])
    counts = np.diff(np.concatenate([below[:-1], np.reshape(within, (1,))]))
    if not density:
        return counts, edges
    return counts / to(np.diff(edges), np.float64) / np.sum(counts), edges


@maps("histogramdd")
def histogramdd(
    sample: Any, bins: Any = 10, range: Sequence[Any] | None = None, density: bool | None = None
) -> Any:
    points = np.transpose(np.stack(list(sample))) if isinstance(sample, tuple | list) else tensor(sample)
    points = points if points.ndim == 2 else points[:, None]
    dims = points.shape[1]
    given = (bins,) * dims if isinstance(bins, int) else bins
    if len(given) != dims:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    ranges = [None] * dims if range is None else range
    columns = [points[:, k] for k in np.arange(dims)]
    edges = [histogram_bin_edges(*each) for each in zip(columns, given, ranges, strict=True)]
    inside = [_in_bins(x, each) for x, each in zip(columns, edges, strict=True)]
    letters = "abcdefghijklm"[:dims]
    counts = np.einsum(",".join(f"{letter}z" for letter in letters) + f"->{letters}", *inside)
    if not density:
        return counts, edges
    widths = [np.diff(each) for each in edges]
    volume = np.einsum(",".join(letters) + f"->{letters}", *[to(each, np.float64) for each in widths])
    return counts / volume / np.sum(counts), edges


def _in_bins(x: Any, edges: Any) -> Any:
    """1.0 where an element (a column) is in a bin (a row); the last one has its upper end."""
    low, high = edges[:-1, None], edges[1:, None]
    below = np.concatenate([x < high[:-1], x <= high[-1:]])
    return to(np.logical_and(low <= x, below), np.float64)


@maps("histogram2d")
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Sequence[Any] | None = None, density: bool | None = None
) -> Any:
    one_for_both = not isinstance(bins, int) and np.ndim(bins) == 1 and len(bins) not in (1, 2)
    counts, edges = histogramdd((x, y), (bins, bins) if one_for_both else bins, range, density)
    return (counts, *edges)


@maps("argpartition")
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
