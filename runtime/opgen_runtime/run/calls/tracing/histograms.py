"""numpy's histograms, of bins whose number is known or whose edges are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from ....base.errors import CallError
from .functions import maps
from .operands import tensor, to
from .statistics import floats

np: Any = numpy  # whose annotations know no tracers


@maps("histogram_bin_edges")
def histogram_bin_edges(
    a: Any, bins: Any = 10, range: Sequence[float] | None = None, weights: Any = None
) -> Any:
    if isinstance(bins, str):
        raise CallError(
            f"np.histogram while a function is traced takes a number of bins or edges, found {bins!r}"
        )
    if not isinstance(bins, int):
        return tensor(bins)
    x = tensor(a)
    range = (0.0, 1.0) if range is None and not x.size else range
    first, last = (np.min(x), np.max(x)) if range is None else map(tensor, range)
    first, last = (to(end, floats(x).dtype) for end in (first, last))
    same: Any = to(np.where(first == last, 0.5, 0.0), first.dtype)
    first, last = first - same, last + same
    inner = to(tensor(np.arange(bins)), first.dtype) * ((last - first) / bins) + first
    return np.concatenate([inner, np.reshape(last, (1,))])


@maps("histogram")
def histogram(
    a: Any,
    bins: Any = 10,
    range: Sequence[float] | None = None,
    density: bool | None = None,
    weights: Any = None,
) -> Any:
    x, edges = np.ravel(tensor(a)), histogram_bin_edges(a, bins, range)
    if weights is None:
        below = np.sum(x < edges[:, None], axis=-1)
        within = np.sum(x <= edges[-1])
        counts = np.diff(np.concatenate([below[:-1], np.reshape(within, (1,))]))
    else:
        if tensor(weights).shape != tensor(a).shape:
            raise ValueError("weights should have the same shape as a.")
        w = np.ravel(tensor(weights))
        counts = np.sum(np.where(_in_bins(x, edges), w, w.dtype.type(0)), axis=-1, dtype=w.dtype)
    if not density:
        return counts, edges
    return counts / to(np.diff(edges), np.float64) / np.sum(counts), edges


@maps("histogramdd")
def histogramdd(
    sample: Any,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: Any = None,
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
    inside: list[Any] = [to(_in_bins(x, each), np.float64) for x, each in zip(columns, edges, strict=True)]
    if weights is not None:
        inside[0] = inside[0] * to(tensor(weights), np.float64)
    letters = "abcdefghijklm"[:dims]
    counts = np.einsum(",".join(f"{letter}z" for letter in letters) + f"->{letters}", *inside)
    if not density:
        return counts, edges
    widths = [np.diff(each) for each in edges]
    volume = np.einsum(",".join(letters) + f"->{letters}", *[to(each, np.float64) for each in widths])
    return counts / volume / np.sum(counts), edges


def _in_bins(x: Any, edges: Any) -> Any:
    """Whether an element (a column) is in a bin (a row); the last one has its upper end."""
    low, high = edges[:-1, None], edges[1:, None]
    below = np.concatenate([x < high[:-1], x <= high[-1:]])
    return np.logical_and(low <= x, below)


@maps("histogram2d")
def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Sequence[Any] | None = None,
    density: bool | None = None,
    weights: Any = None,
) -> Any:
    one_for_both = not isinstance(bins, int) and len(bins) not in (1, 2)
    counts, edges = histogramdd((x, y), (bins, bins) if one_for_both else bins, range, density, weights)
    return (counts, *edges)
