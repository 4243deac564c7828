"""Gathering, scattering, searching and sorting."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from ....ir import Constant, Expr
from ....operator import Dim
from ..emit import op
from ..rules import Flag, Rename, converts, renames
from ._tools import (
    at_least,
    axis_of,
    cast,
    check_rank,
    check_shape,
    dtype,
    exactly,
    extent,
    index,
    ndim,
    of_size,
    positions,
    reshape,
    sizes,
    take_slice,
)

if TYPE_CHECKING:
    from ..convert import NodeView

Ints = Sequence[int]
Scalar = Any
_SEARCHES: Final = 512  # so many are faster than a sort
_NARROW: Final = 32  # bits, of elements that a search takes

renames(
    [
        Rename("GatherND", "gather_nd", arity=2, attributes={"batch_dims": "batch_dims"}),
    ]
)


@converts("Gather")
def gather(x: Expr, indices: Expr, *, axis: int = 0) -> Expr:
    """Positions count from the end where they are negative."""
    return op.take(x, indices, axis=axis_of(axis, ndim(x)), mode="wrap")


@converts("GatherElements")
def gather_elements(x: Expr, indices: Expr, *, axis: int = 0) -> Expr:
    return op.gather(x, indices, axis=axis_of(axis, ndim(x)))


_REDUCTIONS = {"none": "update", "add": "add", "mul": "mul", "min": "min", "max": "max"}


@converts("Scatter", since=9)
def scatter(x: Expr, indices: Expr, updates: Expr, *, axis: int = 0) -> Expr:
    return scatter_elements(x, indices, updates, axis=axis)


@converts("ScatterElements", since=11)
def scatter_elements(
    x: Expr,
    indices: Expr,
    updates: Expr,
    *,
    axis: int = 0,
    reduction: Literal["none", "add", "mul", "min", "max"] = "none",
) -> Expr:
    if dtype(x) == "bool":
        made = scatter_elements(
            cast(x, "uint8"), indices, cast(updates, "uint8"), axis=axis, reduction=reduction
        )
        return op.cast(made, dtype="bool")
    at = axis_of(axis, ndim(x))
    return op.scatter_elements(x, indices, updates, axis=at, reduction=_REDUCTIONS[reduction])


@converts("ScatterND", since=11)
def scatter_nd(
    x: Expr, indices: Expr, updates: Expr, *, reduction: Literal["none", "add", "mul", "min", "max"] = "none"
) -> Expr:
    if dtype(x) == "bool":
        made = scatter_nd(cast(x, "uint8"), indices, cast(updates, "uint8"), reduction=reduction)
        return op.cast(made, dtype="bool")
    return op.scatter_nd(x, indices, updates, mode=_REDUCTIONS[reduction])


@converts("TensorScatter", since=24)
def tensor_scatter(
    cache: Expr,
    update: Expr,
    write_indices: Expr | None = None,
    *,
    axis: int = -2,
    mode: Literal["linear", "circular"] = "linear",
) -> Expr:
    """`update` written into `cache` along one axis, for each batch from its own position on."""
    at_least(cache, 1)
    at = axis_of(axis, ndim(cache))
    check_rank(update, ndim(cache), ndim(cache))
    places = positions(sizes(update)[at], ndim(cache), at)
    if write_indices is not None:
        places = op.add(reshape(write_indices, [sizes(update)[0], *[1] * (ndim(cache) - 1)]), places)
    if mode == "circular":
        places = op.floor_mod(places, extent(cache, at))
    return scatter_elements(cache, op.broadcast_to(places, shape=sizes(update)), update, axis=at)


@converts("OneHot", since=9)
def one_hot(indices: Expr, depth: Dim, values: Expr, *, axis: int = -1) -> Expr:
    """Positions count from the end where they are negative; those outside give the off value everywhere."""
    size = int(depth) if isinstance(depth, float) else depth
    wanted = cast(indices, "int64")
    wanted = op.where(op.less(wanted, np.zeros((), np.int64)), op.add(wanted, of_size(size)), wanted)
    check_shape("values", values, (2,))
    off, on = index(values, 0, 0), index(values, 0, 1)
    return op.one_hot(wanted, on, off, depth=size, axis=axis)


@converts("NonZero", since=9)
def non_zero(x: Expr, *, node: NodeView) -> Expr:
    return op.transpose(node.concrete(op.argwhere(_vector(x))), axes=(1, 0))


def _vector(x: Expr) -> Expr:
    return reshape(x, (1,)) if ndim(x) == 0 else x


@converts("Compress", since=9)
def compress(x: Expr, condition: Expr, *, axis: int | None = None, node: NodeView) -> Expr:
    """Conditions beyond the end of the axis choose nothing; an open axis is taken to have all that constants choose."""
    if axis is None:
        x, axis = reshape(x, (math.prod(sizes(x)),)), 0
    axis = axis_of(axis, ndim(x))
    (count,) = exactly(condition, 1)
    if isinstance(condition, Constant):
        chosen, size = np.flatnonzero(condition.data), sizes(x)[axis]
        if isinstance(size, int):
            return op.take(x, chosen[chosen < size], axis=axis)
        node.assume(size - int(chosen.max(initial=-1)) - 1)
        return op.take(x, chosen, axis=axis)
    places = node.concrete(op.argwhere(take_slice(condition, 0, 0, min(count, extent(x, axis)))))
    return op.take(x, reshape(places, (extent(places, 0),)), axis=axis)


@converts("CumSum", since=11)
def cum_sum(x: Expr, axis: Scalar, *, exclusive: Flag = 0, reverse: Flag = 0) -> Expr:
    return op.cumsum(x, axis=axis_of(int(axis), ndim(x)), exclusive=bool(exclusive), reverse=bool(reverse))


@converts("CumProd", since=26)
def cum_prod(x: Expr, axis: Scalar, *, exclusive: Flag = 0, reverse: Flag = 0) -> Expr:
    return op.cumprod(x, axis=axis_of(int(axis), ndim(x)), exclusive=bool(exclusive), reverse=bool(reverse))


@converts("TopK")
def top_k_1(x: Expr, *, k: int, axis: int = -1) -> Expr:
    return top_k(x, k, axis=axis)


@converts("TopK", since=10)
def top_k(x: Expr, k: Dim, *, axis: int = -1, largest: Flag = 1, sorted: Flag = 1) -> Expr:
    """Few elements are searched for one after the other, many are the first of all of them sorted."""
    few = isinstance(k, int) and k <= _SEARCHES and dtype(x).bits <= _NARROW
    how = op.topk_by_search if few else op.topk
    return how(x, k=k, axis=axis_of(axis, ndim(x)), is_ascend=not largest, dtype="int64")


@converts("ReverseSequence", since=10)
def reverse_sequence(x: Expr, lengths: Expr, *, batch_axis: int = 1, time_axis: int = 0) -> Expr:
    """The first `length` elements of each batch in reverse order."""
    batch, time = axis_of(batch_axis, ndim(x)), axis_of(time_axis, ndim(x))
    steps = positions(sizes(x)[time], ndim(x), time)
    rows = reshape(cast(lengths, "int64"), [sizes(x)[batch] if d == batch else 1 for d in range(ndim(x))])
    mirrored = op.where(op.less(steps, rows), op.subtract(op.subtract(rows, steps), 1), steps)
    return op.gather(x, op.broadcast_to(mirrored, shape=sizes(x)), axis=time)


@converts("Unique", since=11)
def unique(x: Expr, *, axis: int | None = None, sorted: Flag = 1, node: NodeView) -> tuple[Expr, ...]:
    """Distinct elements, where each first stands, which of them each is, how many of each."""
    at = None if axis is None else axis_of(axis, ndim(x))
    values, first, inverse, counts = op.unique(x, axis=at, is_sorted=bool(sorted))
    return values, cast(first, "int64"), cast(inverse, "int64"), cast(counts, "int64")


@converts("NonMaxSuppression", since=10)
def non_max_suppression(
    boxes: Expr,
    scores: Expr,
    most: Scalar | None = None,
    iou_threshold: Scalar | None = None,
    score_threshold: Scalar | None = None,
    *,
    center_point_box: Flag = 0,
) -> Expr:
    return op.all_class_non_max_suppression(
        boxes,
        scores,
        max_output_boxes_per_class=min(int(most or 0), extent(boxes, 1)),
        iou_threshold=float(iou_threshold or 0.0),
        score_threshold=None if score_threshold is None else float(score_threshold),
        center_point_box=bool(center_point_box),
    )
