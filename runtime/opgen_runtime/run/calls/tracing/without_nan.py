"""numpy's reductions and running sums of the elements that are no NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from .functions import maps
from .operands import element, tensor, to
from .statistics import Axis, floats

np: Any = numpy  # whose annotations know no tracers


def _replaced(a: Any, number: float) -> Any:
    x = tensor(a)
    return np.where(np.isnan(x), x.dtype.type(number), x) if element(x.dtype).is_float else x


def _reduction(reduce: Callable[..., Any], neutral: float) -> Callable[..., Any]:
    def reduced(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        x = _replaced(a, neutral)
        return reduce(x, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)

    return reduced


nansum = maps("nansum")(_reduction(np.sum, 0))
maps("nanprod")(_reduction(np.prod, 1))


@maps("nancumsum")
def nancumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return np.cumsum(_replaced(a, 0), axis=axis, dtype=dtype)


@maps("nancumprod")
def nancumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Any:
    return np.cumprod(_replaced(a, 1), axis=axis, dtype=dtype)


@maps("nanmax")
def nanmax(a: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    return _extreme(np.max, a, -np.inf, axis, keepdims, initial, where)


@maps("nanmin")
def nanmin(a: Any, axis: Axis = None, keepdims: bool = False, initial: Any = None, where: Any = True) -> Any:
    return _extreme(np.min, a, np.inf, axis, keepdims, initial, where)


def _extreme(
    reduce: Callable[..., Any], a: Any, end: float, axis: Axis, keepdims: bool, initial: Any, where: Any
) -> Any:
    """NaN where there is no number."""
    x = tensor(a)
    options = {"axis": axis, "keepdims": keepdims}
    found = reduce(_replaced(x, end), **options, initial=initial, where=where)
    if not element(x.dtype).is_float or initial is not None:
        return found
    return np.where(np.all(np.isnan(x), **options), x.dtype.type(np.nan), found)


@maps("nanmean")
def nanmean(
    a: Any, axis: Axis = None, dtype: Any = None, keepdims: bool = False, *, where: Any = True
) -> Any:
    x = floats(a) if dtype is None else to(tensor(a), dtype)
    there = np.sum(np.logical_not(np.isnan(x)), axis=axis, keepdims=keepdims, where=where)
    return nansum(x, axis, None, keepdims, None, where) / to(there, x.dtype)


@maps("nanvar")
def nanvar(
    a: Any, axis: Axis = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, correction: float | None = None,
) -> Any:  # fmt: skip
    x = floats(a) if dtype is None else to(tensor(a), dtype)
    taken = ddof if correction is None else correction
    there = np.logical_not(np.isnan(x))
    count: Any = to(np.sum(there, axis=axis, keepdims=keepdims, where=where), x.dtype)
    off = np.where(there, x - nanmean(x, axis, None, True, where=where), x.dtype.type(0))
    squares = np.sum(np.square(off), axis=axis, keepdims=keepdims, where=where)
    return np.where(count > taken, squares / (count - taken), x.dtype.type(np.nan))


@maps("nanstd")
def nanstd(
    a: Any, axis: Axis = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False, *,
    where: Any = True, correction: float | None = None,
) -> Any:  # fmt: skip
    return np.sqrt(nanvar(a, axis, dtype, ddof, keepdims, where=where, correction=correction))
