"""Expressions back to text, with the fewest brackets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from . import syntax as s
from .vocabulary import OPS

_PRECEDENCE: Final = {
    "if": 0, "or": 1, "and": 2, "not": 3, "compare": 4, "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9,
    "*": 10, "/": 10, "//": 10, "%": 10, "unary": 11, "**": 12, "atom": 13,
}  # fmt: skip
_WORDS: Final = {"not-in": "not in", "is-none": "is None", "is-not-none": "is not None"}


def to_text(node: s.Expression | s.Slice | s.Star) -> str:
    """The text of an expression in one line."""
    return _text(node)[0]


def operand_text(node: s.Expression) -> str:
    """The text of an operand of a comparison."""
    return _inside(node, _PRECEDENCE["|"])


def link_text(left: s.Expression, op: str, right: s.Expression | None) -> str:
    """One link of a comparison."""
    if right is None:
        return f"{operand_text(left)} {_WORDS[op]}"
    return f"{operand_text(left)} {_WORDS.get(op, op)} {operand_text(right)}"


def _inside(node: s.Expression | s.Slice | s.Star, least: int) -> str:
    text, level = _text(node)
    return text if level >= least else f"({text})"


def _text(node: s.Expression | s.Slice | s.Star) -> tuple[str, int]:
    """The text and its precedence."""
    match node:
        case s.Unary(_, op, operand):
            level = _PRECEDENCE["not" if op == "not" else "unary"]
            return f"{'not ' if op == 'not' else op}{_inside(operand, level)}", level
        case s.Binary(_, op, left, right):
            level = _PRECEDENCE[op]
            first, second = (level + 1, level) if op == "**" else (level, level + 1)
            return f"{_inside(left, first)} {op} {_inside(right, second)}", level
        case s.Compare(_, first_operand, rest):
            text = operand_text(first_operand)
            for link, right_operand in rest:
                text += f" {_WORDS.get(link, link)}"
                text += "" if right_operand is None else f" {operand_text(right_operand)}"
            return text, _PRECEDENCE["compare"]
        case s.Logic(_, op, operands):
            level = _PRECEDENCE[op]
            return f" {op} ".join(_inside(operand, level + 1) for operand in operands), level
        case s.Conditional(_, condition, then, otherwise):
            level = _PRECEDENCE["or"]
            return f"{_inside(then, level)} if {_inside(condition, level)} else {_text(otherwise)[0]}", 0
    return _atom(node), _PRECEDENCE["atom"]


def _atom(node: s.Expression | s.Slice | s.Star) -> str:
    """The text of what never needs brackets."""
    atom = _PRECEDENCE["atom"]
    match node:
        case s.Literal(_, value):
            return repr(value)
        case s.Name(_, name):
            return name
        case s.Attribute(_, value, name):
            return f"{_inside(value, atom)}.{name}"
        case s.Star(_, value):
            return f"*{operand_text(value)}"
        case s.Slice(_, lower, upper, step):
            ends = ["" if end is None else _text(end)[0] for end in (lower, upper)]
            return ":".join(ends) + ("" if step is None else f":{_text(step)[0]}")
        case s.Subscript(_, value, indices):
            return f"{_inside(value, atom)}[{_listed(indices) or '()'}]"
        case s.Tuple(_, items):
            return f"({_listed(items)}{',' if len(items) == 1 else ''})"
        case s.Call(_, function, arguments):
            return f"{function.name}({_listed(arguments)})"
        case s.OpCall(_, op, operands, attrs):
            given = [_text(operand)[0] for operand in operands]
            named = [f"{attr.name}={_text(value)[0]}" for attr, value in attrs]
            return f"{OPS}.{op.name}({', '.join([*given, *named])})"
        case s.IndexOf(_, value, argument):
            return f"{_inside(value, atom)}.index({_text(argument)[0]})"
        case s.Comprehension():
            return _comprehension(node)
    raise AssertionError(node)


def _listed(items: Sequence[s.Expression | s.Slice | s.Star]) -> str:
    return ", ".join(_text(item)[0] for item in items)


def _comprehension(node: s.Comprehension) -> str:
    text = _text(node.element)[0]
    for clause in node.clauses:
        targets = ", ".join(target.name for target in clause.targets)
        text += f" for {targets} in {_inside(clause.iterable, _PRECEDENCE['or'])}"
        text += "".join(f" if {_inside(condition, _PRECEDENCE['or'])}" for condition in clause.conditions)
    if node.default is not None:
        return f"{node.function.name}(({text}), {_text(node.default)[0]})"
    return f"{node.function.name}({text})"
