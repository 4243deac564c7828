"""Programs that are one run of an executable on a model's inputs: nothing of the front end is needed to call them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.lru_cache import Footprint
from ...run.executor import Entry, Executable


class Direct:
    """A specialisation that is one run of its executable on the inputs, if these are as `takes` says."""

    __slots__ = ("_dtypes", "_order", "_run", "executable", "order")

    def __init__(self, executable: Executable, dtypes: Sequence[np.dtype[Any]], order: Sequence[int]) -> None:
        self.executable = executable
        self.order = tuple(order)
        self._run = executable.run
        self._dtypes = tuple(dtypes)
        self._order = None if tuple(order) == tuple(range(len(dtypes))) else tuple(order)

    def footprint(self) -> Footprint:
        """The memory of the program."""
        return self.executable.footprint()

    def takes(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether arrays of its shapes have its dtypes and lie in order in memory."""
        for array, dtype in zip(arrays, self._dtypes, strict=True):
            if array.dtype is not dtype or not array.flags.c_contiguous:
                return False
        return True

    def entry(self) -> Entry | None:
        """Native functions of the inputs in their order, where the executable has some."""
        return self.executable.entry() if self._order is None else None

    def run(self, arrays: list[np.ndarray]) -> list[Any]:
        order = self._order
        found = self._run(arrays if order is None else [arrays[k] for k in order])
        return list(found) if isinstance(found, tuple) else [found]


class Loaded:
    """A specialisation that another process has left in the cache; it has the face of one that was made here."""

    checks = ()
    why_interpreted = None

    def __init__(self, executable: Executable, dtypes: Sequence[np.dtype[Any]], order: Sequence[int]) -> None:
        """`dtypes`: of the model's inputs.  `order`: which of them the executable takes."""
        self.executable = executable
        self._order = tuple(order)
        self._direct = Direct(executable, dtypes, order)

    def footprint(self) -> Footprint:
        """The memory of the program."""
        return self.executable.footprint()

    def direct(self) -> Direct:
        """The program as one run of its executable."""
        return self._direct

    def run(self, arrays: Sequence[np.ndarray]) -> list[Any]:
        """The outputs for the inputs."""
        return self._direct.run(list(arrays))

    first_result = run

    def memory(self, arrays: Sequence[np.ndarray]) -> int:
        """Bytes that a run on the inputs takes at a time."""
        return self.executable.memory([arrays[k].shape for k in self._order]) or 0
