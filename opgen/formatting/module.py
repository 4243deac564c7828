"""Lay out a rendered module: templates print Python without care for line width and unused imports.

Imports that nothing uses are dropped.  Every statement (or header of a compound statement) that has a line wider than
the limit is printed again from its syntax tree; everything else, comments and blank lines included, stays as the
template has it.
"""

from __future__ import annotations

import ast
from typing import Final

from .document import WIDTH
from .statements import header_lines, statement_lines

_IMPORTS: Final = (ast.Import, ast.ImportFrom)


def lay_out(source: str, width: int = WIDTH) -> str:
    """`source` with no statement wider than `width` where breaking it can help, and no import that nothing uses.

    `import a as a` is a re-export and stays.  Raises SyntaxError if `source` is not Python.  The syntax tree of all
    else stays the same, which is checked.
    """
    tree = ast.parse(source)
    lines = source.splitlines()
    used = _names_used(tree) if any(isinstance(node, _IMPORTS) for node in tree.body) else frozenset[str]()
    places = [(_start(node) - 1, node.end_lineno or node.lineno) for node in tree.body]
    ends = [0, *[last for _, last in places]]
    starts = [*[first for first, _ in places], len(lines)]
    for number in reversed(range(len(tree.body))):  # so that the places of those above stay what they are
        node, (first, last), length = tree.body[number], places[number], len(lines)
        if not _lay_out_one(node, lines, used, width):
            continue
        assert ends[number] <= first, "layout dropped the statement before another one"
        assert last <= starts[number + 1], "layout dropped the statement after another one"
        made = ast.parse("\n".join(lines[first : last + len(lines) - length]))
        left = [] if isinstance(node, _IMPORTS) and not node.names else [node]
        assert _is_same(made.body, left), "layout changed the meaning"
    return "\n".join(lines) + "\n"


def _lay_out_one(node: ast.stmt, lines: list[str], used: frozenset[str], width: int) -> bool:
    """Lay out the lines of one statement; whether that changed any."""
    if isinstance(node, _IMPORTS) and not _uses_all(node, used):
        _drop_unused(node, used, lines)
        return True
    replaced: list[tuple[int, int, list[str]]] = []
    _collect([node], lines, width, replaced)
    for begin, end, new in reversed(replaced):
        lines[begin:end] = new
    return bool(replaced)


def _is_same(first: object, second: object) -> bool:
    """Whether two trees differ in their places alone."""
    pairs: list[tuple[object, object]] = [(first, second)]
    while pairs:
        a, b = pairs.pop()
        if type(a) is not type(b):
            return False
        if isinstance(a, ast.AST):
            pairs += [(getattr(a, name, None), getattr(b, name, None)) for name in a._fields]
        elif isinstance(a, list) and isinstance(b, list):
            if len(a) != len(b):
                return False
            pairs += zip(a, b, strict=True)
        elif a != b or (isinstance(a, float | complex) and repr(a) != repr(b)):  # 0.0 is not -0.0
            return False
    return True


def _names_used(tree: ast.AST) -> frozenset[str]:
    """The names that the expressions of a tree use."""
    found: set[str] = set()
    stack: list[ast.AST] = [tree]
    while stack:
        for value in vars(stack.pop()).values():
            kind = type(value)
            if kind is ast.Name:
                found.add(value.id)
            elif kind is list:
                for each in value:
                    if type(each) is ast.Name:
                        found.add(each.id)
                    elif isinstance(each, ast.AST):
                        stack.append(each)
            elif kind is not ast.Load and kind is not ast.Constant and isinstance(value, ast.AST):
                stack.append(value)
    return frozenset(found)


def _uses_all(node: ast.Import | ast.ImportFrom, used: frozenset[str]) -> bool:
    is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    return is_future or all(_stays(each, used) for each in node.names)


def _stays(alias: ast.alias, used: frozenset[str]) -> bool:
    return alias.asname == alias.name or _bound_name(alias) in used


def _drop_unused(node: ast.Import | ast.ImportFrom, used: frozenset[str], lines: list[str]) -> None:
    """Leave what is used of an import; where a group of them is gone, one blank line."""
    first, last = node.lineno - 1, node.end_lineno or node.lineno
    node.names = [each for each in node.names if _stays(each, used)]
    lines[first:last] = statement_lines([node]) if node.names else []
    if not node.names and first and lines[first - 1 : first + 1] == ["", ""]:
        del lines[first]


def _bound_name(alias: ast.alias) -> str:
    return alias.asname or alias.name.split(".")[0]


def _collect(
    body: list[ast.stmt], lines: list[str], width: int, replaced: list[tuple[int, int, list[str]]]
) -> None:
    for node in body:
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        inner = getattr(node, "body", None)
        if isinstance(inner, list) and inner:
            head = min(_start(inner[0]) - 1, last)
            if any(len(line) > width for line in lines[first:head]):
                replaced.append((first, head, header_lines(node, indent=node.col_offset, width=width)))
            _collect(inner, lines, width, replaced)
            _collect(getattr(node, "orelse", []), lines, width, replaced)
        elif any(len(line) > width for line in lines[first:last]) and not _is_text(node):
            replaced.append((first, last, statement_lines([node], indent=node.col_offset, width=width)))


def _start(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _is_text(node: ast.stmt) -> bool:
    """A docstring, or a text of several lines: it was wrapped when it was made."""
    match node:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(value=ast.Constant(value=str(text))):
            return "\n" in text and node.end_lineno != node.lineno
    return False
