"""Sizes as values, where dims are open: what exporters compute of a `Shape` before they give it to a `Reshape`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from onnx import TensorProto

from ...operator import Dim

Sizes = np.ndarray
"""An array of objects: ints, and expressions of dims."""


def _cut(
    x: Sizes, starts: Sizes, ends: Sizes, axes: Sizes | None = None, steps: Sizes | None = None
) -> Sizes:
    """A slice of a vector."""
    if x.ndim != 1 or starts.size != 1 or (axes is not None and int(axes.reshape(-1)[0]) not in (0, -1)):
        raise ValueError("a slice of what is no vector")
    begin, end = int(starts.reshape(-1)[0]), int(ends.reshape(-1)[0])
    return x[slice(begin, end, 1 if steps is None else int(steps.reshape(-1)[0]))]


def _ints(x: Sizes | None) -> tuple[int, ...] | None:
    return None if x is None else tuple([int(n) for n in x.reshape(-1)])


_OPERATORS: Final[dict[str, Callable[..., Sizes]]] = {
    "Identity": lambda x: x,
    "Concat": lambda *parts, axis: np.concatenate(parts, axis),
    "Gather": lambda x, places, axis=0: np.take(x, places.astype(np.int64), axis),
    "Unsqueeze": lambda x, places=None, axes=None: np.expand_dims(x, _ints(places) or tuple(axes)),
    "Squeeze": lambda x, places=None, axes=None: np.squeeze(x, _ints(places) or (axes and tuple(axes))),
    "Slice": _cut,
    "Reshape": lambda x, to: np.reshape(x, _ints(to) or ()),
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
}
_WHOLE: Final = {TensorProto.INT64: "int64", TensorProto.INT32: "int32"}


def shape_value(shape: Sequence[Dim], start: int = 0, end: int | None = None) -> Sizes:
    """What `Shape` gives."""
    found = np.empty(len(shape), object)
    found[:] = shape
    return found[start:end]


def computed(operator: str, operands: Sequence[Sizes], attributes: Mapping[str, Any]) -> Sizes | None:
    """What an operator gives for sizes; None for one that does more with them than programs of open dims can."""
    if operator == "Cast":
        return operands[0] if casts_to(operator, attributes) else None
    rule = _OPERATORS.get(operator)
    if rule is None:
        return None
    try:
        return np.asarray(rule(*operands, **attributes), object)
    except (TypeError, ValueError, IndexError):
        return None


def casts_to(operator: str, attributes: Mapping[str, Any]) -> str | None:
    """The dtype that an operator gives sizes; None for one that keeps theirs."""
    return _WHOLE.get(attributes.get("to", 0)) if operator == "Cast" else None


def constant(sizes: Sizes) -> np.ndarray | None:
    """The array where all sizes are ints; None where a dim is open."""
    whole = [n for n in sizes.reshape(-1) if isinstance(n, int | np.integer)]
    return np.array(whole, np.int64).reshape(sizes.shape) if len(whole) == sizes.size else None
