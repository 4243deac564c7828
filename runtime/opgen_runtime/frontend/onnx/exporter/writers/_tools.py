"""What several families need: axes, layouts, casts, numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .....base.vocabulary import DType
from ..nodes import Nodes, NoStandard, Value
from ..sizes import sizes


def norm_axes(axis: Sequence[int] | None, ndim: int, exclude: bool = False) -> tuple[int, ...]:
    """Axes counted from the front, in order; None means all."""
    listed = range(ndim) if axis is None else [each % ndim for each in axis]
    return tuple([d for d in range(ndim) if (d in listed) != exclude])


def each(numbers: Sequence[int], count: int) -> tuple[int, ...]:
    """One number an axis, of one for all or one each."""
    return tuple(numbers) if len(numbers) > 1 else (numbers[0],) * count


def ends(padding: Sequence[int], count: int) -> tuple[int, ...]:
    """All first ends, then all last ends: of one number, one an axis, or both ends of each."""
    return tuple(padding) if len(padding) == 2 * count else each(padding, count) * 2


def cast(to: Nodes, x: Value, dtype: str) -> Value:
    """`x` in a dtype."""
    return x if x.dtype == dtype else to("Cast", x, to=DType(dtype).onnx, gives=dtype)


def scalar(to: Nodes, value: float, like: Value) -> Value:
    """A number in the dtype of a value."""
    return to.number(value, like.dtype)


def reshaped(to: Nodes, x: Value, shape: Sequence[object]) -> Value:
    """`x` in another shape, whose dims may be open."""
    return to("Reshape", x, sizes(to, shape), allowzero=1)  # type: ignore[arg-type]  # dims


def result_shaped(to: Nodes, x: Value) -> Value:
    """`x` in the shape of the result."""
    return reshaped(to, x, to.types[0].shape)


def transposed(to: Nodes, x: Value, perm: Sequence[int]) -> Value:
    """`x` with its axes in another order."""
    perm = tuple(perm)
    if perm == tuple(range(len(perm))):
        return x
    made = to("Transpose", x, perm=perm)
    shape = None if x.shape is None else tuple([x.shape[axis] for axis in perm])
    return Value(made.name, made.dtype, shape)


def laid_back(to: Nodes, x: Value, source: str, target: str) -> Value:
    """A result, whose shape is not known, of one layout in another."""
    return transposed(to, x, [source.index(letter) for letter in target])


def laid(to: Nodes, x: Value, source: str, target: str) -> Value:
    """`x` of one layout in another.  Raises NoStandard for layouts of blocks."""
    if sorted(source) != sorted(target) or not source.isupper():
        raise NoStandard(f"{target} is no other order of the axes of {source}")
    return transposed(to, x, [source.index(letter) for letter in target])


def moved(to: Nodes, x: Value, source: int, target: int) -> Value:
    """`x` with an axis at another place."""
    order = [axis for axis in range(x.ndim) if axis != source]
    order.insert(target, source)
    return transposed(to, x, order)


def constant_of(x: Value | None) -> np.ndarray | None:
    """The value of an operand that is constant."""
    return None if x is None else x.array
