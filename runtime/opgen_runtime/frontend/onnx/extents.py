"""Sizes as values, where dims are open: what exporters compute of a `Shape` before they give it to a `Reshape`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, Final

import numpy as np
from onnx import TensorProto

from ...base.arith import (
    AnyDim,
    Const,
    Expr,
    eq,
    ge,
    gt,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    maximum,
    minimum,
    ne,
    post_order,
)
from ...operator import Dim, decided, simplified

Sizes = np.ndarray
"""An array of objects: ints, and expressions of dims."""


def _cut(
    x: Sizes, starts: Sizes, ends: Sizes, axes: Sizes | None = None, steps: Sizes | None = None
) -> Sizes:
    """A slice of a vector."""
    if x.ndim != 1 or starts.size != 1 or (axes is not None and int(axes.reshape(-1)[0]) not in (0, -1)):
        raise ValueError("a slice of what is no vector")
    begin, end = int(starts.reshape(-1)[0]), int(ends.reshape(-1)[0])
    return x[slice(begin, end, 1 if steps is None else int(steps.reshape(-1)[0]))]


def _ints(x: Sizes | None) -> tuple[int, ...] | None:
    return None if x is None else tuple([int(n) for n in x.reshape(-1)])


def _truth(condition: Expr) -> bool | Expr:
    """Whether a condition on sizes holds; itself where that depends on them."""
    found = bool(condition.value) if isinstance(condition, Const) else decided(condition)
    return condition if found is None else found


def _each(function: Callable[..., object], operands: int) -> Callable[..., Sizes]:
    """A function of numbers and dims on arrays of them, which broadcast."""
    found: Callable[..., Sizes] = np.frompyfunc(function, operands, 1)
    return found


def _compared(compare: Callable[[Any, Any], Expr], known: Callable[[Any, Any], bool]) -> Callable[..., Sizes]:
    def decide(a: Any, b: Any) -> bool | Expr:
        whole = not isinstance(a, Expr) and not isinstance(b, Expr)
        return bool(known(a, b)) if whole else _truth(compare(a, b))

    return _each(decide, 2)


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    if isinstance(condition, Expr):
        raise ValueError("a choice that depends on sizes")
    return a if condition else b


def _cast(x: Sizes, to: int) -> Sizes:
    """Sizes as another dtype, or as whether they are not 0.  Raises ValueError for a dtype that holds no sizes."""
    if to == TensorProto.BOOL:
        return _each(lambda n: n if isinstance(n, bool) or is_condition(n) else _truth(ne(n, 0)), 1)(x)
    if to not in _WHOLE or open_conditions(x):
        raise ValueError("no sizes")
    return x


def is_condition(n: object) -> bool:
    """Whether it is a condition that depends on sizes."""
    return isinstance(n, Expr) and n.dtype.is_bool


def open_conditions(sizes: Sizes) -> bool:
    """Whether there are conditions among them that depend on sizes."""
    return any([is_condition(n) for n in sizes.reshape(-1)])


def _quotient(a: Any, b: Any, assumed: list[Expr]) -> Any:
    """`a / b` towards zero; of sizes down, where that is the same: what is divided is assumed to be at least 0."""
    if not isinstance(a, Expr) and not isinstance(b, Expr):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if isinstance(b, Expr) or b < 1:
        raise ValueError("a quotient by a size, or by a number below 1")
    if decided(ge(a, 0)) is None:
        assumed.append(a)
    elif decided(lt(a, 0)):
        return -(-a // b)
    return a // b


def _expanded(x: Sizes, to: Sizes) -> Sizes:
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, _ints(to) or ()))


def _filled(to: Sizes, value: np.ndarray | None = None) -> Sizes:
    if value is None or value.dtype.kind not in "iu":
        raise ValueError("no sizes")
    return np.full(_ints(to) or (), int(value.reshape(-1)[0]), object)


def _product(x: Sizes, axes: Sizes | None = None, keepdims: int = 1, noop_with_empty_axes: int = 0) -> Sizes:
    named = _ints(axes) or (() if noop_with_empty_axes else None)
    return np.asarray(np.prod(x, axis=named, keepdims=bool(keepdims)), object)


_OPERATORS: Final[dict[str, Callable[..., Sizes]]] = {
    "Identity": lambda x: x,
    "Concat": lambda *parts, axis: np.concatenate(parts, axis),
    "Gather": lambda x, places, axis=0: np.take(x, places.astype(np.int64), axis),
    "Unsqueeze": lambda x, places=None, axes=None: np.expand_dims(x, _ints(places) or tuple(axes)),
    "Squeeze": lambda x, places=None, axes=None: np.squeeze(x, _ints(places) or (axes and tuple(axes))),
    "Slice": _cut,
    "Reshape": lambda x, to, allowzero=0: np.reshape(x, _ints(to) or ()),
    "Expand": _expanded,
    "ConstantOfShape": _filled,
    "ReduceProd": _product,
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Neg": lambda a: -a,
    "Mod": _each(lambda a, b: a % b, 2),
    "Max": lambda *operands: reduce(_each(lambda a, b: _extreme(max, maximum, a, b), 2), operands),
    "Min": lambda *operands: reduce(_each(lambda a, b: _extreme(min, minimum, a, b), 2), operands),
    "Equal": _compared(eq, operator.eq),
    "Less": _compared(lt, operator.lt),
    "LessOrEqual": _compared(le, operator.le),
    "Greater": _compared(gt, operator.gt),
    "GreaterOrEqual": _compared(ge, operator.ge),
    "Not": _each(lambda a: _truth(logical_not(a)), 1),
    "And": _each(lambda a, b: _truth(logical_and(a, b)), 2),
    "Or": _each(lambda a, b: _truth(logical_or(a, b)), 2),
    "Where": _each(_chosen, 3),
    "Cast": _cast,
}
_TRUTHS: Final = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not", "And", "Or")
_MAX_TERMS: Final = 256  # of one size
MOST: Final = 256  # elements of an array of sizes: no shape has as many
_WHOLE: Final = {TensorProto.INT64: "int64", TensorProto.INT32: "int32"}
_CASTS: Final = {**_WHOLE, TensorProto.BOOL: "bool"}


def _extreme(known: Callable[..., Any], of_dims: Callable[..., Expr], a: Any, b: Any) -> Any:
    return of_dims(a, b) if isinstance(a, Expr) or isinstance(b, Expr) else known(a, b)


def _shape(shape: Sequence[Dim], start: int = 0, end: int | None = None) -> Sizes | None:
    found = np.empty(len(shape), object)
    found[:] = shape
    cut = found[start:end]
    return None if any([isinstance(n, AnyDim) for n in cut]) else cut


def _size(shape: Sequence[Dim]) -> Sizes | None:
    if any([isinstance(n, AnyDim) for n in shape]):
        return None
    return _simplified(np.asarray(math.prod(shape), object))


OF_SHAPES: Final[dict[str, Callable[..., Sizes | None]]] = {"Shape": _shape, "Size": _size}
"""What operators give of a shape with open dims; None where a dim is unknown."""


def computed(
    operator: str, operands: Sequence[Sizes], attributes: Mapping[str, Any], assumed: list[Expr]
) -> Sizes | None:
    """What an operator gives for sizes; None for one that does more with them than is known before a program runs.

    Conditions that depend on sizes are given as they are.  `assumed` is extended by what must be at least 0.
    """
    rule = _each(partial(_quotient, assumed=assumed), 2) if operator == "Div" else _OPERATORS.get(operator)
    if rule is None or max([x.size for x in operands]) > MOST:
        return None
    try:
        return _simplified(np.asarray(rule(*operands, **attributes), object))
    except (TypeError, ValueError, IndexError, ZeroDivisionError):
        return None


def _simplified(sizes: Sizes) -> Sizes:
    """Each in its simplest form, so that what is equal looks it; an int where it is one."""
    return np.asarray(_each(_simple, 1)(sizes), object)


def _simple(n: Any) -> Any:
    """Raises ValueError for an int that int64 does not hold, and for an expression that no shape would be."""
    if isinstance(n, Expr):
        _check_terms(n)
        n = simplified(n)
    found = n.value if isinstance(n, Const) else n
    if not isinstance(found, Expr) and not -(1 << 63) <= found < 1 << 63:
        raise ValueError(f"{found:.3e} is no int64")
    return found


def _check_terms(n: Expr) -> None:
    """Raises ValueError for an expression that is large where it is written out, such as a square of squares."""
    terms: dict[int, int] = {}
    for node in post_order(n):
        terms[id(node)] = 1 + sum([terms[id(child)] for child in node.children()])
    if terms[id(n)] > _MAX_TERMS:
        raise ValueError(f"a size of {terms[id(n)]} terms")


def casts_to(operator: str, attributes: Mapping[str, Any]) -> str | None:
    """The dtype that an operator gives sizes; None for one that keeps theirs."""
    if operator in _TRUTHS:
        return "bool"
    return _CASTS.get(attributes["to"]) if operator == "Cast" else None


def constant(sizes: Sizes) -> np.ndarray | None:
    """The array where all sizes are ints; None where a dim is open."""
    whole = [n for n in sizes.reshape(-1) if isinstance(n, int | np.integer)]
    return np.array(whole, np.int64).reshape(sizes.shape) if len(whole) == sizes.size else None
