"""Changes of the bounds of attrs: each end shifted, strict for loose, a choice left out, or removed.

They are changes of the lambdas that a generated module states bounds with, whose first parameter is the attr.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from .mutators import Found

_OTHER_STRICTNESS: Final = {
    "less": "less_equal", "less_equal": "less", "greater": "greater_equal", "greater_equal": "greater",
}  # fmt: skip
_COMPARISONS: Final = frozenset({*_OTHER_STRICTNESS, "equal", "not_equal"})


@dataclass(frozen=True, slots=True)
class BoundChanges:
    """The changes at a node of the bounds of an attr of a kind."""

    attr: str
    kind: str

    def __call__(self, node: ast.AST) -> list[Found]:
        match node:
            case ast.Call(func=ast.Attribute(attr=name), args=[_, _]) if name in _COMPARISONS:
                return [*self._shifts(node), *_strictness(node, name), _removed(node)]
            case ast.Call(func=ast.Attribute(attr="contains"), args=[ast.Tuple(elts=choices), _]):
                without = [
                    (f"choice {ast.unparse(choice)} dropped", _dropper(choices, choice)) for choice in choices
                ]
                return [*without, _removed(node)]
        return []

    def _shifts(self, call: ast.Call) -> list[Found]:
        """The end elsewhere: by one, and for floats at the neighbours and by half."""
        at = 0 if not _is_name(call.args[0], self.attr) else 1
        end = call.args[at]
        return [
            (f"{ast.unparse(end)} -> {ast.unparse(other)}", _setter(call.args, at, other))
            for other in self._others(end)
        ]

    def _others(self, end: ast.expr) -> list[ast.expr]:
        is_float = self.kind in ("float", "floats")
        number = _number(end)
        if number is not None:
            values: list[int | float] = [number - 1, number + 1]
            if is_float:
                values += [math.nextafter(number, -math.inf), math.nextafter(number, math.inf), number + 0.5]
            return [ast.Constant(value) for value in values]
        step = ast.Constant(0.5 if is_float else 1)
        return [ast.BinOp(end, ast.Add(), step), ast.BinOp(end, ast.Sub(), step)]


def _number(node: ast.expr) -> int | float | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _strictness(call: ast.Call, name: str) -> list[Found]:
    assert isinstance(call.func, ast.Attribute)
    function, other = call.func, _OTHER_STRICTNESS.get(name)
    return [] if other is None else [(f"{name} -> {other}", lambda: setattr(function, "attr", other))]


def _removed(call: ast.Call) -> Found:
    """The comparison always holds."""
    always = ast.Call(ast.Name("bool", ast.Load()), [ast.Constant(True)], [])
    return "removed", lambda: call.__dict__.update(func=always.func, args=always.args)


def _dropper(choices: list[ast.expr], choice: ast.expr) -> Callable[[], None]:
    return lambda: choices.remove(choice)


def _setter(items: list[ast.expr], at: int, value: ast.expr) -> Callable[[], None]:
    return lambda: items.__setitem__(at, value)
