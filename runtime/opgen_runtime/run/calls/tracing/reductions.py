"""numpy's reductions and running sums on tracers, with numpy's dtypes: narrow ints are summed in 64 bits."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import index
from typing import Any, Final

import numpy as np

from .... import ops
from ....base.errors import CallError
from .elements import where as choose
from .functions import maps
from .operands import DTypeLike, element, full, one_axis, operand, reduced_axes, tensor, to
from .shaping import along, broadcast_to
from .tracer import Tracer
from .ufuncs import apply, as_method

Axis = int | tuple[int, ...] | None
Shared = bool | int
"""Of `keepdims`: what is no int is refused, as numpy does."""


def _extents(x: Tracer, axes: tuple[int, ...]) -> int:
    return math.prod([x.shape[axis] for axis in axes])


def _reduce(name: str, x: Tracer, axis: Axis, keepdims: Shared, **attrs: Any) -> Tracer:
    axes, kept = reduced_axes(axis, x.ndim), bool(index(keepdims))
    made: Tracer = getattr(ops, name)(x, axis=axes, keepdims=kept, **attrs) if axes else x
    return made


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which numpy sums: at least 64 bits for integers."""
    kind = element(dtype).kind
    if kind in "bi":
        return np.dtype(np.int64)
    return np.dtype(np.uint64) if kind == "u" else dtype


def _masked(x: Tracer, mask: Any, otherwise: Any) -> Tracer:
    """The elements where `mask` holds, else `otherwise`; numpy's option `where=`."""
    if mask is True:
        return x
    chosen = tensor(mask)
    if not element(chosen.dtype).is_bool:
        raise TypeError(f"Cannot cast array data from {chosen.dtype} to bool: `where` is a mask")
    made: Tracer = choose(broadcast_to(chosen, x.shape), x, to(operand(otherwise), x.dtype))
    return made


def _begun(ufunc: np.ufunc, made: Tracer, initial: Any) -> Tracer:
    """The result together with what a reduction begins with, in its dtype."""
    if initial is None:
        return made
    found: Tracer = apply(ufunc, to(_cast(initial, made.dtype), made.dtype), made)
    return found


def _cast(number: Any, dtype: np.dtype[Any]) -> Any:
    """A number for a reduction to begin with; numpy truncates floats, and refuses ints that do not fit."""
    given = number if isinstance(number, np.integer) else operand(number)
    if isinstance(given, Tracer) and given.ndim:
        raise ValueError("Input object to FillWithScalar is not a scalar")
    if isinstance(given, Tracer):
        return given
    if element(dtype).is_bool:
        return bool(given)
    if isinstance(given, np.integer) and dtype == np.uint64:
        return int(given) % (1 << 64)  # a negative one wraps, as it does in no other dtype
    return int(given) if element(dtype).is_int and not isinstance(given, complex) else given


def _accumulated(
    name: str, logical: str, ufunc: np.ufunc, neutral: int, a: Any, axis: Axis, dtype: DTypeLike | None,
    keepdims: Shared, initial: Any, where: Any,
) -> Tracer:  # fmt: skip
    """A sum or a product: of truth values, in the dtype bool, whether any or all hold."""
    x = tensor(a)
    x = _masked(to(x, _wide(x.dtype) if dtype is None else dtype), where, neutral)
    made = _reduce(logical if element(x.dtype).is_bool else name, x, axis, keepdims)
    return _begun(ufunc, made, initial)


@maps("sum", method="sum")
def total(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: Shared = False,
    initial: Any = None,
    where: Any = True,
) -> Tracer:
    return _accumulated("sum", "any", np.add, 0, a, axis, dtype, keepdims, initial, where)


@maps("prod", method="prod")
def product(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: Shared = False,
    initial: Any = None,
    where: Any = True,
) -> Tracer:
    return _accumulated("prod", "all", np.multiply, 1, a, axis, dtype, keepdims, initial, where)


def _extreme(
    name: str, logical: str, ufunc: np.ufunc, a: Any, axis: Axis, keepdims: Shared, initial: Any, where: Any
) -> Tracer:
    x = tensor(a)
    axes = reduced_axes(axis, x.ndim)
    if initial is None and where is not True:
        raise ValueError(
            f"reduction operation '{name}imum' does not have an identity, so to use a where mask one has to specify "
            "'initial'"
        )
    if x.size == 0 and _extents(x, axes) == 0:
        if initial is None:
            raise ValueError(f"zero-size array to reduction operation {name}imum which has no identity")
        if where is not True:
            broadcast_to(tensor(where), x.shape)  # raises ValueError for another shape
        reduced: Tracer = total(x, axis, x.dtype, keepdims)
        return broadcast_to(to(_cast(initial, x.dtype), x.dtype), reduced.shape)
    if initial is not None:
        x = _masked(x, where, _cast(initial, x.dtype))
    return _begun(ufunc, _reduce(logical if element(x.dtype).is_bool else name, x, axis, keepdims), initial)


@maps("max", "amax", method="max")
def greatest(
    a: Any, axis: Axis = None, keepdims: Shared = False, initial: Any = None, where: Any = True
) -> Tracer:
    return _extreme("max", "any", np.maximum, a, axis, keepdims, initial, where)


@maps("min", "amin", method="min")
def least(
    a: Any, axis: Axis = None, keepdims: Shared = False, initial: Any = None, where: Any = True
) -> Tracer:
    return _extreme("min", "all", np.minimum, a, axis, keepdims, initial, where)


@maps("ptp")
def ptp(a: Any, axis: Axis = None, keepdims: Shared = False) -> Any:
    return apply(np.subtract, greatest(a, axis, keepdims), least(a, axis, keepdims))


@maps("any", method="any")
def some(a: Any, axis: Axis = None, keepdims: Shared = False, where: Any = True) -> Tracer:
    return _reduce("any", _masked(to(tensor(a), bool), where, False), axis, keepdims)


@maps("all", method="all")
def every(a: Any, axis: Axis = None, keepdims: Shared = False, where: Any = True) -> Tracer:
    return _reduce("all", _masked(to(tensor(a), bool), where, True), axis, keepdims)


@maps("count_nonzero")
def count_nonzero(a: Any, axis: Axis = None, keepdims: Shared = False) -> Tracer:
    return total(to(tensor(a), bool), axis, None, keepdims)


def _floating(name: str, a: Any, dtype: DTypeLike | None) -> Tracer:
    """The operand of a mean, in the dtype of the result."""
    x = tensor(a)
    own = x.dtype if element(x.dtype).is_inexact else np.dtype(np.float64)
    wanted = own if dtype is None else np.dtype(dtype)
    if not element(wanted).is_inexact:
        raise CallError(f"np.{name} while a function is traced takes a dtype of floats, found {wanted}")
    return to(x, wanted)


def _means_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """As `reduced_axes`, for what counts the elements of its axes: of a number, there is none."""
    if ndim == 0 and axis is not None and not isinstance(axis, tuple):
        one_axis(axis, ndim)
    return reduced_axes(axis, ndim)


@maps("mean", method="mean")
def mean(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: Shared = False,
    *,
    where: Any = True,
) -> Tracer:
    x = _floating("mean", a, dtype)
    if where is not True:
        axes = _means_axes(axis, x.ndim)
        summed = total(x, axes, None, keepdims, None, where)
        made: Tracer = apply(np.divide, summed, _counted(x, axes, where, keepdims))
        return made
    return _reduce("mean", x, _means_axes(axis, x.ndim), keepdims)


def _counted(x: Tracer, axes: tuple[int, ...], where: Any, keepdims: Shared) -> Tracer:
    """How many elements a mask takes."""
    return to(total(broadcast_to(tensor(where), x.shape), axes, None, keepdims), x.dtype)


def _variance_of(x: Tracer, axes: tuple[int, ...], taken: float, keepdims: Shared, where: Any) -> Any:
    """That of the elements that a mask takes."""
    off = apply(np.subtract, x, mean(x, axes, None, True, where=where))
    squares = total(apply(np.square, off), axes, None, keepdims, None, where)
    count = apply(np.maximum, apply(np.subtract, _counted(x, axes, where, keepdims), taken), 0)
    return apply(np.divide, squares, count)


@maps("var")
def var(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    ddof: float = 0,
    keepdims: Shared = False,
    *,
    correction: float | None = None,
    where: Any = True,
) -> Tracer:
    taken = _taken_off(ddof, correction)
    if where is not True:
        x = _floating("var", a, dtype)
        made = _variance_of(x, _means_axes(axis, x.ndim), taken, keepdims, where)
        return made  # type: ignore[no-any-return]  # traced
    return _variance(a, axis, dtype, taken, keepdims)


@maps(method="var")
def _variance(
    a: Any, axis: Axis = None, dtype: DTypeLike | None = None, ddof: float = 0, keepdims: Shared = False
) -> Tracer:
    x = _floating("var", a, dtype)
    axes = _means_axes(axis, x.ndim)
    index(keepdims)
    if not axes:
        nothing: Tracer = ops.subtract(x, x)  # type: ignore[assignment]  # traced; one element each, which may be no number
        return nothing if ddof < 1 else ops.multiply(nothing, math.inf)  # type: ignore[return-value]  # traced
    made = _reduce("variance", x, axes, keepdims, unbiased=ddof == 1)
    if ddof in (0, 1):
        return made
    count = _extents(x, axes)
    if count == 0 and ddof < 0:  # no squares, divided by what is not 0
        return full(made.shape, 0, made.dtype)
    scale = math.inf if count <= ddof else count / (count - ddof)
    return ops.multiply(made, scale)  # type: ignore[return-value]  # traced


@maps("std")
def std(
    a: Any,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    ddof: float = 0,
    keepdims: Shared = False,
    *,
    correction: float | None = None,
    where: Any = True,
) -> Tracer:
    taken = _taken_off(ddof, correction)
    if where is not True:
        x = _floating("std", a, dtype)
        made = _variance_of(x, _means_axes(axis, x.ndim), taken, keepdims, where)
        return ops.sqrt(made)  # type: ignore[return-value]  # traced
    return _deviation(a, axis, dtype, taken, keepdims)


@maps(method="std")
def _deviation(
    a: Any, axis: Axis = None, dtype: DTypeLike | None = None, ddof: float = 0, keepdims: Shared = False
) -> Tracer:
    x = _floating("std", a, dtype)
    axes = _means_axes(axis, x.ndim)
    if ddof in (0, 1) and axes:
        return _reduce("std", x, axes, keepdims, unbiased=ddof == 1)
    return ops.sqrt(_variance(x, axes, None, ddof, keepdims))  # type: ignore[return-value]  # traced


def _taken_off(ddof: float, correction: float | None) -> float:
    """The number that is taken off the count of elements, under either of its names."""
    if correction is None:
        return ddof
    if ddof != 0:
        raise ValueError("ddof and correction can't be provided simultaneously.")
    return correction


def _position(name: str, a: Any, axis: int | None, keepdims: bool) -> Tracer:
    x = tensor(a)
    if x.ndim == 0:
        reduced_axes(axis, 0)  # is one
        return full((), 0, np.int64)
    at = None if axis is None else one_axis(axis, x.ndim)
    if x.size == 0 and _extents(x, reduced_axes(at, x.ndim)) == 0:
        raise ValueError(f"attempt to get {name} of an empty sequence")
    if element(x.dtype).is_bool:
        x = to(x, np.uint8)
    made: Tracer = getattr(ops, name)(x, axis=at, keepdims=bool(keepdims))
    return made


@maps("argmax", method="argmax")
def argmax(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tracer:
    return _position("argmax", a, axis, keepdims)


@maps("argmin", method="argmin")
def argmin(a: Any, axis: int | None = None, *, keepdims: bool = False) -> Tracer:
    return _position("argmin", a, axis, keepdims)


def _running(name: str, a: Any, axis: int | None, dtype: DTypeLike | None) -> Tracer:
    """Sums or products so far; in the dtype bool, whether any or all of the truth values so far hold."""
    x, at = along(a, axis)
    wanted = np.dtype(_wide(x.dtype) if dtype is None else dtype)
    summed = to(to(x, wanted), np.int64) if element(wanted).is_bool else to(x, wanted)
    return to(getattr(ops, name)(summed, axis=at), wanted)


@maps("cumsum", method="cumsum")
def cumsum(a: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Tracer:
    return _running("cumsum", a, axis, dtype)


@maps("cumprod", method="cumprod")
def cumprod(a: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Tracer:
    return _running("cumprod", a, axis, dtype)


def _reduce_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """`ufunc.reduce`, which reduces the first axis where none is named."""

    def reduce(
        array: Any,
        axis: Axis = 0,
        dtype: DTypeLike | None = None,
        keepdims: Shared = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        return function(array, axis, dtype, keepdims, initial, where)

    return reduce


def _untyped(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction that has the dtype of its operand."""

    def reduced(
        a: Any, axis: Axis, dtype: DTypeLike | None, keepdims: Shared, initial: Any, where: Any
    ) -> Any:
        return function(a if dtype is None else to(tensor(a), dtype), axis, keepdims, initial, where)

    return reduced


def _logical(function: Callable[..., Any], ufunc: np.ufunc) -> Callable[..., Any]:
    def reduced(
        a: Any, axis: Axis, dtype: DTypeLike | None, keepdims: Shared, initial: Any, where: Any
    ) -> Any:
        if dtype is not None and not element(dtype).is_bool:
            raise TypeError(f"np.{ufunc.__name__}.reduce gives bool, found the dtype {np.dtype(dtype)}")
        return _begun(ufunc, function(a, axis, keepdims, where), None if initial is None else bool(initial))

    return reduced


def _accumulate_of(function: Callable[..., Any]) -> Callable[..., Any]:
    def accumulate(array: Any, axis: int = 0, dtype: DTypeLike | None = None) -> Any:
        x = tensor(array)
        if x.ndim == 0:
            raise TypeError("cannot accumulate on a scalar")
        return function(x, one_axis(axis, x.ndim), dtype)

    return accumulate


_REDUCE: Final[dict[np.ufunc, Callable[..., Any]]] = {
    np.add: total,
    np.multiply: product,
    np.maximum: _untyped(greatest),
    np.minimum: _untyped(least),
    np.logical_and: _logical(every, np.logical_and),
    np.logical_or: _logical(some, np.logical_or),
}
_ACCUMULATE: Final[dict[np.ufunc, Callable[..., Any]]] = {np.add: cumsum, np.multiply: cumprod}
for _ufunc, _function in _REDUCE.items():
    as_method("reduce", _ufunc, _reduce_of(_function))
for _ufunc, _function in _ACCUMULATE.items():
    as_method("accumulate", _ufunc, _accumulate_of(_function))
