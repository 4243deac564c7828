"""Bash puts words of completions into the line as they are: ours are quoted there, as other shells do by themselves."""

from __future__ import annotations

import os
import re
from typing import Any, Final

from click.shell_completion import BashComplete, CompletionItem, add_completion_class

_SPECIAL: Final = re.compile(r"[^\w@%+=:,./-]")


class _Quoting(BashComplete):
    """click's, with what has a meaning for the shell behind a backslash, unless the user has begun a quotation."""

    def format_completion(self, item: CompletionItem[Any]) -> str:
        words, at = os.environ["COMP_WORDS"].split("\n"), int(os.environ["COMP_CWORD"])
        if item.type != "plain" or (at < len(words) and words[at][:1] in ("'", '"')):
            return super().format_completion(item)
        return f"{item.type},{_SPECIAL.sub(_escaped, item.value)}"


def _escaped(found: re.Match[str]) -> str:
    """click's script reads the line without `-r`, which takes one of two backslashes away."""
    return f"\\\\{found[0]}"


def quote_completions() -> None:
    """Let completions for bash be quoted."""
    add_completion_class(_Quoting)
