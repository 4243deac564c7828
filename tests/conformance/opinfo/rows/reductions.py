"""Reductions, scans, order statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opgen_runtime import eager, ops

from ..adapter import adapts, dims, of_vector, table

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
       "argmax": _reduction(np.argmax), "argmin": _reduction(np.argmin),
       "count_nonzero": _reduction(np.count_nonzero)})  # fmt: skip


@adapts("logsumexp")
def logsumexp(a: Any, dim: Any, keepdim: bool = False) -> Any:
    return of_vector(lambda x: ops.logsumexp(x, axis=dims(dim), keepdims=keepdim), a)


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
    return of_vector(lambda x: np.cumsum(x, axis=dim), _as(a, dtype))


@adapts("cumprod")
def cumprod(a: Any, dim: int, *, dtype: Any = None) -> Any:
    return of_vector(lambda x: np.cumprod(x, axis=dim), _as(a, dtype))


def _running(op: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, dim: of_vector(lambda x: op(x, axis=dim), a)


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


def _quantile(name: str) -> Callable[..., Any]:
    def quantile(
        a: Any, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Any:
        op = getattr(eager if isinstance(a, numpy.ndarray) else ops, name)
        given, axis = _kept(a, dim, keepdim)
        shares = (q,) if isinstance(q, float) else tuple(np.ravel(q).tolist())
        found = op(
            np.reshape(given, given.shape or (1,)),
            axis=axis,
            keepdims=keepdim,
            q=shares,
            interpolation=interpolation,
        )
        made = found[0] if np.ndim(q) == 0 else found
        return made if a.ndim else np.reshape(made, np.shape(q))

    return quantile


table({"quantile": _quantile("quantile"), "nanquantile": _quantile("nanquantile")}, traced=False)


@adapts("kthvalue")
def kthvalue(a: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    return of_vector(lambda x: ops.kthvalue(x, k=k, axis=dim, keepdims=keepdim), a)


@adapts("median")
def median(a: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    given, axis = _kept(a, dim, False)
    k = max((given.shape[axis] + 1) // 2, 1) if given.ndim else 1
    found = kthvalue(given, k, axis, keepdim)
    return found[0] if dim is None else found


@adapts("nanmedian")
def nanmedian(a: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    if not a.ndim:
        return a if dim is None else (a, np.zeros_like(a, dtype=np.int64))
    given, axis = _kept(a, dim, False)
    value = ops.nanquantile(given, axis=axis, keepdims=True, interpolation="lower")[0]
    place = np.argmax(given == value, axis=axis, keepdims=keepdim)
    return np.reshape(value, ()) if dim is None else (np.reshape(value, place.shape), place)


@adapts("histc")
def histc(a: Any, bins: int = 100, min: float = 0, max: float = 0) -> Any:
    counts, _ = np.histogram(a, bins, (min, max) if min != max else None if a.size else (0, 1))
    return np.astype(counts, a.dtype)


@adapts("histogram")
def histogram(a: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    if weight is not None:
        raise NotImplementedError("np.histogram under jit takes no weights")
    counts, edges = np.histogram(a, bins, range if range or a.size else (0, 1), density)
    return np.astype(counts, a.dtype), np.astype(edges, a.dtype)


@adapts("histogramdd")
def histogramdd(a: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False) -> Any:
    if weight is not None:
        raise NotImplementedError("np.histogramdd under jit takes no weights")
    pairs = None if range is None else list(zip(range[::2], range[1::2], strict=True))
    pairs = pairs if a.size else [(0, 1)] * a.shape[-1]
    counts, edges = np.histogramdd(np.reshape(a, (-1, a.shape[-1])), bins, pairs, density)
    return np.astype(counts, a.dtype), tuple(np.astype(each, a.dtype) for each in edges)


@adapts("sum_to_size")
def sum_to_size(a: Any, *shape: Any) -> Any:
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    new = a.ndim - len(sizes)
    kept = [d for d, size in enumerate(sizes, new) if size == 1 and a.shape[d] != 1]
    return np.reshape(np.sum(a, axis=(*np.arange(new).tolist(), *kept)), sizes)


@adapts("argsort")
def argsort(a: Any, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    return of_vector(lambda x: ops.argsort(x, axis=dim, is_ascend=not descending, dtype="int64"), a)


@adapts("sort")
def sort(a: Any, dim: int = -1, descending: bool = False, *, stable: Any = False) -> Any:
    order = argsort(a, dim, descending)
    return of_vector(lambda x: ops.sort(x, axis=dim, is_ascend=not descending), a), order


@adapts("msort")
def msort(a: Any) -> Any:
    return ops.msort(a)


@adapts("topk")
def topk(a: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return of_vector(lambda x: ops.topk(x, k=k, axis=dim, is_ascend=not largest, dtype="int64"), a)


@adapts("trace")
def trace(a: Any) -> Any:
    return np.trace(a)
