"""numpy's statistics, those without NaN among them, and functions of elements that are made of others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from .... import ops
from ....base.errors import CallError
from .functions import maps
from .operands import element, one_axis, reduced_axes, tensor, to
from .rearranging import diagonal, led
from .tracer import Tracer

np: Any = numpy  # whose annotations know no tracers

Axis = int | tuple[int, ...] | None


def floats(a: Any) -> Tracer:
    """The operand in a dtype of floats: its own, or float64."""
    x = tensor(a)
    return x if element(x.dtype).is_float else to(x, np.float64)


@maps("sinc")
def sinc(x: Any) -> Any:
    return ops.sinc(floats(x))


@maps("nan_to_num")
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    a = tensor(x)
    if not element(a.dtype).is_float:
        return a
    high, low = np.finfo(a.dtype).max, np.finfo(a.dtype).min
    bounded = np.where(a == np.inf, high if posinf is None else posinf, a)
    bounded = np.where(a == -np.inf, low if neginf is None else neginf, bounded)
    return to(np.where(np.isnan(a), nan, bounded), a.dtype)


@maps("isposinf")
def isposinf(x: Any) -> Any:
    return tensor(x) == np.inf


@maps("isneginf")
def isneginf(x: Any) -> Any:
    return tensor(x) == -np.inf


@maps("real", "real_if_close")
def real(val: Any) -> Tracer:
    return tensor(val)


@maps("imag")
def imag(val: Any) -> Any:
    return np.zeros_like(tensor(val))


@maps("isreal")
def isreal(x: Any) -> Any:
    return np.ones_like(tensor(x), bool)


@maps("iscomplex")
def iscomplex(x: Any) -> Any:
    return np.zeros_like(tensor(x), bool)


@maps("angle")
def angle(z: Any, deg: bool = False) -> Any:
    found = np.arctan2(np.zeros_like(floats(z)), floats(z))
    return found * (180 / np.pi) if deg else found


@maps("fix")
def fix(x: Any) -> Any:
    return np.trunc(tensor(x))


@maps("isin")
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    found = np.any(tensor(element)[..., None] == np.ravel(tensor(test_elements)), axis=-1)
    return np.logical_not(found) if invert else found


@maps("polyval")
def polyval(p: Any, x: Any) -> Any:
    coefficients, at = tensor(p), tensor(x)
    total = np.zeros_like(at)
    for k in range(coefficients.shape[0]):
        total = total * at + coefficients[k]
    return total


@maps("array_equiv")
def array_equiv(a1: Any, a2: Any) -> Any:
    x, y = tensor(a1), tensor(a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return np.False_
    return np.all(x == y)


@maps("nansum")
def nansum(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    return np.sum(_without_nan(a, 0), axis=axis, keepdims=keepdims)


@maps("nanprod")
def nanprod(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    return np.prod(_without_nan(a, 1), axis=axis, keepdims=keepdims)


@maps("nancumsum")
def nancumsum(a: Any, axis: int | None = None) -> Any:
    return np.cumsum(_without_nan(a, 0), axis=axis)


@maps("nancumprod")
def nancumprod(a: Any, axis: int | None = None) -> Any:
    return np.cumprod(_without_nan(a, 1), axis=axis)


@maps("nanmax")
def nanmax(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    return _extreme_without_nan(np.max, a, -np.inf, axis, keepdims)


@maps("nanmin")
def nanmin(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    return _extreme_without_nan(np.min, a, np.inf, axis, keepdims)


@maps("nanmean")
def nanmean(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    x = tensor(a)
    there = np.logical_not(np.isnan(x)) if element(x.dtype).is_float else np.ones_like(x, bool)
    count = to(np.sum(there, axis=axis, keepdims=keepdims), floats(x).dtype)
    return nansum(floats(x), axis, keepdims) / count


@maps("nanvar")
def nanvar(a: Any, axis: Axis = None, ddof: float = 0, keepdims: bool = False) -> Any:
    x = floats(a)
    count: Any = to(np.sum(np.logical_not(np.isnan(x)), axis=axis, keepdims=keepdims), x.dtype)
    squares = nansum(np.square(x - nanmean(x, axis, True)), axis, keepdims)
    return np.where(count > ddof, squares / (count - ddof), np.nan)


@maps("nanstd")
def nanstd(a: Any, axis: Axis = None, ddof: float = 0, keepdims: bool = False) -> Any:
    return np.sqrt(nanvar(a, axis, ddof, keepdims))


@maps("average")
def average(
    a: Any, axis: Axis = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    x = tensor(a)
    if weights is None:
        found = np.mean(x, axis=axis, keepdims=keepdims)
        if not found.size:
            raise ZeroDivisionError("division by zero")  # as numpy, which divides by it
        return (found, np.full_like(found, x.size // found.size)) if returned else found
    w = tensor(weights)
    if w.shape != x.shape:
        if not isinstance(axis, int) or w.ndim != 1:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        w = np.reshape(w, tuple([-1 if k == axis % x.ndim else 1 for k in range(x.ndim)]))
    w = floats(np.broadcast_to(w, x.shape))
    total = np.sum(w, axis=axis, keepdims=keepdims)
    found = np.sum(np.multiply(x, w), axis=axis, keepdims=keepdims) / total
    return (found, total) if returned else found


@maps("median")
def median(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    x = floats(a)
    axes = reduced_axes(axis, x.ndim)
    if not axes and not x.size:
        raise ValueError(f"cannot reshape array of size 0 into shape {x.shape}")  # as numpy
    kept = [n for d, n in enumerate(x.shape) if d not in axes]
    count = math.prod([x.shape[d] for d in axes])
    flat = np.reshape(np.moveaxis(x, axes, tuple(range(-len(axes), 0))), (*kept, count))
    ordered = np.sort(flat, axis=-1)
    half = count // 2
    if not count:
        raise CallError("np.median while a function is traced takes arrays with elements along the axis")
    middle = ordered[..., half] if count % 2 else (ordered[..., half - 1] + ordered[..., half]) / 2
    found = np.where(np.isnan(ordered[..., -1]), np.nan, middle)  # NaN comes last
    if not keepdims:
        return found
    return np.expand_dims(found, axes)


@maps("cumulative_sum")
def cumulative_sum(x: Any, /, *, axis: int | None = None) -> Any:
    return np.cumsum(_of_one_line(x, axis), axis=axis)


@maps("cumulative_prod")
def cumulative_prod(x: Any, /, *, axis: int | None = None) -> Any:
    return np.cumprod(_of_one_line(x, axis), axis=axis)


def _of_one_line(x: Any, axis: int | None) -> Tracer:
    """The operand. Raises ValueError where it has several axes and none is named."""
    if axis is None and tensor(x).ndim > 1:
        raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
    return tensor(x)


@maps("trapezoid")
def trapezoid(y: Any, x: Any = None, dx: float = 1.0, axis: int = -1) -> Any:
    values = np.moveaxis(tensor(y), one_axis(axis, tensor(y).ndim), -1)
    steps = (
        dx if x is None else np.diff(tensor(x) if tensor(x).ndim == 1 else np.moveaxis(tensor(x), axis, -1))
    )
    return np.sum(steps * (values[..., 1:] + values[..., :-1]) / 2.0, axis=-1)


@maps("ediff1d")
def ediff1d(ary: Any) -> Any:
    return np.diff(np.ravel(tensor(ary)))


@maps("cov")
def cov(m: Any, rowvar: bool = True, bias: bool = False, ddof: int | None = None) -> Any:
    x = floats(m)
    x = led(x, 2)
    rows = x if rowvar or x.shape[0] == 1 else np.transpose(x)
    off = rows - np.mean(rows, axis=1, keepdims=True)
    taken = (0 if bias else 1) if ddof is None else ddof
    return np.squeeze(np.matmul(off, np.transpose(off)) / (rows.shape[1] - taken))


@maps("corrcoef")
def corrcoef(x: Any, rowvar: bool = True) -> Any:
    c = cov(x, rowvar)
    if c.ndim == 0:
        return c / c
    d = np.sqrt(diagonal(c))
    return np.clip(c / d[:, None] / d[None, :], -1, 1)


def _without_nan(a: Any, number: int) -> Any:
    x = tensor(a)
    return np.where(np.isnan(x), x.dtype.type(number), x) if element(x.dtype).is_float else x


def _extreme_without_nan(reduce: Callable[..., Any], a: Any, end: float, axis: Axis, keepdims: bool) -> Any:
    """NaN where there is no number."""
    x = tensor(a)
    if not element(x.dtype).is_float:
        return reduce(x, axis=axis, keepdims=keepdims)
    found = reduce(np.where(np.isnan(x), x.dtype.type(end), x), axis=axis, keepdims=keepdims)
    return np.where(np.all(np.isnan(x), axis=axis, keepdims=keepdims), x.dtype.type(np.nan), found)
