"""Python's search for cycles of garbage, while declarations are checked.

What checking makes lives until its op is done, so that most searches walk a great heap and find nothing: at Python's
own thresholds they are a fifth of all work.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_ALLOCATIONS: Final = 250_000  # objects more, between two searches; Python's own number is 700


def collect_rarely() -> None:
    """For the rest of this process."""
    gc.set_threshold(_ALLOCATIONS)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Search rarely inside."""
    before = gc.get_threshold()
    collect_rarely()
    try:
        yield
    finally:
        gc.set_threshold(*before)
