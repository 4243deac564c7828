"""numpy's functions of elements that are no ufuncs: choices, bounds, rounding, taking, sorting."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from .... import ops
from ....base.errors import CallError
from .functions import maps
from .operands import DTypeLike, Operand, common_dtype, element, one_axis, operand, tensor, to
from .shaping import broadcast_to, concatenate, ravel
from .tracer import Tracer
from .ufuncs import apply


@maps("where")
def where(condition: Any, *choices: Any) -> Tracer:
    if len(choices) != 2:
        raise CallError(
            "np.where while a function is traced takes a condition and two choices; the places where a condition "
            "holds have a shape that depends on data: opgen_runtime.ops.argwhere gives them"
        )
    x, y = (operand(each) for each in choices)
    dtype = common_dtype([x, y])
    return ops.where(to(tensor(condition), bool), to(x, dtype), to(y, dtype))  # type: ignore[return-value]  # traced


@maps("select")
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    choices = [operand(each) for each in (*choicelist, default)]
    dtype = common_dtype(choices)
    found: Any = to(choices[-1], dtype)
    for condition, choice in reversed(list(zip(condlist, choices, strict=False))):
        found = where(condition, to(choice, dtype), found)
    return found


@maps("clip", method="clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low = operand(a_min if min is None else min) if (a_min is not None or min is not None) else None
    high = operand(a_max if max is None else max) if (a_max is not None or max is not None) else None
    x: Operand = operand(a)
    dtype = common_dtype([each for each in (x, low, high) if each is not None])
    kind = element(dtype)
    if kind.is_int and type(low) is int and low <= kind.lowest:
        low = None
    if kind.is_int and type(high) is int and high >= kind.highest:
        high = None
    found: Any = to(x, dtype)
    if kind.is_float and _is_plain(low, dtype) and _is_plain(high, dtype):
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
    return not isinstance(bound, Tracer) and bool(np.isfinite(np.asarray(bound, np.float64).astype(dtype)))


@maps("round", "around", method="round")
def round_(a: Any, decimals: int = 0) -> Any:
    x = tensor(a)
    kind = element(x.dtype).kind
    if kind in "iu" and decimals >= 0:
        return x
    if kind != "f":
        raise CallError(
            f"np.round while a function is traced takes floats, and ints without decimals < 0, found {x.dtype}"
        )
    if decimals == 0:
        return ops.round(x)
    scale = float(10 ** abs(decimals))
    if decimals > 0:
        return ops.divide(ops.round(ops.multiply(x, scale)), scale)
    return ops.multiply(ops.round(ops.divide(x, scale)), scale)


@maps("isclose")
def isclose(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    x, y = operand(a), operand(b)
    near = apply(
        np.less_equal,
        apply(np.absolute, apply(np.subtract, x, y)),
        apply(np.add, atol, apply(np.multiply, rtol, apply(np.absolute, y))),
    )
    found = apply(np.logical_or, apply(np.logical_and, near, apply(np.isfinite, y)), apply(np.equal, x, y))
    if equal_nan:
        found = apply(np.logical_or, found, apply(np.logical_and, apply(np.isnan, x), apply(np.isnan, y)))
    return found


@maps("diff")
def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    x = tensor(a)
    before: tuple[Any, ...] = (slice(None),) * one_axis(axis, x.ndim)
    for _ in range(n):
        function = np.not_equal if element(x.dtype).is_bool else np.subtract
        x = apply(function, x[(*before, slice(1, None))], x[(*before, slice(None, -1))])
    return x


@maps("take", method="take")
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    x = tensor(a)
    if axis is None or x.ndim == 0:
        x, axis = ravel(x), 0 if axis is None else axis
    at = one_axis(axis, x.ndim)
    if mode != "raise":
        return ops.take(x, to(tensor(indices), np.int64), axis=at, mode=mode)
    return x[(*(slice(None),) * at, indices if isinstance(indices, int) else tensor(indices))]


@maps("take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: int = -1) -> Any:
    x, places = tensor(arr), to(tensor(indices), np.int64)
    if x.ndim != places.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    at = one_axis(axis, x.ndim)
    others = np.broadcast_shapes(
        (*x.shape[:at], 1, *x.shape[at + 1 :]), (*places.shape[:at], 1, *places.shape[at + 1 :])
    )
    x = broadcast_to(x, (*others[:at], x.shape[at], *others[at + 1 :]))
    places = broadcast_to(places, (*others[:at], places.shape[at], *others[at + 1 :]))
    return ops.gather(x, places, axis=at)


def _sortable(a: Any, axis: int | None) -> tuple[Tracer, int]:
    x = ravel(a) if axis is None else tensor(a)
    return (to(x, np.uint8) if element(x.dtype).is_bool else x), one_axis(
        -1 if axis is None else axis, x.ndim
    )


@maps("sort")
def sort(a: Any, axis: int | None = -1) -> Any:
    x, at = _sortable(a, axis)
    return to(ops.sort(x, axis=at), tensor(a).dtype)  # type: ignore[arg-type]  # traced


@maps("argsort", method="argsort")
def argsort(a: Any, axis: int | None = -1) -> Any:
    x, at = _sortable(a, axis)
    return ops.argsort(x, axis=at, dtype="int64")


@maps("triu")
def triu(m: Any, k: int = 0) -> Any:
    return ops.trilu(tensor(m), k=k, upper=True)


@maps("tril")
def tril(m: Any, k: int = 0) -> Any:
    return ops.trilu(tensor(m), k=k, upper=False)


@maps("array_equal")
def array_equal(a1: Any, a2: Any) -> Any:
    x, y = tensor(a1), tensor(a2)
    return np.False_ if x.shape != y.shape else ops.all(apply(np.equal, x, y))


@maps("append")
def append(arr: Any, values: Any, axis: int | None = None) -> Tracer:
    return concatenate((arr, values), axis)


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
