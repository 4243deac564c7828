"""Convolutions and pools: windows that move over spatial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ....ir import Expr, const
from ..emit import op
from ..errors import ModelError, NotSupported
from ..limits import spending
from ..rules import Flag, Naturals, Positive, Positives, converts
from ._tools import (
    arange,
    at_least,
    cast,
    dtype,
    exactly,
    full,
    ndim,
    reshape,
    room,
    scalar,
    shape,
    transpose,
)

if TYPE_CHECKING:
    from ..convert import NodeView

Ints = Sequence[int]


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over spatial axes of given extents, everything one number an axis."""

    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    ceil_mode: bool = False

    @property
    def padding(self) -> tuple[int, ...]:
        """Begins, then ends."""
        return (*self.low, *self.high)

    @property
    def outputs(self) -> tuple[int, ...]:
        """How many windows there are; one that would begin in the padding at the end is left out."""
        return tuple([self._count(d) for d in range(len(self.extents))])

    def _count(self, d: int) -> int:
        span = self.extents[d] + self.low[d] + self.high[d] - self.dilations[d] * (self.kernel[d] - 1) - 1
        if span < 0:
            return 0
        if not self.ceil_mode:
            return span // self.strides[d] + 1
        count = -(-span // self.strides[d]) + 1
        return count - 1 if (count - 1) * self.strides[d] >= self.extents[d] + self.low[d] else count

    def places(self, d: int) -> np.ndarray:
        """The position on axis `d` of each element of each window; outside the tensor it is padding."""
        starts = arange(self.outputs[d]) * self.strides[d] - self.low[d]
        room(self.outputs[d], self.kernel[d])
        return np.asarray(starts[:, None] + arange(self.kernel[d])[None, :] * self.dilations[d])


def windows(
    extents: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
) -> Windows:
    """The windows that ONNX's attributes describe. Raises ModelError where one has not a number for each axis."""
    k = len(extents)
    _check_counts(k, kernel=kernel, strides=strides, dilations=dilations, pads=pads)
    ones = (1,) * k
    step, spread = tuple(strides or ones), tuple(dilations or ones)
    low, high = [0] * k, [0] * k
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        for d in range(k):
            reach = spread[d] * (kernel[d] - 1) + 1
            total = max((-(-extents[d] // step[d]) - 1) * step[d] + reach - extents[d], 0)
            low[d] = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
            high[d] = total - low[d]
    elif auto_pad == "NOTSET" and pads is not None:
        low, high = list(pads[:k]), list(pads[k:])
    # Windows are read whole, wherever they lie: what is padded to hold them may be no larger than a tensor may.
    spending().check([max(sum(each), 0) for each in zip(extents, low, high, strict=True)])
    return Windows(tuple(extents), tuple(kernel), step, spread, tuple(low), tuple(high), bool(ceil_mode))


def _check_counts(k: int, **given: Sequence[int] | None) -> None:
    """Raises ModelError for an attribute that has not a number for each of `k` axes, or pads for each end."""
    for name, numbers in given.items():
        wanted = 2 * k if name == "pads" else k
        if numbers is not None and len(numbers) != wanted:
            raise ModelError(f"{name} has {len(numbers)} numbers, expected {wanted} for {k} spatial axes")


def spatial(x: Expr) -> tuple[int, ...]:
    """The extents of the spatial axes. Raises ModelError for a tensor without batch and channels."""
    return at_least(x, 2)[2:]


def gathered(x: Expr, moved: Windows, outside: float | int) -> Expr:
    """The elements of each window: (N, C, *windows, *kernel), `outside` where a window leaves the tensor."""
    k = len(moved.extents)
    keep = np.ones((1,) * (2 + 2 * k), bool)
    room(*moved.outputs, *moved.kernel, itemsize=1)
    for d in range(k):
        places = moved.places(d)
        axis = 2 + 2 * d
        inside = (places >= 0) & (places < moved.extents[d])
        x = op.take(x, np.clip(places, 0, moved.extents[d] - 1), axis=axis)
        keep = keep & inside.reshape(
            [inside.shape[a - axis] if a in (axis, axis + 1) else 1 for a in range(2 + 2 * k)]
        )
    if not keep.all():
        x = op.where(keep, x, scalar(outside, dtype(x)))
    order = [0, 1, *[2 + 2 * d for d in range(k)], *[3 + 2 * d for d in range(k)]]
    return transpose(x, order)


def _with_rank(x: Expr, rank: int) -> Expr:
    """The tensor with spatial axes of extent 1 in front of its own, `rank` in all."""
    return reshape(x, (*shape(x)[:2], *[1] * (rank - len(spatial(x))), *spatial(x)))


def _attrs(moved: Windows, rank: int) -> dict[str, Any]:
    """Attrs for an op of `rank` spatial axes; missing ones in front are trivial."""
    ones, zeros = (1,) * (rank - len(moved.extents)), (0,) * (rank - len(moved.extents))
    return {
        "strides": ones + moved.strides,
        "dilation": ones + moved.dilations,
        "padding": zeros + moved.low + zeros + moved.high,
    }


def _declared_rank(name: str, rank: int) -> int:
    """The rank of the declared op that serves `rank` spatial axes; 0 if there is none."""
    return next((r for r in (rank, 2) if rank <= r and op.has(name.format(r))), 0)


def cross_correlation(x: Expr, w: Expr, moved: Windows, groups: int) -> Expr:
    """The convolution of ONNX, without a bias."""
    k = len(moved.extents)
    rank = _declared_rank("conv{}d", k)
    if not rank:
        raise NotSupported(f"a convolution over {k} axes")
    name = f"conv{rank}d"
    result = getattr(op, name)(_with_rank(x, rank), _with_rank(w, rank), groups=groups, **_attrs(moved, rank))
    return reshape(result, (*shape(result)[:2], *shape(result)[2 + rank - k :]))


def add_bias(x: Expr, bias: Expr | None) -> Expr:
    """`bias` added to each channel."""
    return x if bias is None else op.bias_add(x, bias, axis=1)


@converts("Conv")
def conv(
    x: Expr,
    w: Expr,
    bias: Expr | None = None,
    *,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    dilations: Positives | None = None,
    group: Positive = 1,
    kernel_shape: Positives | None = None,
    pads: Naturals | None = None,
    strides: Positives | None = None,
) -> Expr:
    moved = windows(spatial(x), spatial(w), strides, dilations, pads, auto_pad)
    return add_bias(cross_correlation(x, w, moved, group), bias)


@converts("ConvTranspose")
def conv_transpose(
    x: Expr,
    w: Expr,
    bias: Expr | None = None,
    *,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    dilations: Positives | None = None,
    group: Positive = 1,
    kernel_shape: Positives | None = None,
    output_padding: Naturals | None = None,
    output_shape: Positives | None = None,
    pads: Naturals | None = None,
    strides: Positives | None = None,
) -> Expr:
    k = len(spatial(x))
    _check_counts(k, kernel_shape=kernel_shape, strides=strides, dilations=dilations, pads=pads)
    _check_counts(k, output_padding=output_padding)
    step, spread = strides or (1,) * k, dilations or (1,) * k
    extra = list(output_padding or (0,) * k)
    low, high = list((pads or (0,) * (2 * k))[:k]), list((pads or (0,) * (2 * k))[k:])
    if output_shape is not None or auto_pad.startswith("SAME"):
        wanted = (
            list(output_shape[-k:])
            if output_shape
            else [n * s for n, s in zip(spatial(x), step, strict=True)]
        )
        for d in range(k):
            reach = spread[d] * (shape(w)[2 + d] - 1) + 1
            total = step[d] * (spatial(x)[d] - 1) + extra[d] + reach - wanted[d]
            if total < 0:
                extra[d], total = extra[d] - total, 0
            low[d] = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
            high[d] = total - low[d]
    rank = _declared_rank("conv{}d_transpose", k)
    if not rank:
        raise NotSupported(f"a transposed convolution over {k} axes")
    ones, zeros = (1,) * (rank - k), (0,) * (rank - k)
    result = getattr(op, f"conv{rank}d_transpose")(
        _with_rank(x, rank),
        _with_rank(w, rank),
        strides=ones + tuple(step),
        dilation=ones + tuple(spread),
        padding=(*zeros, *low, *zeros, *high),
        output_padding=zeros + tuple(extra),
        groups=group,
    )
    return add_bias(reshape(result, (*shape(result)[:2], *shape(result)[2 + rank - k :])), bias)


def _pooled(name: str, x: Expr, moved: Windows, **attrs: Any) -> Expr | None:
    """A declared pool, None if none serves the rank."""
    k = len(moved.extents)
    rank = _declared_rank(name, k)
    if not rank:
        return None
    pool = getattr(op, name.format(rank))
    size = (1,) * (rank - k) + moved.kernel
    result = pool(
        _with_rank(x, rank), pool_size=size, ceil_mode=moved.ceil_mode, **_attrs(moved, rank), **attrs
    )
    return reshape(result, (*shape(result)[:2], *shape(result)[2 + rank - k :]))


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
    k = len(moved.extents)
    elements = gathered(x, moved, least)
    flat = reshape(elements, (*shape(x)[:2], *moved.outputs, math.prod(moved.kernel)))
    best = op.max(flat, axis=(2 + k,), keepdims=False)
    if not node.has_output(1):
        return best
    where = cast(op.argmax(flat, axis=2 + k, keepdims=True), "int64")
    n, c = shape(x)[:2]
    planes = arange(n * c).reshape(n, c, *[1] * k) * math.prod(moved.extents)
    flat_places = np.broadcast_to(
        _flat_places(moved, bool(storage_order)), (n, c, *moved.outputs, shape(flat)[-1])
    )
    inner = op.squeeze(op.gather(const(flat_places), where, axis=2 + k), axis=(2 + k,))
    return best, op.add(inner, planes)


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
    return total.reshape(*moved.outputs, -1)


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
    k = len(moved.extents)
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
    _check_counts(k, kernel_shape=kernel_shape, strides=strides, pads=pads)
    step, pad = strides or (1,) * k, pads or (0,) * (2 * k)
    inferred = [(n - 1) * step[d] - pad[d] - pad[k + d] + kernel_shape[d] for d, n in enumerate(spatial(x))]
    n, c = shape(x)[:2]
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
