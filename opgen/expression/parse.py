"""Text of a declaration to syntax trees: expressions, shapes, ranges and blocks of statements."""

from __future__ import annotations

import ast

from opgen_runtime.base.vocabulary import dataclass

from ..diagnostics import Diagnostics, Edit, Suggestion
from ..document import TextNode
from . import syntax as s
from .convert import ExpressionConverter, Rejected
from .statements import StatementConverter
from .text import Text, make_text, parse_python


@dataclass(frozen=True, slots=True)
class BlockText:
    """What a block gave.  `lost`: names that refused statements would have bound; None: it is not known."""

    block: s.Block
    complete: bool
    lost: frozenset[str] | None


def parse_expression(node: TextNode, diagnostics: Diagnostics) -> s.Expression | None:
    """One expression, or None (reported)."""
    found = _one(node, diagnostics)
    if found is None:
        return None
    text, tree = found
    converter = ExpressionConverter(text, diagnostics)
    try:
        return converter.expression(tree)
    except Rejected:
        return None


def parse_shape(node: TextNode, diagnostics: Diagnostics) -> tuple[s.Expression | s.Star, ...] | None:
    """The entries of a shape text, which may stand in brackets; the empty text is rank 0."""
    if not node.value.strip():
        return ()
    found = _one(node, diagnostics)
    if found is None:
        return None
    text, tree = found
    converter = ExpressionConverter(text, diagnostics)
    entries = tree.elts if isinstance(tree, ast.Tuple | ast.List) else [tree]
    try:
        return tuple(converter.item(entry) for entry in entries)
    except Rejected:
        return None


def parse_member_range(node: TextNode, diagnostics: Diagnostics) -> tuple[s.Name, s.Expression] | None:
    """`j in range(E)` as the name and E."""
    tree = parse_expression(node, diagnostics)
    if tree is None:
        return None
    if isinstance(tree, s.Compare) and isinstance(tree.first, s.Name) and len(tree.rest) == 1:
        op, source = tree.rest[0]
        if op == "in" and isinstance(source, s.Call) and source.function.name == "range":
            count = source.arguments[0] if len(source.arguments) == 1 else None
            if count is not None and not isinstance(count, s.Star):
                return tree.first, count
    diagnostics.error("syntax", "expected `j in range(E)`", tree.place)
    return None


def parse_block(node: TextNode, diagnostics: Diagnostics, static: bool) -> BlockText:
    """The statements of `compute:` (or with `static` of `let:`) that can be read; the others are reported."""
    text = make_text(node, one_line=False)
    tree = parse_python(text, diagnostics)
    if tree is None:
        return BlockText((), False, None)
    if not tree.body:
        diagnostics.error("syntax", "a definition is expected here, found nothing", node.place)
        return BlockText((), False, None)
    converter = StatementConverter(text, diagnostics, static)
    block = converter.block(tree.body)
    return BlockText(block, not converter.failed, frozenset(converter.lost))


def _one(node: TextNode, diagnostics: Diagnostics) -> tuple[Text, ast.expr] | None:
    """The text and its single expression."""
    text = make_text(node, one_line=True)
    if not text.value:
        diagnostics.error("syntax", "an expression is expected here, found nothing", node.place)
        return None
    tree = parse_python(text, diagnostics)
    if tree is None:
        return None
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        at = tree.body[-1] if tree.body else None
        place = text.place(at) if at is not None else node.place
        hint = None
        if isinstance(at, ast.Assign):
            between = text.place(at.targets[0]).until(text.place(at.value))
            hint = Suggestion("compare with `==`", Edit("==", "=", between))
        diagnostics.error("syntax", "one expression is expected here", place, hint)
        return None
    return text, tree.body[0].value
