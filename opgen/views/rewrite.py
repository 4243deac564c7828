"""What the templates of a generated pass, of its suite and of the index of passes print."""

from __future__ import annotations

import re
from collections.abc import Sequence

from opgen_runtime.base.vocabulary import dataclass
from opgen_runtime.declaration.pattern_text import RuleSyntax, parse_rule, pattern_text
from opgen_runtime.declaration.rewrites import RewriteDef, RuleDef, Shown

from ..formatting import docstring_lines, fill, fold
from .text import line_of, literal

_WIDTH = 100  # of what is stated of a rule in a docstring


@dataclass(frozen=True, slots=True)
class RuleView:
    """One rule; every text is Python."""

    match: str
    when: str | None
    replace: str
    option: str | None
    is_operand: bool


@dataclass(frozen=True, slots=True)
class RewriteView:
    """One pass; every text but `name` is Python."""

    name: str
    summary: str  # the docstring of its module
    doc: str
    level: int
    rules: tuple[RuleView, ...]
    options: tuple[tuple[str, str], ...]
    bounds: tuple[tuple[str, str], ...]  # by the option that lets values change, "" for every run


@dataclass(frozen=True, slots=True)
class ShownView:
    """One case of a suite: its name, the program, what the pass makes of it (None: it stays), the options."""

    name: str
    before: str
    after: str | None
    options: str


@dataclass(frozen=True, slots=True)
class RewriteSuiteView:
    """The suite of one pass."""

    name: str
    package: str
    cases: tuple[ShownView, ...]


def pass_module(name: str) -> str:
    """The module of a pass: `DivToMul` -> `div_to_mul`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def rewrite_view(made: RewriteDef) -> RewriteView:
    """The view of a pass."""
    names = [option.name for option in made.options]
    rules = tuple(
        _rule_view(each, parse_rule(each.match, each.replace, each.when, names)) for each in made.rules
    )
    stated = {option.name: option.bound for option in made.options}
    bounds = {
        rule.option: stated.get(rule.option, made.bound) or f"{rule.ulp:g} units in the last place"
        for rule in made.rules
        if rule.ulp
    }
    return RewriteView(
        made.name,
        _summary(made),
        literal(made.doc),
        made.level,
        rules,
        tuple((literal(option.name), literal(option.doc)) for option in made.options),
        tuple((literal(option), literal(text)) for option, text in bounds.items()),
    )


def rewrite_suite_view(made: RewriteDef, shown: Sequence[Shown], package: str) -> RewriteSuiteView:
    """The view of a pass's suite, which imports it from `package`."""
    cases = tuple(
        ShownView(
            literal(f"{_rule_text(made.rules[each.rule])}{'' if each.after else ' must not fire'}"),
            literal(_on_one_line(each.before)),
            literal(_on_one_line(each.after)) if each.after else None,
            literal(dict.fromkeys(each.options, True)),
        )
        for each in shown
    )
    return RewriteSuiteView(made.name, package, cases)


def _rule_view(each: RuleDef, read: RuleSyntax) -> RuleView:
    def function(body: str, names: Sequence[str]) -> str:
        return f"lambda {', '.join(names)}: {body}" if names else f"lambda: {body}"

    when = None if read.when is None else function(line_of(read.when), read.names(read.when))
    return RuleView(
        pattern_text(read.match),
        when,
        function(line_of(read.replace), read.names(read.replace)),
        literal(each.option) if each.option else None,
        read.is_operand,
    )


def _summary(made: RewriteDef) -> str:
    listed = [line for each in made.rules for line in fold(f"    {_rule_text(each)}", _WIDTH)]
    return "\n".join(docstring_lines([*fill(f"{made.name}: {made.doc}", _WIDTH), "", *listed], 0))


def _on_one_line(program: str) -> str:
    return " ".join([line.strip() for line in program.strip().splitlines()])


def _rule_text(each: RuleDef) -> str:
    condition = f" where {each.when}" if each.when else ""
    option = f" with {each.option}" if each.option else ""
    return f"{each.match} -> {each.replace}{condition}{option}"
