"""What is wrong with the definitions of a compute function: one failure a definition, none that follows from another.

A build raises the first error that it meets.  Where failures are collected instead, a definition that fails is noted
and its tensor poisoned: what reads it fails too, and nothing is said of that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from ...base import arith
from ...base.vocabulary import dataclass
from .weak import Value, Weak


class Poisoned(Exception):
    """Internal: the value of a tensor is needed that has failed already."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What was raised, and for which tensor ("": for none in particular), whose first definition is at `line`."""

    error: Exception
    tensor: str = ""
    line: int = 0


@dataclass(slots=True)
class Failures:
    """Collects errors of the given kinds."""

    kinds: tuple[type[Exception], ...]
    found: list[Failure] = field(default_factory=list)

    def attempt(self, compute: Callable[[], Value], tensor: str = "", line: int = 0) -> tuple[Value, bool]:
        """The value and True; where it fails, a value that stands for any, and False."""
        try:
            return compute(), True
        except Poisoned:
            pass
        except self.kinds as error:
            self.found.append(Failure(error, tensor, line))
        return Weak("unknown", lambda dtype: arith.literal(False if dtype.is_bool else 0, dtype)), False
