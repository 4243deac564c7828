"""Elements by their positions, and in another order."""

from __future__ import annotations

from typing import Final

import numpy as np

from ..nodes import Nodes, NoStandard, Value
from ..registry import writes
from ..sizes import size
from ._tools import cast, reshaped, scalar

_REDUCTIONS: Final = {"update": "none", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _places(to: Nodes, indices: Value, extent: Value, mode: str, known: int | None) -> Value:
    """Positions inside an axis: clipped, or counted round."""
    given = indices.array
    if mode == "fast" or (given is not None and known is not None and _inside(given, known, mode)):
        return indices if indices.dtype in ("int32", "int64") else cast(to, indices, "int64")
    whole = cast(to, indices, "int64")
    if mode == "wrap":
        return to("Mod", whole, extent)
    return to("Clip", whole, to.number(0, "int64"), to("Sub", extent, to.number(1, "int64")))


def _inside(given: np.ndarray, extent: int, mode: str) -> bool:
    least = -extent if mode == "wrap" else 0
    return bool(np.all((given >= least) & (given < extent)))


@writes("take")
def take(to: Nodes, data: Value, indices: Value, *, axis: int | None, mode: str) -> Value:
    if axis is None:
        if not all([isinstance(n, int) for n in data.dims]):
            raise NoStandard("a tensor of an open shape is flattened")
        count = int(np.prod([int(n) for n in data.dims if isinstance(n, int)]))
        places = _places(to, indices, to.number(count, "int64"), mode, count)
        return to("Gather", reshaped(to, data, (-1,)), places, axis=0)
    extent = data.dims[axis]
    places = _places(to, indices, size(to, extent), mode, extent if isinstance(extent, int) else None)
    return to("Gather", data, places, axis=axis)


@writes("gather")
def gather(to: Nodes, data: Value, indices: Value, *, axis: int, mode: str) -> Value:
    """Operands whose other axes are cut to those of the positions."""
    along = axis % data.ndim
    if any([m != n for d, (m, n) in enumerate(zip(data.dims, indices.dims, strict=True)) if d != along]):
        raise NoStandard("the positions are fewer on other axes")
    whole, extent = cast(to, indices, "int64"), size(to, data.dims[axis])
    if mode == "wrap":
        return to("GatherElements", data, to("Mod", whole, extent), axis=axis)
    last = to("Sub", extent, to.number(1, "int64"))
    return to("GatherElements", data, to("Clip", whole, to("Neg", extent), last), axis=axis)


@writes("gather_nd")
def gather_nd(to: Nodes, data: Value, indices: Value, *, batch_dims: int) -> Value:
    return to("GatherND", data, cast(to, indices, "int64"), batch_dims=batch_dims)


@writes("scatter_nd")
def scatter_nd(to: Nodes, data: Value, indices: Value, updates: Value, *, mode: str) -> Value:
    if data.dtype.is_bool and mode != "update":
        raise NoStandard("bools are combined")
    return to("ScatterND", data, cast(to, indices, "int64"), updates, reduction=_REDUCTIONS[mode])


@writes("scatter_elements")
def scatter_elements(
    to: Nodes, data: Value, indices: Value, updates: Value, *, axis: int, reduction: str
) -> Value:
    if data.dtype.is_bool and reduction != "update":
        raise NoStandard("bools are combined")
    places = cast(to, indices, "int64")
    return to("ScatterElements", data, places, updates, axis=axis, reduction=_REDUCTIONS[reduction])


@writes("one_hot")
def one_hot(to: Nodes, indices: Value, on_value: Value, off_value: Value, *, depth: int, axis: int) -> Value:
    """A comparison with the positions of the new axis: ONNX's OneHot counts negative positions from the end."""
    rank = indices.ndim + 1
    new = axis % rank
    line = np.arange(depth, dtype=np.int64).reshape([depth if d == new else 1 for d in range(rank)])
    hit = to("Equal", to("Unsqueeze", cast(to, indices, "int64"), to.ints(new)), line, gives="bool")
    return to("Where", hit, on_value, off_value, gives=on_value.dtype)


@writes("topk", "topk_by_search")
def topk(to: Nodes, data: Value, *, axis: int, is_ascend: bool, k: int, dtype: str) -> tuple[Value, Value]:
    if not isinstance(k, int):
        raise NoStandard("how many is a size")
    values, places = _sorted(to, data, to.ints(k), axis, is_ascend)
    return values, cast(to, places, dtype)


@writes("sort")
def sort(to: Nodes, data: Value, *, axis: int, is_ascend: bool) -> Value:
    return _sorted(to, data, _whole(to, data, axis), axis, is_ascend)[0]


@writes("argsort")
def argsort(to: Nodes, data: Value, *, axis: int, is_ascend: bool, dtype: str) -> Value:
    return cast(to, _sorted(to, data, _whole(to, data, axis), axis, is_ascend)[1], dtype)


def _whole(to: Nodes, data: Value, axis: int) -> Value:
    return reshaped(to, size(to, data.dims[axis]), (1,))


def _sorted(to: Nodes, data: Value, count: Value, axis: int, is_ascend: bool) -> tuple[Value, Value]:
    values, places = to.several(
        "TopK", data, count, axis=axis, largest=not is_ascend, sorted=1, gives=(data.dtype, "int64")
    )
    return values, places


@writes("unique")
def unique(to: Nodes, data: Value, *, axis: int | None, is_sorted: bool) -> tuple[Value, ...]:
    gives = (data.dtype, "int64", "int64", "int64")
    return to.several("Unique", data, axis=axis, sorted=is_sorted, gives=gives)


@writes("sequence_mask")
def sequence_mask(to: Nodes, data: Value, valid_length: Value, *, mask_value: float, axis: int) -> Value:
    """Steps along one of the first two axes, of which the other one is the batch."""
    along = axis % data.ndim
    if data.ndim < 2 or along > 1:
        raise NoStandard("its axes are not the first two")
    steps = to("Range", to.number(0, "int64"), size(to, data.dims[along]), to.number(1, "int64"))
    behind = [1] * (data.ndim - 2)
    line = reshaped(to, steps, (-1, 1, *behind) if along == 0 else (1, -1, *behind))
    ends = reshaped(to, cast(to, valid_length, "int64"), (1, -1, *behind) if along == 0 else (-1, 1, *behind))
    kept = to("Less", line, ends, gives="bool")
    return to("Where", kept, data, scalar(to, mask_value, data), gives=data.dtype)
