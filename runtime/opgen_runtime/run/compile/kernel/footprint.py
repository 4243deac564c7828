"""The memory that compiled programs take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from ....base.lru_cache import Footprint
from ..native.pointers import address_of

OBJECT_BYTES: Final = 1 << 13  # about what a kernel or a program takes in Python, with its entries


def footprint_of_call(call: object) -> Footprint:
    """The memory of one way to call machine code that belongs to who keeps it: nothing of the code is looked at."""
    return ((id(call), OBJECT_BYTES),)


def footprint_of(arrays: Iterable[np.ndarray]) -> Footprint:
    """The memory of the elements of arrays."""
    return [(address_of(array), array.nbytes) for array in arrays]
