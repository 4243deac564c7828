"""Contracts: small tables of rules, and how code that users hand in is called.

A rule looks at a thing and gives the reason why it is broken, naming the node, or None.  `verify` goes through a
table and raises with the stage that broke the rule, the reason and the rule's name.  Under `OPGEN_VERIFY=1` the
contracts are checked between our own stages, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from .errors import OpgenError

T = TypeVar("T")
VERIFY: Final = "OPGEN_VERIFY"
_RUNTIME: Final = __name__.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Rule(Generic[T]):
    """One rule: its name, and the reason why a thing breaks it, None if it does not."""

    name: str
    why_not: Callable[[T], str | None]


def verify(thing: T, rules: Iterable[Rule[T]], stage: str, kind: type[OpgenError]) -> None:
    """Raises `kind` for the first rule that `thing` breaks, naming the stage that made it, the node and the rule."""
    for rule in rules:
        reason = rule.why_not(thing)
        if reason is not None:
            raise kind(f"{stage}: {reason} (rule: {rule.name})")


def verifying() -> bool:
    """Whether what our own stages make is checked, too."""
    return os.environ.get(VERIFY, "") not in ("", "0")


def is_own(thing: object) -> bool:
    """Whether a function or class is the runtime's own, so that it was checked with the runtime."""
    return str(getattr(thing, "__module__", "")).partition(".")[0] == _RUNTIME


@contextmanager
def handed_in(what: str, kind: type[OpgenError]) -> Iterator[None]:
    """Around a call of code that users hand in: whatever it raises names `what`.

    An error of ours keeps its type; any other one becomes `kind`, from the one that was raised.
    """
    try:
        yield
    except OpgenError as error:
        if not str(error).startswith(what):
            error.args = (f"{what}: {error}", *error.args[1:])
        raise
    except MemoryError:
        raise
    except Exception as error:  # anyone's code may raise anything
        raise kind(f"{what} raised {type(error).__name__}: {error}") from error
