"""Operands of numpy's functions as tracers of the dtypes that numpy computes in."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, TypeAlias

import numpy as np

from .... import ops
from ....base.errors import CallError, DTypeError
from ....base.vocabulary import DTYPES, DType
from ....ir import Constant, Expr, admissible, admit, const, first_traced, is_literal
from .tracer import Tracer, wrap

Operand: TypeAlias = "Tracer | bool | int | float | complex"
"""A tracer, or a Python number, which is weak."""
DTypeLike: TypeAlias = "np.dtype[Any] | str | type[Any]"


def operand(value: object) -> Operand:
    """What numpy's functions compute with, of an array, a number, a tracer, or a sequence of these.

    Raises CallError for anything else.
    """
    if isinstance(value, Tracer) or is_literal(value):
        return value  # type: ignore[return-value]  # just seen
    if isinstance(value, Expr):
        made: Tracer = wrap(value)
        return made
    if admissible(value):
        return Tracer(const(admit(value)))
    if isinstance(value, list | tuple):
        if first_traced(value) is None:
            return Tracer(const(np.asarray(value)))
        items = [tensor(item) for item in value]
        dtype = common_dtype(items)
        return ops.stack([to(item, dtype) for item in items])  # type: ignore[return-value]  # traced
    raise CallError(f"expected an array or a number, found {type(value).__name__}")


def is_operand(value: object) -> bool:
    """Whether Python's operators take `value` beside a tracer."""
    return isinstance(value, Tracer | Expr | list | tuple) or is_literal(value) or admissible(value)


def tensor(value: object) -> Tracer:
    """`operand`, with numbers as tensors of numpy's own dtypes: int64, float64, complex128, bool."""
    found = operand(value)
    if isinstance(found, Tracer):
        return Tracer(found.expr) if found.weak else found
    return Tracer(const(np.asarray(found)))


def is_weak(value: Operand) -> bool:
    return value.weak if isinstance(value, Tracer) else type(value) is not bool


def promotable(value: Operand) -> Any:
    """What numpy's rules of promotion know of the operand: its dtype, or the Python type of a weak number."""
    if isinstance(value, Tracer):
        return value.kind if value.weak else value.dtype
    return np.dtype(bool) if type(value) is bool else type(value)


def common_dtype(values: Sequence[Operand]) -> np.dtype[Any]:
    """The dtype in which numpy 2 joins the operands; Python numbers take that of the tensors if it is of their kind."""
    strong = [p for v in values if isinstance(p := promotable(v), np.dtype)]
    weak = [p for v in values if not isinstance(p := promotable(v), np.dtype)]
    if not strong:
        return np.result_type(*[np.int64, *weak])
    found = np.result_type(*strong)
    if complex in weak:
        return np.result_type(found, 1j)
    if float in weak and not element(found).is_inexact:
        return np.dtype(np.float64)
    return np.dtype(np.int64) if weak and found.kind == "b" else found


def element(dtype: DTypeLike) -> DType:
    """The element type of a dtype. Raises DTypeError if tensors have none such."""
    name = np.dtype(dtype).name
    if name not in DTYPES:
        raise DTypeError(f"tensors have no dtype {name}; expected one of {', '.join(DTYPES)}")
    return DType(name)


def to(value: Operand, dtype: DTypeLike) -> Tracer:
    """The operand in a dtype. Raises DTypeError for a Python int that does not fit."""
    wanted = element(dtype)
    if not isinstance(value, Tracer):
        if type(value) is bool and not wanted.is_bool:
            value = int(value)
        elif type(value) is int and wanted.is_bool:
            const(value, element(np.int64))  # fits, as numpy has it
        known = type(value) is complex or not (wanted.is_bool or wanted.is_float)
        return Tracer(const(value if known else bool(value) if wanted.is_bool else float(value), wanted))  # type: ignore[arg-type]  # no complex
    if value.weak and (wanted.is_float or value.kind is complex):
        return Tracer(value.typed(wanted))
    if value.weak and wanted.is_complex:
        return wrap(ops.cast(value.typed(wanted.part), dtype=wanted))  # type: ignore[no-any-return]
    own: DType = value.expr.checked_type.dtype  # type: ignore[attr-defined]  # a tensor's
    if own is wanted:
        return Tracer(value.expr)
    if isinstance(value.expr, Constant) and not own.is_float:  # exponents and positions stay known
        return Tracer(const(value.expr.data.astype(wanted.numpy)))
    return wrap(ops.cast(value.expr, dtype=wanted))  # type: ignore[no-any-return]


def unchecked(value: Operand, dtype: DTypeLike) -> Tracer:
    """The operand in a dtype; a Python int that does not fit wraps, as it does to those of numpy's functions that
    choose and join."""
    return to(tensor(value) if type(value) is int else value, dtype)


def full(shape: tuple[int, ...], value: bool | int | float | complex, dtype: DTypeLike) -> Tracer:
    """A tensor of one value."""
    return wrap(ops.full(to(value, dtype).expr, shape=shape))  # type: ignore[no-any-return]


def reduced_axes(axis: object, ndim: int) -> tuple[int, ...]:
    """The axes that numpy's reductions name, in 0..ndim-1: None, an int, or a tuple of ints; a number is a vector of
    one element, of which no axis is left. Raises numpy's AxisError, and CallError for a traced axis."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    if ndim == 0 and not isinstance(axis, tuple) and not isinstance(axis, bool) and axis in (0, -1):
        return ()
    return _distinct([one_axis(each, ndim) for each in given])


def axes_of(axis: object, ndim: int) -> tuple[int, ...]:
    """The axes of a tuple, a list or an int, in 0..ndim-1. Raises TypeError for what is none of these."""
    given = axis if isinstance(axis, tuple | list) else (axis,)
    return _distinct([any_axis(each, ndim) for each in given])


def _distinct(axes: list[int]) -> tuple[int, ...]:
    if len(set(axes)) < len(axes):
        raise ValueError("duplicate value in 'axis'")
    return tuple(axes)


def one_axis(axis: Any, ndim: int) -> int:
    """An axis in 0..ndim-1. Raises numpy's AxisError, and TypeError for what is no int; True and False are none."""
    if isinstance(axis, bool | np.bool_):
        raise TypeError("an integer is required for the axis")
    return any_axis(axis, ndim)


def any_axis(axis: Any, ndim: int) -> int:
    """As `one_axis`, for those of numpy's functions that take True and False as 1 and 0."""
    at = index(axis)
    if not -ndim <= at < ndim:
        raise np.exceptions.AxisError(at, ndim)
    return int(at) % ndim


def whole(number: Any, what: str) -> int:
    """An int of Python. Raises CallError, which names `what`, for other numbers: numpy rounds some, and warns."""
    try:
        return index(number)
    except TypeError:
        if isinstance(number, Tracer):
            raise
        raise CallError(f"{what} while a function is traced takes ints, found {number!r}") from None
