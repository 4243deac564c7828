"""numpy's products of matrices on tracers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from string import ascii_letters
from typing import Any

import numpy as np

from .... import ops
from .functions import maps
from .operands import DTypeLike, axes_of, common_dtype, element, full, operand, tensor, to
from .shaping import reshape, transpose
from .tracer import Tracer
from .ufuncs import SPECIAL, apply


def matmul(a: Any, b: Any) -> Tracer:
    """Vectors are a row on the left, a column on the right, as in numpy; bools are multiplied as truth values."""
    x, y = operand(a), operand(b)
    dtype = common_dtype([x, y])
    x, y = tensor(x), tensor(y)
    if x.ndim == 0 or y.ndim == 0:
        raise ValueError("matmul: an operand has no axes; * multiplies by numbers")
    if min(x.ndim, y.ndim) > 1 and not (x.type.is_static and y.type.is_static):
        return to(ops.matmul(to(x, dtype), to(y, dtype)), dtype)  # type: ignore[arg-type]  # traced
    left = reshape(x, (1, *x.shape)) if x.ndim == 1 else x
    right = reshape(y, (*y.shape, 1)) if y.ndim == 1 else y
    if left.shape[-1] != right.shape[-2]:
        raise ValueError(
            f"matmul: shapes {x.shape} and {y.shape} do not fit: {left.shape[-1]} is not {right.shape[-2]}"
        )
    computed = np.dtype(np.int64) if element(dtype).is_bool else dtype
    shape = (*np.broadcast_shapes(left.shape[:-2], right.shape[:-2]), left.shape[-2], right.shape[-1])
    if 0 in (*shape, left.shape[-1]):
        made = full(shape, 0, computed)
    else:
        made = ops.matmul(to(left, computed), to(right, computed))  # type: ignore[assignment]  # traced
    kept = (*shape[:-2], *shape[-2:-1] * (x.ndim > 1), *shape[-1:] * (y.ndim > 1))
    return to(reshape(made, kept), dtype)


SPECIAL[np.matmul] = matmul


@maps("dot", method="dot")
def dot(a: Any, b: Any) -> Any:
    x, y = tensor(a), tensor(b)
    if x.ndim == 0 or y.ndim == 0:
        return apply(np.multiply, x, y)  # unlike in ufuncs, a Python float is a float64 here
    return matmul(x, y) if y.ndim == 1 or x.ndim == 1 else tensordot(x, y, ((x.ndim - 1,), (y.ndim - 2,)))


@maps("inner")
def inner(a: Any, b: Any) -> Any:
    x, y = tensor(a), tensor(b)
    if x.ndim == 0 or y.ndim == 0:
        return apply(np.multiply, x, y)
    return tensordot(x, y, ((x.ndim - 1,), (y.ndim - 1,)))


@maps("outer")
def outer(a: Any, b: Any) -> Any:
    x, y = tensor(a), tensor(b)
    return apply(np.multiply, reshape(x, (x.size, 1)), reshape(y, (1, y.size)))


@maps("vdot")
def vdot(a: Any, b: Any) -> Any:
    x, y = tensor(a), tensor(b)
    if element(x.dtype).is_complex:
        x = apply(np.conjugate, x)
    return matmul(reshape(x, (x.size,)), reshape(y, (y.size,)))


@maps("tensordot")
def tensordot(a: Any, b: Any, axes: int | Sequence[Any] = 2) -> Tracer:
    x, y = tensor(a), tensor(b)
    if isinstance(axes, int):
        of_x, of_y = tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))
    else:
        of_x, of_y = axes_of(axes[0], x.ndim), axes_of(axes[1], y.ndim)
    if [x.shape[k] for k in of_x] != [y.shape[k] for k in of_y]:
        raise ValueError("shape-mismatch for sum")
    rest_x = tuple([k for k in range(x.ndim) if k not in of_x])
    rest_y = tuple([k for k in range(y.ndim) if k not in of_y])
    rows, columns = [x.shape[k] for k in rest_x], [y.shape[k] for k in rest_y]
    common = math.prod([x.shape[k] for k in of_x])
    left = reshape(transpose(x, (*rest_x, *of_x)), (math.prod(rows), common))
    right = reshape(transpose(y, (*of_y, *rest_y)), (common, math.prod(columns)))
    return reshape(matmul(left, right), (*rows, *columns))


@maps("einsum")
def einsum(
    *operands: Any, dtype: DTypeLike | None = None, casting: str = "safe", optimize: Any = False
) -> Tracer:
    """Of a text and tensors, or of tensors each with the numbers of its axes; an order of products is the program's."""
    subscripts, given = _subscripts(operands)
    items = [tensor(each) for each in given]
    wanted = common_dtype(items) if dtype is None else np.dtype(dtype)
    for x in items:
        if not np.can_cast(x.dtype, wanted, casting):  # type: ignore[arg-type]  # a kind of cast
            raise TypeError(f"Cannot cast operand from {x.dtype} to {wanted} by the rule {casting!r}")
    dtype = wanted
    computed = np.dtype(np.int64) if element(dtype).is_bool else dtype
    equation, items = _stretched(subscripts.replace(" ", ""), [to(x, computed) for x in items])
    return to(ops.einsum(items, equation=equation), dtype)  # type: ignore[arg-type]  # traced


def _subscripts(operands: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """The text and the tensors of either form."""
    if isinstance(operands[0], str):
        return operands[0], operands[1:]
    pairs = len(operands) // 2
    terms = [_letters(numbers) for numbers in operands[1 : 2 * pairs : 2]]
    result = f"->{_letters(operands[-1])}" if len(operands) % 2 else ""
    return ",".join(terms) + result, operands[: 2 * pairs : 2]


def _letters(numbers: Sequence[Any]) -> str:
    return "".join(["..." if each is Ellipsis else ascii_letters[index(each)] for each in numbers])


def _stretched(equation: str, items: list[Tracer]) -> tuple[str, list[Tracer]]:
    """Without the axes of extent 1 that numpy stretches to the extent of their letter elsewhere."""
    given, arrow, result = equation.partition("->")
    terms = given.split(",")
    if "." in equation or [len(term) for term in terms] != [x.ndim for x in items]:
        return equation, items  # what is wrong is the op's to say
    for term, x in zip(terms, items, strict=True):
        extents = dict(zip(term, x.shape, strict=True))
        if any([extents[letter] != n for letter, n in zip(term, x.shape, strict=True)]):
            raise ValueError(
                f"einsum: axes of one letter have different extents in {term!r} of shape {x.shape}"
            )
    longer = {
        letter
        for term, x in zip(terms, items, strict=True)
        for letter, n in zip(term, x.shape, strict=True)
        if n != 1
    }
    if not arrow:
        result = "".join(sorted([letter for letter in set(given) - {","} if given.count(letter) == 1]))
    kept = [
        [k for k, (letter, n) in enumerate(zip(term, x.shape, strict=True)) if n != 1 or letter not in longer]
        for term, x in zip(terms, items, strict=True)
    ]
    shorter = [reshape(x, [x.shape[k] for k in axes]) for x, axes in zip(items, kept, strict=True)]
    named = ["".join([term[k] for k in axes]) for term, axes in zip(terms, kept, strict=True)]
    return f"{','.join(named)}->{result}", shorter
