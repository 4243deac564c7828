"""Parts of tensors: slices and splits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

from ....base.arith import lt
from ....ir import Expr
from ....operator import Dim, decided
from ..emit import op
from ..errors import ModelError
from ..limits import spending
from ..rules import Positive, converts
from ._tools import (
    at_least,
    axes_of,
    axis_of,
    cut,
    dtype,
    extent,
    full,
    ndim,
    shape,
    sizes,
    take_slice,
    within,
)

if TYPE_CHECKING:
    from ..convert import NodeView

_FOREVER: Final = (1 << 31) - 1  # as the end of a slice
Ints = Sequence[int]
Dims = Sequence[Any]


@converts("Split")
def split_2(x: Expr, *, axis: int = 0, split: Ints | None = None, node: NodeView) -> tuple[Expr, ...]:
    return split_18(x, split, axis=axis, node=node)


@converts("Split", since=13)
def split_18(
    x: Expr,
    lengths: Dims | None = None,
    *,
    axis: int = 0,
    num_outputs: Positive | None = None,
    node: NodeView,
) -> tuple[Expr, ...]:
    """Parts of the given sizes, or equal parts, of which the last may be smaller."""
    if not ndim(x):
        at_least(x, 1)
    at = axis_of(axis, ndim(x))
    count = node.num_outputs
    if num_outputs not in (None, count):
        raise ModelError(f"num_outputs is {num_outputs}, the node has {count} outputs")
    whole = sizes(x)[at]
    if lengths is None:
        each = (whole + count - 1) // count
        starts = [within(k * each, whole) for k in range(count)]
        lengths = [end - begin for begin, end in pairwise([*starts, whole])]
    known = [n for n in lengths if isinstance(n, int)]
    if isinstance(whole, int) and len(known) == len(lengths):
        return split_parts(x, at, known)
    edges: list[Dim] = [0, *accumulate(lengths)]
    node.assume(whole - edges[-1], edges[-1] - whole)
    return tuple([cut(x, at, begin, end) for begin, end in pairwise(edges)])


def split_parts(x: Expr, axis: int, lengths: Sequence[int]) -> tuple[Expr, ...]:
    """The parts of these lengths along an axis."""
    edges = [0, *accumulate(lengths)]
    if edges[-1] != extent(x, axis) or min(lengths, default=0) < 0:
        raise ModelError(f"parts of sizes {tuple(lengths)} of an axis of extent {extent(x, axis)}")
    return tuple([take_slice(x, axis, begin, end) for begin, end in pairwise(edges)])


@converts("Slice")
def slice_1(x: Expr, *, starts: Ints, ends: Ints, axes: Ints | None = None) -> Expr:
    return slice_10(x, starts, ends, axes)


@converts("Slice", since=10)
def slice_10(x: Expr, starts: Dims, ends: Dims, axes: Ints | None = None, steps: Ints | None = None) -> Expr:
    named = axes_of(range(len(starts)) if axes is None else axes, ndim(x))
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(steps) == len(named) or 0 in steps:
        raise ModelError(f"starts {list(starts)}, ends {list(ends)}, axes {list(named)}, steps {list(steps)}")
    asked = list(zip(starts, ends, steps, named, strict=True))
    for each in [
        each for each in asked if not all(isinstance(n, int) for n in (*each[:2], sizes(x)[each[3]]))
    ]:
        asked.remove(each)
        x = _cut_open(x, *each)
    if not asked:
        return x
    starts, ends, steps, named = zip(*asked, strict=True)
    cuts = [
        slice(b, e, s).indices(extent(x, d)) for b, e, s, d in zip(starts, ends, steps, named, strict=True)
    ]
    empty = [not range(*cut) for cut in cuts]
    if any(empty):
        return full(_cut(x, named, cuts), 0, dtype(x))
    # A backward slice that takes the first element ends before it: in the attr, at the extent below zero.
    ends = [e if e >= 0 else -extent(x, d) - 1 for (_, e, _), d in zip(cuts, named, strict=True)]
    return op.strided_slice(
        x, begin=tuple([c[0] for c in cuts]), end=tuple(ends), strides=tuple(steps), axes=named
    )


def _cut_open(x: Expr, start: Dim, end: Dim, step: int, axis: int) -> Expr:
    """A slice of an axis, where its extent or a position is open."""
    if not isinstance(start, int) or not isinstance(end, int):
        return _cut_sizes(x, start, end, step, axis)
    others = [n for d, n in enumerate(sizes(x)) if d != axis and isinstance(n, int)]
    if (start, step) == (0, 1) and (end >= _FOREVER or not spending().allows((*others, end), dtype(x))):
        return x  # whole: it cannot be as long as that
    start, end = (max(-_FOREVER, min(place, _FOREVER)) for place in (start, end))
    return op.strided_slice(x, begin=(start,), end=(end,), strides=(step,), axes=(axis,))


def _cut_sizes(x: Expr, start: Dim, end: Dim, step: int, axis: int) -> Expr:
    """A slice from or to a position that is a size.

    A program for all sizes takes those that lie within the axis: it refuses others, which have a program of their own.
    """
    if step < 1:
        return op.strided_slice(x, begin=(start,), end=(end,), strides=(step,), axes=(axis,))
    own = sizes(x)[axis]
    return cut(x, axis, _place(start, own), _place(end, own), step)


def _place(position: Dim, extent: Dim) -> Dim:
    """A position in an axis, counted from its beginning; a size counts from the end where it is below 0 in any case."""
    if isinstance(position, int):
        return extent if position >= _FOREVER else position if position >= 0 else extent + position
    return extent + position if decided(lt(position, 0)) else position


def _cut(x: Expr, named: Sequence[int], cuts: Sequence[tuple[int, int, int]]) -> list[int]:
    """The extents of `x` with the named axes cut."""
    return [len(range(*cuts[named.index(d)])) if d in named else n for d, n in enumerate(shape(x))]
