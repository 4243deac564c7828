"""Patterns of the graph, and passes that are rules over them.

matching.py       what a pattern finds
rules.py          Rule, Rewriter, rewrite_pass, and what replacements are written in
written_rules.py  rules of their texts

What patterns are made of stands in `declaration/patterns.py`, the text form of rules in `declaration/pattern_text.py`.
"""

from typing import TYPE_CHECKING

from ..base.lazy_imports import import_lazily
from ..declaration.patterns import apply, capture, fields, form, literal, rest
from .info import Option
from .matching import elements, forms_of, matches
from .rules import Rewriter, Rule, bound_of, call, functions, operator, rewrite_pass, tuple_, value

__all__ = [
    "Option",
    "Rewriter",
    "Rule",
    "apply",
    "bound_of",
    "call",
    "capture",
    "elements",
    "fields",
    "form",
    "forms_of",
    "functions",
    "literal",
    "matches",
    "operator",
    "rest",
    "rewrite_pass",
    "rule",
    "tuple_",
    "value",
]  # fmt: skip

if TYPE_CHECKING:
    from .written_rules import rule
else:
    __getattr__ = import_lazily(__package__, {"rule": "written_rules"})  # and with it Python's parser
