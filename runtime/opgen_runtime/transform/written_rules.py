"""Rules of their texts, for those who write passes in Python.

rule("divide(?x, ?c: constant)", when="is_exact_reciprocal(c)", replace="multiply(?x, 1 / c)")
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, Final

from ..declaration.pattern_text import parse_rule
from .matching import elements
from .rules import Rule, call, functions, operator, tuple_, value

_MAKERS: Final = SimpleNamespace(call=call, operator=operator, value=value, tuple_=tuple_, elements=elements)


def rule(match: str, replace: str, when: str = "", option: str = "", options: Sequence[str] = ()) -> Rule:
    """A rule of its texts (docs/declare-a-rewrite.md).  Raises PassError for one that cannot be read.

    `option`: that of the pass with which the rule is on; `options`: all of the pass, which the texts may name.
    """
    read = parse_rule(match, replace, when, options)
    return Rule(
        read.match,
        _function(read.replace, read.names(read.replace)),
        None if read.when is None else _function(read.when, read.names(read.when)),
        option,
        read.is_operand,
    )


def _function(body: ast.expr, names: Sequence[str]) -> Callable[..., Any]:
    """A function of an expression that `parse_rule` has made, in which nothing but its names can be read."""
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    tree = ast.fix_missing_locations(ast.Expression(ast.Lambda(arguments, body)))
    known = {"__builtins__": {}, "_p": _MAKERS, "_f": functions}
    made: Callable[..., Any] = eval(compile(tree, "<rule>", "eval"), known)
    return made
