"""Lay out a rendered module: templates print Python without care for line width and unused imports.

Every statement (or header of a compound statement) that has a line wider than the limit is printed again from
its syntax tree; everything else, comments and blank lines included, stays as the template has it.
"""

from __future__ import annotations

import ast

from .document import WIDTH
from .statements import header_lines, statement_lines


def lay_out(source: str, width: int = WIDTH) -> str:
    """`source` with no statement wider than `width` where breaking it can help.

    Raises SyntaxError if `source` is not Python.  The syntax tree stays the same, which is checked.
    """
    tree = ast.parse(source)
    lines = source.splitlines()
    replaced: list[tuple[int, int, list[str]]] = []
    _collect(tree.body, lines, width, replaced)
    for first, last, new in reversed(replaced):
        lines[first:last] = new
    text = "\n".join(lines) + "\n"
    assert not replaced or _is_same(ast.parse(text), tree), "layout changed the meaning"
    return text


def _is_same(first: ast.AST, second: ast.AST) -> bool:
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
        elif repr(a) != repr(b):  # which tells -0.0 from 0.0
            return False
    return True


def drop_unused_imports(source: str) -> str:
    """`source` without the imports at its top that nothing uses; `import a as a` is a re-export and stays.

    Raises SyntaxError if `source` is not Python.
    """
    tree = ast.parse(source)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    lines = source.splitlines(keepends=True)
    for node in reversed(tree.body):
        if not isinstance(node, ast.Import | ast.ImportFrom) or getattr(node, "module", "") == "__future__":
            continue
        kept = [each for each in node.names if each.asname == each.name or _bound_name(each) in used]
        if len(kept) < len(node.names):
            last = node.end_lineno or node.lineno
            node.names = kept
            first = node.lineno - 1
            lines[first:last] = [line + "\n" for line in statement_lines([node])] if kept else []
            group_gone = not kept and "".join(lines[first - 1 : first + 1]) == "\n\n"
            if group_gone:
                del lines[first]
    return "".join(lines)


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
