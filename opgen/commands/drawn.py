"""Source text as rich draws it, in the terminal's own colours."""

from __future__ import annotations

from typing import Final

from pygments import token
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax

_SOURCE: Final = ANSISyntaxTheme(
    {
        token.Comment: Style(dim=True),
        token.Keyword: Style(bold=True),
        token.Literal.Number: Style(color="magenta"),
        token.Literal.String: Style(color="green"),
        token.Name.Builtin: Style(bold=True),
        token.Name.Tag: Style(bold=True),
    }
)


def drawn(text: str, language: str) -> Syntax:
    """Source text in a language that pygments knows."""
    return Syntax(text, language, theme=_SOURCE, word_wrap=False)
