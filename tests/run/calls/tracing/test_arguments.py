"""Arguments of numpy's functions while a function is traced: all forms that numpy takes, and odd ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.run.calls.tracing.functions import FUNCTIONS

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.roll(a, (1, 2), axis=(0, 1)),
        lambda a: np.roll(a, (1, 2)),
        lambda a: np.roll(a, 3, axis=(0, 1)),
        lambda a: np.roll(a, (1, 2, -5), axis=(0, 1, 0)),
        lambda a: np.repeat(a, [1, 0, 2], axis=0),
        lambda a: np.repeat(a, np.array([0, 0, 0]), axis=0),
        lambda a: np.repeat(a, np.arange(12)),
        lambda a: np.split(a, np.array([1, 2]))[1],
        lambda a: a.reshape(np.array([4, 3])),
        lambda a: np.transpose(a, np.array([1, 0])),
        lambda a: np.tile(a, np.array([2, 1])),
        lambda a: a[0, 0].cumsum(0),
        lambda a: np.var(a, ddof=float("nan")),
    ],
)
def test_forms(function: Callable[[Any], Any]) -> None:
    expected, found = function(X), rt.jit(function)(X)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(found, expected)


def _with_axis() -> list[Any]:
    return [known for known, ours in FUNCTIONS.items() if "axis" in inspect.signature(ours).parameters]


@pytest.mark.parametrize("function", _with_axis(), ids=lambda function: str(function.__name__))
@pytest.mark.parametrize("axis", ["x", 1.5, (0, 0), (1.5, 0), slice(0, 1), b"x", True, 99], ids=repr)
def test_odd_axes(function: Callable[..., Any], axis: object) -> None:
    """What is no axis of numpy's is none of ours: refused as numpy does it, or by name."""
    own = inspect.signature(FUNCTIONS[function]).parameters
    needed = {n: 1 for n, p in own.items() if p.default is p.empty and p.kind is not p.VAR_POSITIONAL}
    first, *others = needed
    given = {name: 1 for name in others if name != "axis"}

    def call(a: Any) -> Any:
        return function((a, a) if first in ("arrays", "tup") else a, **given, axis=axis)

    try:
        expected = call(X)
    except Exception as error:  # whatever numpy raises
        with pytest.raises((type(error), TypeError, ValueError, OpgenError)):
            rt.jit(call)(X)
    else:  # np.linalg.norm takes a float, np.flip True, np.roll an axis twice
        with suppress(TypeError, OpgenError):
            np.testing.assert_array_equal(rt.jit(call)(X), expected)


@pytest.mark.parametrize("function", [np.concatenate, np.stack, np.vstack, np.hstack])
def test_a_dtype_that_loses_kinds_is_refused(function: Callable[..., Any]) -> None:
    for call in (
        lambda a: function([a, a], dtype=np.int8),
        rt.jit(lambda a: function([a, a], dtype=np.int8)),
    ):
        with pytest.raises(TypeError, match="same_kind"):
            call(X)
