"""The formula of an op in LaTeX, for documentation; None for what is a program more than a formula."""

from __future__ import annotations

import ast
from typing import Final

_SUM, _PRODUCT, _POWER, _ATOM = 1, 2, 3, 4  # how tightly a text binds
_COMPARE: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<", ast.LtE: r"\le", ast.Gt: ">", ast.GtE: r"\ge", ast.Eq: "=", ast.NotEq: r"\ne", ast.In: r"\in",
    ast.NotIn: r"\notin", ast.Is: "=", ast.IsNot: r"\ne",
}  # fmt: skip
_REDUCTIONS: Final = {"sum": r"\sum", "prod": r"\prod", "min": r"\min", "max": r"\max", "any": r"\bigvee",
                      "all": r"\bigwedge"}  # fmt: skip
_FUNCTIONS: Final = frozenset({"exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh", "min", "max"})


class _Unknown(Exception):
    """A node that has no formula."""


def typeset(text: str) -> str | None:
    """The definitions of a compute text as lines of LaTeX's `aligned`."""
    try:
        lines = [_definition(statement) for statement in ast.parse(text).body]
    except (SyntaxError, _Unknown, RecursionError):
        return None
    return " \\\\\n".join(lines) if lines else None


def _definition(node: ast.stmt) -> str:
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        target, value = node.target, node.value
    else:
        raise _Unknown
    return f"{_text(target)} &= {_text(value)}"


def _text(node: ast.expr, least: int = 0) -> str:
    """The LaTeX of an expression, in parentheses where it binds less tightly than `least`."""
    text, binds = _bound(node)
    return rf"\left({text}\right)" if binds < least else text


def _bound(node: ast.expr) -> tuple[str, int]:
    match node:
        case ast.Name(id=name):
            return _name(name), _ATOM
        case ast.Constant(value=bool() | None as value):
            return rf"\mathrm{{{value}}}", _ATOM
        case ast.Constant(value=int() | float() as number):
            return str(number), _ATOM
        case ast.Attribute():
            return _name(ast.unparse(node)), _ATOM
        case ast.Subscript():
            return f"{_text(node.value, _ATOM)}_{{{_indices(node.slice)}}}", _ATOM
        case ast.BinOp():
            return _operation(node)
        case ast.UnaryOp(op=ast.USub()):
            return f"-{_text(node.operand, _PRODUCT)}", _SUM
        case ast.UnaryOp(op=ast.Not()):
            return rf"\lnot {_text(node.operand, _ATOM)}", _POWER
        case ast.BoolOp():
            sign = r" \land " if isinstance(node.op, ast.And) else r" \lor "
            return sign.join(_text(each, _SUM) for each in node.values), 0
        case ast.Compare():
            parts = [_text(node.left, _SUM)]
            for operator, right in zip(node.ops, node.comparators, strict=True):
                parts += (_COMPARE[type(operator)], _text(right, _SUM))
            return " ".join(parts), 0
        case ast.IfExp():
            return rf"\begin{{cases}} {_cases(node)} \end{{cases}}", _ATOM
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            return _call(name, node.args)
    raise _Unknown


def _cases(node: ast.expr) -> str:
    if isinstance(node, ast.IfExp):
        return rf"{_text(node.body)} & \text{{if }} {_text(node.test)} \\ {_cases(node.orelse)}"
    return rf"{_text(node)} & \text{{otherwise}}"


def _operation(node: ast.BinOp) -> tuple[str, int]:
    match node.op:
        case ast.Add():
            return f"{_text(node.left, _SUM)} + {_text(node.right, _SUM)}", _SUM
        case ast.Sub():
            return f"{_text(node.left, _SUM)} - {_text(node.right, _PRODUCT)}", _SUM
        case ast.Mult():
            return rf"{_text(node.left, _PRODUCT)} \cdot {_text(node.right, _PRODUCT)}", _PRODUCT
        case ast.Div():
            return rf"\frac{{{_text(node.left)}}}{{{_text(node.right)}}}", _ATOM
        case ast.FloorDiv():
            fraction = rf"\frac{{{_text(node.left)}}}{{{_text(node.right)}}}"
            return rf"\left\lfloor {fraction} \right\rfloor", _ATOM
        case ast.Mod():
            return rf"{_text(node.left, _PRODUCT)} \bmod {_text(node.right, _POWER)}", _PRODUCT
        case ast.Pow():
            return f"{_text(node.left, _ATOM)}^{{{_text(node.right)}}}", _POWER
    raise _Unknown


def _call(name: str, arguments: list[ast.expr]) -> tuple[str, int]:
    match name, arguments:
        case _, [ast.GeneratorExp() as each] if name in _REDUCTIONS:
            return _reduction(name, each), _SUM
        case "sqrt", [of]:
            return rf"\sqrt{{{_text(of)}}}", _ATOM
        case "abs", [of]:
            return rf"\left|{_text(of)}\right|", _ATOM
    function = rf"\{name}" if name in _FUNCTIONS else rf"\operatorname{{{_escaped(name)}}}"
    return rf"{function}\left({', '.join(_text(each) for each in arguments)}\right)", _ATOM


def _reduction(name: str, node: ast.GeneratorExp) -> str:
    under: list[str] = []
    for each in node.generators:
        match each.iter:
            case ast.Call(func=ast.Name(id="range"), args=[end]):
                under.append(rf"0 \le {_text(each.target)} < {_text(end, _SUM)}")
            case ast.Call(func=ast.Name(id="range"), args=[begin, end]):
                under.append(rf"{_text(begin, _SUM)} \le {_text(each.target)} < {_text(end, _SUM)}")
            case _:
                under.append(rf"{_text(each.target)} \in {_text(each.iter, _ATOM)}")
        under += [_text(condition) for condition in each.ifs]
    below = r" \\ ".join(under)
    return rf"{_REDUCTIONS[name]}_{{\substack{{{below}}}}} {_text(node.elt, _PRODUCT)}"


def _indices(node: ast.expr) -> str:
    return ", ".join(_index(each) for each in (node.elts if isinstance(node, ast.Tuple) else [node]))


def _index(node: ast.expr) -> str:
    if isinstance(node, ast.Starred):
        text = _text(node.value)
        return rf"\boldsymbol{{{text}}}" if isinstance(node.value, ast.Name) else text
    if isinstance(node, ast.Slice):
        ends = (None if end is None else _text(end) for end in (node.lower, node.upper))
        return ":".join(end or "" for end in ends)
    return _text(node)


def _name(name: str) -> str:
    return name if len(name) == 1 else rf"\mathrm{{{_escaped(name)}}}"


def _escaped(name: str) -> str:
    return name.replace("_", r"\_")
