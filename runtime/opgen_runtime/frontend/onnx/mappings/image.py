"""Images sampled at places that tensors give: GridSample, RoiAlign, DeformConv."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from ....ir import Expr
from ....operator import Dim
from ..emit import op
from ..errors import ModelError, NotSupported
from ..rules import Flag, Natural, Naturals, Positive, Positives, converts
from ._tools import (
    arange,
    at_least_0,
    cast,
    check_rank,
    check_shape,
    dtype,
    exactly,
    index,
    known,
    ndim,
    of_size,
    positions,
    reshape,
    room,
    scalar,
    sizes,
    transpose,
    unsqueeze,
)
from .window import add_bias, spatial, windows

if TYPE_CHECKING:
    from ..convert import NodeView

Ints = Sequence[int]


def _channels_last(x: Expr) -> Expr:
    """(N, C, *D) as (N, product of D, C)."""
    check_rank(x, 2)
    n, c, *dims = sizes(x)
    return transpose(reshape(x, (n, c, math.prod(dims))), (0, 2, 1))


def _reflected(x: Expr, low: float, span: Expr) -> Expr:
    """A place mirrored at two borders, of which the other is `span` from `low`, until it lies between them."""
    # A triangle wave: the distance from `low`, modulo twice the span, folded.
    turn = op.multiply(span, 2.0)
    distance = op.floor_mod(op.subtract(x, low), turn)
    folded = op.add(op.minimum(distance, op.subtract(turn, distance)), low)
    return op.where(op.greater(span, 0.0), folded, op.multiply(x, 0.0))


class _Axis:
    """One spatial axis of an image that is sampled at places of a dtype: its extent, and what lies outside."""

    def __init__(self, extent: Dim, padding: str, align_corners: bool, kind: str) -> None:
        self.extent = cast(of_size(extent), kind)
        self.last = cast(of_size(extent - 1), kind)
        self.padding = padding
        self.align_corners = align_corners

    def place(self, g: Expr) -> Expr:
        """The place of a coordinate in -1..1."""
        if self.align_corners:
            return op.multiply(op.add(g, 1.0), op.multiply(self.last, 0.5))
        return op.multiply(op.subtract(op.multiply(op.add(g, 1.0), self.extent), 1.0), 0.5)

    def inside(self, x: Expr) -> Expr:
        """A place outside the borders moved to where the padding says."""
        if self.padding == "border":
            return op.minimum(op.maximum(x, 0.0), self.last)
        if self.padding == "reflection":
            return _reflected(x, *(0.0, self.last) if self.align_corners else (-0.5, self.extent))
        return x

    def pixel(self, x: Expr) -> tuple[Expr, Expr | None]:
        """The index of the pixel at a whole place, and whether there is one (None: always)."""
        if self.padding == "zeros":
            held = op.logical_and(op.greater_equal(x, 0.0), op.less_equal(x, self.last))
            return op.cast(op.minimum(op.maximum(x, 0.0), self.last), dtype="int64"), held
        moved = op.trunc(self.inside(x)) if self.padding == "reflection" else x
        return op.cast(op.minimum(op.maximum(moved, 0.0), self.last), dtype="int64"), None


Tap = tuple[Expr, "Expr | None", "Expr | None"]
"""An index, whether there is a pixel (None: yes), its weight (None: 1)."""


def _taps(axis: _Axis, x: Expr, mode: str) -> list[Tap]:
    if mode == "nearest":
        return [(*axis.pixel(op.round(x)), None)]
    base = op.floor(x)
    ratio = op.subtract(x, base)
    if mode == "linear":
        weights = [op.subtract(1.0, ratio), ratio]
        offsets = [0.0, 1.0]
    else:
        offsets = [-1.0, 0.0, 1.0, 2.0]
        weights = [_cubic_weight(op.abs(op.subtract(ratio, offset))) for offset in offsets]
    return [(*axis.pixel(op.add(base, o)), w) for o, w in zip(offsets, weights, strict=True)]


def _cubic_weight(t: Expr, a: float = -0.75) -> Expr:
    """Keys 1981."""
    near = op.add(op.multiply(op.multiply(op.subtract(op.multiply(t, a + 2), a + 3), t), t), 1.0)
    inner = op.add(op.multiply(op.subtract(op.multiply(t, a), 5 * a), t), 8 * a)
    far = op.subtract(op.multiply(inner, t), 4 * a)
    return op.where(op.less_equal(t, 1.0), near, far)


def interpolated(flat: Expr, extents: Sequence[Dim], taps: Sequence[Sequence[Tap]]) -> Expr:
    """(N, D, C) sampled: the sum over one tap an axis of the product of weights times the pixel; (N, *O, C)."""
    total: Expr | None = None
    for chosen in itertools.product(*taps):
        place: Expr | None = None
        weight: Expr | None = None
        for d, (at, held, share) in enumerate(chosen):
            stride = math.prod(extents[d + 1 :])
            step = at if isinstance(stride, int) and stride == 1 else op.multiply(at, of_size(stride))
            place = step if place is None else op.add(place, step)
            for factor in (share, None if held is None else op.cast(held, dtype=dtype(flat))):
                if factor is not None:
                    weight = factor if weight is None else op.multiply(weight, factor)
        assert place is not None
        pixels = op.gather_nd(flat, op.expand_dims(place, axis=ndim(place)), batch_dims=1)
        if weight is not None:
            pixels = op.multiply(pixels, op.expand_dims(weight, axis=ndim(weight)))
        total = pixels if total is None else op.add(total, pixels)
    assert total is not None
    return total


_MODES = {
    "bilinear": "linear",
    "bicubic": "cubic",
    "linear": "linear",
    "cubic": "cubic",
    "nearest": "nearest",
}


@converts("GridSample", since=16)
def grid_sample(
    x: Expr,
    grid: Expr,
    *,
    align_corners: Flag = 0,
    mode: Literal["linear", "bilinear", "nearest", "cubic", "bicubic"] = "linear",
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros",
) -> Expr:
    extents = spatial(x)
    way = _MODES[mode]
    if len(extents) == 2 and way != "cubic" and padding_mode != "reflection" and dtype(grid) == dtype(x):
        return op.grid_sample(
            x,
            transpose(grid, (0, 3, 1, 2)),
            method="nearest" if way == "nearest" else "bilinear",
            padding_mode=padding_mode,
            align_corners=bool(align_corners),
        )
    wide = "float64" if dtype(x) == "float64" else "float32"
    points = cast(grid, wide)
    taps = []
    for d, extent in enumerate(extents):
        axis = _Axis(extent, padding_mode, bool(align_corners), wide)
        taps.append(
            _taps(
                axis,
                axis.inside(axis.place(index(points, ndim(grid) - 1, len(extents) - 1 - d))),
                way,
            )
        )
    made = interpolated(cast(_channels_last(x), wide), extents, taps)
    order = (0, ndim(made) - 1, *range(1, ndim(made) - 1))
    return cast(transpose(made, order), dtype(x))


@converts("DeformConv", since=19)
def deform_conv(
    x: Expr,
    w: Expr,
    offset: Expr,
    bias: Expr | None = None,
    mask: Expr | None = None,
    *,
    dilations: Positives | None = None,
    group: Positive = 1,
    kernel_shape: Positives | None = None,
    offset_group: Positive = 1,
    pads: Naturals | None = None,
    strides: Positives | None = None,
) -> Expr:
    """Each tap of the filter is moved by an offset, and interpolated there (zeros outside)."""
    if ndim(x) != 4:
        raise NotSupported("a deformable convolution over other than two axes")
    filters_given, _, *filter_extents = exactly(w, 4)
    moved = windows(spatial(x), filter_extents, strides, dilations, pads)
    n, c, *extents = sizes(x)
    channels = known(c, 1)
    kernel, steps = moved.kernel, math.prod(moved.kernel)
    check_shape("offset", offset, (n, offset_group * steps * 2, *moved.counts))
    out = [at_least_0(size) for size in sizes(offset)[2:]]
    batch = n * offset_group
    flat = _channels_last(reshape(x, (batch, channels // offset_group, *extents)))
    offsets = reshape(offset, (batch, *kernel, 2, *out))
    taps = []
    for d in range(2):
        places = op.transpose(moved.open_places(d, out[d]), axes=(1, 0))  # (taps of this axis, windows)
        along = unsqueeze(places, [k for k in range(4) if k not in (d, 2 + d)])
        moved_by = index(offsets, 3, d)  # (batch, *kernel, *out)
        axis = _Axis(extents[d], "zeros", True, dtype(x))
        taps.append(_taps(axis, op.add(moved_by, cast(along, dtype(x))), "linear"))
    columns = interpolated(flat, extents, taps)  # (batch, *kernel, *out, channels)
    if mask is not None:
        columns = op.multiply(columns, reshape(mask, (batch, *kernel, *out, 1)))
    count = math.prod(out)
    columns = transpose(reshape(columns, (batch, steps, count, channels // offset_group)), (0, 3, 1, 2))
    columns = reshape(columns, (n, group, channels // group * steps, count))
    filters = reshape(w, (1, group, filters_given // group, channels // group * steps))
    return add_bias(reshape(op.matmul(filters, columns), (n, filters_given, *out)), bias)


@converts("RoiAlign", since=10)
def roi_align_10(
    x: Expr,
    rois: Expr,
    batch: Expr,
    *,
    mode: Literal["avg", "max"] = "avg",
    output_height: Positive = 1,
    output_width: Positive = 1,
    sampling_ratio: Natural = 0,
    spatial_scale: float = 1.0,
    node: NodeView,
) -> Expr:
    return roi_align(
        x,
        rois,
        batch,
        coordinate_transformation_mode="output_half_pixel",
        mode=mode,
        output_height=output_height,
        output_width=output_width,
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
        node=node,
    )


@converts("RoiAlign", since=16)
def roi_align(
    x: Expr,
    rois: Expr,
    batch: Expr,
    *,
    coordinate_transformation_mode: Literal["half_pixel", "output_half_pixel"] = "half_pixel",
    mode: Literal["avg", "max"] = "avg",
    output_height: Positive = 1,
    output_width: Positive = 1,
    sampling_ratio: Natural = 0,
    spatial_scale: float = 1.0,
    node: NodeView,
) -> Expr:
    """Regions in bins, each the mean or the greatest of its samples (He et al., Mask R-CNN, ICCV 2017)."""
    half = coordinate_transformation_mode == "half_pixel"
    for each, rank in ((x, 4), (rois, 2), (batch, 1)):
        check_rank(each, rank, rank)
    n, c, height, width = sizes(x)
    kind, count = dtype(x), sizes(rois)[0]
    corners = op.subtract(op.multiply(rois, spatial_scale), 0.5 if half else 0.0)

    def samples(low: int, high: int, bins: int) -> tuple[Expr, Expr, int]:
        """Places (R, bins * most), how many samples of a bin a region has (R), and the most."""
        start = index(corners, 1, low)
        length = op.subtract(index(corners, 1, high), start)
        if not half:
            length = op.maximum(length, 1.0)
        size = op.divide(length, float(bins))
        if sampling_ratio > 0:
            number, most = (
                op.multiply(op.add(op.multiply(size, 0.0), 1.0), float(sampling_ratio)),
                sampling_ratio,
            )
        else:
            number = op.maximum(op.ceil(size), 1.0)
            most = 1 if count == 0 else int(node.value(op.max(number, keepdims=False)))
        room(bins, most)
        bin_of = np.repeat(arange(bins), most).astype(kind.numpy)[None]
        step = (np.tile(arange(most), bins) + 0.5).astype(kind.numpy)[None]
        column = [reshape(e, (count, 1)) for e in (start, size, number)]
        inner = op.add(op.multiply(column[1], bin_of), op.multiply(step, op.divide(column[1], column[2])))
        return op.add(column[0], inner), number, most

    y, rows, most_rows = samples(1, 3, output_height)
    u, columns, most_columns = samples(0, 2, output_width)
    flat = reshape(transpose(x, (0, 2, 3, 1)), (n * height * width, c))

    def ends(place: Expr, extent: Dim, axis: int) -> list[tuple[Expr, Expr]]:
        """The two pixels around a place with their weights, none outside; shaped (R, rows, columns)."""
        behind, last, before = (cast(of_size(at_least_0(extent - k)), kind) for k in range(3))
        outside = op.logical_or(op.less(place, -1.0), op.greater(place, behind))
        held = op.minimum(op.maximum(place, 0.0), last)
        base = op.minimum(op.floor(held), before)
        ratio = op.subtract(held, base)
        keep = op.cast(op.logical_not(outside), dtype=kind)
        found = []
        for offset, weight in ((0.0, op.subtract(1.0, ratio)), (1.0, ratio)):
            at = op.cast(op.minimum(op.add(base, offset), last), dtype="int64")
            found.append(
                (op.expand_dims(at, axis=axis), op.expand_dims(op.multiply(weight, keep), axis=axis))
            )
        return found

    first = unsqueeze(op.multiply(cast(batch, "int64"), of_size(height * width)), (1, 2))
    parts = []
    for (i, wi), (j, wj) in itertools.product(ends(y, height, 2), ends(u, width, 1)):
        place = op.add(op.add(op.multiply(i, of_size(width)), j), first)
        pixels = op.take(flat, place, axis=0)
        parts.append(op.multiply(pixels, op.expand_dims(op.multiply(wi, wj), axis=3)))
    grid = (count, output_height, most_rows, output_width, most_columns)

    def valid(number: Expr, most: int, axis: int) -> Expr:
        held = op.less(arange(most).astype(kind.numpy)[None], reshape(number, (count, 1)))
        return reshape(held, [count if d == 0 else most if d == axis else 1 for d in range(6)])

    inside = op.logical_and(valid(rows, most_rows, 2), valid(columns, most_columns, 4))
    if mode == "max":
        best = parts[0]
        for part in parts[1:]:
            best = op.maximum(best, part)
        best = op.where(inside, reshape(best, (*grid, c)), scalar(-math.inf, kind))
        pooled = op.max(best, axis=(2, 4), keepdims=False)
    else:
        total = parts[0]
        for part in parts[1:]:
            total = op.add(total, part)
        total = op.where(inside, reshape(total, (*grid, c)), scalar(0.0, kind))
        number = reshape(op.multiply(rows, columns), (count, 1, 1, 1))
        pooled = op.divide(op.sum(total, axis=(2, 4), keepdims=False), number)
    return transpose(pooled, (0, 3, 1, 2))


@converts("MaxRoiPool")
def max_roi_pool(x: Expr, rois: Expr, *, pooled_shape: Positives, spatial_scale: float = 1.0) -> Expr:
    """Regions (batch, x1, y1, x2, y2) in bins, the greatest of each; 0 where a bin is empty (Girshick 2015)."""
    if len(pooled_shape) != 2:
        raise ModelError(f"pooled_shape {list(pooled_shape)}, expected two numbers")
    for each, rank in ((x, 4), (rois, 2)):
        check_rank(each, rank, rank)
    extents, count, kind = sizes(x), sizes(rois)[0], dtype(x)
    images = op.take(x, op.cast(index(rois, 1, 0), dtype="int64"), axis=0)  # (R, C, H, W)
    for axis, low in ((3, 1), (2, 2)):
        extent, bins = extents[axis], pooled_shape[axis - 2]
        # Halves are rounded away from zero.
        first, last = (
            op.floor(op.add(op.multiply(index(rois, 1, k), spatial_scale), 0.5)) for k in (low, low + 2)
        )
        size = op.divide(op.maximum(op.add(op.subtract(last, first), 1.0), 1.0), float(bins))
        size, first = reshape(size, (count, 1)), reshape(first, (count, 1))
        step = arange(bins).astype(kind.numpy)[None]
        begin = reshape(op.add(op.floor(op.multiply(size, step)), first), (count, bins, 1))
        end = reshape(op.add(op.ceil(op.multiply(size, step + 1)), first), (count, bins, 1))
        place = cast(positions(extent, 3, 2), kind)
        inside = op.logical_and(op.greater_equal(place, begin), op.less(place, end))
        mask = reshape(inside, (count, 1, 1, bins, extent) if axis == 3 else (count, 1, bins, extent, 1))
        spread = op.expand_dims(images, axis=axis)
        images = op.max(op.where(mask, spread, scalar(-math.inf, kind)), axis=(axis + 1,), keepdims=False)
    return op.where(op.equal(images, -math.inf), scalar(0.0, kind), images)
