"""Programs that are one run of an executable on a model's inputs: nothing of the front end is needed to call them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.lru_cache import Footprint
from ...run.executor import Entry, Executable


class Direct:
    """A specialisation that is one run of its executable on the inputs."""

    __slots__ = ("_order", "_run", "executable", "order")

    def __init__(self, executable: Executable, count: int, order: Sequence[int]) -> None:
        """`count`: of the model's inputs.  `order`: which of them the executable takes."""
        self.executable = executable
        self.order = tuple(order)
        self._run = executable.run
        self._order = None if self.order == tuple(range(count)) else self.order

    def footprint(self) -> Footprint:
        """The memory of the program."""
        return self.executable.footprint()

    def entry(self) -> Entry | None:
        """Native functions of the inputs in their order, where the executable has some."""
        return self.executable.entry() if self._order is None else None

    def run(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        """The outputs for the inputs."""
        order = self._order
        found = self._run(arrays if order is None else [arrays[k] for k in order])
        return list(found) if isinstance(found, tuple) else [found]


class Loaded(Direct):
    """A specialisation that another process has left in the cache; it has the face of one that was made here."""

    __slots__ = ("is_decided_by_sizes",)

    checks = ()
    why_interpreted = None
    first_result = Direct.run

    def __init__(
        self, executable: Executable, count: int, order: Sequence[int], is_decided_by_sizes: bool
    ) -> None:
        """`is_decided_by_sizes`: whether it is another one where conditions on sizes are others."""
        super().__init__(executable, count, order)
        self.is_decided_by_sizes = is_decided_by_sizes

    def memory(self, arrays: Sequence[np.ndarray]) -> int:
        """Bytes that a run on the inputs takes at a time."""
        return self.executable.memory([arrays[k].shape for k in self.order]) or 0
