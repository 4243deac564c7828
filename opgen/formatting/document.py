"""A small pretty printer: a document is text and groups; a group breaks at its lines when it does not fit.

After Wadler, "A prettier printer": `render` walks the document once with a stack, and measures a group only
as far as the width reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 110
STEP: Final = 4


@dataclass(frozen=True, slots=True)
class Line:
    """`flat` where the enclosing group fits on the line, else a new line."""

    flat: str


@dataclass(frozen=True, slots=True)
class Broken:
    """Text that appears only where the enclosing group is broken."""

    text: str


@dataclass(frozen=True, slots=True)
class Indent:
    """What it holds is one step deeper."""

    content: Document


@dataclass(frozen=True, slots=True)
class Group:
    """Printed on one line if it fits, else every line directly inside breaks."""

    content: Document


Document = str | tuple["Document", ...] | Line | Broken | Indent | Group

SPACE: Final = Line(" ")
SOFT: Final = Line("")


def join(separator: Document, parts: list[Document]) -> Document:
    """`parts` with `separator` between them."""
    joined: list[Document] = []
    for index, part in enumerate(parts):
        if index:
            joined.append(separator)
        joined.append(part)
    return tuple(joined)


@dataclass(frozen=True, slots=True)
class Short:
    """A part that shares its line with others that are short too."""

    content: Document


def bracketed(
    opening: str, parts: Sequence[Document | Short], closing: str, *, comma: bool = True
) -> Document:
    """`(a, b)`; broken: the parts on one deeper line if they fit, else one a line with a final comma.

    Parts that are short stand together on lines as far as they fit.
    """
    if not parts:
        return opening + closing
    inner: list[Document] = []
    before: Document | Short | None = None
    for part in parts:
        content = part.content if isinstance(part, Short) else part
        if isinstance(before, Short) and isinstance(part, Short):
            inner.append((",", Group((SPACE, content))))
        else:
            inner.append(content if before is None else (",", SPACE, content))
        before = part
    if comma:
        inner.append(Broken(","))
    return Group((opening, Indent((SOFT, Group(tuple(inner)))), SOFT, closing))


def _fits(room: int, rest: list[tuple[int, bool, Document]]) -> bool:
    """Whether what stands on the stack reaches a line break within `room` columns."""
    stack = rest[-1:]
    outer = len(rest) - 1
    while room >= 0:
        if not stack:
            if outer == 0:
                return True
            outer -= 1
            stack.append(rest[outer])
        indent, broken, part = stack.pop()
        if isinstance(part, str):
            room -= len(part)
        elif isinstance(part, tuple):
            stack.extend([(indent, broken, each) for each in reversed(part)])
        elif isinstance(part, Line):
            if broken:
                return True
            room -= len(part.flat)
        elif isinstance(part, Broken):
            room -= len(part.text) if broken else 0
        elif isinstance(part, Indent):
            stack.append((indent, broken, part.content))
        else:
            # A group that follows on the same line may itself break; one inside the tested group may not.
            stack.append((indent, broken and outer < len(rest) - 1, part.content))
    return False


def render(document: Document, *, column: int = 0, indent: int = 0, width: int | None = WIDTH) -> str:
    """The text of `document`, whose first line starts at `column` and whose later lines at `indent`.

    Without a width it is one line.
    """
    out: list[str] = []
    stack: list[tuple[int, bool, Document]] = [(indent, width is not None, document)]
    while stack:
        depth, broken, part = stack.pop()
        if isinstance(part, str):
            out.append(part)
            column += len(part)
        elif isinstance(part, tuple):
            stack.extend([(depth, broken, each) for each in reversed(part)])
        elif isinstance(part, Line):
            if broken:
                out.append("\n" + " " * depth)
                column = depth
            else:
                out.append(part.flat)
                column += len(part.flat)
        elif isinstance(part, Broken):
            if broken:
                out.append(part.text)
                column += len(part.text)
        elif isinstance(part, Indent):
            stack.append((depth + STEP, broken, part.content))
        else:
            stack.append((depth, False, part.content))
            # One inside a group that fits does, too.
            if broken and width is not None and not _fits(width - column, stack):
                stack[-1] = (depth, True, part.content)
    return "".join(out)
