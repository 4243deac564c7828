"""Resizing: for each axis a few taps of the input for each place of the result, found when the model is converted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ....ir import Expr
from ..emit import op
from ..errors import ModelError, NotSupported
from ..rules import Flag, converts
from ._tools import arange, axes_of, cast, dtype, ndim, shape

Ints = Sequence[int]
Array = np.ndarray


@dataclass(frozen=True, slots=True)
class Sampling:
    """How places are found and weighed: ONNX's attributes of Resize."""

    mode: str = "nearest"
    transformation: str = "half_pixel"
    nearest_mode: str = "round_prefer_floor"
    cubic_a: float = -0.75
    antialias: bool = False
    exclude_outside: bool = False


def places(
    how: Sampling, extent: int, size: int, scale: float, roi: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray | None]:
    """The place in the input of each of the `size` places of the result; which of them lie outside the region."""
    y = arange(size).astype(np.float64)
    wide = scale * extent
    if how.transformation == "align_corners":
        return (np.zeros(size) if wide == 1 else y * (extent - 1) / (wide - 1)), None
    if how.transformation == "asymmetric":
        return y / scale, None
    if how.transformation == "tf_crop_and_resize":
        span = (roi[1] - roi[0]) * (extent - 1)
        x = (np.full(size, span / 2) if wide == 1 else y * span / (wide - 1)) + roi[0] * (extent - 1)
        return x, (x < 0) | (x > extent - 1)
    if how.transformation == "pytorch_half_pixel" and wide == 1:
        return np.full(size, -0.5), None
    if how.transformation in ("half_pixel", "pytorch_half_pixel"):
        return (y + 0.5) / scale - 0.5, None
    if how.transformation == "half_pixel_symmetric":
        return extent / 2 * (1 - size / wide) + (y + 0.5) / scale - 0.5, None
    if how.transformation == "tf_half_pixel_for_nn":
        return (y + 0.5) / scale, None
    raise NotSupported(f"coordinate_transformation_mode {how.transformation!r}")


def nearest(how: Sampling, x: np.ndarray) -> np.ndarray:
    """The nearest integer of each place."""
    rounding = {"floor": np.floor(x), "ceil": np.ceil(x), "round_prefer_ceil": np.floor(x + 0.5)}
    return np.asarray(rounding.get(how.nearest_mode, np.ceil(x - 0.5)))


def taps(how: Sampling, x: np.ndarray, extent: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Positions in the input and their weights, (size, taps) each; positions outside take the edge's element.

    Cubic weights: Keys 1981.  With antialias the filter is stretched by the factor of reduction.
    """
    shrink = min(scale, 1.0) if how.antialias else 1.0
    base = np.floor(x)
    ratio = np.where(x == base, 1.0, x - base)
    base = np.where(x == base, base - 1, base)
    if how.mode == "linear":
        start = math.floor(-1 / shrink) + 1
        offsets = np.arange(start, 2 - start)
        weights = np.clip(1 - np.abs((offsets - ratio[:, None]) * shrink), 0, 1)
    else:
        start = math.floor(-2 / shrink) + 1
        offsets = np.arange(start, 2 - start)
        weights = _cubic(np.abs((offsets - ratio[:, None]) * shrink), how.cubic_a)
    positions = base[:, None] + offsets
    if how.exclude_outside:
        weights = np.where((positions < 0) | (positions >= extent), 0.0, weights)
    if how.exclude_outside or how.antialias:
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)
    return np.clip(positions, 0, extent - 1).astype(np.int64), weights


def _cubic(t: np.ndarray, a: float) -> np.ndarray:
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0.0))


def resize_axis(
    x: Expr, axis: int, size: int, scale: float, how: Sampling, roi: tuple[float, float], outside: float
) -> Expr:
    """One axis in another size."""
    extent = shape(x)[axis]
    at, extrapolated = places(how, extent, size, scale, roi)
    if how.mode == "nearest":
        result = op.take(x, np.clip(nearest(how, at), 0, extent - 1).astype(np.int64), axis=axis)
    else:
        positions, weights = taps(how, at, extent, scale)
        weights = weights.astype(dtype(x).numpy)
        if weights.shape[1] > 4:
            spread = [1] * axis + list(weights.shape) + [1] * (ndim(x) - axis - 1)
            gathered = op.take(x, positions, axis=axis)
            result = op.sum(op.multiply(gathered, weights.reshape(spread)), axis=(axis + 1,), keepdims=False)
        else:
            spread = [-1 if d == axis else 1 for d in range(ndim(x))]
            parts = [
                op.multiply(op.take(x, positions[:, k], axis=axis), weights[:, k].reshape(spread))
                for k in range(weights.shape[1])
            ]
            result = parts[0]
            for part in parts[1:]:
                result = op.add(result, part)
    if extrapolated is None or not extrapolated.any():
        return result
    mask = extrapolated.reshape([-1 if d == axis else 1 for d in range(ndim(x))])
    return op.where(mask, np.array(outside, dtype(x).numpy), result)


def _sizes(
    x: Expr, axes: Sequence[int], scales: np.ndarray | None, sizes: Ints | None, policy: str
) -> tuple[list[int], list[float]]:
    """The extent and the scale of each of the axes."""
    extents = [shape(x)[d] for d in axes]
    if sizes is None:
        if scales is None:
            raise NotSupported("neither scales nor sizes")
        factors = [float(s) for s in scales.reshape(-1)]
        if len(factors) != len(axes) or not all(math.isfinite(s) and s > 0 for s in factors):
            raise ModelError(f"the scales {factors} of {len(axes)} axes, expected a positive number for each")
        return [math.floor(n * s) for n, s in zip(extents, factors, strict=True)], factors
    if len(sizes) != len(axes) or min(sizes) < 0 or 0 in extents:
        raise ModelError(f"the sizes {list(sizes)} of axes of extents {extents}")
    factors = [m / n for m, n in zip(sizes, extents, strict=True)]
    if policy == "stretch":
        return list(sizes), factors
    one = min(factors) if policy == "not_larger" else max(factors)
    return [math.floor(one * n + 0.5) for n in extents], [one] * len(axes)


@converts("Resize", since=11)
def resize(
    x: Expr,
    roi: Array | None = None,
    scales: Array | None = None,
    sizes: Ints | None = None,
    *,
    antialias: Flag = 0,
    axes: Ints | None = None,
    coordinate_transformation_mode: Literal[
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_crop_and_resize",
        "tf_half_pixel_for_nn",
    ] = "half_pixel",
    cubic_coeff_a: float = -0.75,
    exclude_outside: Flag = 0,
    extrapolation_value: float = 0.0,
    keep_aspect_ratio_policy: Literal["stretch", "not_larger", "not_smaller"] = "stretch",
    mode: Literal["nearest", "linear", "cubic"] = "nearest",
    nearest_mode: Literal["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"] = "round_prefer_floor",
) -> Expr:
    named = axes_of(range(ndim(x)) if axes is None else axes, ndim(x))
    if scales is not None and not scales.size:
        scales = None
    extents, factors = _sizes(x, named, scales, sizes or None, keep_aspect_ratio_policy)
    how = Sampling(
        mode,
        coordinate_transformation_mode,
        nearest_mode,
        cubic_coeff_a,
        bool(antialias),
        bool(exclude_outside),
    )
    if roi is not None and roi.size and roi.size != 2 * len(named):
        raise ModelError(f"a region of {roi.size} numbers, expected {2 * len(named)}")
    crops = coordinate_transformation_mode == "tf_crop_and_resize" and roi is not None
    kind = dtype(x)
    wide = x if mode == "nearest" or (kind.is_float and kind.bits >= 32) else op.cast(x, dtype="float32")
    for k, axis in enumerate(named):
        region = (float(roi[k]), float(roi[k + len(named)])) if crops and roi is not None else (0.0, 1.0)
        if factors[k] != 1.0 or extents[k] != shape(x)[axis] or region != (0.0, 1.0):
            wide = resize_axis(wide, axis, extents[k], factors[k], how, region, extrapolation_value)
    if dtype(wide) == kind:
        return wide
    return cast(wide if kind.is_float else _saturated(wide, kind.lowest, kind.highest), kind)


def _saturated(x: Expr, low: Any, high: Any) -> Expr:
    return op.minimum(op.maximum(op.round(x), float(low)), float(high))


@converts("Resize", since=10)
def resize_10(x: Expr, scales: Array, *, mode: Literal["nearest", "linear"] = "nearest") -> Expr:
    """The opset leaves open how places are rounded; as onnxruntime does it, down, and up where an axis shrinks."""
    if scales.size != ndim(x):
        raise ModelError(f"{scales.size} scales of a tensor of rank {ndim(x)}")
    for axis, scale in enumerate(scales.reshape(-1)):
        one = np.ones(ndim(x), np.float32)
        one[axis] = scale
        x = resize(
            x,
            None,
            one,
            mode=mode,
            coordinate_transformation_mode="asymmetric",
            nearest_mode="ceil" if scale < 1 else "floor",
        )
    return x


@converts("Upsample", since=9)
def upsample(x: Expr, scales: Array, *, mode: Literal["nearest", "linear"] = "nearest") -> Expr:
    return resize_10(x, scales, mode=mode)


@converts("Upsample", since=7)
def upsample_7(x: Expr, *, mode: Literal["nearest", "linear"] = "nearest", scales: Sequence[float]) -> Expr:
    return resize_10(x, np.array(scales), mode=mode)
