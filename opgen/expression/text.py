"""Text of the language to Python's syntax tree, guarded, with places in the YAML file."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Final

from opgen_runtime.base.vocabulary import dataclass

from ..diagnostics import Diagnostics, Edit, Place, Suggestion
from ..document import TextNode

MAX_CHARACTERS: Final = 20_000
MAX_BRACKETS: Final = 40
MAX_DEPTH: Final = 64  # translated code nests about twice as deep; Python reads 200 levels of brackets
MAX_BLOCKS: Final = 12  # Python nests at most 20 loops
MAX_NODES: Final = 20_000
MAX_DIGITS: Final = 400

_BLOCKS: Final = (ast.For, ast.If, ast.With)
_NUMBER = re.compile(r"(?<![\w.])[0-9](?:[\w.]|(?<=[eE])[+-])*")
_OPENING, _CLOSING = "([{", ")]}"
_TEXT_LIMIT: Final = 60


@dataclass(frozen=True, slots=True, eq=False)
class Text:
    """The text of an expression or a block, and where its characters stand.

    `skipped` is the number of characters of the YAML value that stand before the text.
    """

    node: TextNode
    value: str
    positions: list[tuple[int, int]]
    lines: tuple[str, ...]
    starts: tuple[int, ...]
    skipped: int

    def offset(self, line: int, column: int) -> int:
        """The offset in the YAML value of Python's (line from 1, UTF-8 column)."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        if not text.isascii():
            column = len(text.encode()[:column].decode(errors="ignore"))
        return max(0, self.starts[min(line, len(self.starts)) - 1] + column + self.skipped)

    def place(self, node: ast.AST) -> Place:
        start = self.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]  # expr, stmt, arg have it
        end = self.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return self.node.span(start, end, self.positions)

    def behind(self, part: ast.expr, whole: ast.expr) -> str:
        """What is written between the end of a part and that of the whole."""
        ends = (self.offset(node.end_lineno or 1, node.end_col_offset or 0) for node in (part, whole))
        return self.node.value[slice(*ends)]

    def span(self, start: int, end: int) -> Place:
        return self.node.span(start, end, self.positions)


def make_text(node: TextNode, one_line: bool) -> Text:
    """The text of a node: a block of statements, or one expression (line ends become spaces)."""
    value, skipped = node.value, 0
    if one_line:
        value = value.translate({10: 32, 13: 32}).lstrip(" \t")
        skipped = len(node.value) - len(value)
        value = value.rstrip(" \t")
    lines = tuple(value.split("\n"))
    starts, at = [], 0
    for line in lines:
        starts.append(at)
        at += len(line) + 1
    return Text(node, value, node.scalar.positions(node.value), lines, tuple(starts), skipped)


def parse_python(text: Text, diagnostics: Diagnostics) -> ast.Module | None:
    """Python's tree of the text, or None with the reason reported.  Nothing is compiled or run."""
    if not _is_small(text, diagnostics):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.value)
    except SyntaxError as error:
        _syntax_error(text, error, diagnostics)
        return None
    except (ValueError, RecursionError, MemoryError):
        diagnostics.error("limit", "the text is nested too deeply", text.node.place)
        return None
    return tree if _is_shallow(tree, text, diagnostics) else None


def _is_small(text: Text, diagnostics: Diagnostics) -> bool:
    value = text.value
    if len(value) > MAX_CHARACTERS:
        message = f"the text has {len(value)} characters; at most {MAX_CHARACTERS} are read"
        diagnostics.error("limit", message, text.node.place)
        return False
    depth = 0
    is_bracketed = sum(map(value.count, _OPENING)) > MAX_BRACKETS  # else none is nested deeper
    for at, char in enumerate(value if is_bracketed else ""):
        depth += (char in _OPENING) - (char in _CLOSING)
        if depth > MAX_BRACKETS:
            start = at + text.skipped
            message = f"brackets are nested more than {MAX_BRACKETS} deep"
            diagnostics.error("limit", message, text.span(start, start + 1))
            return False
    for match in _NUMBER.finditer(value if len(value) > MAX_DIGITS else ""):
        if len(match.group()) > MAX_DIGITS:
            start = match.start() + text.skipped
            message = f"a number has {len(match.group())} characters; at most {MAX_DIGITS} are read"
            diagnostics.error("limit", message, text.span(start, start + _TEXT_LIMIT))
            return False
    return True


def _is_shallow(tree: ast.Module, text: Text, diagnostics: Diagnostics) -> bool:
    stack: list[tuple[ast.AST, int, int]] = [(tree, 0, 0)]
    count = 0
    while stack:
        node, depth, blocks = stack.pop()
        count += 1
        blocks += isinstance(node, _BLOCKS)
        if blocks > MAX_BLOCKS:
            text_ = f"statements are nested more than {MAX_BLOCKS} deep"
            diagnostics.error("limit", text_, text.place(node))
            return False
        if depth > MAX_DEPTH or count > MAX_NODES:
            what = (
                f"nested more than {MAX_DEPTH} deep"
                if depth > MAX_DEPTH
                else f"of more than {MAX_NODES} parts"
            )
            place = text.place(node) if hasattr(node, "lineno") else text.node.place
            diagnostics.error("limit", f"an expression {what}; give parts of it names", place)
            return False
        below = depth + _levels(node)
        stack += [(child, below, blocks) for child in ast.iter_child_nodes(node)]
    return True


def _levels(node: ast.AST) -> int:
    """How many levels deep the translation of a node nests: `a and b and c` nests with each operand."""
    if isinstance(node, ast.BoolOp):
        return len(node.values)
    if isinstance(node, ast.Compare):
        return len(node.ops)
    if isinstance(node, ast.GeneratorExp):
        return sum(1 + len(clause.ifs) for clause in node.generators)
    if isinstance(node, ast.FunctionDef):
        return len(node.body)
    return 1


def _syntax_error(text: Text, error: SyntaxError, diagnostics: Diagnostics) -> None:
    message = (error.msg or "invalid syntax").split(" (<")[0]
    message = message[0].lower() + message[1:]
    if error.lineno is None:
        diagnostics.error("syntax", message, text.node.place)
        return
    line = min(error.lineno, len(text.lines))
    # SyntaxError counts characters from 1, unlike the tree.
    start = text.starts[line - 1] + max(0, (error.offset or 1) - 1) + text.skipped
    end = start + 1
    if error.end_lineno == error.lineno and error.end_offset and error.end_offset > (error.offset or 1):
        end = start + error.end_offset - (error.offset or 1)
    hint = None
    if "'='" in message or "maybe you meant '=='" in message:
        message = "`=` stands where a value is expected"
        hint = Suggestion("compare with `==`", Edit("==", "="))
    length = len(text.node.value)
    start = min(max(start, 0), length)
    diagnostics.error("syntax", f"{message[:200]}", text.span(start, min(end, length)), hint)
