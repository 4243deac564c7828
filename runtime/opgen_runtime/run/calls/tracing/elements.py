"""numpy's functions of elements that are no ufuncs: choices, bounds, rounding, taking, sorting."""

from __future__ import annotations

from operator import index
from typing import Any, Final, TypeGuard

import numpy as np

from .... import ops
from ....base.errors import CallError
from ....ir import Constant
from .functions import maps
from .indexing import check_positions
from .operands import (
    DTypeLike,
    Operand,
    any_axis,
    common_dtype,
    element,
    full,
    operand,
    tensor,
    to,
    unchecked,
    whole,
)
from .shaping import along, broadcast_to, concatenate, ravel
from .tracer import Tracer
from .ufuncs import apply

_SORTS: Final = ("quicksort", "mergesort", "heapsort", "stable", "q", "m", "h", "s")


@maps("nonzero", method="nonzero")
def nonzero(a: Any) -> Any:
    """The positions along each axis of what is not 0: vectors whose extent depends on data."""
    x = tensor(a)
    if x.ndim == 0:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() instead."
        )
    mask = to(x, bool)
    return tuple([ops.masked_select(places, mask) for places in np.indices(x.shape)])


@maps("where")
def where(condition: Any, *choices: Any) -> Any:
    if not choices:
        return nonzero(condition)
    if len(choices) != 2:
        raise ValueError("either both or neither of x and y should be given")
    x, y = (operand(each) for each in choices)
    dtype = common_dtype([x, y])
    return ops.where(to(tensor(condition), bool), unchecked(x, dtype), unchecked(y, dtype))


@maps("select")
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    choices = [operand(each) for each in (*choicelist, default)]
    dtype = common_dtype(choices)
    found: Any = to(choices[-1], dtype)
    for condition, choice in reversed(list(zip(condlist, choices, strict=False))):
        if not np.can_cast(tensor(choice).dtype, dtype, "same_kind"):
            raise TypeError(
                f"Cannot cast array data from {tensor(choice).dtype} to {dtype} by the rule 'same_kind'"
            )
        found = where(condition, unchecked(choice, dtype), found)
    return found


@maps("clip", method="clip")
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    dtype: DTypeLike | None = None,
) -> Any:
    a = a if dtype is None else to(operand(a), dtype)
    low = operand(a_min if min is None else min) if (a_min is not None or min is not None) else None
    high = operand(a_max if max is None else max) if (a_max is not None or max is not None) else None
    x: Operand = operand(a)
    own = element(tensor(x).dtype)
    if own.is_int and type(low) is int and low <= own.lowest:
        low = None
    if own.is_int and type(high) is int and high >= own.highest:
        high = None
    if low is None and high is None:
        return apply(np.positive, tensor(x))
    dtype = common_dtype([each for each in (x, low, high) if each is not None])
    found: Any = to(x, dtype)
    if element(dtype).is_float and _is_plain(low, dtype) and _is_plain(high, dtype):
        return ops.clip(found, a_min=low, a_max=high)  # whose gradient passes at the bounds
    if low is not None:
        found = apply(np.maximum, found, to(low, dtype))
    if high is not None:
        found = apply(np.minimum, found, to(high, dtype))
    return found


def _is_plain(bound: Operand | None, dtype: np.dtype[Any]) -> TypeGuard[int | float | None]:
    """Whether a bound is none, or a number that stays one in a dtype."""
    if bound is None:
        return True
    if type(bound) not in (int, float):
        return False
    with np.errstate(over="ignore"):
        return bool(np.isfinite(np.asarray(bound, np.float64).astype(dtype)))


def _power_of_ten(n: int) -> float:
    """10**n as numpy has it for rounding: products from 1e9 on, which round more often."""
    found = 10.0 ** min(n, 9)
    for _ in range(9, n):
        found *= 10.0
    return found


@maps("round", "around", method="round")
def round_(a: Any, decimals: int = 0) -> Any:
    x, decimals = tensor(a), index(decimals)
    kind = element(x.dtype).kind
    if kind in "iu":
        return x if decimals >= 0 else to(round_(to(x, np.float64), decimals), x.dtype)
    if decimals == 0:
        return apply(np.rint, x)
    if kind == "b":
        raise CallError("np.round while a function is traced takes bools without decimals")
    scale = _power_of_ten(abs(decimals))
    if decimals > 0:
        return ops.divide(ops.round(ops.multiply(x, scale)), scale)
    return ops.multiply(ops.round(ops.divide(x, scale)), scale)


@maps("isclose")
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    x, y = [float(each) if type(each) is int else each for each in map(operand, (a, b))]
    y = to(y, common_dtype([y, 1.0]))  # differences of ints would wrap
    near = apply(
        np.less_equal,
        apply(np.absolute, apply(np.subtract, x, y)),
        apply(np.add, atol, apply(np.multiply, rtol, apply(np.absolute, y))),
    )
    found = apply(np.logical_or, apply(np.logical_and, near, apply(np.isfinite, y)), apply(np.equal, x, y))
    if equal_nan:
        found = apply(np.logical_or, found, apply(np.logical_and, apply(np.isnan, x), apply(np.isnan, y)))
    return found


@maps("allclose")
def allclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    return ops.all(isclose(a, b, rtol, atol, equal_nan))


@maps("diff")
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    x = tensor(a)
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    if x.ndim == 0 and n:
        raise ValueError("diff requires input that is at least one dimensional")
    at = any_axis(axis, x.ndim) if n else 0
    before: tuple[Any, ...] = (slice(None),) * at
    if n and not (prepend is None and append is None):
        x = concatenate([_beside(each, x, at) for each in (prepend, x, append) if each is not None], at)
    for _ in range(n):
        function = np.not_equal if element(x.dtype).is_bool else np.subtract
        x = apply(function, x[(*before, slice(1, None))], x[(*before, slice(None, -1))])
    return x


def _beside(each: Any, x: Tracer, axis: int) -> Tracer:
    """What is put before or behind a tensor on an axis: a scalar stands for one slice."""
    part = tensor(each)
    if part.ndim:
        return part
    return broadcast_to(part, (*x.shape[:axis], 1, *x.shape[axis + 1 :]))


@maps("take", method="take")
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    """Of positions: truth values are 0 and 1, and floats that are in no array are cut to ints, as numpy cuts them."""
    x, at = along(a, axis)
    places = tensor(indices)
    if isinstance(indices, int | float | np.generic | list) and isinstance(places.expr, Constant):
        places = tensor(places.expr.data.astype(np.int64))
    if not np.can_cast(places.dtype, np.int64, "same_kind"):
        raise TypeError(f"Cannot cast array data from {places.dtype} to int64 by the rule 'same_kind'")
    places = to(places, np.int64)
    if mode not in ("raise", "clip", "wrap"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap', found {mode!r}")
    shape = (*x.shape[:at], *places.shape, *x.shape[at + 1 :])
    if 0 in (
        *x.shape[:at],
        *x.shape[at + 1 :],
    ):  # nothing is taken; numpy looks where it would be, once a row
        if mode == "raise" and 0 not in x.shape[:at]:
            check_positions(places, at, x.shape[at])
        return full(shape, 0, x.dtype)
    if mode == "raise":
        return x[(*(slice(None),) * at, places)]
    return ops.take(x, places, axis=at, mode=mode)


@maps("take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    x, places = tensor(arr) if axis is not None else ravel(arr), tensor(indices)
    if axis is None and places.ndim != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    if not element(places.dtype).is_int:
        raise IndexError("`indices` must be an integer array")
    if x.ndim != places.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    places, at = to(places, np.int64), 0 if axis is None else any_axis(axis, x.ndim)
    check_positions(places, at, x.shape[at])
    others = np.broadcast_shapes(
        (*x.shape[:at], 1, *x.shape[at + 1 :]), (*places.shape[:at], 1, *places.shape[at + 1 :])
    )
    x = broadcast_to(x, (*others[:at], x.shape[at], *others[at + 1 :]))
    places = broadcast_to(places, (*others[:at], places.shape[at], *others[at + 1 :]))
    return ops.gather(x, places, axis=at)


def _ordered(x: Tracer, kind: str | None, stable: bool | None) -> Tracer:
    """What is sorted, where the kind of sort is one of numpy's: all are stable here."""
    if kind is not None and stable is not None:
        raise ValueError("`kind` and `stable` parameters can't be provided at the same time.")
    if kind is not None and kind not in _SORTS:
        raise ValueError(f"sort kind must be one of {', '.join(_SORTS)}, found {kind!r}")
    return to(x, np.uint8) if element(x.dtype).is_bool else x


@maps("sort")
def sort(a: Any, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = None) -> Any:
    x = ravel(a) if axis is None else tensor(a)
    at = any_axis(-1 if axis is None else axis, x.ndim)
    return to(ops.sort(_ordered(x, kind, stable), axis=at), x.dtype)  # type: ignore[arg-type]  # traced


@maps("argsort", method="argsort")
def argsort(a: Any, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = None) -> Any:
    x, at = along(a, axis)
    return ops.argsort(_ordered(x, kind, stable), axis=at, dtype="int64")


def _triangle(name: str, m: Any, k: int, upper: bool) -> Any:
    """A vector is that of each row of a square."""
    x = tensor(m)
    if x.ndim == 0:
        raise TypeError(f"np.{name} takes vectors and matrices, found a number")
    square = broadcast_to(x, (x.size, x.size)) if x.ndim == 1 else x
    return ops.trilu(square, k=whole(k, f"np.{name}"), upper=upper)


@maps("triu")
def triu(m: Any, k: int = 0) -> Any:
    return _triangle("triu", m, k, upper=True)


@maps("tril")
def tril(m: Any, k: int = 0) -> Any:
    return _triangle("tril", m, k, upper=False)


@maps("array_equal")
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    x, y = tensor(a1), tensor(a2)
    if x.shape != y.shape:
        return np.False_
    same = apply(np.equal, x, y)
    if equal_nan:
        same = apply(np.logical_or, same, apply(np.logical_and, apply(np.isnan, x), apply(np.isnan, y)))
    return ops.all(same)


@maps("append")
def append(arr: Any, values: Any, axis: int | None = None) -> Tracer:
    return concatenate((tensor(arr), tensor(values)), axis)


@maps("copy", method="copy")
def copy(a: Any, order: str = "K") -> Tracer:
    return Tracer(tensor(a).expr)  # nothing can write to it


@maps("astype")
def astype(x: Any, dtype: DTypeLike, /, *, copy: bool = True) -> Tracer:
    return to(tensor(x), dtype)


@maps("result_type")
def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    dtypes = [np.dtype(each) for each in arrays_and_dtypes if isinstance(each, np.dtype | type | str)]
    rest = [operand(each) for each in arrays_and_dtypes if not isinstance(each, np.dtype | type | str)]
    return np.result_type(*dtypes, *([common_dtype(rest)] if rest else []))
