"""numpy's reductions and running sums on tracers, with numpy's dtypes: narrow ints are summed in 64 bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from .... import ops
from ....base.errors import CallError
from .functions import maps
from .operands import DTypeLike, axes_of, element, full, one_axis, tensor, to
from .tracer import Tracer
from .ufuncs import apply, as_method

Axis = int | tuple[int, ...] | None


def _extents(x: Tracer, axes: tuple[int, ...]) -> int:
    return math.prod([x.shape[axis] for axis in axes])


def _axes(x: Tracer, axis: Axis) -> tuple[int, ...]:
    """The axes to reduce; numpy takes a number for a vector of one element."""
    return () if x.ndim == 0 and axis in (0, -1) else axes_of(axis, x.ndim)


def _reduce(name: str, x: Tracer, axis: Axis, keepdims: bool, **attrs: Any) -> Tracer:
    axes = _axes(x, axis)
    made: Tracer = getattr(ops, name)(x, axis=axes, keepdims=bool(keepdims), **attrs) if axes else x
    return made


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which numpy sums: at least 64 bits for integers."""
    kind = element(dtype).kind
    if kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if kind == "u" else dtype


def _truth(x: Tracer) -> Tracer:
    return to(x, bool)


@maps("sum", method="sum")
def total(a: Any, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tracer:
    x = tensor(a)
    return _reduce("sum", to(x, _wide(x.dtype) if dtype is None else dtype), axis, keepdims)


@maps("prod", method="prod")
def product(a: Any, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tracer:
    x = tensor(a)
    return _reduce("prod", to(x, _wide(x.dtype) if dtype is None else dtype), axis, keepdims)


def _extreme(name: str, logical: str, a: Any, axis: Axis, keepdims: bool) -> Tracer:
    x = tensor(a)
    if x.size == 0 and _extents(x, _axes(x, axis)) == 0:
        raise ValueError(f"zero-size array to reduction operation {name}imum which has no identity")
    return _reduce(logical if element(x.dtype).is_bool else name, x, axis, keepdims)


@maps("max", "amax", method="max")
def greatest(a: Any, axis: Axis = None, keepdims: bool = False) -> Tracer:
    return _extreme("max", "any", a, axis, keepdims)


@maps("min", "amin", method="min")
def least(a: Any, axis: Axis = None, keepdims: bool = False) -> Tracer:
    return _extreme("min", "all", a, axis, keepdims)


@maps("ptp")
def ptp(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    return apply(np.subtract, greatest(a, axis, keepdims), least(a, axis, keepdims))


@maps("any", method="any")
def some(a: Any, axis: Axis = None, keepdims: bool = False) -> Tracer:
    return _reduce("any", _truth(tensor(a)), axis, keepdims)


@maps("all", method="all")
def every(a: Any, axis: Axis = None, keepdims: bool = False) -> Tracer:
    return _reduce("all", _truth(tensor(a)), axis, keepdims)


@maps("count_nonzero")
def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Tracer:
    return total(_truth(tensor(a)), axis, None, keepdims)


def _floating(a: Any, dtype: DTypeLike | None) -> Tracer:
    x = tensor(a)
    wanted = (
        np.dtype(dtype)
        if dtype is not None
        else x.dtype
        if element(x.dtype).is_float
        else np.dtype(np.float64)
    )
    return to(x, wanted)


@maps("mean", method="mean")
def mean(a: Any, axis: Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False) -> Tracer:
    return _reduce("mean", _floating(a, dtype), axis, keepdims)


@maps("var", method="var")
def var(
    a: Any, axis: Axis = None, dtype: DTypeLike | None = None, ddof: float = 0, keepdims: bool = False
) -> Tracer:
    x = _floating(a, dtype)
    if not _axes(x, axis):
        return ops.subtract(x, x)  # type: ignore[return-value]  # traced; one element each, which may be no number
    made = _reduce("variance", x, axis, keepdims, unbiased=ddof == 1)
    if ddof in (0, 1):
        return made
    count = _extents(x, _axes(x, axis))
    scale = math.inf if count <= ddof else count / (count - ddof)
    return ops.multiply(made, scale)  # type: ignore[return-value]  # traced


@maps("std", method="std")
def std(
    a: Any, axis: Axis = None, dtype: DTypeLike | None = None, ddof: float = 0, keepdims: bool = False
) -> Tracer:
    x = _floating(a, dtype)
    if ddof in (0, 1) and _axes(x, axis):
        return _reduce("std", x, axis, keepdims, unbiased=ddof == 1)
    return ops.sqrt(var(x, axis, None, ddof, keepdims))  # type: ignore[return-value]  # traced


@maps("linalg.norm")
def norm(x: Any, ord: int | str | None = None, axis: Axis = None, keepdims: bool = False) -> Any:
    """The square root of the sum of squares; its derivative at 0 counts as 0, a subgradient."""
    given = _floating(x, None)
    if axis is not None and len(_axes(given, axis)) not in (1, 2):
        raise ValueError("Improper number of dimensions to norm.")
    is_vector = len(_axes(given, axis)) == 1
    if not (ord is None or (ord == 2 and is_vector) or (ord == "fro" and not is_vector)):
        raise CallError(
            f"np.linalg.norm: ord is {ord!r}; while a function is traced, it is the square root of squares"
        )
    squared = total(ops.square(given), axis, None, keepdims)
    nothing = ops.equal(squared, 0.0)
    return ops.where(nothing, 0.0, ops.sqrt(ops.where(nothing, 1.0, squared)))


def _position(name: str, a: Any, axis: int | None, keepdims: bool) -> Tracer:
    x = tensor(a)
    if x.size == 0 and _extents(x, _axes(x, axis)) == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if element(x.dtype).is_bool:
        x = to(x, np.uint8)
    if x.ndim == 0:
        return full((), 0, np.int64)
    return _reduce(name, x, None if axis is None else one_axis(axis, x.ndim), keepdims)


@maps("argmax", method="argmax")
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tracer:
    return _position("argmax", a, axis, keepdims)


@maps("argmin", method="argmin")
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tracer:
    return _position("argmin", a, axis, keepdims)


def _running(name: str, a: Any, axis: int | None, dtype: DTypeLike | None) -> Tracer:
    x = tensor(a)
    x = to(x, _wide(x.dtype) if dtype is None else dtype)
    at = None if axis is None or (x.ndim == 0 and axis in (0, -1)) else one_axis(axis, x.ndim)
    return getattr(ops, name)(x, axis=at)  # type: ignore[no-any-return]


@maps("cumsum", method="cumsum")
def cumsum(a: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Tracer:
    return _running("cumsum", a, axis, dtype)


@maps("cumprod", method="cumprod")
def cumprod(a: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Tracer:
    return _running("cumprod", a, axis, dtype)


def _untyped(function: Any) -> Any:
    return lambda a, axis, dtype, **rest: function(a if dtype is None else to(tensor(a), dtype), axis, **rest)


_REDUCE: Final[dict[np.ufunc, Callable[..., Any]]] = {
    np.add: total,
    np.multiply: product,
    np.maximum: _untyped(greatest),
    np.minimum: _untyped(least),
    np.logical_and: _untyped(every),
    np.logical_or: _untyped(some),
}
_ACCUMULATE: Final[dict[np.ufunc, Callable[..., Any]]] = {np.add: cumsum, np.multiply: cumprod}
for _ufunc, _function in _REDUCE.items():
    as_method("reduce", _ufunc, _function)
for _ufunc, _function in _ACCUMULATE.items():
    as_method("accumulate", _ufunc, _function)
