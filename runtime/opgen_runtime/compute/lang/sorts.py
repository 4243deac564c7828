"""Sorts along an axis: `y = sort(x, axis)`, `p = argsort(x, axis)`, tensors that are read by elements."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ...base import arith
from ...base.arith.expr import Dim, Expr, Shape
from ...base.errors import LanguageError
from ...base.vocabulary import INT64, DType, dataclass
from ..te.tensor import Sort, Tensor
from .build import Builder, current_builder
from .expand import Result
from .scope import current
from .tensors import Defined, Operand, Surroundings
from .weak import Value, describe


@dataclass(frozen=True, slots=True)
class _Order:
    """What is sorted, and how."""

    source: Callable[[], Tensor]
    axis: int
    descending: bool
    positions: bool


class Sorted(Defined):
    """A tensor that is a sort of another one."""

    def __init__(self, name: str, shape: Shape, dtype: DType, around: Surroundings, order: _Order) -> None:
        super().__init__(name, shape, dtype, around)
        self._order = order

    @property
    def is_defined(self) -> bool:
        return True

    def _build(self) -> Tensor:
        order = self._order
        assert self.dtype is not None
        op = Sort(order.source(), order.axis, order.descending, order.positions)
        return Tensor(self.name, self.shape, self.dtype, op)


def sort(x: Value, axis: Value, descending: Value = False, count: Value = None) -> tuple[Sorted]:
    """The elements of `x` in order along an axis, the first `count` of them, all by default.

    It runs inside `call_op`, so that `x` may be defined below it.  Raises LanguageError for what is no tensor, for no
    axis of it, for what is not static, and for a count that may be beyond the extent.
    """
    return _sorted("sort", x, axis, descending, count)


def argsort(x: Value, axis: Value, descending: Value = False, count: Value = None) -> tuple[Sorted]:
    """The positions (int64) that bring the elements of `x` in order along an axis; else as `sort`."""
    return _sorted("argsort", x, axis, descending, count)


def _sorted(function: str, x: Value, axis: Value, descending: Value, count: Value) -> tuple[Sorted]:
    builder = current_builder()
    handle = x.handle if isinstance(x, Result) else x
    if not isinstance(handle, Operand | Defined):
        raise LanguageError(f"`{function}` takes a tensor, found {describe(x)}", "value")
    at = _axis(function, handle, axis)
    if not isinstance(descending, bool):
        raise LanguageError(
            f"whether `{function}` descends is a static bool, found {describe(descending)}", "value"
        )
    extent = handle.shape[at]
    length = extent if count is None else _count(function, count, extent)
    positions = function == "argsort"
    own = handle.inferred_dtype() if isinstance(handle, Defined) else handle.dtype
    if own is not None and own.is_complex:
        text = f"`{function}` of {own} values, which have no order; sort abs(x) or real(x)"
        raise LanguageError(text, "dtype")
    shape = (*handle.shape[:at], length, *handle.shape[at + 1 :])
    order = _Order(partial(_stored, builder, handle), at, descending, positions)
    name = f"{handle.name}_{'order' if positions else 'sorted'}"
    made = Sorted(name, shape, INT64 if positions else own, builder.around, order)
    builder.defined.append(made)
    return (made,)


def _axis(function: str, handle: Operand | Defined, axis: Value) -> int:
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise LanguageError(f"the axis of `{function}` is a static int, found {describe(axis)}", "value")
    if not -handle.ndim <= axis < handle.ndim:
        text = f"`{function}` along axis {axis} of {handle.name}, which has {handle.ndim} dims"
        raise LanguageError(text, "rank")
    return axis % handle.ndim


def _count(function: str, count: Value, extent: Dim) -> Dim:
    """How many are wanted, which is proved to be from 0 to the extent."""
    if isinstance(count, bool) or not isinstance(count, int | Expr):
        raise LanguageError(f"`{function}` gives a static number, found {describe(count)}", "value")
    scope = current()
    if scope.trusted:
        return count
    with scope.analysis() as analyzer:
        inside = arith.logical_and(arith.le(0, count), arith.le(count, extent))
        if analyzer.prove(inside):
            return count
    text = f"`{function}` gives {count} of {extent} elements, which are not certainly as many"
    if scope.unproved is None:
        raise LanguageError(text, "bounds")
    scope.unproved.append(text)
    return count


def _stored(builder: Builder, handle: Operand | Defined) -> Tensor:
    """The tensor that a handle is, in its canonical layout."""
    if isinstance(handle, Defined):
        return handle.tensor()
    if handle.storage is None:
        return handle.tensor
    made = builder.tensor(handle.name, handle.shape, handle.dtype)
    made.define(lambda *i: handle[i])
    return made.tensor()
