"""A minimal wrong declaration for each code of a diagnostic, and how it is mended (`examples.yaml`)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

_TABLE: Final = Path(__file__).with_suffix(".yaml")
_PICTURES: Final = {0x2407: "\a"}  # a control character cannot stand in the table itself


@dataclass(frozen=True, slots=True)
class Example:
    """What to do about a code.  `bad` gives it and `mended` nothing; both are "" where no declaration is known."""

    say: str
    bad: str
    mended: str


@cache
def examples() -> dict[str, Example]:
    """The example of each code."""
    table: dict[str, dict[str, Any]] = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    return {code: _example(**entry) for code, entry in table.items()}


def _example(say: str, bad: str = "", mend: dict[str, str] | None = None) -> Example:
    mended = bad
    for before, after in (mend or {}).items():
        mended = mended.replace(before, after)
    return Example(say, bad.translate(_PICTURES), mended.translate(_PICTURES))
