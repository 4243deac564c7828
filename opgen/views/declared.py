"""The source text of one declaration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_SEPARATOR: Final = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_OP: Final = re.compile(r"^op:[ \t]*.*$", re.MULTILINE)


def documents(text: str) -> list[str]:
    """The documents of a YAML file that declares at least one op each; comments before the first are dropped."""
    return [part.strip("\n") + "\n" for part in _SEPARATOR.split(text) if _OP.search(part)]


def declaration_source(path: Path, document: int) -> str:
    """The text of document number `document` of the file.  Raises OSError."""
    found = documents(path.read_text(encoding="utf-8"))
    return found[document] if document < len(found) else ""


def renamed(source: str, name: str) -> str:
    """`source` as the declaration of `name`: what makes an op unique in its library is dropped."""
    text = _OP.sub(f"op: {name}", source, count=1)
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("operator:"))
