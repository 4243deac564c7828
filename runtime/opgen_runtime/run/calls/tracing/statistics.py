"""numpy's statistics, those without NaN among them, and functions of elements that are made of others."""

from __future__ import annotations

import math
from typing import Any

import numpy

from .... import ops
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
    form = element(a.dtype).float_format
    if form is None:
        return a
    bounded = np.where(a == np.inf, form.highest if posinf is None else posinf, a)
    bounded = np.where(a == -np.inf, -form.highest if neginf is None else neginf, bounded)
    return to(np.where(np.isnan(a), nan, bounded), a.dtype)


@maps("isposinf")
def isposinf(x: Any) -> Any:
    return tensor(x) == np.inf


@maps("isneginf")
def isneginf(x: Any) -> Any:
    return tensor(x) == -np.inf


@maps("real_if_close")
def real_if_close(a: Any) -> Tracer:
    return tensor(a)


@maps("real")
def real(val: Any) -> Any:
    given = tensor(val)
    return ops.real(given) if given.dtype.kind == "c" else given


@maps("imag")
def imag(val: Any) -> Any:
    given = tensor(val)
    return ops.imag(given) if given.dtype.kind == "c" else np.zeros_like(given)


@maps("isreal")
def isreal(x: Any) -> Any:
    return imag(x) == 0


@maps("iscomplex")
def iscomplex(x: Any) -> Any:
    return imag(x) != 0


@maps("angle")
def angle(z: Any, deg: bool = False) -> Any:
    given = tensor(z)
    is_complex = given.dtype.kind == "c"
    found = ops.angle(given) if is_complex else np.arctan2(np.zeros_like(floats(given)), floats(given))
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
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        axes = reduced_axes(axis, x.ndim)
        if w.shape != tuple([x.shape[k] for k in axes]):
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        w = np.transpose(w, [axes.index(k) for k in sorted(axes)])
        w = np.reshape(w, tuple([n if k in axes else 1 for k, n in enumerate(x.shape)]))
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
    if x.ndim == 0 and isinstance(axis, int):
        one_axis(axis, 0)  # raises
    if not count:
        found = np.full_like(flat, np.nan, shape=kept)
        return np.expand_dims(found, axes) if keepdims else found
    ordered = np.sort(flat, axis=-1)
    half = count // 2
    middle = ordered[..., half] if count % 2 else (ordered[..., half - 1] + ordered[..., half]) / 2
    found = np.where(np.isnan(ordered[..., -1]), np.nan, middle)  # NaN comes last
    if not keepdims:
        return found
    return np.expand_dims(found, axes)


@maps("cumulative_sum")
def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    found = np.cumsum(_of_one_line(x, axis), axis=axis, dtype=dtype)
    return _led_by(0, found, axis) if include_initial else found


@maps("cumulative_prod")
def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    found = np.cumprod(_of_one_line(x, axis), axis=axis, dtype=dtype)
    return _led_by(1, found, axis) if include_initial else found


def _led_by(number: int, found: Any, axis: int | None) -> Any:
    at = one_axis(0 if axis is None else axis, found.ndim)
    first = np.full_like(found, number, shape=(*found.shape[:at], 1, *found.shape[at + 1 :]))
    return np.concatenate([first, found], at)


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
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    x = np.ravel(tensor(ary))
    ends = [None if each is None else np.ravel(np.asarray(each)) for each in (to_begin, to_end)]
    for each in ends:
        if each is not None and not np.can_cast(each.dtype, x.dtype, "same_kind"):
            raise TypeError("dtype of `to_end` and `to_begin` must be compatible with input `ary`")
    first, last = (None if each is None else np.astype(each, x.dtype) for each in ends)
    return np.concatenate([each for each in (first, np.diff(x), last) if each is not None])


@maps("cov")
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None,
    fweights: Any = None, aweights: Any = None, *, dtype: Any = None,
) -> Any:  # fmt: skip
    """`fweights` count observations, `aweights` weigh them; both are given for each column."""
    x = _variables(m, y, rowvar, dtype)
    taken = (0 if bias else 1) if ddof is None else ddof
    given = [floats(each) for each in (fweights, aweights) if each is not None]
    if not given:
        off = x - np.mean(x, axis=1, keepdims=True)
        return np.squeeze(np.matmul(off, np.transpose(off)) / (x.shape[1] - taken))
    for each in given:
        if each.shape != x.shape[1:]:
            raise RuntimeError("incompatible numbers of samples and weights")
    weights: Any = np.multiply(*given) if len(given) == 2 else given[0]
    total = np.sum(weights)
    squared = total if aweights is None else np.sum(weights * given[-1]) / total
    off = x - (np.sum(x * weights, axis=1) / total)[:, None]
    freedom = total - taken * (1 if aweights is None else squared)
    return np.squeeze(np.matmul(off, np.transpose(off * weights)) / freedom)


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any) -> Any:
    """The variables, one a row: those of `m`, then those of `y`."""
    given = [led(tensor(each), 2) for each in (m, y) if each is not None]
    if any([tensor(each).ndim > 2 for each in (m, y) if each is not None]):
        raise ValueError("m has more than 2 dimensions")
    wanted = np.result_type(*[each.dtype for each in given], np.float64) if dtype is None else np.dtype(dtype)
    turned = [each if rowvar or each.shape[0] == 1 else np.transpose(each) for each in given]
    return np.concatenate([to(each, wanted) for each in turned], 0)


@maps("corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    d = np.sqrt(diagonal(c))
    return np.clip(c / d[:, None] / d[None, :], -1, 1)
