"""Reductions, scans, order statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opgen_runtime import ops

from ..adapter import adapts, dims, table

np: Any = numpy


def _as(a: Any, dtype: Any) -> Any:
    return a if dtype is None else np.astype(a, dtype)


def _reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(a: Any, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        return function(_as(a, dtype), axis=dims(dim), keepdims=keepdim)

    return reduce


table({"sum": _reduction(np.sum), "mean": _reduction(np.mean), "prod": _reduction(np.prod),
       "nansum": _reduction(np.nansum), "nanmean": _reduction(np.nanmean), "amax": _reduction(np.max),
       "amin": _reduction(np.min), "all": _reduction(np.all), "any": _reduction(np.any),
       "argmax": _reduction(np.argmax), "argmin": _reduction(np.argmin), "logsumexp": _reduction(ops.logsumexp),
       "count_nonzero": _reduction(np.count_nonzero)})  # fmt: skip


def _ddof(unbiased: bool, correction: Any) -> float:
    return correction if correction is not None else float(unbiased)


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduce(
        a: Any, dim: Any = None, unbiased: Any = True, keepdim: bool = False, *, correction: Any = None
    ) -> Any:
        if isinstance(dim, bool):  # the second form: `unbiased` alone
            dim, unbiased = None, dim
        return function(a, axis=dims(dim), ddof=_ddof(unbiased, correction), keepdims=keepdim)

    return reduce


var, std = _spread(np.var), _spread(np.std)
table({"var": var, "std": std})


@adapts("var_mean")
def var_mean(
    a: Any, dim: Any = None, unbiased: Any = True, keepdim: bool = False, *, correction: Any = None
) -> Any:
    axes = None if isinstance(dim, bool) else dims(dim)
    return var(a, dim, unbiased, keepdim, correction=correction), np.mean(a, axis=axes, keepdims=keepdim)


@adapts("std_mean")
def std_mean(
    a: Any, dim: Any = None, unbiased: Any = True, keepdim: bool = False, *, correction: Any = None
) -> Any:
    axes = None if isinstance(dim, bool) else dims(dim)
    return std(a, dim, unbiased, keepdim, correction=correction), np.mean(a, axis=axes, keepdims=keepdim)


def _extreme(
    value: Callable[..., Any], position: Callable[..., Any], of_two: Callable[..., Any]
) -> Callable[..., Any]:
    def find(a: Any, dim: Any = None, keepdim: bool = False) -> Any:
        if dim is None:
            return value(a)
        if not isinstance(dim, int):
            return of_two(a, dim)
        return value(a, axis=dim, keepdims=keepdim), position(a, axis=dim, keepdims=keepdim)

    return find


table({"max": _extreme(np.max, np.argmax, np.maximum), "min": _extreme(np.min, np.argmin, np.minimum)})


@adapts("aminmax")
def aminmax(a: Any, *, dim: int | None = None, keepdim: bool = False) -> Any:
    return np.min(a, axis=dim, keepdims=keepdim), np.max(a, axis=dim, keepdims=keepdim)


@adapts("linalg.vector_norm")
def vector_norm(a: Any, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return np.linalg.vector_norm(_as(a, dtype), axis=dims(dim), keepdims=keepdim, ord=ord)


@adapts("linalg.norm")
def linalg_norm(a: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return np.linalg.norm(_as(a, dtype), ord, dims(dim), keepdim)


@adapts("linalg.matrix_norm")
def matrix_norm(
    a: Any, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Any:
    return np.linalg.norm(_as(a, dtype), ord, dims(dim), keepdim)


@adapts("norm")
def norm(a: Any, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if p == "nuc":
        return np.linalg.norm(_as(a, dtype), p, (-2, -1) if dim is None else dims(dim), keepdim)
    order = 2 if p in ("fro", None) else float(p)
    return np.linalg.vector_norm(_as(a, dtype), axis=dims(dim), keepdims=keepdim, ord=order)


@adapts("dist")
def dist(a: Any, b: Any, p: float = 2) -> Any:
    return np.linalg.vector_norm(a - b, ord=p)


@adapts("cumsum")
def cumsum(a: Any, dim: int, *, dtype: Any = None) -> Any:
    return np.cumsum(_as(a, dtype), axis=dim) if a.ndim else _as(a, dtype)


@adapts("cumprod")
def cumprod(a: Any, dim: int, *, dtype: Any = None) -> Any:
    return np.cumprod(_as(a, dtype), axis=dim) if a.ndim else _as(a, dtype)


def _running(op: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, dim: op(a, axis=dim)


table(
    {
        "logcumsumexp": _running(ops.logcumsumexp),
        "cummax": _running(ops.cummax),
        "cummin": _running(ops.cummin),
    }
)


@adapts("diff")
def diff(a: Any, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Any:
    given = {name: value for name, value in (("prepend", prepend), ("append", append)) if value is not None}
    return np.diff(a, n, dim, **given)


@adapts("trapezoid", "trapz")
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Any:
    return np.trapezoid(y, x, dx, dim)


@adapts("cumulative_trapezoid")
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
    if x is not None and x.ndim == 1:
        x = np.reshape(x, [-1 if d == dim % y.ndim else 1 for d in range(y.ndim)])
    places = None if x is None else np.broadcast_to(x, y.shape)
    return ops.cumulative_trapezoid(y, places, dx=float(dx), axis=dim)


@adapts("renorm")
def renorm(a: Any, p: float, dim: int, maxnorm: float) -> Any:
    return ops.renorm(a, p=float(p), axis=dim, max_norm=float(maxnorm))


@adapts("gradient")
def gradient(a: Any, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> Any:
    parts = spacing if isinstance(spacing, (list, tuple)) else (1 if spacing is None else spacing,)
    return np.gradient(a, *parts, axis=dims(dim), edge_order=edge_order)


def _kept(a: Any, dim: int | None, keepdim: bool) -> tuple[Any, int]:
    """The tensor and the axis; all elements on one axis where there is none."""
    if dim is not None:
        return a, dim
    return (np.reshape(a, (1,) * max(a.ndim - 1, 0) + (-1,)) if keepdim else np.reshape(a, (-1,))), -1


def _quantile(op: Callable[..., Any]) -> Callable[..., Any]:
    def quantile(
        a: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Any:
        if not isinstance(q, float):
            raise NotImplementedError("shares that are a tensor")
        given, axis = _kept(a, dim, keepdim)
        return op(given, axis=axis, keepdims=keepdim, q=(q,), interpolation=interpolation)[0]

    return quantile


table({"quantile": _quantile(ops.quantile), "nanquantile": _quantile(ops.nanquantile)})


@adapts("kthvalue")
def kthvalue(a: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    return ops.kthvalue(a, k=k, axis=dim, keepdims=keepdim)


@adapts("median")
def median(a: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    given, axis = _kept(a, dim, False)
    if not given.ndim:
        raise NotImplementedError("a median of a number")
    found = ops.kthvalue(given, k=max((given.shape[axis] + 1) // 2, 1), axis=axis, keepdims=keepdim)
    return found[0] if dim is None else found


@adapts("argsort")
def argsort(a: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    return ops.argsort(a, axis=dim, is_ascend=not descending, dtype="int64")


@adapts("sort")
def sort(a: Any, dim: int = -1, descending: bool = False, *, stable: Any = False) -> Any:
    order = ops.argsort(a, axis=dim, is_ascend=not descending, dtype="int64")
    return ops.sort(a, axis=dim, is_ascend=not descending), order


@adapts("msort")
def msort(a: Any) -> Any:
    return ops.msort(a)


@adapts("topk")
def topk(a: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return ops.topk(a, k=k, axis=dim, is_ascend=not largest, dtype="int64")


@adapts("trace")
def trace(a: Any) -> Any:
    return np.trace(a)
