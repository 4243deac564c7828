"""Pools: what windows that move over spatial axes hold, in one number; and the ways back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ....ir import Expr, const
from ..emit import op
from ..errors import ModelError
from ..rules import Flag, Naturals, Positive, Positives, converts
from ._tools import (
    at_least,
    cast,
    dtype,
    exactly,
    full,
    ndim,
    of_size,
    positions,
    reshape,
    room,
    shape,
    sizes,
    unsqueeze,
)
from .window import (
    Windows,
    check_counts,
    declared_rank,
    extents_of,
    gathered,
    spatial,
    window_attrs,
    windows,
    with_rank,
    without_rank,
)

if TYPE_CHECKING:
    from ..convert import NodeView

Ints = Sequence[int]


def _pooled(name: str, x: Expr, moved: Windows, **attrs: Any) -> Expr | None:
    """A declared pool, None if none serves the rank."""
    k = len(moved.sizes)
    rank = declared_rank(name, k)
    if not rank:
        return None
    pool = getattr(op, name.format(rank))
    size = (1,) * (rank - k) + moved.kernel
    result = pool(
        with_rank(x, rank), pool_size=size, ceil_mode=moved.ceil_mode, **window_attrs(moved, rank), **attrs
    )
    return without_rank(result, rank - k)


@converts("MaxPool")
def max_pool(
    x: Expr,
    *,
    kernel_shape: Positives,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    ceil_mode: Flag = 0,
    dilations: Positives | None = None,
    pads: Naturals | None = None,
    storage_order: Flag = 0,
    strides: Positives | None = None,
    node: NodeView,
) -> Expr | tuple[Expr, Expr]:
    moved = windows(spatial(x), kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    if not node.has_output(1):
        result = _pooled("max_pool{}d", x, moved)
        if result is not None:
            return result
    least = -math.inf if dtype(x).is_float else dtype(x).lowest
    k = len(moved.sizes)
    shape = (*sizes(x)[:2], *moved.counts, math.prod(moved.kernel))
    flat = reshape(gathered(x, moved, least), shape)
    best = op.max(flat, axis=(2 + k,), keepdims=False)
    if not node.has_output(1):
        return best
    where = cast(op.argmax(flat, axis=2 + k, keepdims=True), "int64")
    places = op.broadcast_to(_places_in_planes(moved, bool(storage_order)), shape=shape)
    inner = op.squeeze(op.gather(places, where, axis=2 + k), axis=(2 + k,))
    n, c = sizes(x)[:2]
    planes = op.multiply(positions(n * c), of_size(math.prod(moved.sizes)))
    return best, op.add(inner, reshape(planes, (n, c, *[1] * k)))


def _places_in_planes(moved: Windows, column_major: bool) -> Expr:
    """`_flat_places`, computed in the program where extents are open."""
    if all([isinstance(n, int) for n in moved.sizes]):
        return const(_flat_places(moved, column_major))
    k = len(moved.sizes)
    total: Expr = const(np.zeros((1,) * (2 * k), np.int64))
    for d in range(k):
        stride = math.prod(moved.sizes[:d] if column_major else moved.sizes[d + 1 :])
        places = op.multiply(moved.open_places(d, moved.counts[d]), of_size(stride))
        total = op.add(total, unsqueeze(places, [a for a in range(2 * k) if a not in (d, k + d)]))
    return reshape(total, (*moved.counts, math.prod(moved.kernel)))


def _flat_places(moved: Windows, column_major: bool) -> np.ndarray:
    """(*windows, kernel elements): the place of each element in its plane, rows or columns first."""
    k = len(moved.extents)
    total = np.zeros((1,) * (2 * k), np.int64)
    room(*moved.outputs, *moved.kernel)
    for d in range(k):
        stride = math.prod(moved.extents[:d] if column_major else moved.extents[d + 1 :])
        places = moved.places(d) * stride
        total = total + places.reshape(
            [places.shape[0] if a == d else places.shape[1] if a == k + d else 1 for a in range(2 * k)]
        )
    return total.reshape(*moved.outputs, math.prod(moved.kernel))


@converts("AveragePool")
def average_pool(
    x: Expr,
    *,
    kernel_shape: Positives,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    ceil_mode: Flag = 0,
    count_include_pad: Flag = 0,
    dilations: Positives | None = None,
    pads: Naturals | None = None,
    strides: Positives | None = None,
) -> Expr:
    moved = windows(spatial(x), kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    result = _pooled("avg_pool{}d", x, moved, count_include_pad=bool(count_include_pad))
    if result is not None:
        return result
    k = len(moved.extents)
    counts = np.ones((1,) * k)
    for d in range(k):
        places = moved.places(d)
        begin, end = (
            (-moved.low[d], moved.extents[d] + moved.high[d]) if count_include_pad else (0, moved.extents[d])
        )
        inside = ((places >= begin) & (places < end)).sum(1)
        counts = counts * inside.reshape([-1 if a == d else 1 for a in range(k)])
    total = op.sum(gathered(x, moved, 0), axis=tuple(range(2 + k, 2 + 2 * k)), keepdims=False)
    return op.divide(total, np.maximum(counts, 1).astype(dtype(x).numpy))


@converts("LpPool")
def lp_pool(
    x: Expr,
    *,
    kernel_shape: Positives,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    ceil_mode: Flag = 0,
    dilations: Positives | None = None,
    p: Positive = 2,
    pads: Naturals | None = None,
    strides: Positives | None = None,
) -> Expr:
    moved = windows(spatial(x), kernel_shape, strides, dilations, pads, auto_pad, ceil_mode)
    k = len(moved.sizes)
    total = op.sum(gathered(_power(x, p), moved, 0), axis=tuple(range(2 + k, 2 + 2 * k)), keepdims=False)
    return _root(total, p)


def _power(x: Expr, p: int) -> Expr:
    return op.abs(x) if p == 1 else op.multiply(x, x) if p == 2 else op.power(op.abs(x), float(p))


def _root(x: Expr, p: int) -> Expr:
    return x if p == 1 else op.sqrt(x) if p == 2 else op.power(x, 1.0 / p)


@converts("GlobalAveragePool")
def global_average_pool(x: Expr) -> Expr:
    return op.mean(x, axis=tuple(range(2, ndim(x))), keepdims=True)


@converts("GlobalMaxPool")
def global_max_pool(x: Expr) -> Expr:
    return op.max(x, axis=tuple(range(2, ndim(x))), keepdims=True)


@converts("GlobalLpPool")
def global_lp_pool(x: Expr, *, p: Positive = 2) -> Expr:
    return _root(op.sum(_power(x, p), axis=tuple(range(2, ndim(x))), keepdims=True), p)


@converts("MaxUnpool", since=9)
def max_unpool(
    x: Expr,
    places: Expr,
    output_shape: Ints | None = None,
    *,
    kernel_shape: Positives,
    pads: Naturals | None = None,
    strides: Positives | None = None,
) -> Expr:
    """Each element at the place that MaxPool found it in; zeros elsewhere."""
    k = len(spatial(x))
    check_counts(k, kernel_shape=kernel_shape, strides=strides, pads=pads)
    step, pad = strides or (1,) * k, pads or (0,) * (2 * k)
    inferred = [
        (n - 1) * step[d] - pad[d] - pad[k + d] + kernel_shape[d] for d, n in enumerate(extents_of(x))
    ]
    n, c = at_least(x, 2)[:2]
    size = math.prod(shape(x))
    flat = full((n * c * math.prod(inferred),), 0, dtype(x))
    made = op.scatter_elements(flat, reshape(places, (size,)), reshape(x, (size,)), axis=0)
    made = reshape(made, (n, c, *inferred))
    if output_shape is None or tuple(output_shape) == shape(made):
        return made
    if len(output_shape) != 2 + k or any(
        [want < have for have, want in zip(shape(made), output_shape, strict=True)]
    ):
        raise ModelError(f"output_shape is {list(output_shape)}, expected at least {list(shape(made))}")
    widths = [m for have, want in zip(shape(made), output_shape, strict=True) for m in (0, want - have)]
    return op.pad(made, pad_width=tuple(widths))


@converts("Col2Im", since=18)
def col2im(
    x: Expr,
    image_shape: Ints,
    block_shape: Ints,
    *,
    dilations: Positives | None = None,
    pads: Naturals | None = None,
    strides: Positives | None = None,
) -> Expr:
    """Columns of blocks added up where they overlap."""
    if min((*image_shape, *block_shape), default=0) < 1:
        raise ModelError(f"an image of extents {list(image_shape)} and blocks of {list(block_shape)}")
    moved = windows(image_shape, block_shape, strides, dilations, pads)
    k = len(moved.extents)
    n, columns, places_given = exactly(x, 3)
    c = columns // math.prod(block_shape)
    if columns % math.prod(block_shape) or places_given != math.prod(moved.outputs):
        raise ModelError(
            f"columns of shape {list(shape(x))}, expected {math.prod(moved.outputs)} blocks of a multiple of "
            f"{math.prod(block_shape)} elements"
        )
    inside = np.ones((1,) * (2 * k), bool)
    for d in range(k):
        ok = (moved.places(d) >= 0) & (moved.places(d) < moved.extents[d])
        inside = inside & ok.reshape(
            [ok.shape[0] if a == d else ok.shape[1] if a == k + d else 1 for a in range(2 * k)]
        )
    size = math.prod(moved.extents)
    places = np.where(
        inside.reshape(*moved.outputs, -1), _flat_places(moved, False), size
    )  # outside: dropped
    places = np.moveaxis(places.reshape(math.prod(moved.outputs), -1), 0, 1).reshape(1, -1)
    updates = reshape(x, (n * c, places.shape[1]))
    flat = full((n * c, size), 0, dtype(x))
    indices = np.ascontiguousarray(np.broadcast_to(places, (n * c, places.shape[1])))
    return reshape(op.scatter_elements(flat, indices, updates, axis=1, reduction="add"), (n, c, *image_shape))
