"""Contracts: small tables of rules, when they are checked, and how code that users hand in is called.

A rule looks at a thing and gives the reason why it is broken, naming the node, or None.  A contract is a table of
rules for one kind of thing; it raises with the stage that broke a rule, the reason and the rule's name.  What users'
code makes is checked right where it was made; under `OPGEN_VERIFY=1`, as in tests, so is what our own stages make.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Final, Generic, TypeVar

from .errors import OpgenError
from .vocabulary import dataclass

T = TypeVar("T")
VERIFY: Final = "OPGEN_VERIFY"
DEFECTS: Final = "OPGEN_DEFECTS"
_RUNTIME: Final = __name__.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Rule(Generic[T]):
    """One rule: its name, and the reason why a thing breaks it, None if it does not."""

    name: str
    why_not: Callable[[T], str | None]


class When(Enum):
    """When a contract is checked."""

    ALWAYS = "always"
    TESTS = "what users made; in tests all"
    USERS = (
        "what users made"  # ours is proved where it is made, with more knowledge than the thing itself holds
    )


@dataclass(frozen=True, slots=True)
class Contract(Generic[T]):
    """What a thing must keep to: rules in an order in which one may rely on those before it.

    `of`: what things it is about.  `error`: the kind of exception that a broken rule raises.
    """

    of: str
    error: type[OpgenError]
    when: When
    rules: tuple[Rule[T], ...]

    def check(self, thing: T, stage: str, own: bool = True) -> None:
        """Like `verify`, where it is time to; `own`: users have no part in the thing."""
        if self.applies(own):
            self.verify(thing, stage)

    def applies(self, own: bool = True) -> bool:
        """Whether it is time to check what we made (`own`) or users."""
        if self.when is When.ALWAYS or not own:
            return True
        return self.when is When.TESTS and verifying()

    def verify(self, thing: T, stage: str) -> None:
        """Raises `error` for the first rule that `thing` breaks, naming the stage, the node and the rule."""
        for rule in self.rules:
            reason = rule.why_not(thing)
            if reason is not None:
                error = self.error(f"{stage}: {reason} (rule: {rule.name})")
                error.defect = None if self.when is When.USERS else rule.name
                raise error


def verifying() -> bool:
    """Whether what our own stages make is checked, too."""
    return os.environ.get(VERIFY, "") not in ("", "0")


def defects_are_raised() -> bool:
    """Whether a defect of ours ends the call where callers are served in another way else: in tests.

    That is under OPGEN_DEFECTS=raise, and where `verifying`.
    """
    return os.environ.get(DEFECTS, "") == "raise" or verifying()


def raise_defect(error: OpgenError) -> None:
    """Raise a broken rule in tests, where the caller goes another way after errors that say what cannot be done."""
    if error.defect is not None and defects_are_raised():
        raise error


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
