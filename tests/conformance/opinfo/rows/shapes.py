"""What moves, joins, cuts and repeats elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy

from opgen_runtime import ops

from ..adapter import adapts, table

np: Any = numpy

table({"fliplr": np.fliplr, "flipud": np.flipud, "kron": np.kron,
       "ravel": np.ravel, "T": np.transpose, "t": np.transpose, "t_copy": np.transpose,
       "mT": np.matrix_transpose, "H": np.transpose, "mH": np.matrix_transpose,
       "hsplit": np.hsplit, "vsplit": np.vsplit, "dsplit": np.dsplit, "movedim": np.moveaxis})  # fmt: skip
table({name: (lambda stack: lambda *arrays: stack(_list(arrays)))(getattr(np, name))
       for name in ("hstack", "vstack", "dstack", "column_stack")})  # fmt: skip
table({name: (lambda at_least: lambda *arrays: _each(at_least, _list(arrays)))(getattr(np, name))
       for name in ("atleast_1d", "atleast_2d", "atleast_3d")})  # fmt: skip
table({"fft.fftshift": lambda a, dim=None: np.fft.fftshift(a, dim),
       "fft.ifftshift": lambda a, dim=None: np.fft.ifftshift(a, dim)})  # fmt: skip
table({"broadcast_tensors": lambda *arrays: np.broadcast_arrays(*_list(arrays))})


def _each(function: Callable[[Any], Any], arrays: Any) -> Any:
    """One result of one tensor, a tuple of several."""
    found = tuple(function(each) for each in (arrays if isinstance(arrays, list | tuple) else (arrays,)))
    return found if len(found) > 1 else found[0]


def _list(arrays: tuple[Any, ...]) -> Any:
    return arrays[0] if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else arrays


def _sizes(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(_list(sizes))


@adapts("reshape", "view", "view_copy", "_unsafe_view")
def reshape(a: Any, *shape: Any) -> Any:
    return np.reshape(a, _sizes(shape))


@adapts("reshape_as", "view_as")
def reshape_as(a: Any, other: Any) -> Any:
    return np.reshape(a, other.shape)


@adapts("flatten")
def flatten(a: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    first, last = (d % max(a.ndim, 1) for d in (start_dim, end_dim))
    return np.reshape(a, (*a.shape[:first], -1, *a.shape[last + 1 :])) if a.size else _flat(a, first, last)


def _flat(a: Any, first: int, last: int) -> Any:
    return np.reshape(a, (*a.shape[:first], int(np.prod(a.shape[first : last + 1])), *a.shape[last + 1 :]))


@adapts("unflatten")
def unflatten(a: Any, dim: int, sizes: Any) -> Any:
    at = dim % a.ndim
    return np.reshape(a, (*a.shape[:at], *sizes, *a.shape[at + 1 :]))


@adapts("squeeze", "squeeze_copy")
def squeeze(a: Any, dim: Any = None) -> Any:
    axes = range(a.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    return np.squeeze(a, tuple(d for d in axes if a.ndim and a.shape[d] == 1))


@adapts("unsqueeze", "unsqueeze_copy")
def unsqueeze(a: Any, dim: int) -> Any:
    return np.expand_dims(a, dim)


@adapts("transpose", "transpose_copy", "swapaxes")
def transpose(a: Any, dim0: int, dim1: int) -> Any:
    return np.swapaxes(a, dim0, dim1) if a.ndim else a


@adapts("permute", "permute_copy")
def permute(a: Any, *order: Any) -> Any:
    return np.transpose(a, _sizes(order))


@adapts("flip")
def flip(a: Any, dims: Any) -> Any:
    return np.flip(a, tuple(dims))


@adapts("roll")
def roll(a: Any, shifts: Any, dims: Any = None) -> Any:
    return np.roll(a, shifts, None if dims in (None, ()) else dims)


@adapts("rot90")
def rot90(a: Any, k: int = 1, dims: Any = (0, 1)) -> Any:
    return np.rot90(a, k, tuple(dims))


@adapts("tile", "repeat")
def tile(a: Any, *reps: Any) -> Any:
    return np.tile(a, _sizes(reps))


@adapts("expand", "expand_copy", "broadcast_to")
def expand(a: Any, *shape: Any) -> Any:
    sizes = _sizes(shape)
    own = (1,) * (len(sizes) - a.ndim) + tuple(a.shape)
    return np.broadcast_to(a, tuple(d if size == -1 else size for d, size in zip(own, sizes, strict=True)))


@adapts("expand_as")
def expand_as(a: Any, other: Any) -> Any:
    return np.broadcast_to(a, other.shape)


@adapts("cat")
def cat(arrays: Any, dim: int = 0) -> Any:
    return np.concatenate(arrays, dim)


@adapts("stack")
def stack(arrays: Any, dim: int = 0) -> Any:
    return np.stack(arrays, dim)


@adapts("chunk", "unsafe_chunk")
def chunk(a: Any, chunks: int, dim: int = 0) -> Any:
    return split(a, -(-a.shape[dim] // chunks), dim)


@adapts("split", "unsafe_split", "split_with_sizes", "split_with_sizes_copy")
def split(a: Any, sizes: Any, dim: int = 0) -> Any:
    if isinstance(sizes, int):
        return np.split(a, range(sizes, a.shape[dim], sizes), dim)
    return np.split(a, np.cumsum(sizes)[:-1].tolist(), dim)


@adapts("tensor_split")
def tensor_split(a: Any, sections: Any = None, dim: int = 0, **indices: Any) -> Any:
    return np.array_split(a, *indices.values() or (sections,), dim)


@adapts("unbind", "unbind_copy")
def unbind(a: Any, dim: int = 0) -> Any:
    return np.unstack(a, axis=dim)


@adapts("narrow", "narrow_copy")
def narrow(a: Any, dim: int, start: Any, length: int) -> Any:
    if not isinstance(start, int):
        return np.take(a, start + np.arange(length), axis=dim)
    first = start % (a.shape[dim] or 1) if start < 0 else start
    return slice_(a, dim, first, first + length)


@adapts("select")
def select(a: Any, dim: int, index: int) -> Any:
    return a[(*[slice(None)] * (dim % a.ndim), index)]


@adapts("slice")
def slice_(a: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    return a[(*[slice(None)] * (dim % a.ndim), slice(start, end, step))]


@adapts("diagonal", "diagonal_copy")
def diagonal(a: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return np.diagonal(a, offset, dim1, dim2)


@adapts("linalg.diagonal")
def linalg_diagonal(a: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    return np.diagonal(a, offset, dim1, dim2)


@adapts("diag")
def diag(a: Any, diagonal: int = 0) -> Any:
    return np.diag(a, diagonal)


@adapts("diagflat")
def diagflat(a: Any, offset: int = 0) -> Any:
    return np.diagflat(a, offset)


def _triangle(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, diagonal=0: function(a, diagonal)


table({"tril": _triangle(np.tril), "triu": _triangle(np.triu)})


@adapts("meshgrid")
def meshgrid(*arrays: Any, indexing: str = "ij") -> Any:
    return np.meshgrid(*_list(arrays), indexing=indexing)


@adapts("constant_pad_nd")
def constant_pad_nd(a: Any, pad: Any, value: Any = 0) -> Any:
    return nn_pad(a, pad, "constant", value)


@adapts("nn.functional.pad")
def nn_pad(a: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    sides = [(0, 0)] * (a.ndim - len(pairs)) + [tuple(pair) for pair in pairs]
    if mode == "circular":  # what is cropped is not repeated
        a, sides = _cropped(a, sides), [(max(before, 0), max(after, 0)) for before, after in sides]
    widths = [(max(before, 0), max(after, 0)) for before, after in sides]
    if mode == "constant":
        made = ops.pad(a, pad_width=[side for pair in widths for side in pair], pad_value=value or 0)
    else:
        made = np.pad(a, widths, {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])
    return _cropped(made, sides)


def _cropped(a: Any, sides: Any) -> Any:
    """Without what negative widths take off each side of each axis."""
    for axis, (before, after) in enumerate(sides):
        if min(before, after) < 0:
            a = slice_(a, axis, max(-before, 0), a.shape[axis] + min(after, 0))
    return a


@adapts("select_scatter")
def select_scatter(a: Any, src: Any, dim: int, index: int) -> Any:
    return ops.put_slice(a, np.expand_dims(src, dim), axis=dim, start=index % a.shape[dim])


@adapts("slice_scatter")
def slice_scatter(a: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    first, last, step = slice(start, end, step).indices(a.shape[dim])
    return ops.strided_set(a, src, begin=(first,), end=(max(first, last),), strides=(step,), axes=(dim,))


@adapts("nn.functional.pixel_shuffle")
def pixel_shuffle(a: Any, upscale_factor: int) -> Any:
    return _images(lambda x: ops.depth_to_space(x, block_size=upscale_factor, mode="CRD"), a)


@adapts("nn.functional.pixel_unshuffle")
def pixel_unshuffle(a: Any, downscale_factor: int) -> Any:
    return _images(lambda x: ops.space_to_depth(x, block_size=downscale_factor, mode="CRD"), a)


def _images(function: Callable[..., Any], a: Any) -> Any:
    """What is said of stacks of images, of any number of leading axes."""
    made = function(np.reshape(a, (int(np.prod(a.shape[:-3])), *a.shape[-3:])))
    return np.reshape(made, (*a.shape[:-3], *made.shape[1:]))


@adapts("nn.functional.channel_shuffle")
def channel_shuffle(a: Any, groups: int) -> Any:
    return ops.channel_shuffle(a, groups=groups)


@adapts("diag_embed")
def diag_embed(a: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    return ops.diag_embed(a, offset=offset, axis1=dim1, axis2=dim2)


@adapts("diagonal_scatter")
def diagonal_scatter(a: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    made = ops.matrix_set_diag(np.moveaxis(a, (dim1, dim2), (-2, -1)), src, k=(offset,))
    return np.moveaxis(made, (-2, -1), (dim1, dim2))


@adapts("nn.functional.unfold")
def unfold_blocks(a: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    two = [
        (each, each) if isinstance(each, int) else tuple(each)
        for each in (kernel_size, dilation, padding, stride)
    ]
    return ops.im2col(a, block_shape=two[0], dilations=two[1], pads=(*two[2], *two[2]), strides=two[3])


@adapts("unfold", "unfold_copy")
def unfold(a: Any, dim: int, size: int, step: int) -> Any:
    if not a.ndim:
        return np.reshape(a, (size,))
    windows = np.lib.stride_tricks.sliding_window_view(a, size, axis=dim)
    return slice_(windows, dim % a.ndim, None, None, step)


@adapts("to")
def to(a: Any, *args: Any, dtype: Any = None, **ignored: Any) -> Any:
    found = dtype or next((each for each in args if isinstance(each, np.dtype)), None)
    like = next((each.dtype for each in args if hasattr(each, "shape") and hasattr(each, "dtype")), None)
    return np.astype(a, found if found is not None else like if like is not None else a.dtype)


@adapts("block_diag")
def block_diag(*arrays: Any) -> Any:
    parts = [np.atleast_2d(each) for each in _list(arrays)]
    width = sum(each.shape[1] for each in parts)
    rows, before = [], 0
    for each in parts:
        rows.append(np.pad(each, ((0, 0), (before, width - before - each.shape[1]))))
        before += each.shape[1]
    return np.concatenate(rows, 0)


@adapts("combinations")
def combinations(a: Any, r: int = 2, with_replacement: bool = False) -> Any:
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.asarray(list(choose(np.arange(a.shape[0]).tolist(), r)), np.int64)
    return np.take(a, np.reshape(places, (-1, r)), axis=0)


@adapts("cartesian_prod")
def cartesian_prod(*arrays: Any) -> Any:
    parts = _list(arrays)
    return (
        parts[0]
        if len(parts) == 1
        else np.stack([np.ravel(x) for x in np.meshgrid(*parts, indexing="ij")], -1)
    )
