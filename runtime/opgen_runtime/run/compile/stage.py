"""`Stage`: one row of the compiler's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from ...base.contract import Contract
from ...base.vocabulary import dataclass

A = TypeVar("A")
B = TypeVar("B")
Oracle: TypeAlias = Callable[[B, Sequence[np.ndarray]], Any]


@dataclass(frozen=True, slots=True)
class Stage(Generic[A, B]):
    """One row: what it is called, what it does, and what can be asked of what it gives.

    `verify`: the contracts of what it gives, which are checked after it, or a function that imports them; `inside`:
    those that it checks itself, where users' functions have given something.  `texts`: (name, text) of what there is to
    see.  `oracle` computes the results from what it gave, for tests: as te.evaluate, the interpreter of loop IR, or the
    machine does.  `hooked` applies a user's function to what it gave.
    """

    name: str
    run: Callable[[A], B]
    verify: tuple[Contract[Any], ...] | Callable[[], tuple[Contract[Any], ...]] = ()
    texts: Callable[[B], Iterable[tuple[str, str]]] | None = None
    oracle: Oracle[B] | None = None
    inside: tuple[Contract[Any], ...] = ()
    hooked: Callable[[B, str, Callable[[Any], Any], Contract[Any]], B] | None = None
    needed: bool = False

    @property
    def contracts(self) -> tuple[Contract[Any], ...]:
        """Those of `verify`."""
        return self.verify if isinstance(self.verify, tuple) else self.verify()


Table: TypeAlias = tuple[Stage[Any, Any], ...]
