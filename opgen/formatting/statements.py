"""Statements of Python's `ast` as lines of text."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

from .document import WIDTH, Document, Short, bracketed, join, render
from .literal import docstring_lines
from .printer import BINARY, expression, parameters, target, value

_DEFINITIONS: Final = (ast.FunctionDef, ast.ClassDef)


def statement_lines(nodes: Sequence[ast.stmt], *, indent: int = 0, width: int = WIDTH) -> list[str]:
    """The lines of a block of statements at `indent` columns."""
    lines: list[str] = []
    for index, node in enumerate(nodes):
        if index and (isinstance(node, _DEFINITIONS) or isinstance(nodes[index - 1], _DEFINITIONS)):
            lines.append("")
        _statement(node, indent, width, lines)
    return lines


def header_lines(node: ast.stmt, *, indent: int = 0, width: int = WIDTH) -> list[str]:
    """The lines of a compound statement without its body: `def f(...) -> T:`."""
    return _laid(_HEADERS[type(node)](node), indent, width)


def _laid(document: Document, indent: int, width: int) -> list[str]:
    text = render(document, column=indent, indent=indent, width=width)
    return (" " * indent + text).split("\n")


def _statement(node: ast.stmt, indent: int, width: int, lines: list[str]) -> None:
    if type(node) in _HEADERS:
        _compound(node, indent, width, lines)
        return
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ):
        first, *rest = docstring_lines(inspect.cleandoc(node.value.value).split("\n"), indent, width)
        lines.extend((" " * indent + first, *rest))
        return
    try:
        printer = _SIMPLE[type(node)]
    except KeyError:
        raise TypeError(f"cannot print a statement of kind {type(node).__name__}") from None
    lines.extend(_laid(printer(node), indent, width))


def _compound(node: Any, indent: int, width: int, lines: list[str]) -> None:
    for decorator in getattr(node, "decorator_list", ()):
        lines.extend(_laid(("@", value(decorator)), indent, width))
    lines.extend(header_lines(node, indent=indent, width=width))
    lines.extend(statement_lines(node.body, indent=indent + 4, width=width))
    orelse = getattr(node, "orelse", [])
    if not orelse:
        return
    if isinstance(node, ast.If) and len(orelse) == 1 and isinstance(orelse[0], ast.If):
        start = len(lines)
        _compound(orelse[0], indent, width, lines)
        lines[start] = " " * indent + "el" + lines[start].lstrip()
    else:
        lines.append(" " * indent + "else:")
        lines.extend(statement_lines(orelse, indent=indent + 4, width=width))


def _assign(node: ast.Assign) -> Document:
    return (*((target(each), " = ") for each in node.targets), value(node.value))


def _annotated(node: ast.AnnAssign) -> Document:
    head: Document = (target(node.target), ": ", value(node.annotation))
    return (head, " = ", value(node.value)) if node.value is not None else head


def _augmented(node: ast.AugAssign) -> Document:
    return (target(node.target), f" {BINARY[type(node.op)][0]}= ", value(node.value))


def _import(node: ast.Import) -> Document:
    return ("import ", ", ".join(_alias(each) for each in node.names))


def _import_from(node: ast.ImportFrom) -> Document:
    head = f"from {'.' * node.level}{node.module or ''} import "
    flat = ", ".join(_alias(each) for each in node.names)
    if len(head) + len(flat) <= WIDTH:
        return head + flat
    return (head, bracketed("(", [Short(_alias(each)) for each in node.names], ")"))


def _alias(node: ast.alias) -> str:
    return f"{node.name} as {node.asname}" if node.asname else node.name


def _raise(node: ast.Raise) -> Document:
    head: Document = ("raise ", value(node.exc)) if node.exc else "raise"
    return (head, " from ", value(node.cause)) if node.cause else head


def _function(node: ast.FunctionDef) -> Document:
    returns: Document = (" -> ", value(node.returns)) if node.returns is not None else ""
    return (
        "def ",
        node.name,
        bracketed("(", [Short(each) for each in parameters(node.args)], ")"),
        returns,
        ":",
    )


def _class(node: ast.ClassDef) -> Document:
    bases: list[Document] = [expression(base) for base in node.bases]
    bases.extend((f"{keyword.arg}=", expression(keyword.value)) for keyword in node.keywords)
    return ("class ", node.name, bracketed("(", bases, ")") if bases else "", ":")


def _with(node: ast.With) -> Document:
    parts: list[Document] = []
    for item in node.items:
        text = expression(item.context_expr)
        parts.append((text, " as ", target(item.optional_vars)) if item.optional_vars else text)
    return ("with ", join(", ", parts), ":")


_SIMPLE: Final[dict[type[ast.stmt], Callable[[Any], Document]]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Expr: lambda node: value(node.value),
    ast.Return: lambda node: ("return ", value(node.value)) if node.value else "return",
    ast.Raise: _raise,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Pass: lambda node: "pass",
    ast.Break: lambda node: "break",
    ast.Continue: lambda node: "continue",
}
_HEADERS: Final[dict[type[ast.stmt], Callable[[Any], Document]]] = {
    ast.If: lambda node: ("if ", value(node.test), ":"),
    ast.For: lambda node: ("for ", target(node.target), " in ", value(node.iter), ":"),
    ast.While: lambda node: ("while ", value(node.test), ":"),
    ast.With: _with,
    ast.FunctionDef: _function,
    ast.ClassDef: _class,
}
