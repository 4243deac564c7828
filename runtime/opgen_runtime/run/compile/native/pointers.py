"""The address of an array's first element, quickly."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Final

import numpy as np

Address = Callable[[np.ndarray], int]

# CPython's object header is a reference count and a type; numpy's arrays hold the data pointer next
# (numpy/ndarraytypes.h, PyArrayObject_fields).
_DATA_OFFSET: Final = 2 * ctypes.sizeof(ctypes.c_void_p)


def _documented(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _direct(array: np.ndarray) -> int:
    """0.1 us instead of 0.5, where the layouts of CPython and numpy are as expected (`_layout_is_known`)."""
    return ctypes.c_size_t.from_address(id(array) + _DATA_OFFSET).value


def _layout_is_known() -> bool:
    """Whether the direct read agrees with numpy on arrays whose addresses differ in every way."""
    if type(id(object())) is not int or not hasattr(ctypes, "pythonapi"):
        return False
    base = np.arange(64, dtype=np.float64)
    samples = (
        base,
        base[3:],
        base[::-1],
        base.reshape(8, 8).T,
        np.empty((), np.int8),
        base.view(np.int16)[5:],
    )
    return all(_direct(sample) == _documented(sample) for sample in samples)


address_of: Final[Address] = _direct if _layout_is_known() else _documented
