"""Parts of tensors, and what is put around them."""

from __future__ import annotations

from typing import Final

from .....operator import Dim
from ..nodes import Nodes, NoStandard, Value
from ..registry import writes
from ..sizes import sizes
from ._tools import each, scalar

_END: Final = -(1 << 63)  # before the first element, of an axis of any extent
_MODES: Final = {"constant": "constant", "edge": "edge", "reflect": "reflect", "wrap": "wrap"}


@writes("strided_slice")
def strided_slice(
    to: Nodes,
    data: Value,
    *,
    begin: tuple[Dim, ...],
    end: tuple[Dim, ...],
    strides: tuple[int, ...],
    axes: tuple[int, ...] | None,
    assume_inbound: bool,
) -> Value:
    if not begin:
        return data
    along = range(len(begin)) if axes is None else axes
    steps = each(strides, len(begin))
    return to("Slice", data, sizes(to, begin), sizes(to, end), to.ints(*along), sizes(to, steps))


@writes("slice_like")
def slice_like(to: Nodes, data: Value, shape_like: Value, **attrs: object) -> Value:
    shape = to.types[0].shape
    return to("Slice", data, to.ints(*[0] * len(shape)), sizes(to, shape))


@writes("reverse")
def reverse(to: Nodes, data: Value, *, axis: int) -> Value:
    return to("Slice", data, to.ints(-1), to.ints(_END), to.ints(axis), to.ints(-1))


@writes("pad")
def pad(to: Nodes, data: Value, *, pad_width: tuple[Dim, ...], pad_value: float, pad_mode: str) -> Value:
    if not data.ndim:
        return data
    value = None
    if pad_mode == "constant":
        value = scalar(to, bool(pad_value) if data.dtype.is_bool else pad_value, data)
    elif pad_mode == "reflect" and any(
        [isinstance(n, int) and isinstance(w, int) and w >= n for n, w in _widths(data, pad_width)]
    ):
        raise NoStandard("it is reflected more than once")
    width = sizes(to, (*pad_width[::2], *pad_width[1::2]))
    return to("Pad", data, width, value, mode=_MODES[pad_mode])


@writes("mirror_pad")
def mirror_pad(to: Nodes, data: Value, *, pad_width: tuple[Dim, ...], mode: str) -> Value:
    if mode != "REFLECT":
        raise NoStandard("the edge is repeated")
    return pad(to, data, pad_width=pad_width, pad_value=0, pad_mode="reflect")


def _widths(data: Value, pad_width: tuple[Dim, ...]) -> list[tuple[Dim, Dim]]:
    """Each extent with what is put before it, and behind it."""
    return [(data.dims[k // 2], width) for k, width in enumerate(pad_width)]
