"""numpy's pads: constants, mirrors, ends and statistics, axis by axis."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any, Final

import numpy

from .... import ops
from ....base.errors import CallError
from .functions import maps
from .operands import any_axis, element, tensor, to
from .tracer import Tracer

np: Any = numpy  # whose annotations know no tracers

_STATISTICS: Final[dict[str, Callable[..., Any]]] = {
    "maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median,
}  # fmt: skip
_PLACED: Final = ("edge", "reflect", "wrap")
_OPTIONS: Final = {
    "constant": "constant_values", "linear_ramp": "end_values", "reflect": "reflect_type",
    "symmetric": "reflect_type", **dict.fromkeys(_STATISTICS, "stat_length"),
}  # fmt: skip
_MODES: Final = ("constant", *_PLACED, "symmetric", "linear_ramp", "empty", *_STATISTICS)


@maps("pad")
def pad(array: Any, pad_width: Any, mode: str = "constant", **options: Any) -> Any:
    """In the mode `empty` what is added is 0. Raises ValueError as numpy, CallError for a mode that is a function."""
    if callable(mode):
        raise CallError("np.pad while a function is traced takes modes of numpy, found a function")
    if mode not in _MODES:
        raise ValueError(f"mode {mode!r} is not supported")
    beyond = sorted(set(options) - {_OPTIONS.get(mode)})
    if beyond:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {', '.join(beyond)}")
    x = tensor(array)
    widths = _widths(pad_width, x.ndim)
    if options.get("reflect_type", "even") != "even":
        raise CallError("np.pad while a function is traced takes the reflect_type 'even'")
    flat = [int(each) for pair in widths for each in pair]
    if mode in _PLACED:
        return ops.pad(x, pad_width=flat, pad_value=0, pad_mode=mode)
    if mode == "symmetric":
        return ops.mirror_pad(x, pad_width=flat, mode="SYMMETRIC")
    if mode in ("constant", "empty"):
        values = np.broadcast_to(np.asarray(options.get("constant_values", 0)), (x.ndim, 2))
        if values.size == 0 or (values == values.flat[0]).all():
            value = _fitting(values.flat[0] if values.size else 0, x)
            return ops.pad(x, pad_width=flat, pad_value=value * 1, pad_mode="constant")
        return _by_axes(
            x, widths, lambda rows, axis, k, _: np.full_like(rows[:1], _fitting(values[axis, k], x))
        )
    if mode == "linear_ramp":
        ends = np.broadcast_to(np.asarray(options.get("end_values", 0)), (x.ndim, 2))
        return _by_axes(x, widths, lambda rows, axis, k, n: _ramp(rows, ends[axis, k].item(), k, n))
    lengths = np.broadcast_to(np.asarray(options.get("stat_length")), (x.ndim, 2))
    return _by_axes(
        x, widths, lambda rows, axis, k, _: _statistic(_STATISTICS[mode], rows, lengths[axis, k], k)
    )


def _widths(pad_width: Any, ndim: int) -> Any:
    """How much is added before and behind each axis: numpy's forms, and a dict of axes."""
    if isinstance(pad_width, dict):
        pairs = [(0, 0)] * ndim
        for axis, given in pad_width.items():
            pairs[any_axis(axis, ndim)] = (given, given) if isinstance(given, int) else tuple(given)
        pad_width = pairs if ndim else 0
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu":
        raise TypeError("`pad_width` must be of integral type.")
    widths = np.broadcast_to(widths, (ndim, 2))
    if (widths < 0).any():
        raise ValueError("index can't contain negative values")
    return widths


def _fitting(value: Any, x: Tracer) -> Any:
    """A constant in the dtype of the tensor. Raises DTypeError for an int that does not fit, which numpy wraps."""
    if isinstance(value, np.integer | int) and element(x.dtype).is_int:
        to(int(value), x.dtype)
    return np.asarray(value).astype(x.dtype).item()


def _by_axes(x: Any, widths: Any, made: Callable[..., Any]) -> Any:
    """Pad one axis after the other: `made(rows, axis, end, n)` is what an end of the first axis gets, 1 row or `n`."""
    for axis, pair in enumerate(widths.tolist()):
        rows = np.moveaxis(x, axis, 0)
        parts = [made(rows, axis, k, n) if n else rows[:0] for k, n in enumerate(pair)]
        before, behind = (
            np.broadcast_to(part, (n, *rows.shape[1:])) for part, n in zip(parts, pair, strict=True)
        )
        x = np.moveaxis(np.concatenate([before, rows, behind], 0), 0, axis)
    return x


def _ramp(rows: Any, end: Any, side: int, n: int) -> Any:
    """From the end value to the edge, which is not among them."""
    edge = rows[-1] if side else rows[0]
    steps = np.reshape(np.arange(n) / n, (n, *[1] * edge.ndim))
    made = end + steps * (np.astype(edge, np.float64) - end)
    made = made[::-1] if side else made
    return to(made if element(rows.dtype).is_float else np.floor(made), rows.dtype)


def _statistic(reduce: Callable[..., Any], rows: Any, length: Any, side: int) -> Any:
    """Of the rows at an end, rounded for ints."""
    count = rows.shape[0] if length is None else min(index(length), rows.shape[0])
    if length is not None and index(length) < 0:
        raise ValueError("index can't contain negative values")
    found = reduce(rows[rows.shape[0] - count :] if side else rows[:count], axis=0, keepdims=True)
    return to(
        found if element(rows.dtype).is_float or found.dtype == rows.dtype else np.rint(found), rows.dtype
    )
