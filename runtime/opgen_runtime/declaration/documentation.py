"""What the docstring of a generated function documents: the op, its operands and attrs, its results.

A numpy-style docstring, as `opgen` prints it:

    The sentences about the op.

        out[*i] = the declared text

    Parameters
    ----------
    data : tensor of any shape, dtype number
        What is said of the operand or attr.

    Returns
    -------
    out : tensor of shape data.shape, dtype data.dtype
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

from ..base.vocabulary import dataclass

_SECTIONS: Final = (("Parameters", "----------"), ("Returns", "-------"))
_INDENT: Final = "    "
DEPRECATED: Final = "Deprecated: "
SINCE: Final = "Since version "


@dataclass(frozen=True, slots=True)
class Documentation:
    """Prose in its plain form (see `plain`), by name where it is about an operand, an attr or a result."""

    text: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)


def documentation_of(docstring: str | None) -> Documentation:
    """What a docstring documents; nothing where there is none (`python -OO`)."""
    if not docstring:
        return Documentation()
    lines = _dedented(docstring).split("\n")
    parameters, results = (_heading(lines, *section) for section in _SECTIONS)
    end = min(parameters, results)
    return Documentation(
        _text(lines[:end]),
        _entries(lines[parameters + 2 : max(results, parameters)]),
        _entries(lines[results + 2 :]),
    )


def plain(text: str) -> str:
    """Prose without its line breaks: one line a paragraph; a paragraph with an indented line keeps its lines."""
    return _plain(text.strip("\n").splitlines())


def _dedented(docstring: str) -> str:
    """As `inspect.cleandoc`, but at once where the last line, before the closing quotes, shows the margin."""
    text, newline, margin = docstring.rpartition("\n")
    if margin.strip() or not newline or text[:1].isspace():
        return inspect.cleandoc(docstring)
    return text.replace(newline + margin, newline) if margin else text


def _heading(lines: Sequence[str], title: str, rule: str) -> int:
    """Where a section begins; the end of the lines if there is none.  The last such lines: prose stands before."""
    for at in range(len(lines) - 2, -1, -1):
        if lines[at + 1] == rule and lines[at] == title:
            return at
    return len(lines)


def _text(lines: Sequence[str]) -> str:
    """The sentences about the op, which end where the declared text begins."""
    for at, line in enumerate(lines):
        if line.startswith((_INDENT, DEPRECATED, SINCE)) and at and not lines[at - 1]:
            return _plain(lines[:at])
    return _plain(lines)


def _entries(lines: Sequence[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    own: list[str] = []
    for line in lines:
        if line and not line.startswith(_INDENT):
            name, colon, _ = line.partition(" : ")
            if not colon:
                break  # prose below the section
            own = found.setdefault(name, [])
        else:
            own.append(line.removeprefix(_INDENT))
    return {name: _plain(text) for name, text in found.items()}


def _plain(lines: Sequence[str]) -> str:
    if len(lines) == 1:
        return _paragraph(lines)
    paragraphs: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            paragraphs[-1].append(line.rstrip())
        elif paragraphs[-1]:
            paragraphs.append([])
    return "\n\n".join([_paragraph(each) for each in paragraphs if each])


def _paragraph(lines: Sequence[str]) -> str:
    for line in lines:
        if line[:1] == " ":
            return "\n".join(lines)
    return " ".join(" ".join(lines).split())
