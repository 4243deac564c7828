"""What is known of a pass: its name, its level, its options, what it does to values and types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final

from ..base.errors import did_you_mean
from ..base.vocabulary import dataclass

NO_OPTIONS: Final[Mapping[str, object]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class PassInfo:
    """What is known of a pass.

    `opt_level`: the least level of the context at which a Sequential runs it.  `required`: names of passes whose
    result it relies on.  `preserves`: names of passes whose result still holds after it.  `changes_type`: whether
    the type of `main` may be another one after it.  `error_bound`: how far values may be from those before, in
    words; "" for a pass that keeps every bit.  `options`: the values of its options that were given.
    """

    name: str
    opt_level: int = 0
    required: tuple[str, ...] = ()
    preserves: tuple[str, ...] = ()
    changes_type: bool = False
    error_bound: str = ""
    options: Mapping[str, object] = field(default_factory=lambda: NO_OPTIONS)

    @property
    def changes_values(self) -> bool:
        """Whether results may differ in some bits from those before the pass."""
        return bool(self.error_bound)


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a pass, of the type of its `default`; `least` is the least number that it takes."""

    default: object
    doc: str
    least: int | None = None

    def why_not(self, value: object) -> str | None:
        """Why `value` is no value of the option, or None if it is one."""
        kind = type(self.default)
        if type(value) is not kind:
            return f"takes {kind.__name__}, found {value!r:.80} of {type(value).__name__}"
        if self.least is not None and isinstance(value, int) and value < self.least:
            return f"is at least {self.least}, found {value}"
        return None


def candidates(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: those that are near, and all that there are."""
    listed = sorted(known)
    return f"{did_you_mean(name, listed)} (known: {', '.join(listed) or 'none'})"
