"""Expressions of sizes as a function of Python, for those that are evaluated at every call.

    closure([n + m, n * 4], [n, m])       lambda n, m: (n + m, n * 4), with what they share computed once

They are what `run.compile.sizes` takes: sums, products, quotients, extremes, comparisons and choices of dims.  An
int64 of machine code and an int of Python agree where nothing exceeds 64 bits; a quotient by 0 is 0 in both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..errors import LoweringError
from ..vocabulary import BOOL
from .expr import Binary, Cast, Compare, Const, Dim, Expr, Not, Select, Var
from .visit import post_order

Closure = Callable[..., tuple[int, ...]]
_BINARY: Final = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "floordiv": "{0} // {1} if {1} else 0",
    "floormod": "{0} % {1} if {1} else 0",
    "min": "min({}, {})",
    "max": "max({}, {})",
    "and": "{} & {}",
    "or": "{} | {}",
}
_COMPARE: Final = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def closure(exprs: Sequence[Dim], variables: Sequence[Var]) -> Closure:
    """A function of the variables' values, in order, that gives the values of all the expressions.

    Raises LoweringError for a variable that is not among them, and for an expression that is not one of sizes.
    """
    names: dict[int, str] = {id(var): f"v{k}" for k, var in enumerate(variables)}
    known = {var: f"v{k}" for k, var in enumerate(variables)}
    lines: list[str] = []
    alive = list(exprs)  # while ids stand for nodes
    for e in alive:
        for node in post_order(e) if isinstance(e, Expr) else ():
            if id(node) not in names:
                names[id(node)] = _name(node, names, known, lines)
    values = "".join([f"{e if isinstance(e, int) else names[id(e)]}, " for e in alive])
    body = "\n    ".join([*lines, f"return ({values})"])
    space: dict[str, Closure] = {}
    source = f"def f({', '.join(known.values())}):\n    {body}\n"
    exec(source, {"__builtins__": {"min": min, "max": max}}, space)  # of names and numbers of our own alone
    return space["f"]


def _name(node: Expr, names: dict[int, str], known: dict[Var, str], lines: list[str]) -> str:
    """What stands for a node: a number, a variable, or a name that a new line gives its value."""
    parts = [names[id(child)] for child in node.children()]
    if isinstance(node, Const):
        return f"({node.value!r})"
    if isinstance(node, Var):
        if node not in known:
            raise LoweringError(f"cannot evaluate the var {node.name}: no value is given for it")
        return known[node]
    if isinstance(node, Cast) and node.dtype.is_int and node.a.dtype.is_int and node.dtype.bits == 64:
        return parts[0]
    if isinstance(node, Binary) and node.op in _BINARY:
        text = _BINARY[node.op].format(*parts)
    elif isinstance(node, Compare):
        text = f"{parts[0]} {_COMPARE[node.op]} {parts[1]}"
    elif isinstance(node, Not) and node.dtype is BOOL:
        text = f"not {parts[0]}"
    elif isinstance(node, Select):
        condition, then, otherwise = (names[id(each)] for each in (node.condition, node.then, node.otherwise))
        text = f"{then} if {condition} else {otherwise}"
    else:
        raise LoweringError(f"{node} is no expression of sizes")
    name = f"t{len(lines)}"
    lines.append(f"{name} = {text}")
    return name
