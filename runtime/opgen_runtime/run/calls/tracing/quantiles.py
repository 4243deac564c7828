"""numpy's quantiles, by every one of its methods, and the median of what is no NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy

from ....base.errors import CallError
from .functions import maps
from .operands import one_axis, reduced_axes, tensor, to
from .statistics import Axis, floats
from .tracer import Tracer

np: Any = numpy  # whose annotations know no tracers


class Method(NamedTuple):
    """How a quantile is found among `n` elements in order."""

    place: Callable[[Any, float], Any]
    """(n, q) -> the place, which may lie between elements, in float64."""
    share: Callable[[Any, Any], Any] | None = None
    """(fraction, place) -> how much of the upper neighbour is taken; None: the place is that of an element."""


def _own(fraction: Any, place: Any) -> Any:
    return fraction


def _between(alpha: float, beta: float) -> Method:
    """Hyndman and Fan, Sample quantiles in statistical packages (1996), with plotting positions alpha, beta."""
    return Method(lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1, _own)


def _closest(n: Any, q: float) -> Any:
    """Of two that are equally close the even one."""
    place = n * q - 1.5
    low = np.floor(place)
    return np.where(np.logical_and(place == low, np.mod(low, 2) == 1), low, low + 1)


_METHODS: Final = {
    "linear": Method(lambda n, q: (n - 1) * q, _own),
    "lower": Method(lambda n, q: np.floor((n - 1) * q)),
    "higher": Method(lambda n, q: np.ceil((n - 1) * q)),
    "nearest": Method(lambda n, q: np.rint((n - 1) * q)),
    "midpoint": Method(
        lambda n, q: (np.floor((n - 1) * q) + np.ceil((n - 1) * q)) * 0.5,
        lambda fraction, place: np.where(fraction == 0, 0.0, 0.5),
    ),
    "inverted_cdf": Method(lambda n, q: np.ceil(n * q - 1)),
    "closest_observation": Method(_closest),
    "averaged_inverted_cdf": Method(
        lambda n, q: n * q - 1, lambda fraction, place: np.where(fraction == 0, 0.5, 1.0)
    ),
    "interpolated_inverted_cdf": _between(0, 1),
    "hazen": _between(0.5, 0.5),
    "weibull": _between(0, 0),
    "median_unbiased": _between(1 / 3, 1 / 3),
    "normal_unbiased": _between(3 / 8, 3 / 8),
}


@maps("quantile")
def quantile(a: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Any:
    return _quantiles(a, _known("quantile", q), axis, method, keepdims, whole=True)


@maps("percentile")
def percentile(a: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Any:
    return _quantiles(a, _known("percentile", q) / 100, axis, method, keepdims, whole=True)


@maps("nanquantile")
def nanquantile(a: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Any:
    return _quantiles(a, _known("nanquantile", q), axis, method, keepdims, whole=False)


@maps("nanpercentile")
def nanpercentile(a: Any, q: Any, axis: Axis = None, method: str = "linear", keepdims: bool = False) -> Any:
    return _quantiles(a, _known("nanpercentile", q) / 100, axis, method, keepdims, whole=False)


@maps("nanmedian")
def nanmedian(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    x = floats(a)
    rows, axes = _rows(x, axis)
    if not rows.shape[-1]:
        return _spread(np.full_like(rows, np.nan, shape=rows.shape[:-1]), axes, keepdims)
    ordered, count = _counted(rows, False)
    places = ((count - 1) // 2, np.minimum(count // 2, count - 1))
    low, high = (_at(ordered, np.maximum(k, 0)) for k in places)
    return _spread(np.where(count > 0, (low + high) / 2, np.nan), axes, keepdims)


def _known(name: str, q: Any) -> Any:
    """Which quantiles: the tracer decides places by them, so they are no values of the program."""
    if isinstance(q, Tracer):
        raise CallError(
            f"np.{name} while a function is traced takes quantiles that are known, found a traced q"
        )
    return q if isinstance(q, int | float) else np.asarray(q, np.float64)


def _quantiles(a: Any, q: Any, axis: Axis, method: str, keepdims: bool, whole: bool) -> Any:
    """`whole`: one NaN makes all of them NaN."""
    if method not in _METHODS:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {', '.join(_METHODS)}")
    if not np.all((np.asarray(q) >= 0) & (np.asarray(q) <= 1)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    given = tensor(a)
    x = floats(given)
    rows, axes = _rows(x, axis)
    if not rows.shape[-1]:
        raise IndexError("cannot do a quantile of an empty axis")
    ordered, count = _counted(rows, whole)
    is_element = _METHODS[method].share is None
    dtype = x.dtype if isinstance(q, int | float) else np.result_type(x.dtype, np.float64)
    dtype = given.dtype if is_element else dtype
    found = [
        _spread(
            to(_one_quantile(ordered, count, float(each), _METHODS[method], dtype), dtype), axes, keepdims
        )
        for each in np.ravel(q)
    ]
    return found[0] if not np.ndim(q) else np.reshape(np.stack(found), np.shape(q) + found[0].shape)


def _one_quantile(ordered: Any, count: Any, q: float, method: Method, dtype: Any) -> Any:
    place = method.place(to(count, np.float64), q)
    below: Any = np.floor(place)
    ends: list[Any] = [
        _at(ordered, np.clip(to(k, np.int64), 0, np.maximum(count - 1, 0))) for k in (below, below + 1)
    ]
    if method.share is None:
        return np.where(count > 0, ends[0], np.nan)
    low, high = (np.astype(each, dtype) for each in ends)
    share: Any = to(method.share(place - below, place), dtype)
    step = high - low
    found = np.where(share < 0.5, low + step * share, high - step * (1 - share))
    found = np.where(low == high, low, found)
    return np.where(np.logical_and(count > 0, np.logical_not(np.isnan(high))), found, np.nan)


def _rows(x: Tracer, axis: Axis) -> tuple[Any, tuple[int, ...]]:
    """The elements of the axes along the last one, and the axes."""
    if x.ndim == 0 and isinstance(axis, int):
        one_axis(axis, 0)  # raises
    axes = reduced_axes(axis, x.ndim)
    kept = [n for d, n in enumerate(x.shape) if d not in axes]
    count = math.prod([x.shape[d] for d in axes])
    return np.reshape(np.moveaxis(x, axes, tuple(range(-len(axes), 0))), (*kept, count)), axes


def _counted(rows: Any, whole: bool) -> tuple[Any, Any]:
    """The elements sorted along the last axis, NaN last, and how many count: with `whole` none where one is NaN."""
    ordered = np.sort(rows, axis=-1)
    there = np.sum(np.logical_not(np.isnan(rows)), axis=-1)
    return ordered, np.where(there == rows.shape[-1], there, 0) if whole else there


def _at(ordered: Any, place: Any) -> Any:
    return np.take_along_axis(ordered, place[..., None], axis=-1)[..., 0]


def _spread(found: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    return np.expand_dims(found, axes) if keepdims else found
