"""Convolutions and pools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..nodes import Nodes, NoStandard, Value
from ..registry import writes
from ._tools import cast, each, ends, laid, laid_back

_AXES: Final = {1: "W", 2: "HW", 3: "DHW"}


def _conv(spatial: int) -> Callable[..., Value]:
    image, filters = f"NC{_AXES[spatial]}", f"OI{_AXES[spatial]}"

    def write(
        to: Nodes,
        data: Value,
        weight: Value,
        *,
        strides: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        groups: int,
        data_layout: str,
        kernel_layout: str,
        **attrs: object,
    ) -> Value:
        found = to(
            "Conv",
            laid(to, data, data_layout, image),
            laid(to, weight, kernel_layout, filters),
            strides=each(strides, spatial),
            pads=ends(padding, spatial),
            dilations=each(dilation, spatial),
            group=groups,
        )
        return laid_back(to, found, image, data_layout)

    return write


def _conv_transpose(spatial: int) -> Callable[..., Value]:
    image, filters = f"NC{_AXES[spatial]}", f"IO{_AXES[spatial]}"

    def write(
        to: Nodes,
        data: Value,
        weight: Value,
        *,
        strides: tuple[int, ...],
        padding: tuple[int, ...],
        output_padding: tuple[int, ...],
        dilation: tuple[int, ...],
        groups: int,
        data_layout: str,
        kernel_layout: str,
        **attrs: object,
    ) -> Value:
        found = to(
            "ConvTranspose",
            laid(to, data, data_layout, image),
            laid(to, weight, kernel_layout, filters),
            strides=each(strides, spatial),
            pads=ends(padding, spatial),
            output_padding=each(output_padding, spatial),
            dilations=each(dilation, spatial),
            group=groups,
        )
        return laid_back(to, found, image, data_layout)

    return write


def _pool(operator: str, spatial: int) -> Callable[..., Value]:
    image = f"NC{_AXES[spatial]}"

    def write(
        to: Nodes,
        data: Value,
        *,
        pool_size: tuple[int, ...],
        strides: tuple[int, ...],
        dilation: tuple[int, ...],
        padding: tuple[int, ...],
        layout: str,
        ceil_mode: bool,
        count_include_pad: bool | None = None,
        divisor_override: int | None = None,
    ) -> Value:
        if divisor_override is not None:
            raise NoStandard("sums are divided by what is given")
        kernel, pads = each(pool_size, spatial), ends(padding, spatial)
        if any([pad >= size for pad, size in zip(pads, kernel * 2, strict=True)]):
            raise NoStandard("windows lie in the padding alone")
        x = laid(to, data, layout, image)
        step, spread = each(strides, spatial), each(dilation, spatial)
        if ceil_mode and _leaves_one_out(to, x, layout, image, kernel, step, spread, pads):
            raise NoStandard("a window that would begin in the padding at the end is left out")
        found = to(
            operator,
            x,
            kernel_shape=kernel,
            strides=step,
            dilations=spread,
            pads=pads,
            ceil_mode=ceil_mode,
            count_include_pad=count_include_pad,
        )
        return laid_back(to, found, image, layout)

    return write


def _leaves_one_out(
    to: Nodes,
    x: Value,
    layout: str,
    image: str,
    kernel: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
) -> bool:
    """Whether ONNX, before opset 22, counts a window more than the op has."""
    for d, letter in enumerate(image[2:]):
        span = dilations[d] * (kernel[d] - 1) + 1
        room = x.extent(2 + d) + pads[d] + pads[d + len(kernel)] - span
        if -(-room // strides[d]) + 1 != to.types[0].shape[layout.index(letter)]:
            return True
    return False


def _global_pool(operator: str, spatial: int) -> Callable[..., Value]:
    image = f"NC{_AXES[spatial]}"

    def write(to: Nodes, data: Value, *, layout: str) -> Value:
        return laid_back(to, to(operator, laid(to, data, layout, image)), image, layout)

    return write


def _adaptive_pool(operator: str, spatial: int) -> Callable[..., Value]:
    """Pools whose windows are all of one extent."""
    image = f"NC{_AXES[spatial]}"

    def write(to: Nodes, data: Value, *, output_size: tuple[int, ...] | None, layout: str) -> Value:
        x = laid(to, data, layout, image)
        extents = [x.extent(2 + d) for d in range(spatial)]
        counts = extents if output_size is None else each(output_size, spatial)
        if any([not count or size % count for size, count in zip(extents, counts, strict=True)]):
            raise NoStandard("its windows are of several extents")
        kernel = tuple([size // count for size, count in zip(extents, counts, strict=True)])
        return laid_back(to, to(operator, x, kernel_shape=kernel, strides=kernel), image, layout)

    return write


for _spatial in _AXES:
    writes(f"conv{_spatial}d")(_conv(_spatial))
    writes(f"conv{_spatial}d_transpose")(_conv_transpose(_spatial))
    for _kind, _name in (("max", "Max"), ("avg", "Average")):
        writes(f"{_kind}_pool{_spatial}d")(_pool(f"{_name}Pool", _spatial))
        writes(f"global_{_kind}_pool{_spatial}d")(_global_pool(f"Global{_name}Pool", _spatial))
        writes(f"adaptive_{_kind}_pool{_spatial}d")(_adaptive_pool(f"{_name}Pool", _spatial))


@writes("col2im")
def col2im(
    to: Nodes,
    data: Value,
    *,
    block_shape: tuple[int, ...],
    image_shape: tuple[int, ...],
    dilations: tuple[int, ...],
    pads: tuple[int, ...],
    strides: tuple[int, ...],
) -> Value:
    count = len(block_shape)
    return to(
        "Col2Im",
        data,
        to.ints(*image_shape),
        to.ints(*block_shape),
        dilations=each(dilations, count),
        pads=ends(pads, count),
        strides=each(strides, count),
    )


def _window(operator: str) -> Callable[..., Value]:
    def write(to: Nodes, *, window_size: int, periodic: bool, dtype: str) -> Value:
        if not isinstance(window_size, int) or window_size < 2:
            raise NoStandard("ONNX divides by its extent less one")
        size = to.number(window_size, "int64")
        wide = to(operator, size, periodic=periodic, output_datatype=11, gives="float64")
        return cast(to, wide, dtype)

    return write


for _op, _operator in (("hann", "HannWindow"), ("hamming", "HammingWindow"), ("blackman", "BlackmanWindow")):
    writes(f"{_op}_window")(_window(_operator))
