"""What commands print: results to stdout, messages and progress to stderr.

Styles are chosen to be read on light and on dark terminals alike: bold, dim, and those of the terminal's own colours
that stand out from both backgrounds (no white, black, yellow or blue).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.text import Text


def _console(stderr: bool) -> Console:
    console = Console(highlight=False, markup=False, soft_wrap=True, stderr=stderr)
    if console.width < 1:  # COLUMNS=0: rich would print nothing
        console.width = 80
    return console


out = _console(stderr=False)
err = _console(stderr=True)

WARNING: Final = "bold magenta"
_SIGNS: Final = {"+": "green", "-": "red", "@": "magenta"}


def note(text: str, style: str = "") -> None:
    """A message to stderr."""
    err.print(Text(text, style=style))


def heading(text: str) -> None:
    """The title of a part of a long print."""
    rule = "─" if out.encoding.startswith("utf") else "-"
    out.print(Text(f"{rule * 2} {text} ".ljust(100, rule), style="bold"))


def diff(text: str) -> None:
    """A unified diff."""
    for line in text.splitlines():
        out.print(Text(line, style=_SIGNS.get(line[:1], "")))


def table(rows: Sequence[Sequence[str]]) -> None:
    """Rows in columns as wide as their texts need; the first row is the header."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        out.print(Text(line, style="bold" if number == 0 else ""))


@contextmanager
def working(title: str) -> Iterator[None]:
    """A spinner on a terminal while something takes its time."""
    if err.is_terminal:
        with err.status(title):
            yield
    else:
        yield
