"""A small pretty printer: a document is text and groups; a group breaks at its lines when it does not fit.

After Wadler, "A prettier printer": `render` walks the document once with a stack.  A group knows its text on one
line, which is made once, when the group is; so whether it fits is a matter of its length and of what follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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
    text: str = field(init=False)  # on one line

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", flat(self.content))


Document = str | tuple["Document", ...] | Line | Broken | Indent | Group


def flat(document: Document) -> str:
    """The text of a document on one line."""
    if isinstance(document, Group):
        return document.text
    if isinstance(document, tuple):
        return "".join([each if type(each) is str else flat(each) for each in document])
    if isinstance(document, str):
        return document
    if isinstance(document, Line):
        return document.flat
    return flat(document.content) if isinstance(document, Indent) else ""


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


def head(document: Document) -> int:
    """The columns before the first place where a document can break."""
    columns = 0
    stack = [document]
    while stack:
        part = stack.pop()
        if isinstance(part, str):
            columns += len(part)
        elif isinstance(part, tuple):
            stack.extend(reversed(part))
        elif isinstance(part, Line):
            break
        elif isinstance(part, Broken):
            columns += len(part.text)
        else:
            stack.append(part.content)
    return columns


def _fits(room: int, rest: Sequence[tuple[int, Document]]) -> bool:
    """Whether what follows on the stack reaches a line break within `room` columns."""
    outer = len(rest)
    stack: list[Document] = []
    while room >= 0:
        if not stack:
            if outer == 0:
                return True
            outer -= 1
            stack.append(rest[outer][1])
        part = stack.pop()
        if isinstance(part, str):
            room -= len(part)
        elif isinstance(part, tuple):
            stack.extend(reversed(part))
        elif isinstance(part, Line):
            return True
        elif isinstance(part, Broken):
            room -= len(part.text)
        else:  # a group that follows on the same line may itself break
            stack.append(part.content)
    return False


def render(document: Document, *, column: int = 0, indent: int = 0, width: int | None = WIDTH) -> str:
    """The text of `document`, whose first line starts at `column` and whose later lines at `indent`.

    Without a width it is one line.
    """
    if width is None:
        return flat(document)
    out: list[str] = []
    stack: list[tuple[int, Document]] = [(indent, document)]
    while stack:
        depth, part = stack.pop()
        if isinstance(part, Group):
            room = width - column - len(part.text)
            if room < 0 or not _fits(room, stack):
                stack.append((depth, part.content))
                continue
            part = part.text
        if isinstance(part, str):
            out.append(part)
            column += len(part)
        elif isinstance(part, tuple):
            stack.extend([(depth, each) for each in reversed(part)])
        elif isinstance(part, Line):
            out.append("\n" + " " * depth)
            column = depth
        elif isinstance(part, Broken):
            out.append(part.text)
            column += len(part.text)
        else:
            stack.append((depth + STEP, part.content))
    return "".join(out)
