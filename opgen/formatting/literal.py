"""Literals, docstrings and comments: text from a declaration that cannot break out of where it stands."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from .document import WIDTH


def quote(text: str) -> str:
    """`text` as a Python string literal in double quotes; what is not printable is escaped."""
    body = repr(text)
    mark, body = body[0], body[1:-1]
    if mark == "'":
        body = body.replace("\\'", "'").replace('"', '\\"')
    return f'"{body}"'


def constant_text(value: object) -> str:
    """A constant of a syntax tree as Python text.

    Raises TypeError for a value that has no literal.
    """
    if isinstance(value, str):
        return quote(value)
    if value is None or value is Ellipsis or isinstance(value, bool):
        return "..." if value is Ellipsis else str(value)
    if isinstance(value, int):
        return hex(value) if value.bit_length() > 10_000 else str(value)
    if isinstance(value, float):
        if math.isnan(value):
            raise TypeError("a NaN has no literal")
        return repr(value) if math.isfinite(value) else "1e999"
    raise TypeError(f"no literal for a value of type {type(value).__name__}")


def comment_text(text: str) -> str:
    """`text` on one line, fit to stand after `#`: what is not printable is escaped."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def fill(text: str, width: int) -> list[str]:
    """The lines of prose: paragraphs refilled to `width`; one with an indented line keeps its lines."""
    lines: list[str] = []
    for paragraph in _paragraphs(text):
        if lines:
            lines.append("")
        if any(line.startswith(" ") for line in paragraph):
            lines.extend(paragraph)
        else:
            words = " ".join(paragraph)
            lines.extend(textwrap.wrap(words, width, break_long_words=False, break_on_hyphens=False))
    return lines


def fold(text: str, width: int) -> list[str]:
    """The lines of code for documentation; one that is too long goes on below, one step deeper."""
    lines: list[str] = []
    for line in text.strip("\n").splitlines():
        lead = len(line) - len(line.lstrip())
        deeper = " " * (lead + 4)
        folded = textwrap.wrap(
            line.strip(),
            width,
            initial_indent=" " * lead,
            subsequent_indent=deeper,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines.extend(folded or [""])
    return lines


def docstring_lines(text: Sequence[str], indent: int, width: int = WIDTH) -> list[str]:
    """The lines of a docstring that reads `text`; the lines of `text` are kept.

    The first line has no indentation (it stands after what the caller has printed); the others start at
    `indent`.  Backslashes, quotes and unprintable characters are escaped, so that it cannot end early.
    """
    whole = "\n".join(text).strip("\n")
    risky = '"""' in whole or whole.startswith('"') or whole.endswith('"')
    escaped = [_escaped(line.rstrip(), risky) for line in whole.split("\n")]
    pad = " " * indent
    if len(escaped) == 1 and indent + len(escaped[0]) + 6 <= width:
        return [f'"""{escaped[0]}"""']
    return [f'"""{escaped[0]}', *(pad + line if line else "" for line in escaped[1:]), f'{pad}"""']


def text_lines(text: Sequence[str], indent: int) -> list[str]:
    """The lines of a literal that holds `text`, one line each at `indent` columns, between those of its quotes."""
    risky = any('"""' in line for line in text)
    pad = " " * indent
    return ['"""', *(pad + _escaped(line, risky) for line in text), f'{pad[:-4]}"""']


def _paragraphs(text: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in text.strip("\n").splitlines():
        if line.strip():
            found[-1].append(line.rstrip())
        elif found[-1]:
            found.append([])
    return [lines for lines in found if lines]


def _escaped(line: str, quotes: bool) -> str:
    line = line.replace("\\", "\\\\")
    if quotes:
        line = line.replace('"', '\\"')
    return comment_text(line)
