"""Reductions over axes of `reduce_axis`: `sum(A[i, k] * B[k, j], axis=k)`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce as accumulate
from typing import Any, Final

from ....base import arith
from ....base.arith import Const, Expr, Var, structural_equal
from ....base.errors import CallError, DTypeError
from ....base.vocabulary import DType
from ..construct import reduce as make_reduce
from ..tensor import IterVar
from .axes import number
from .fold import Fold, called
from .functions import const, max_value, min_value

Axes = IterVar | Sequence[IterVar]
Pair = Callable[[Any, Any], Expr]


def sum(expr: object, axis: Axes, where: object = None) -> Expr:
    """The sum over the axes, where the condition holds."""
    return _reduced("sum", expr, axis, where)


def prod(expr: object, axis: Axes, where: object = None) -> Expr:
    """The product over the axes."""
    return _reduced("prod", expr, axis, where)


def min(expr: object, *others: object, axis: Axes | None = None, where: object = None) -> Expr:
    """The least over the axes, NaN if there is one; of several operands without axes, the least of them."""
    return _least("min", arith.minimum, expr, others, axis, where)


def max(expr: object, *others: object, axis: Axes | None = None, where: object = None) -> Expr:
    """The greatest over the axes, NaN if there is one; of several operands without axes, the greatest of them."""
    return _least("max", arith.maximum, expr, others, axis, where)


def all(*conditions: object, axis: Axes | None = None, where: object = None) -> Expr:
    """Whether the condition holds everywhere on the axes; without axes, whether all conditions hold."""
    return _least("all", arith.logical_and, conditions[0], conditions[1:], axis, where)


def any(*conditions: object, axis: Axes | None = None, where: object = None) -> Expr:
    """Whether the condition holds anywhere on the axes; without axes, whether one of the conditions holds."""
    return _least("any", arith.logical_or, conditions[0], conditions[1:], axis, where)


def argmax(expr: object, axis: Axes, where: object = None) -> Expr:
    """The position of the first greatest element, row-major over the axes, NaN greatest; -1 where there is none."""
    return _reduced("argmax", expr, axis, where)


def argmin(expr: object, axis: Axes, where: object = None) -> Expr:
    """The position of the first least element, row-major over the axes, NaN least; -1 where there is none."""
    return _reduced("argmin", expr, axis, where)


def _least(
    name: str, pair: Pair, first: object, others: Sequence[object], axis: Axes | None, where: object
) -> Expr:
    if axis is None:
        if where is not None or (not others and name in ("min", "max")):
            raise CallError(f"{name}: an axis is missing; expected axis=k, of te.reduce_axis")
        return accumulate(pair, map(number, others), _expression(first))
    if others:
        raise CallError(f"{name} over an axis takes one operand, found {1 + len(others)}")
    return _reduced(name, first, axis, where)


def _reduced(name: str, expr: object, axis: Axes, where: object) -> Expr:
    return make_reduce(name, _axes(name, axis), _expression(expr), _condition(where))


def _expression(given: object) -> Expr:
    made = number(given)
    return made if isinstance(made, Expr) else const(made)


def _condition(where: object) -> Expr | None:
    return None if where is None else arith.boolean(number(where), "the condition of a reduction")


def _axes(name: str, axis: object) -> tuple[IterVar, ...]:
    """The axes of a reduction.  Raises CallError for what is none."""
    given = tuple(axis) if isinstance(axis, Sequence) else (axis,)
    made = tuple(each for each in given if isinstance(each, IterVar) and each.kind == "reduce")
    if not given or len(made) != len(given):
        wrong = next((each for each in given if each not in made), "nothing")
        found = f"the data axis {wrong.var.name}" if isinstance(wrong, IterVar) else repr(wrong)[:80]
        raise CallError(f"{name} over {found}; expected an axis of te.reduce_axis, or several")
    return made


_IDENTITIES: Final[dict[str, Callable[[str], Expr]]] = {
    "sum": lambda dtype: const(0, dtype),
    "prod": lambda dtype: const(1, dtype),
    "min": max_value,
    "max": min_value,
}
_PAIRS: Final[dict[str, Pair]] = {
    "sum": arith.add,
    "prod": arith.mul,
    "min": arith.minimum,
    "max": arith.maximum,
}


def comm_reducer(
    fcombine: Callable[[Any, Any], object], fidentity: Callable[..., object], name: str = "reduce"
) -> Callable[..., Expr | Fold]:
    """A reduction by a function of the user: `reducer(expr, axis, where=None)`, which is the value of a `compute`.

    `fcombine(a, b)` joins two values, `fidentity(dtype)` is what it starts from.  Of tuples, `fcombine` takes and gives
    tuples, `fidentity` takes a dtype each and gives a tuple, and the compute has as many results.  The steps are made
    in order, the last axis fastest.  One that is a sum, product, minimum or maximum is that reduction, with all its
    schedules; another is a scan, which keeps all its steps.  Raises DTypeError for functions that give other dtypes.
    """

    def reducer(expr: object, axis: Axes, where: object = None) -> Expr | Fold:
        single = not isinstance(expr, tuple | list)
        parts = list(expr) if isinstance(expr, tuple | list) else [expr]
        values = tuple(_expression(each) for each in parts)
        dtypes = [value.dtype for value in values]
        given = fidentity(*dtypes)
        starts = (given,) if single or not isinstance(given, tuple | list) else tuple(given)
        if len(starts) != len(values):
            raise DTypeError(f"{name}: {len(values)} values, but {len(starts)} identities")
        identity = tuple(
            start if isinstance(start, Expr) else arith.const(start, dtype)
            for start, dtype in zip(starts, dtypes, strict=True)
        )
        axes, condition = _axes(name, axis), _condition(where)
        known = _known(fcombine, identity[0], dtypes[0], name) if single else None
        if known is not None:
            return make_reduce(known, axes, values[0], condition)
        return Fold(name, fcombine, identity, values, axes, condition, single)

    reducer.__name__ = reducer.__qualname__ = name
    return reducer


def _known(combine: Callable[[Any, Any], object], identity: Expr, dtype: DType, name: str) -> str | None:
    """The reduction that a function is, starting from where it starts; None if it is none."""
    a, b = Var(dtype, "a"), Var(dtype, "b")
    (made,) = called(combine, (a,), (b,), True, name)
    if dtype.is_bool or not isinstance(identity, Const):
        return None
    for known, pair in _PAIRS.items():
        start = _IDENTITIES[known](dtype)
        assert isinstance(start, Const)
        same = any_equal(made, pair(a, b), pair(b, a))
        if same and start.value == identity.value:
            return known
    return None


def any_equal(found: Expr, *wanted: Expr) -> bool:
    """Whether an expression is one of several."""
    return True in [structural_equal(found, each) for each in wanted]
