"""Operators on shapes and layouts of tensors, and constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from ....base.vocabulary import DType
from ....ir import Expr, const
from ....operator import Dim, broadcast, dims_equal, shape_text
from ..element_types import dtype_of
from ..emit import op
from ..errors import ModelError, NotSupported
from ..limits import spending
from ..narrow import Narrow, carried, narrow_dtype
from ..rules import Flag, Positive, Rename, converts, renames
from ._tools import (
    arange,
    at_least,
    axes_of,
    axis_of,
    broadcast_shape,
    concatenate,
    dtype,
    exactly,
    extent,
    full,
    ndim,
    reshape,
    room,
    shape,
    sizes,
    take_slice,
    tensor_type,
    transpose,
    unsqueeze,
)

if TYPE_CHECKING:
    from ..convert import NodeView

_FOREVER: Final = (1 << 31) - 1  # as the end of a slice
Ints = Sequence[int]
Dims = Sequence[Any]
Array = np.ndarray
Scalar = Any

TABLE: Final = (Rename("Transpose", "transpose", attributes={"perm": "axes"}),)
renames(TABLE)


@converts("Constant")
def constant(
    *,
    value: Array | None = None,
    sparse_value: Array | None = None,
    value_float: float | None = None,
    value_floats: Sequence[float] | None = None,
    value_int: int | None = None,
    value_ints: Sequence[int] | None = None,
) -> Expr | Narrow:
    array = sparse_value if value is None else value
    if array is not None:
        kind = narrow_dtype(array.dtype)
        return const(array) if kind is None else Narrow(const(carried(array)), kind)
    if value_float is not None or value_floats is not None:
        return const(np.array(value_float if value_floats is None else value_floats, np.float32))
    if value_int is None and value_ints is None:
        raise NotSupported("a constant that is no tensor of numbers")
    return const(np.array(value_int if value_ints is None else value_ints, np.int64))


@converts("ConstantOfShape", since=9)
def constant_of_shape(to: Ints, *, value: Array | None = None) -> Expr:
    return full(
        to, 0.0 if value is None else value.reshape(())[()], "float32" if value is None else value.dtype.name
    )


@converts("Shape")
def shape_of(x: Expr, *, start: int = 0, end: int | None = None) -> Expr:
    return const(np.array(shape(x)[start:end], np.int64))


@converts("Size")
def size_of(x: Expr) -> Expr:
    return const(np.array(math.prod(shape(x)), np.int64))


@converts("Reshape", since=5)
def reshape_to(x: Expr, to: Dims, *, allowzero: Flag = 0) -> Expr:
    """A 0 keeps the input's extent, unless `allowzero`; one -1 stands for what is left."""
    if not all([isinstance(n, int) for n in to]):
        return reshape(x, [sizes(x)[k] if n == 0 and not allowzero else n for k, n in enumerate(to)])
    kept = [k for k, n in enumerate(to) if n == 0 and not allowzero]
    if min(to, default=0) < -1 or to.count(-1) > 1 or max(kept, default=0) > ndim(x) - 1 + (not kept):
        raise ModelError(f"a tensor of shape {shape_text(sizes(x))} cannot have the shape {list(to)}")
    if not tensor_type(x).is_static:
        return _reshape_open(x, to, bool(allowzero))
    found = [extent(x, k) if k in kept else n for k, n in enumerate(to)]
    if -1 in found:
        known = math.prod(n for n in found if n != -1)
        found[found.index(-1)] = math.prod(shape(x)) // known if known else 0
    return reshape(x, found)


def _reshape_open(x: Expr, to: Ints, allowzero: bool) -> Expr:
    """As the op's attr has it: a 0 there keeps the input's extent, too."""
    if 0 in to and allowzero:
        raise NotSupported(f"a tensor of shape {shape_text(sizes(x))} without elements")
    return op.reshape(x, newshape=tuple(to))


@converts("Flatten")
def flatten(x: Expr, *, axis: int = 1) -> Expr:
    at = axis + ndim(x) if axis < 0 else axis
    if not 0 <= at <= ndim(x):
        raise ModelError(f"axis {axis} of a tensor of rank {ndim(x)}")
    parts = [sizes(x)[:at], sizes(x)[at:]]
    if not tensor_type(x).is_static:
        if at == 1:
            return op.reshape(x, newshape=(0, -1))
        whole = [tuple([n for n in part if isinstance(n, int)]) for part in parts]
        made = [math.prod(a) if len(a) == len(b) else -1 for a, b in zip(whole, parts, strict=True)]
        return _reshape_open(x, made, allowzero=True)
    return reshape(x, [math.prod(part) for part in parts])


@converts("Squeeze")
def squeeze_1(x: Expr, *, axes: Ints | None = None) -> Expr:
    return squeeze(x, axes)


@converts("Squeeze", since=13)
def squeeze(x: Expr, axes: Ints | None = None) -> Expr:
    dropped = tuple(d for d, n in enumerate(shape(x)) if n == 1) if axes is None else axes_of(axes, ndim(x))
    wrong = [d for d in dropped if sizes(x)[d] != 1 and isinstance(sizes(x)[d], int)]
    if wrong:  # where an extent is open, a run shows what it is
        raise ModelError(f"axis {wrong[0]} of a tensor of shape {shape_text(sizes(x))} cannot be dropped")
    if not tensor_type(x).is_static:
        return op.squeeze(x, axis=dropped) if dropped else x
    return reshape(x, [n for d, n in enumerate(sizes(x)) if d not in dropped])


@converts("Unsqueeze")
def unsqueeze_1(x: Expr, *, axes: Ints) -> Expr:
    return unsqueeze(x, axes)


@converts("Unsqueeze", since=13)
def unsqueeze_13(x: Expr, axes: Ints) -> Expr:
    return unsqueeze(x, axes)


@converts("Concat")
def concat(*parts: Expr, axis: int = 1) -> Expr:
    return concatenate(parts, axis)


@converts("Split")
def split_2(x: Expr, *, axis: int = 0, split: Ints | None = None, node: NodeView) -> tuple[Expr, ...]:
    return split_18(x, split, axis=axis, node=node)


@converts("Split", since=13)
def split_18(
    x: Expr,
    lengths: Ints | None = None,
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
    if lengths is None:
        each = -(-extent(x, at) // count)
        lengths = [max(min(each, extent(x, at) - k * each), 0) for k in range(count)]
    return split_parts(x, at, lengths)


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
def slice_10(x: Expr, starts: Ints, ends: Ints, axes: Ints | None = None, steps: Ints | None = None) -> Expr:
    named = axes_of(range(len(starts)) if axes is None else axes, ndim(x))
    steps = (1,) * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(steps) == len(named) or 0 in steps:
        raise ModelError(f"starts {list(starts)}, ends {list(ends)}, axes {list(named)}, steps {list(steps)}")
    asked = list(zip(starts, ends, steps, named, strict=True))
    for each in [each for each in asked if not isinstance(sizes(x)[each[3]], int)]:
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


def _cut_open(x: Expr, start: int, end: int, step: int, axis: int) -> Expr:
    """A slice of an axis that may have any extent."""
    others = [n for d, n in enumerate(sizes(x)) if d != axis and isinstance(n, int)]
    if (start, step) == (0, 1) and (end >= _FOREVER or not spending().allows((*others, end), dtype(x))):
        return x  # whole: it cannot be as long as that
    start, end = (max(-_FOREVER, min(place, _FOREVER)) for place in (start, end))
    return op.strided_slice(x, begin=(start,), end=(end,), strides=(step,), axes=(axis,))


def _cut(x: Expr, named: Sequence[int], cuts: Sequence[tuple[int, int, int]]) -> list[int]:
    """The extents of `x` with the named axes cut."""
    return [len(range(*cuts[named.index(d)])) if d in named else n for d, n in enumerate(shape(x))]


@converts("Expand", since=8)
def expand(x: Expr, to: Dims) -> Expr:
    if not tensor_type(x).is_static or not all([isinstance(n, int) for n in to]):
        found = broadcast(sizes(x), to)
        same = len(found) == ndim(x) and all(map(dims_equal, found, sizes(x)))
        return x if same else op.broadcast_to(x, shape=found)
    spending().check(to)
    result = broadcast_shape(shape(x), to)
    return x if result == shape(x) else op.broadcast_to(x, shape=result)


@converts("Tile", since=6)
def tile(x: Expr, repeats: Ints) -> Expr:
    if len(repeats) != ndim(x) or min(repeats, default=0) < 0:
        raise ModelError(f"repeats {list(repeats)} of a tensor of rank {ndim(x)}")
    return op.tile(x, reps=tuple(repeats))


@converts("Range", since=11)
def range_of(start: Array, limit: Array, delta: Array) -> Expr:
    if any(each.size != 1 for each in (start, limit, delta)):
        raise ModelError(
            f"a range of shapes {start.shape}, {limit.shape}, {delta.shape}, expected three scalars"
        )
    first, last, step = (each.reshape(())[()].item() for each in (start, limit, delta))
    if not step or not all(map(math.isfinite, (first, last, step))):
        raise ModelError(f"a range from {first} to {last} in steps of {step}")
    wide = (last - first) / step if isinstance(step, float) else -((first - last) // step)
    count = max(math.ceil(wide), 0)
    return const((first + arange(count) * step).astype(start.dtype))


@converts("EyeLike", since=9)
def eye_like(x: Expr, *, dtype: int | None = None, k: int = 0) -> Expr:
    kind = _dtype(x) if dtype is None else dtype_of(dtype)
    rows, columns = exactly(x, 2)
    room(rows, columns)
    return const(np.eye(rows, columns, k).astype(kind.numpy))


def _dtype(x: Expr) -> DType:
    return dtype(x)


@converts("Trilu", since=14)
def trilu(x: Expr, k: Scalar | None = None, *, upper: Flag = 1) -> Expr:
    return op.trilu(x, k=k or 0, upper=bool(upper))


@converts("Pad")
def pad_2(
    x: Expr,
    *,
    mode: Literal["constant", "reflect", "edge", "wrap"] = "constant",
    pads: Ints,
    value: float = 0.0,
) -> Expr:
    return pad(x, pads, value, mode=mode)


@converts("Pad", since=11)
def pad(
    x: Expr,
    pads: Ints,
    value: Scalar | None = None,
    axes: Ints | None = None,
    *,
    mode: Literal["constant", "reflect", "edge", "wrap"] = "constant",
) -> Expr:
    """Pads of the named axes, begins then ends; a negative one cuts."""
    named = axes_of(range(ndim(x)) if axes is None else axes, ndim(x))
    if len(pads) != 2 * len(named):
        raise ModelError(f"{len(pads)} pads, expected {2 * len(named)} for {len(named)} axes")
    low, high = [0] * ndim(x), [0] * ndim(x)
    for k, d in enumerate(named):
        low[d], high[d] = pads[k], pads[k + len(named)]
    for d in [d for d in range(ndim(x)) if low[d] < 0 or high[d] < 0]:
        if extent(x, d) + min(low[d], 0) + min(high[d], 0) < 0:
            raise ModelError(f"pads of {low[d]} and {high[d]} of an axis of extent {extent(x, d)}")
        x = take_slice(x, d, max(-low[d], 0), extent(x, d) - max(-high[d], 0))
    widths = tuple([n for pair in zip(low, high, strict=True) for n in (max(pair[0], 0), max(pair[1], 0))])
    if not any(widths):
        return x
    if mode != "constant":
        return op.pad(x, pad_width=widths, pad_mode=mode)
    return op.pad(x, pad_width=widths, pad_value=float(value or 0))


@converts("DepthToSpace")
def depth_to_space(x: Expr, *, blocksize: Positive, mode: Literal["DCR", "CRD"] = "DCR") -> Expr:
    n, c, *dims = _planes(x)
    k = len(dims)
    inner = _quotient(c, blocksize**k)
    blocks = [blocksize] * k
    if mode == "DCR":
        split = reshape(x, [n, *blocks, inner, *dims])
        order = [0, k + 1, *[axis for d in range(k) for axis in (k + 2 + d, 1 + d)]]
    else:
        split = reshape(x, [n, inner, *blocks, *dims])
        order = [0, 1, *[axis for d in range(k) for axis in (k + 2 + d, 2 + d)]]
    return reshape(transpose(split, order), [n, inner, *[d * blocksize for d in dims]])


def _planes(x: Expr) -> tuple[Dim, ...]:
    """The shape of a tensor of batch, channels and more.  Raises ModelError for one of fewer axes."""
    return sizes(x) if ndim(x) > 1 else at_least(x, 2)


def _quotient(size: Dim, parts: int) -> Dim:
    """A size in blocks; a run shows whether an open one can be divided."""
    if isinstance(size, int) and size % parts:
        raise ModelError(f"an extent of {size} cannot be divided into blocks of {parts}")
    return size // parts


@converts("SpaceToDepth")
def space_to_depth(x: Expr, *, blocksize: Positive, mode: Literal["DCR", "CRD"] = "DCR") -> Expr:
    n, c, *dims = _planes(x)
    k = len(dims)
    split = reshape(x, [n, c, *[m for d in dims for m in (_quotient(d, blocksize), blocksize)]])
    offsets, places = [3 + 2 * d for d in range(k)], [2 + 2 * d for d in range(k)]
    order = [0, *offsets, 1, *places] if mode == "DCR" else [0, 1, *offsets, *places]
    return reshape(transpose(split, order), [n, c * blocksize**k, *[d // blocksize for d in dims]])


@converts("CenterCropPad", since=18)
def center_crop_pad(x: Expr, to: Ints, *, axes: Ints | None = None) -> Expr:
    named = axes_of(range(ndim(x)) if axes is None else axes, ndim(x))
    widths = [0] * (2 * ndim(x))
    if len(to) != len(named) or min(to, default=0) < 0:
        raise ModelError(f"the extents {list(to)} of {len(named)} axes")
    for d, wanted in zip(named, to, strict=True):
        length = extent(x, d)
        if wanted < length:
            begin = (length - wanted) // 2
            x = take_slice(x, d, begin, begin + wanted)
        else:
            widths[2 * d] = (wanted - length) // 2
            widths[2 * d + 1] = wanted - length - widths[2 * d]
    return op.pad(x, pad_width=tuple(widths)) if any(widths) else x
