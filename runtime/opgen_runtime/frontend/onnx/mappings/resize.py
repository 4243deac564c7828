"""Resizing, by the declared ops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np

from ....ir import Expr
from ....operator import Dim, dims_equal, shape_text
from ..emit import op
from ..errors import ModelError, NotSupported
from ..rules import Flag, converts
from ._tools import (
    axes_of,
    cast,
    dtype,
    extent,
    full,
    known,
    ndim,
    reshape,
    shape,
    simple,
    sizes,
    tensor_type,
    transpose,
)

Ints = Sequence[int]
Dims = Sequence[Any]
Array = np.ndarray


_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic"}
_MAX_AXES = 3  # of one declared op
_PLANES = 2  # axes before those, batch and channels


def resized(
    x: Expr,
    axes: Sequence[int],
    extents: Sequence[Dim],
    scales: Sequence[float] | None,
    roi: Sequence[float],
    **how: Any,
) -> Expr:
    """The given axes in other extents by the declared ops, which take the last one to three axes of a tensor.

    `scales`: None where they are the quotients of the extents.  `roi`: the starts of all axes, then their ends, or
    nothing.  More axes than an op takes are resized in turn: weights are products of those of each axis.
    """
    if len(axes) > _MAX_AXES:
        n = len(axes)
        parts = [range(_MAX_AXES), range(_MAX_AXES, n)]
        for part in parts:
            region = [roi[k + end] for end in (0, n) for k in part] if roi else ()
            x = resized(
                x,
                [axes[k] for k in part],
                [extents[k] for k in part],
                None if scales is None else [scales[k] for k in part],
                region,
                **how,
            )
        return x
    rest = [d for d in range(ndim(x)) if d not in axes]
    order = (*rest, *axes)
    moved = transpose(x, order)
    outer = sizes(moved)[: len(rest)]
    last = sizes(moved)[len(rest) :]
    if 0 in outer:
        made = full([known(n, d) for d, n in enumerate((*outer, *extents))], 0, dtype(x))
    else:
        build = getattr(op, f"resize{len(axes)}d")
        made = build(
            moved if len(rest) == _PLANES else reshape(moved, (1, math.prod(outer), *last)),
            size=tuple(extents),
            scales=None if scales is None or _are_quotients(scales, extents, last) else tuple(scales),
            roi=tuple(roi),
            layout="NC" + "DHW"[-len(axes) :] if len(axes) > 1 else "NCW",
            **how,
        )
        made = made if len(rest) == _PLANES else reshape(made, (*outer, *extents))
    return transpose(made, [order.index(d) for d in range(ndim(x))])


def _are_quotients(scales: Sequence[float], to: Sequence[Dim], of: Sequence[Dim]) -> bool:
    """Whether scales are what the extents say; of open ones, whole scales are."""
    known = [
        m / n if isinstance(m, int) and isinstance(n, int) else s if s.is_integer() else None
        for s, m, n in zip(scales, to, of, strict=True)
    ]
    return known == list(scales)


def _extents(
    x: Expr, axes: Sequence[int], scales: np.ndarray | None, to: Ints | None, policy: str
) -> tuple[list[int], list[float]]:
    """The extent and the scale of each of the axes."""
    extents = [extent(x, d) for d in axes]
    if to is None:
        if scales is None:
            raise NotSupported("neither scales nor sizes")
        factors = [float(s) for s in scales.reshape(-1)]
        if len(factors) != len(axes) or not all(math.isfinite(s) and s > 0 for s in factors):
            raise ModelError(f"the scales {factors} of {len(axes)} axes, expected a positive number for each")
        return [math.floor(n * s) for n, s in zip(extents, factors, strict=True)], factors
    if len(to) != len(axes) or min(to) < 0 or 0 in extents:
        raise ModelError(f"the sizes {list(to)} of axes of extents {extents}")
    factors = [m / n for m, n in zip(to, extents, strict=True)]
    if policy == "stretch":
        return list(to), factors
    one = min(factors) if policy == "not_larger" else max(factors)
    return [math.floor(one * n + 0.5) for n in extents], [one] * len(axes)


@converts("Resize", since=11)
def resize(
    x: Expr,
    roi: Array | None = None,
    scales: Array | None = None,
    to: Dims | None = None,
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
    if roi is not None and roi.size and roi.size != 2 * len(named):
        raise ModelError(f"a region of {roi.size} numbers, expected {2 * len(named)}")
    how = " ".join((mode, coordinate_transformation_mode, nearest_mode))
    attrs = {
        "method": _METHODS[mode],
        "coordinate_transformation_mode": coordinate_transformation_mode,
        "rounding_method": nearest_mode,
        "cubic_alpha": cubic_coeff_a,
        "cubic_exclude": bool(exclude_outside),
        "antialias": bool(antialias),
        "extrapolation_value": extrapolation_value,
    }
    cropped = coordinate_transformation_mode == "tf_crop_and_resize"
    region = [float(r) for r in roi.reshape(-1)] if cropped and roi is not None else []
    starts, ends = region[: len(named)] or [0.0] * len(named), region[len(named) :] or [1.0] * len(named)
    if not tensor_type(x).is_static or not all([isinstance(n, int) for n in to or ()]):
        if keep_aspect_ratio_policy != "stretch" and to:
            raise NotSupported(f"sizes that are not known, and {keep_aspect_ratio_policy}")
        return _resized_open(x, named, scales, to or None, (starts, ends) if cropped else (), how, attrs)
    extents, factors = _extents(x, named, scales, to or None, keep_aspect_ratio_policy)
    changed = [
        k
        for k, axis in enumerate(named)
        if factors[k] != 1.0 or extents[k] != extent(x, axis) or (starts[k], ends[k]) != (0.0, 1.0)
    ]
    if not changed:
        return op.copy(x)
    if any(extents[k] == 0 for k in changed):
        sizes_now = dict(zip(named, extents, strict=True))
        return full([sizes_now.get(d, n) for d, n in enumerate(shape(x))], 0, dtype(x))
    picked = _picked(x, named, extents, factors, how)
    if picked is not None:
        return picked
    return _rounded(
        x,
        [named[k] for k in changed],
        [extents[k] for k in changed],
        [factors[k] for k in changed],
        [bound[k] for bound in (starts, ends) for k in changed] if cropped else (),
        attrs,
    )


def _rounded(
    x: Expr,
    axes: Sequence[int],
    extents: Sequence[Dim],
    scales: Sequence[float] | None,
    roi: Sequence[float],
    attrs: Mapping[str, Any],
) -> Expr:
    """The tensor in other extents, integers by way of floats where they are interpolated."""
    kind = dtype(x)
    wide = x if attrs["method"] == "nearest_neighbor" or kind.is_float else op.cast(x, dtype="float32")
    made = resized(wide, axes, extents, scales, roi, **attrs)
    return made if dtype(made) == kind else cast(_saturated(made, kind.lowest, kind.highest), kind)


def _resized_open(
    x: Expr,
    named: Sequence[int],
    scales: np.ndarray | None,
    to: Dims | None,
    regions: Sequence[Sequence[float]],
    how: str,
    attrs: Mapping[str, Any],
) -> Expr:
    """A tensor with open dims in other extents; the program computes where its elements come from.

    `regions`: where they begin and end along the named axes, or nothing.
    """
    factors = [] if scales is None else [float(factor) for factor in scales.reshape(-1)]
    if len(factors if to is None else to) != len(named) or not all([0 < f < math.inf for f in factors]):
        raise ModelError(f"scales {factors} and sizes {to} of {len(named)} axes")
    if to is None and how in _REPEATING and _are_whole(factors):
        return _repeated(x, named, factors)
    if attrs["antialias"] and to is not None:
        raise NotSupported(f"a tensor of shape {shape_text(sizes(x))}; give the shapes of the inputs")
    extents = [_scaled(sizes(x)[d], f) for d, f in zip(named, factors, strict=True)] if to is None else to
    whole = [not regions or (regions[0][k], regions[1][k]) == (0.0, 1.0) for k in range(len(named))]
    changed = [k for k, d in enumerate(named) if not (whole[k] and dims_equal(extents[k], sizes(x)[d]))]
    if not changed:
        return op.copy(x)
    own = None if to is not None else [factors[k] for k in changed]
    roi = [bound[k] for bound in regions for k in changed]
    return _rounded(x, [named[k] for k in changed], [extents[k] for k in changed], own, roi, attrs)


def _scaled(size: Dim, factor: float) -> Dim:
    """A size times a factor, rounded down."""
    if isinstance(size, int):
        return math.floor(size * factor)
    over, under = factor.as_integer_ratio()
    return simple(size * over // under)


_REPEATING: Final = {
    "nearest asymmetric floor",
    *[
        f"nearest {mode} round_prefer_{way}"
        for mode in ("half_pixel", "half_pixel_symmetric")
        for way in ("floor", "ceil")
    ],
}
"""How each element comes as often as a whole scale says: no place lies halfway between two elements."""


def _picked(
    x: Expr, named: Sequence[int], extents: Sequence[int], factors: Sequence[float], how: str
) -> Expr | None:
    """The elements by whole numbers alone, where each is repeated as often, or those that stay are as far apart."""
    if how in _REPEATING and _are_whole(factors):
        return _repeated(x, named, factors)
    steps = [1 / factor for factor in factors]
    if not how.startswith("nearest asymmetric") or not _are_whole(steps):
        return None
    strides = [int(step) for step in steps]
    ends = [step * (n - 1) + 1 for step, n in zip(strides, extents, strict=True)]
    if any([end > extent(x, axis) for end, axis in zip(ends, named, strict=True)]):
        return None
    return op.strided_slice(x, begin=(0,) * len(named), end=ends, strides=strides, axes=named)


def _repeated(x: Expr, named: Sequence[int], factors: Sequence[float]) -> Expr:
    """A tensor, each element as often as whole factors say."""
    for axis, factor in zip(named, factors, strict=True):
        if factor != 1:
            x = op.repeat(x, repeats=int(factor), axis=axis)
    return x


def _are_whole(factors: Sequence[float]) -> bool:
    return all([factor >= 1 and factor.is_integer() for factor in factors])


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
