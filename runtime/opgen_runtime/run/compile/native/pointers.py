"""The address of an array's first element, quickly."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Final

import numpy as np

from .layouts import DATA_OFFSET, WHY_NOT_NATIVE

Address = Callable[[np.ndarray], int]


def _documented(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _direct(array: np.ndarray) -> int:
    """0.1 us instead of 0.5, where the layouts of CPython and numpy are as expected."""
    return ctypes.c_size_t.from_address(id(array) + DATA_OFFSET).value


address_of: Final[Address] = _documented if WHY_NOT_NATIVE else _direct
