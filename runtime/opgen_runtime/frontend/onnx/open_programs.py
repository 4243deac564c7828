"""The programs of a model for all sizes of its open dims.

There is one, but where conditions on sizes decide the program, such as an `If` whose sides differ in rank: each then
assumes what held of the sizes that it was made for, and refuses all others, for which another is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...base.errors import OpgenError
from .direct import Loaded

if TYPE_CHECKING:
    from .specialised import Specialisation

_MAX_VARIANTS: Final = 4  # for other conditions on sizes there are programs of one shape


class OpenPrograms:
    """`why_not`: why there is none; None where there may be one."""

    def __init__(self, why_not: str | None, memory: int) -> None:
        """`memory`: bytes that a run may take at a time."""
        self.why_not = why_not
        self._memory = memory
        self._made: tuple[Specialisation | Loaded, ...] = ()
        self._is_complete = False

    def __iter__(self) -> Iterator[Specialisation | Loaded]:
        return iter(self._made)

    @property
    def may_grow(self) -> bool:
        """Whether there may be another one for sizes that all there are refuse."""
        if self.why_not is not None or self._is_complete or len(self._made) == _MAX_VARIANTS:
            return False
        return not self._made or self._made[-1].is_decided_by_sizes

    def add(self, made: Specialisation | Loaded) -> None:
        """A program that runs on sizes which the others refuse."""
        self._made = (*self._made, made)

    def refuse(self, why: str) -> None:
        """There is no other one."""
        if self._made:
            self._is_complete = True
        else:
            self.why_not = why

    def run(self, arrays: Sequence[np.ndarray]) -> tuple[Specialisation | Loaded, list[Any]] | None:
        """The first program that takes the arrays, and what it gives; None where none does."""
        for each in self._made:
            try:
                if each.memory(arrays) <= self._memory:
                    result = each.run(arrays)
                    if result is not None:
                        return each, result
            except OpgenError:  # another one may take them, or a program for their shapes says why
                continue
        return None
