"""`tensor[...]` with numpy's meaning: ints, slices, Ellipsis, None, tensors of ints, one mask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import ops
from ....base.errors import CallError
from ....ir import Constant, Expr, admissible
from .operands import element, full, tensor, to
from .shaping import reshape, transpose
from .tracer import Tracer


def index(x: Tracer, given: Any) -> Any:
    """The elements that numpy gives.

    A tensor of ints that is computed by the program counts from the end where it is negative, and is clipped where it
    is outside; constant ones are checked. A mask must be the only index; its result has a shape that depends on data.

    Raises IndexError as numpy does, and CallError for a traced value where Python needs an int.
    """
    items = list(given) if isinstance(given, tuple) else [given]
    items = [_item(item) for item in items]
    mask = next((item for item in items if isinstance(item, Tracer) and element(item.dtype).is_bool), None)
    if mask is not None:
        return _masked(x, mask, len(items))
    items, dots = _written_out(items, x.ndim)
    tensors = [item for item in items if isinstance(item, Tracer)]
    if tensors:
        return _gathered(x, items, dots)
    return _sliced(x, items)


def _item(item: Any) -> Any:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, Tracer):
        if item.weak:
            item.needed("an index")
        return item
    if isinstance(item, bool | np.bool_):
        raise CallError("True and False are no indices while a function is traced; None adds an axis")
    if isinstance(item, list) or admissible(item) or isinstance(item, Expr):
        found = tensor(np.asarray(item, np.int64) if isinstance(item, list) and not item else item)
        if found.ndim == 0 and isinstance(found.expr, Constant) and element(found.dtype).is_int:
            return int(found.expr.data)
        if not (element(found.dtype).is_int or element(found.dtype).is_bool):
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        return found
    try:
        return item.__index__()
    except AttributeError:
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays are valid indices"
        ) from None


def _written_out(items: list[Any], ndim: int) -> tuple[list[Any], int | None]:
    """The items with a slice for each axis that is not named, and where an ellipsis stood."""
    named = len([item for item in items if item is not None and item is not Ellipsis])
    dots = [k for k, item in enumerate(items) if item is Ellipsis]
    if len(dots) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if named > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {named} were indexed")
    at = dots[0] if dots else len(items)
    rest = [slice(None)] * (ndim - named)
    return [*items[:at], *rest, *items[at + 1 :]], dots[0] if dots else None


def _sliced(x: Tracer, items: Sequence[Any]) -> Tracer:
    """Ints, slices and None, one a axis: a strided slice, then the shape without the ints' axes, with the new ones."""
    shape: list[int] = []
    cuts: list[tuple[int, int, int]] = []
    axis = 0
    for item in items:
        if item is None:
            shape.append(1)
            continue
        extent = x.shape[axis]
        if isinstance(item, slice):
            begin, end, step = item.indices(extent)
            count = len(range(begin, end, step))
            shape.append(count)
        else:
            begin, step, count = _position(item, axis, extent), 1, 1
        cuts.append((begin, step, count))
        axis += 1
    if 0 in shape or x.size == 0:
        return full(tuple(shape), 0, x.dtype)
    whole = all([cut == (0, 1, extent) for cut, extent in zip(cuts, x.shape, strict=True)])
    if not whole:
        ends = [begin + step * count for begin, step, count in cuts]
        x = ops.strided_slice(  # type: ignore[assignment]  # traced
            x,
            begin=[begin for begin, _, _ in cuts],
            end=[-extent - 1 if end < 0 else end for end, extent in zip(ends, x.shape, strict=True)],
            strides=[step for _, step, _ in cuts],
        )
    return reshape(x, tuple(shape))


def _position(item: Any, axis: int, extent: int) -> int:
    if not -extent <= item < extent:
        raise IndexError(f"index {item} is out of bounds for axis {axis} with size {extent}")
    return int(item) % extent


def _gathered(x: Tracer, items: list[Any], dots: int | None) -> Any:
    """With tensors of ints among the items: they, and the ints, broadcast together.

    Their axes come first in the result, unless they all stand side by side; the ellipsis before the item `dots` stands
    between others even where it names no axis.
    """
    basic = [slice(None) if isinstance(item, Tracer | int) else item for item in items]
    x_axes = [k for k, item in enumerate(items) if item is not None]
    shape = np.broadcast_shapes(*[item.shape for item in items if isinstance(item, Tracer)])
    for axis, k in enumerate(x_axes):
        if isinstance(items[k], Tracer):
            if 0 not in shape:  # else no position is read
                check_positions(items[k], axis, x.shape[axis])
        elif isinstance(items[k], int):
            items[k] = _position(items[k], axis, x.shape[axis])
    x = _sliced(x, basic)
    places = [k for k, item in enumerate(items) if isinstance(item, Tracer | int)]
    indices = [to(items[k], np.int64) for k in places]
    rest = [k for k in range(len(items)) if k not in places]
    apart = dots is not None and places[0] < dots <= places[-1]
    first = places[0] if places == list(range(places[0], places[-1] + 1)) and not apart else 0
    kept = tuple([x.shape[k] for k in rest])
    if 0 in shape or x.size == 0:
        if 0 not in (*shape, *kept):
            raise IndexError("there is nothing to take from an empty axis")
        return full((*kept[:first], *shape, *kept[first:]), 0, x.dtype)
    moved = transpose(x, (*places, *rest))
    found: Tracer = ops.adv_index(moved, indices)  # type: ignore[assignment]  # traced
    count = len(shape)
    order = (*range(count, count + first), *range(count), *range(count + first, found.ndim))
    return transpose(found, order)


def check_positions(indices: Tracer, axis: int, extent: int) -> None:
    """Raises IndexError for a position outside of an axis, where positions are known."""
    if isinstance(indices.expr, Constant):
        data = indices.expr.data
        wrong = data[(data < -extent) | (data >= extent)]
        if wrong.size:
            raise IndexError(
                f"index {int(wrong.flat[0])} is out of bounds for axis {axis} with size {extent}"
            )


def _masked(x: Tracer, mask: Tracer, count: int) -> Any:
    if isinstance(mask.expr, Constant) and count == 1:
        data = mask.expr.data
        if data.ndim > x.ndim or any([n not in (0, m) for n, m in zip(data.shape, x.shape, strict=False)]):
            raise IndexError(
                f"boolean index of shape {data.shape} does not match indexed array of shape {x.shape}"
            )
        if data.ndim:
            return index(x, tuple(np.nonzero(data)))
    if count > 1 or mask.shape != x.shape or mask.ndim == 0:
        raise CallError(
            f"a mask must be the only index and have the tensor's shape {x.shape}, found {mask.shape}; "
            "np.where(mask, a, b) keeps the shape"
        )
    return ops.masked_select(x, mask)
