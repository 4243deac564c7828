"""What commands print: results to stdout, messages and progress to stderr.

Styles are chosen to be read on light and on dark terminals alike: bold, dim, and those of the terminal's own colours
that stand out from both backgrounds (no white, black, yellow or blue).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_CONTROLS: Final = dict.fromkeys(
    (7, 8, 11, 12, 13)
)  # bell, backspace, vertical tab, form feed, return: not printed
_TAB: Final = 8


class Printer:
    """One of the standard streams.  rich is imported where there is a terminal to draw on, and only there."""

    def __init__(self, stderr: bool) -> None:
        self._stderr = stderr

    @property
    def file(self) -> TextIO | None:
        """The stream as it is now; None where it was closed before the command began."""
        return sys.stderr if self._stderr else sys.stdout

    @property
    def encoding(self) -> str:
        """Of the stream, in small letters."""
        return (getattr(self.file, "encoding", None) or "utf-8").lower()

    @property
    def is_terminal(self) -> bool:
        """Whether colours are shown."""
        return self._may_draw() and self.console.is_terminal

    @cached_property
    def console(self) -> Console:
        """What draws on a terminal."""
        from rich.console import Console

        console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True, stderr=self._stderr)
        if console.width < 1:  # COLUMNS=0: rich would print nothing
            console.width = 80
        return console

    def print(self, text: str = "", style: str = "") -> None:
        """A text and the end of its line, in a style of rich where there are colours."""
        if self.file is None:
            return
        if self._may_draw():
            from rich.text import Text

            self.console.print(Text(text, style=style))
        else:
            print(text.translate(_CONTROLS).expandtabs(_TAB), file=self.file, flush=True)

    def draw(self, what: RenderableType) -> None:
        """What rich lays out."""
        if self.file is not None:
            self.console.print(what)

    def _may_draw(self) -> bool:
        """Whether it is a terminal or said to be one: then rich decides, by these variables."""
        if self.file is None:
            return False
        return "FORCE_COLOR" in os.environ or "TTY_COMPATIBLE" in os.environ or self.file.isatty()


out = Printer(stderr=False)
err = Printer(stderr=True)

WARNING: Final = "bold magenta"
_SIGNS: Final = {"+": "green", "-": "red", "@": "magenta"}


def note(text: str, style: str = "") -> None:
    """A message to stderr."""
    err.print(text, style)


def heading(text: str) -> None:
    """The title of a part of a long print."""
    rule = "─" if out.encoding.startswith("utf") else "-"
    out.print(f"{rule * 2} {text} ".ljust(100, rule), "bold")


def diff(text: str) -> None:
    """A unified diff."""
    for line in text.splitlines():
        out.print(line, _SIGNS.get(line[:1], ""))


def table(rows: Sequence[Sequence[str]]) -> None:
    """Rows in columns as wide as their texts need; the first row is the header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        out.print(line, "bold" if number == 0 else "")


@contextmanager
def working(title: str) -> Iterator[None]:
    """A spinner on a terminal while something takes its time."""
    if err.is_terminal:
        with err.console.status(title):
            yield
    else:
        yield
