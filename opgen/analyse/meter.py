"""A limit on the static work of a declaration, so that none can keep the generator busy without end."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from opgen_runtime import lang
from opgen_runtime.errors import LanguageError

MAX_STEPS: Final = 150_000
_SIZED: Final = frozenset(
    {"each", "over", "tuple", "sorted", "sum", "prod", "min", "max", "any", "all", "zip"}
)


class Meter:
    """Counts steps; past the limit every further step raises LanguageError (code "limit")."""

    def __init__(self) -> None:
        self.steps = 0

    def reset(self) -> None:
        self.steps = 0

    def tick(self, count: int = 1) -> None:
        self.steps += count
        if self.steps > MAX_STEPS:
            raise LanguageError(
                f"more than {MAX_STEPS} static steps to build this; is a loop without end?", "limit"
            )


class MeteredLibrary:
    """`opgen_runtime.lang` as declarations see it during analysis: every call is counted."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def __getattr__(self, name: str) -> Any:
        found = getattr(lang, name)
        if callable(found):
            found = self._counted(found, name in _SIZED)
        setattr(self, name, found)
        return found

    def _counted(self, function: Callable[..., Any], sized: bool) -> Callable[..., Any]:
        tick = self._meter.tick

        def counted(*arguments: Any, **keywords: Any) -> Any:
            tick(1 + (sum(map(_length, arguments)) if sized else 0))
            return function(*arguments, **keywords)

        return counted


def _length(value: object) -> int:
    """How many static steps running over a value takes."""
    if isinstance(value, tuple | list | str):
        return len(value)
    shape = getattr(value, "shape", None)
    count = getattr(value, "count", None)
    if isinstance(count, int):
        return min(count, MAX_STEPS)
    if isinstance(shape, tuple) and all(isinstance(extent, int) for extent in shape):
        return min(math.prod(shape), MAX_STEPS) if hasattr(value, "reverse") else 0
    return 0
