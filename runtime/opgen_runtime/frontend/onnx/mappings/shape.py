"""Operators on shapes and layouts of tensors, and constants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from ....base.arith import eq
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
    broadcast_shape,
    check_rank,
    concatenate,
    cut,
    dtype,
    extent,
    full,
    ndim,
    positions,
    reshape,
    room,
    shape,
    sizes,
    take_slice,
    tensor_type,
    transpose,
    unsqueeze,
    with_rest,
    within,
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
def constant_of_shape(to: Dims, *, value: Array | None = None) -> Expr:
    one = np.zeros((), np.float32) if value is None else value.reshape(())
    if not all([isinstance(n, int) for n in to]):
        return op.full(const(one), shape=tuple(to))
    return full(to, one[()], one.dtype.name)


@converts("Shape")
def shape_of(x: Expr, *, start: int = 0, end: int | None = None) -> Expr:
    return const(np.array(shape(x)[start:end], np.int64))  # open ones are sizes that the program knows


@converts("Size")
def size_of(x: Expr) -> Expr:
    return const(np.array(math.prod(shape(x)), np.int64))


@converts("Reshape", since=5)
def reshape_to(x: Expr, to: Dims, *, allowzero: Flag = 0) -> Expr:
    """A 0 keeps the input's extent, unless `allowzero`; one -1 stands for what is left."""
    if not all([isinstance(n, int) for n in to]):
        whole = [sizes(x)[k] if n == 0 and not allowzero and k < ndim(x) else n for k, n in enumerate(to)]
        return reshape(x, with_rest(sizes(x), whole))
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
def squeeze_1(x: Expr, *, axes: Ints | None = None, node: NodeView) -> Expr:
    return squeeze(x, axes, node=node)


@converts("Squeeze", since=13)
def squeeze(x: Expr, axes: Ints | None = None, *, node: NodeView) -> Expr:
    """Without axes those of one element; of open ones the sizes at hand say which."""
    dropped = (
        tuple(d for d, n in enumerate(sizes(x)) if (n == 1 if isinstance(n, int) else node.decides(eq(n, 1))))
        if axes is None
        else axes_of(axes, ndim(x))
    )
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
def tile(x: Expr, repeats: Dims) -> Expr:
    if len(repeats) != ndim(x) or min([n for n in repeats if isinstance(n, int)], default=0) < 0:
        raise ModelError(f"repeats {list(repeats)} of a tensor of rank {ndim(x)}")
    return op.tile(x, reps=tuple(repeats))


@converts("Range", since=11)
def range_of(start: Dim, limit: Dim, delta: Dim, *, node: NodeView) -> Expr:
    kind = node.dtype(0)
    if not all([isinstance(each, int | float) for each in (start, limit, delta)]):
        return op.arange(start=start, stop=limit, step=delta, dtype=kind)
    if not delta or not all(map(math.isfinite, (start, limit, delta))):
        raise ModelError(f"a range from {start} to {limit} in steps of {delta}")
    wide = (limit - start) / delta if isinstance(delta, float) else -((start - limit) // delta)
    count = max(math.ceil(wide), 0)
    return const(np.asarray(start + arange(count) * delta, kind.numpy))


@converts("EyeLike", since=9)
def eye_like(x: Expr, *, dtype: int | None = None, k: int = 0) -> Expr:
    kind = _dtype(x) if dtype is None else dtype_of(dtype)
    check_rank(x, 2, 2)
    if tensor_type(x).is_static:
        rows, columns = shape(x)
        room(rows, columns)
        return const(np.eye(rows, columns, k).astype(kind.numpy))
    diagonal = op.add(positions(sizes(x)[0], 2), k)
    return op.cast(op.equal(positions(sizes(x)[1]), diagonal), dtype=kind)


def _dtype(x: Expr) -> DType:
    return dtype(x)


@converts("Trilu", since=14)
def trilu(x: Expr, k: Dim | None = None, *, upper: Flag = 1) -> Expr:
    return op.trilu(x, k=0 if k is None else k, upper=bool(upper))


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
def center_crop_pad(x: Expr, to: Dims, *, axes: Ints | None = None) -> Expr:
    """What is too much is cut at both ends, what is too little added there."""
    named = axes_of(range(ndim(x)) if axes is None else axes, ndim(x))
    widths: list[Dim] = [0] * (2 * ndim(x))
    if len(to) != len(named) or min([n for n in to if isinstance(n, int)], default=0) < 0:
        raise ModelError(f"the extents {list(to)} of {len(named)} axes")
    for d, wanted in zip(named, to, strict=True):
        kept = within(wanted, sizes(x)[d])
        begin = (sizes(x)[d] - kept) // 2
        x = cut(x, d, begin, begin + kept)
        widths[2 * d] = (wanted - kept) // 2
        widths[2 * d + 1] = wanted - kept - widths[2 * d]
    return x if all([isinstance(n, int) and not n for n in widths]) else op.pad(x, pad_width=tuple(widths))
