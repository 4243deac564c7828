"""What the declaration of a rewrite says: a pass of rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ..base.vocabulary import dataclass


@dataclass(frozen=True, slots=True)
class RuleDef:
    """One rule.  `samples`: name of what is captured -> texts of operands' types, or of an attr's values.

    `ulp`: how far values may be from those before, in units in the last place; 0: every bit stays.
    `decreases`: which of the pass's measures it decreases; "": whichever comes first.
    """

    match: str
    replace: str
    when: str = ""
    option: str = ""
    ulp: float = 0.0
    decreases: str = ""
    samples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    line: int = 0


@dataclass(frozen=True, slots=True)
class OptionDef:
    """An option of a pass, off by default; `bound`: how far values may be from those before with it, in words."""

    name: str
    doc: str
    bound: str = ""


@dataclass(frozen=True, slots=True)
class RewriteDef:
    """A pass.  `decreases`: its measures, of which the first that a rule changes must become less.

    A measure is `nodes`, `cost`, or the name of an op, whose calls are counted.
    """

    name: str
    doc: str
    level: int
    decreases: tuple[str, ...]
    options: tuple[OptionDef, ...]
    rules: tuple[RuleDef, ...]
    source: str = ""
    line: int = 0
    bound: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A program before a pass, and after it, that shows one rule; `after` is "" where the program must stay."""

    rule: int
    before: str
    after: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tried:
    """What came of trying the rules of a pass: (rule, what is wrong, with an example), and programs that show them."""

    problems: tuple[tuple[int, str], ...]
    shown: tuple[Shown, ...]


def rewrite_from(record: Mapping[str, Any]) -> RewriteDef:
    """What `dataclasses.asdict` made of one, after JSON."""
    rules = tuple(
        [
            RuleDef(**{**rule, "samples": {name: tuple(texts) for name, texts in rule["samples"].items()}})
            for rule in record["rules"]
        ]
    )
    options = tuple([OptionDef(**option) for option in record["options"]])
    return RewriteDef(
        **{**record, "decreases": tuple(record["decreases"]), "options": options, "rules": rules}
    )


def tried_from(record: Mapping[str, Any]) -> Tried:
    """What `dataclasses.asdict` made of one, after JSON."""
    shown = tuple([Shown(**{**each, "options": tuple(each["options"])}) for each in record["shown"]])
    return Tried(tuple([(int(rule), str(text)) for rule, text in record["problems"]]), shown)
