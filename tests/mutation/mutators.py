"""Small changes of Python trees, each of which should make a suite fail.

`changes(tree)` gives every change of a tree; `Change.applied` makes the changed tree.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

Found = tuple[str, Callable[[], None]]
"""What can be changed at a node: a description, and what does it in place."""
Finder = Callable[[ast.AST], list[Found]]

_BINARY: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mod,
    ast.Mod: ast.FloorDiv, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitXor, ast.BitXor: ast.BitAnd, ast.Pow: ast.Mult,
}  # fmt: skip
_COMPARE: Final[dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]]] = {
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,),
}  # fmt: skip
_CALLS: Final = {
    "sum": "max", "max": "min", "min": "max", "prod": "sum", "any": "all", "all": "any", "argmax": "argmin",
    "argmin": "argmax", "floor": "ceil", "ceil": "floor", "exp": "sqrt", "sqrt": "exp", "maximum": "minimum",
    "minimum": "maximum", "add": "subtract", "subtract": "add", "multiply": "add", "sin": "cos", "cos": "sin",
    "tanh": "sigmoid", "sigmoid": "tanh", "matmul": "add", "cumsum": "cumprod", "cumprod": "cumsum",
    "less": "less_equal", "less_equal": "less", "greater": "greater_equal", "greater_equal": "greater",
    "equal": "not_equal", "not_equal": "equal", "both": "either", "either": "both", "floordiv": "floormod",
    "floormod": "floordiv", "abs": "floor",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a tree: of which node, the `number`-th of those that the node admits."""

    text: str
    position: int
    number: int
    finder: Finder

    def applied(self, tree: ast.AST) -> ast.AST:
        """A changed copy of the tree that the change was found in."""
        changed = copy.deepcopy(tree)
        node = next(itertools.islice(ast.walk(changed), self.position, None))
        self.finder(node)[self.number][1]()
        return changed


def changes(tree: ast.AST, finder: Finder | None = None) -> Iterator[Change]:
    """Every change of `tree` that `finder` finds, by default any, in order of place."""
    finder = finder or _changes
    around = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for position, node in enumerate(ast.walk(tree)):
        found = finder(node)
        if found:
            whole = around.get(node, node) if isinstance(node, ast.Constant) else node
            line = " ".join(ast.unparse(whole).split())[:70]
            for number, (text, _) in enumerate(found):
                yield Change(f"{text} in `{line}`", position, number, finder)


def _changes(node: ast.AST) -> list[Found]:
    match node:
        case ast.BinOp(op=op) if type(op) in _BINARY and not _is_text(node):
            other = _BINARY[type(op)]
            return [(f"{_name(op)} -> {other.__name__}", lambda: setattr(node, "op", other()))]
        case ast.Compare(ops=ops):
            return [
                (f"{_name(op)} -> {other.__name__}", _setter(ops, at, other()))
                for at, op in enumerate(ops)
                for other in _COMPARE.get(type(op), ())
            ]
        case ast.BoolOp(op=op):
            other_op = ast.Or() if isinstance(op, ast.And) else ast.And()
            return [(f"{_name(op)} -> {_name(other_op)}", lambda: setattr(node, "op", other_op))]
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            return [("negation dropped", lambda: setattr(node, "op", ast.UAdd()))]
        case ast.IfExp(body=body, orelse=orelse):
            return [
                ("guard dropped", lambda: setattr(node, "test", ast.Constant(True))),
                ("branches swapped", lambda: node.__dict__.update(body=orelse, orelse=body)),
            ]
        case ast.comprehension(ifs=[_, *_] as ifs):
            return [("condition dropped", lambda: ifs.clear())]
        case ast.Constant(value=bool(value)):
            return [(f"{value} -> {not value}", lambda: setattr(node, "value", not value))]
        case ast.Constant(value=int(value)):
            return [(f"{value} -> {value + 1}", lambda: setattr(node, "value", value + 1))]
        case ast.Constant(value=float(value)):
            return [(f"{value} -> {value + 0.5}", lambda: setattr(node, "value", value + 0.5))]
        case ast.Call(func=ast.Name(id=name) as function) if name in _CALLS:
            return [(f"{name} -> {_CALLS[name]}", lambda: setattr(function, "id", _CALLS[name]))]
        case ast.Call(func=ast.Attribute(attr=name) as function) if name in _CALLS:
            return [(f"{name} -> {_CALLS[name]}", lambda: setattr(function, "attr", _CALLS[name]))]
    return []


def _name(node: ast.AST) -> str:
    return type(node).__name__


def _is_text(node: ast.BinOp) -> bool:
    """Whether an operand is a tuple or a text, whose only operator is `+`."""
    return any(isinstance(side, ast.Tuple) for side in (node.left, node.right))


def _setter(items: list[ast.cmpop], at: int, value: ast.cmpop) -> Callable[[], None]:
    return lambda: items.__setitem__(at, value)
