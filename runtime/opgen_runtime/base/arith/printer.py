"""Expressions as one line of text, in the notation of Python."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from ..vocabulary import INDEX
from .expr import (
    AnyDim,
    Binary,
    Bitcast,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Not,
    Select,
    Table,
    Var,
)
from .visit import bound_vars, post_order

# How tightly a form binds; a child that binds less tightly than its place asks is put in parentheses.
_SELECT, _OR, _AND, _NOT, _COMPARE, _BIT_OR, _BIT_XOR, _BIT_AND, _SHIFT, _SUM, _TERM, _UNARY, _ATOM = range(
    13
)
_BINARY: Final[dict[str, tuple[str, int]]] = {
    "add": ("+", _SUM),
    "sub": ("-", _SUM),
    "mul": ("*", _TERM),
    "div": ("/", _TERM),
    "floordiv": ("//", _TERM),
    "floormod": ("%", _TERM),
    "and": ("&", _BIT_AND),
    "or": ("|", _BIT_OR),
    "xor": ("^", _BIT_XOR),
    "shl": ("<<", _SHIFT),
    "shr": (">>", _SHIFT),
}
_FUNCTION: Final = {"min": "min", "max": "max", "truncdiv": "trunc_div", "truncmod": "trunc_mod"}
_COMPARISON: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}

_LONG: Final = 4000  # characters of a text that is written in full
_SHORT: Final = 6  # characters of a value that is written again

Text = tuple[str, int]
ChildText = Callable[[Expr], str]
Node = TypeVar("Node", bound=Expr)
_PRINTERS: Final[dict[type[Expr], Callable[[Expr, ChildText], str]]] = {}


def register_printer(cls: type[Node], print_node: Callable[[Node, ChildText], str]) -> None:
    """Print nodes of `cls`, a class of a higher layer, by `print_node(node, text_of_child)`."""
    _PRINTERS[cls] = print_node  # type: ignore[assignment]  # looked up by the node's own class


def to_text(e: Expr) -> str:
    """`e` as text, for people; literals of other dtypes than `index`, bool and float32 carry their dtype.

    In a text that would be very long, values that are used more than once are written once: `%0 * %0 where %0 = x + 1`.
    A var that a loop binds has another name than those that are read beside it: `sum(a[i, i_1] for i_1 in range(n))`.
    """
    if isinstance(e, Var):
        return e.name
    order = post_order(e)
    uses: Counter[int] = Counter()
    for node in order:
        uses.update(id(child) for child in node.children())
    texts: dict[int, Text] = {id(var): (name, _ATOM) for var, name in _told_apart(order).items()}
    unnamed = [node for node in order if id(node) not in texts]
    if not any(count > 1 for count in uses.values()) or _length(order) <= _LONG:
        for node in unnamed:
            texts[id(node)] = _node(node, texts)
        return texts[id(e)][0]
    named: list[str] = []
    for node in unnamed:
        text, level = _node(node, texts)
        if node is not e and uses[id(node)] > 1 and len(text) > _SHORT:
            named.append(f"%{len(named)} = {text}")
            text, level = f"%{len(named) - 1}", _ATOM
        texts[id(node)] = text, level
    return f"{texts[id(e)][0]} where {', '.join(named)}" if named else texts[id(e)][0]


def _told_apart(order: Sequence[Expr]) -> dict[Var, str]:
    """Names of the vars that loops bind which have the name of another var that is read in the same loop."""
    read_names = [node.name for node in order if isinstance(node, Var)]
    names: dict[Var, str] = {}
    if len(read_names) == len(set(read_names)):
        return names
    taken = Counter(read_names)
    free: dict[int, frozenset[Var]] = {}
    for node in order:
        read = frozenset[Var]().union(*[free[id(child)] for child in node.children()])
        bound = bound_vars(node)
        for at, var in enumerate(bound):
            others = {v.name for v in read if v is not var and v not in bound[at + 1 :] and v not in names}
            if var.name in others:
                names[var] = next(
                    n for n in map(f"{var.name}_{{}}".format, itertools.count(1)) if not taken[n]
                )
                taken[names[var]] += 1
        free[id(node)] = read | {node} if isinstance(node, Var) else read.difference(bound)
    return names


def _length(order: Sequence[Expr]) -> int:
    """About how long the text is in which nothing is shared."""
    lengths: dict[int, int] = {}
    for node in order:
        lengths[id(node)] = 4 + sum(lengths[id(child)] for child in node.children())
    return lengths[id(order[-1])]


def _node(node: Expr, texts: dict[int, Text]) -> Text:
    def child(e: Expr, level: int) -> str:
        text, own = texts[id(e)]
        return text if own >= level else f"({text})"

    if isinstance(node, Const):
        return _const(node)
    if isinstance(node, Var):
        return node.name, _ATOM
    if isinstance(node, AnyDim):
        return "?", _ATOM
    if isinstance(node, Binary):
        if node.op in _FUNCTION:
            return f"{_FUNCTION[node.op]}({texts[id(node.a)][0]}, {texts[id(node.b)][0]})", _ATOM
        symbol, level = _BINARY[node.op]
        return f"{child(node.a, level)} {symbol} {child(node.b, level + 1)}", level
    if isinstance(node, Compare):
        left, right = child(node.a, _COMPARE + 1), child(node.b, _COMPARE + 1)
        return f"{left} {_COMPARISON[node.op]} {right}", _COMPARE
    if isinstance(node, Select):
        return _select(node, child)
    if isinstance(node, Not):
        return f"~{child(node.a, _UNARY)}", _UNARY
    if isinstance(node, (Cast, Bitcast)):
        return (
            f"{'cast' if isinstance(node, Cast) else 'bitcast'}({texts[id(node.a)][0]}, {node.dtype})",
            _ATOM,
        )
    if isinstance(node, Call):
        return f"{node.name}({', '.join(texts[id(a)][0] for a in node.args)})", _ATOM
    if isinstance(node, Table):
        shown = ", ".join(_number(value) for value in node.values)
        dtype = "" if node.dtype is INDEX or node.dtype in ("bool", "float32") else node.dtype
        return f"{dtype}[{shown}][{texts[id(node.index)][0]}]", _ATOM
    printer = _PRINTERS.get(type(node))
    if printer is not None:
        return printer(node, lambda e: texts[id(e)][0] if id(e) in texts else to_text(e)), _ATOM
    inner = ", ".join(texts[id(c)][0] for c in node.children())
    return f"{type(node).__name__}({inner})", _ATOM


def _select(node: Select, child: Callable[[Expr, int], str]) -> Text:
    """A choice; `c and x`, `c or x` where it is one of those."""
    if _is_bool(node.otherwise, False):
        return f"{child(node.condition, _AND)} and {child(node.then, _AND + 1)}", _AND
    if _is_bool(node.then, True):
        return f"{child(node.condition, _OR)} or {child(node.otherwise, _OR + 1)}", _OR
    condition, then = child(node.condition, _OR), child(node.then, _OR)
    return f"{then} if {condition} else {child(node.otherwise, _SELECT)}", _SELECT


def _is_bool(e: Expr, value: bool) -> bool:
    return isinstance(e, Const) and e.value is value


def _const(node: Const) -> Text:
    text = _number(node.value)
    if isinstance(node.value, bool) or node.dtype is INDEX or node.dtype == "float32":
        return text, _UNARY if text.startswith("-") else _ATOM
    return f"{node.dtype}({text})", _ATOM


def _number(value: bool | int | float) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    return str(value)
