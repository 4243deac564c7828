"""Reductions of the elements that a mask names, which numpy calls `where=`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opgen_runtime import ops

from ..adapter import adapts, dims, of_vector, table

np: Any = numpy


def _where(mask: Any) -> Any:
    return True if mask is None else mask


def _accumulated(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(a: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
        return function(a, axis=dims(dim), dtype=dtype, keepdims=keepdim, where=_where(mask))

    return reduce


table({"masked.sum": _accumulated(np.sum), "masked.prod": _accumulated(np.prod)})


def _extreme(function: Callable[..., Any], sign: int) -> Callable[..., Any]:
    def reduce(a: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
        given = a if dtype is None else np.astype(a, dtype)
        is_float = np.dtype(given.dtype).kind not in "iu"
        limits = None if is_float else np.iinfo(given.dtype)
        neutral = -sign * np.inf if limits is None else (limits.min if sign > 0 else limits.max)
        return function(given, axis=dims(dim), keepdims=keepdim, initial=neutral, where=_where(mask))

    return reduce


table({"masked.amax": _extreme(np.max, 1), "masked.amin": _extreme(np.min, -1)})


def _count(a: Any, axis: Any, mask: Any) -> Any:
    return np.sum(np.ones_like(a, dtype=np.int64), axis=axis, keepdims=True, where=_where(mask))


def _floats(a: Any, dtype: Any) -> Any:
    kept = np.dtype(a.dtype).kind not in "iub"
    return np.astype(a, np.dtype(dtype)) if dtype is not None else a if kept else np.astype(a, np.float32)


@adapts("masked.mean")
def mean(a: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    given, axis = _floats(a, dtype), dims(dim)
    found = np.sum(given, axis=axis, keepdims=True, where=_where(mask)) / np.astype(
        _count(given, axis, mask), given.dtype
    )
    return found if keepdim else np.squeeze(found, axis)


def _variance(
    a: Any, dim: Any = None, unbiased: Any = None, *, correction: Any = None, keepdim: bool = False, dtype: Any = None,
    mask: Any = None,
) -> Any:  # fmt: skip
    given, axis = _floats(a, dtype), dims(dim)
    off = given - mean(given, dim, keepdim=True, mask=mask)
    less = float(unbiased is not False) if correction is None else correction
    count = np.maximum(np.astype(_count(given, axis, mask), given.dtype) - less, 0)
    found = np.sum(off * off, axis=axis, keepdims=True, where=_where(mask)) / count
    return found if keepdim else np.squeeze(found, axis)


table({"masked.var": _variance, "masked.std": lambda *args, **named: np.sqrt(_variance(*args, **named))})


def _filled(a: Any, mask: Any, value: Any, dtype: Any = None) -> Any:
    """The elements, and one value where the mask does not hold."""
    given = _floats(a, dtype)
    return given if mask is None else np.where(mask, given, np.asarray(value, given.dtype))


def _position(function: Callable[..., Any], neutral: float) -> Callable[..., Any]:
    def find(
        a: Any, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
    ) -> Any:
        return function(_filled(a, mask, neutral, dtype), axis=dim, keepdims=keepdim)

    return find


table({"masked.argmax": _position(np.argmax, -np.inf), "masked.argmin": _position(np.argmin, np.inf)})


def _along(function: Callable[..., Any], neutral: float) -> Callable[..., Any]:
    def compute(a: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Any:
        given = _filled(a, mask, neutral, dtype)
        return of_vector(lambda x: function(x, axis=dim), given)

    return compute


table({"masked.cumsum": _along(np.cumsum, 0), "masked.cumprod": _along(np.cumprod, 1),
       "masked.softmax": _along(ops.softmax, -np.inf), "masked.log_softmax": _along(ops.log_softmax, -np.inf),
       "masked.softmin": _along(ops.softmin, np.inf)})  # fmt: skip


@adapts("masked.logsumexp")
def logsumexp(a: Any, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    given = _filled(a, mask, -np.inf, dtype)
    return of_vector(lambda x: ops.logsumexp(x, axis=dims(dim), keepdims=keepdim), given)


@adapts("masked.norm")
def norm(
    a: Any, ord: float = 2.0, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Any:
    given = _filled(a, mask, np.inf if ord == -np.inf else 0, dtype)
    return np.linalg.vector_norm(given, axis=dims(dim), keepdims=keepdim, ord=ord)


@adapts("masked.normalize")
def normalize(
    a: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Any = None
) -> Any:
    return _filled(a, mask, 0, dtype) / np.maximum(
        norm(a, ord, dim, keepdim=True, dtype=dtype, mask=mask), eps
    )


@adapts("masked.logaddexp")
def logaddexp(
    a: Any, other: Any, *, dtype: Any = None, input_mask: Any = None, other_mask: Any = None
) -> Any:
    return np.logaddexp(_filled(a, input_mask, -np.inf, dtype), _filled(other, other_mask, -np.inf, dtype))


@adapts("masked.median")
def median(a: Any, dim: int, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Any:
    given = _filled(a, mask, np.nan, dtype)
    return (
        given if not a.ndim else ops.nanquantile(given, axis=dim, keepdims=keepdim, interpolation="lower")[0]
    )
