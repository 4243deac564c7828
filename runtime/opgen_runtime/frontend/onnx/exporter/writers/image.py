"""Images in another size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from ..nodes import Nodes, NoStandard, Value
from ..registry import writes
from ._tools import laid, laid_back, transposed

_AXES: Final = {1: "W", 2: "HW", 3: "DHW"}
_METHODS: Final = {
    "nearest_neighbor": "nearest", "linear": "linear", "cubic": "cubic", "bilinear": "linear", "bicubic": "cubic",
}  # fmt: skip
_ROUNDING: Final = {
    "round_prefer_floor": "round_prefer_floor", "round_prefer_ceil": "round_prefer_ceil", "floor": "floor",
    "ceil": "ceil",
}  # fmt: skip


def _resize(spatial: int) -> Callable[..., Value]:
    image = f"NC{_AXES[spatial]}"

    def write(
        to: Nodes,
        data: Value,
        *,
        size: tuple[int, ...],
        scales: tuple[float, ...] | None,
        roi: tuple[float, ...],
        layout: str,
        method: str,
        coordinate_transformation_mode: str,
        rounding_method: str,
        cubic_alpha: float,
        cubic_exclude: bool,
        antialias: bool,
        extrapolation_value: float,
    ) -> Value:
        mode = coordinate_transformation_mode
        rule = rounding_method or ("floor" if mode == "asymmetric" else "round_prefer_floor")
        nearest = method == "nearest_neighbor"
        if nearest and rule not in _ROUNDING:
            raise NoStandard(f"{rule} is no way to be nearest")
        if not all([isinstance(each, int) for each in size]):
            raise NoStandard("its extents are sizes")
        if scales is not None and not _gives(data, layout, image, size, scales):
            raise NoStandard("the factors give other extents")
        found = to(
            "Resize",
            laid(to, data, layout, image),
            np.asarray(roi, np.float32) if roi else None,
            None if scales is None else np.asarray(scales, np.float32),
            to.ints(*size) if scales is None else None,
            axes=tuple(range(2, 2 + spatial)),
            mode=_METHODS[method],
            coordinate_transformation_mode=mode,
            nearest_mode=rule if nearest else None,
            cubic_coeff_a=cubic_alpha,
            exclude_outside=cubic_exclude,
            antialias=antialias,
            extrapolation_value=extrapolation_value,
        )
        return laid_back(to, found, image, layout)

    return write


def _gives(data: Value, layout: str, image: str, size: tuple[int, ...], scales: tuple[float, ...]) -> bool:
    """Whether ONNX takes these extents for these factors."""
    for d, (count, factor) in enumerate(zip(size, scales, strict=True)):
        extent = data.extent(layout.index(image[2 + d]))
        if int(np.floor(np.float32(extent) * np.float32(factor))) != count:
            return False
    return True


for _spatial in _AXES:
    writes(f"resize{_spatial}d")(_resize(_spatial))


@writes("upsampling")
def upsampling(
    to: Nodes, data: Value, *, layout: str, method: str, align_corners: bool, **attrs: object
) -> Value:
    extents = [to.types[0].shape[layout.index(letter)] for letter in "HW"]
    if not all([isinstance(each, int) for each in extents]):
        raise NoStandard("its extents are open")
    nearest = method == "nearest_neighbor"
    found = to(
        "Resize",
        laid(to, data, layout, "NCHW"),
        None,
        None,
        to.ints(*[each for each in extents if isinstance(each, int)]),
        axes=(2, 3),
        mode=_METHODS[method],
        coordinate_transformation_mode="align_corners" if align_corners and not nearest else "asymmetric",
        nearest_mode="floor" if nearest else None,
        cubic_coeff_a=-0.5,
    )
    return laid_back(to, found, "NCHW", layout)


@writes("grid_sample")
def grid_sample(
    to: Nodes, data: Value, grid: Value, *, method: str, padding_mode: str, align_corners: bool
) -> Value:
    """ONNX has the coordinates of a place last."""
    rank = data.ndim - 2
    if rank > 2 and method == "bicubic":
        raise NoStandard("what runs models takes cubic weights of images alone")
    return to(
        "GridSample",
        data,
        transposed(to, grid, (0, *range(2, 2 + rank), 1)),
        mode={"nearest": "nearest", "bicubic": "cubic"}.get(method, "linear"),
        padding_mode=padding_mode,
        align_corners=align_corners,
    )
