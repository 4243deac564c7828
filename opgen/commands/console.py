"""What commands print: results to stdout, messages and progress to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.syntax import Syntax
from rich.text import Text

out = Console(highlight=False, markup=False, soft_wrap=True)
err = Console(highlight=False, markup=False, soft_wrap=True, stderr=True)

_SIGNS = {"+": "green", "-": "red", "@": "cyan"}


def note(text: str, style: str = "") -> None:
    """A message to stderr."""
    err.print(Text(text, style=style))


def heading(text: str) -> None:
    """The title of a part of a long print."""
    out.print(Text(f"── {text} ".ljust(100, "─"), style="bold cyan"))


def code(text: str, language: str) -> None:
    """Source text, coloured on a terminal and exact elsewhere."""
    if out.is_terminal:
        out.print(Syntax(text.rstrip("\n"), language, background_color="default", word_wrap=False))
    else:
        sys.stdout.write(text.rstrip("\n") + "\n")


def diff(text: str) -> None:
    """A unified diff."""
    for line in text.splitlines():
        out.print(Text(line, style=_SIGNS.get(line[:1], "")))


@contextmanager
def progress(title: str, items: Iterable[str]) -> Iterator[Iterable[str]]:
    """`items`, with a bar on a terminal that goes away at the end."""
    listed = list(items)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    ) as bars:
        task = bars.add_task(title, total=len(listed))

        def each() -> Iterator[str]:
            for item in listed:
                bars.update(task, description=f"{title} {item}")
                yield item
                bars.advance(task)

        yield each()
