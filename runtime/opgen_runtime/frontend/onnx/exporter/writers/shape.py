"""Shapes: other shapes of the same elements, and elements that come several times."""

from __future__ import annotations

from collections.abc import Sequence

from ..nodes import Nodes, NoStandard, Value
from ..registry import writes
from ..sizes import size, sizes
from ._tools import cast, laid, laid_back, norm_axes, reshaped, result_shaped, transposed


@writes("reshape")
def reshape(to: Nodes, data: Value, **attrs: object) -> Value:
    return result_shaped(to, data)


@writes("batch_flatten")
def batch_flatten(to: Nodes, data: Value) -> Value:
    return to("Flatten", data, axis=1)


@writes("transpose")
def transpose(to: Nodes, data: Value, *, axes: tuple[int, ...] | None) -> Value:
    order = range(data.ndim)
    return transposed(to, data, order[::-1] if axes is None else [axis % data.ndim for axis in axes])


@writes("layout_transform")
def layout_transform(to: Nodes, data: Value, *, src_layout: str, dst_layout: str) -> Value:
    return laid(to, data, src_layout, dst_layout)


@writes("expand_dims")
def expand_dims(to: Nodes, data: Value, *, axis: int, num_newaxis: int) -> Value:
    if not num_newaxis:
        return data
    first = axis if axis >= 0 else axis + data.ndim + 1
    return to("Unsqueeze", data, to.ints(*range(first, first + num_newaxis)))


@writes("squeeze")
def squeeze(to: Nodes, data: Value, *, axis: tuple[int, ...] | None) -> Value:
    axes = (
        [d for d, size in enumerate(data.dims) if size == 1] if axis is None else norm_axes(axis, data.ndim)
    )
    return to("Squeeze", data, to.ints(*axes)) if axes else data


@writes("concatenate")
def concatenate(to: Nodes, data: Sequence[Value], *, axis: int) -> Value:
    return to("Concat", *data, axis=axis)


@writes("stack")
def stack(to: Nodes, data: Sequence[Value], *, axis: int) -> Value:
    new = to.ints(axis)
    return to("Concat", *[to("Unsqueeze", each, new) for each in data], axis=axis)


@writes("split")
def split(to: Nodes, data: Value, *, axis: int, **attrs: object) -> tuple[Value, ...]:
    extents = [type_.shape[axis] for type_ in to.types]
    return to.several("Split", data, sizes(to, extents), axis=axis, gives=[data.dtype] * len(extents))


@writes("broadcast_to")
def broadcast_to(to: Nodes, data: Value, **attrs: object) -> Value:
    return to("Expand", data, sizes(to, to.types[0].shape))


@writes("tile")
def tile(to: Nodes, data: Value, *, reps: tuple[int, ...]) -> Value:
    rank = len(to.types[0].shape)
    if data.ndim < rank:
        data = reshaped(to, data, (*[1] * (rank - data.ndim), *data.dims))
    return to("Tile", data, sizes(to, (*[1] * (rank - len(reps)), *reps)))


@writes("repeat")
def repeat(to: Nodes, data: Value, *, repeats: int, axis: int | None) -> Value:
    """Each element on an axis of its own, which is repeated."""
    if not isinstance(repeats, int):
        raise NoStandard("how often is a size")
    whole = reshaped(to, data, (-1,)) if axis is None else data
    rank = 1 if axis is None else data.ndim
    behind = (0 if axis is None else axis % data.ndim) + 1
    times = [repeats if d == behind else 1 for d in range(rank + 1)]
    return result_shaped(to, to("Tile", to("Unsqueeze", whole, to.ints(behind)), to.ints(*times)))


@writes("meshgrid")
def meshgrid(to: Nodes, data: Sequence[Value], *, indexing: str) -> list[Value]:
    count = len(data)
    order = list(range(count))
    if indexing == "xy" and count > 1:
        order[:2] = [1, 0]
    found = []
    for place, each in enumerate(data):
        shape = [-1 if order[d] == place else 1 for d in range(count)]
        found.append(to("Expand", reshaped(to, each, shape), sizes(to, to.types[place].shape)))
    return found


@writes("depth_to_space")
def depth_to_space(to: Nodes, data: Value, *, block_size: int, layout: str, mode: str) -> Value:
    found = to("DepthToSpace", laid(to, data, layout, "NCHW"), blocksize=block_size, mode=mode)
    return laid_back(to, found, "NCHW", layout)


@writes("space_to_depth")
def space_to_depth(to: Nodes, data: Value, *, block_size: int, layout: str, mode: str) -> Value:
    if mode != "DCR":
        raise NoStandard("the channels come first")
    found = to("SpaceToDepth", laid(to, data, layout, "NCHW"), blocksize=block_size)
    return laid_back(to, found, "NCHW", layout)


@writes("argwhere")
def argwhere(to: Nodes, data: Value) -> Value:
    if not data.ndim:
        raise NoStandard("ONNX takes what has no axes for one with one")
    return transposed(to, to("NonZero", data, gives="int64"), (1, 0))


@writes("trilu")
def trilu(to: Nodes, data: Value, *, k: int, upper: bool) -> Value:
    return to("Trilu", data, to.number(k, "int64"), upper=upper)


@writes("reverse_sequence")
def reverse_sequence(to: Nodes, data: Value, seq_lengths: Value, *, seq_axis: int, batch_axis: int) -> Value:
    axes = (seq_axis % data.ndim, batch_axis % data.ndim)
    if sorted(axes) != [0, 1]:
        raise NoStandard("its axes are not the first two")
    whole = cast(to, seq_lengths, "int64")
    lengths = to("Clip", whole, to.number(0, "int64"), size(to, data.dims[seq_axis]))
    return to("ReverseSequence", data, lengths, time_axis=axes[0], batch_axis=axes[1])
