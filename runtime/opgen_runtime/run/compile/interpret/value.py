"""What running a program gives."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from ....declaration import Arrays as Arrays


class Value:
    """A tensor in memory; `.numpy()` is the array itself, not a copy."""

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def numpy(self) -> np.ndarray:
        return self._array

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return self._array.dtype

    def __array__(self, dtype: np.dtype[np.generic] | None = None, copy: bool | None = None) -> np.ndarray:
        if dtype is not None and dtype != self._array.dtype:
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    def __repr__(self) -> str:
        return f"Value({self._array!r})"


Result: TypeAlias = "Value | tuple[Result, ...]"
"""A value, or a tuple of results where the program gives a tuple."""


def wrap(arrays: Arrays) -> Result:
    """The arrays of a result as values."""
    return tuple(map(wrap, arrays)) if isinstance(arrays, tuple) else Value(arrays)
