"""The text of an LLVM module: what has a name is in it once, whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from ....base import Target
from ....base.vocabulary import DType
from .types import literal

_ENTITY: Final = re.compile(r"[^@]*?@([-\w.$]+|\"[^\"]*\")")
_WORD: Final = re.compile(r"\$(\w+)")


class ModuleText:
    """Declarations, constants, metadata and functions of one module; nothing is written twice."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._entities: dict[str, str] = {}
        self._tables: dict[tuple[DType, tuple[object, ...]], str] = {}
        self._metadata: list[str] = []
        self._shared: dict[str, str] = {}

    def declare(self, name: str, result: str, parameters: str) -> str:
        """Declare an external function or intrinsic; gives `@name`."""
        if name not in self._entities:
            self._entities[name] = f"declare {result} @{name}({parameters})"
        return f"@{name}"

    def define(self, name: str, text: str) -> None:
        """Add a function or a global."""
        self._entities[name] = text

    def include(self, other: ModuleText) -> None:
        """Add what another module names; entities of one name are the same.  It has no metadata."""
        assert not other._metadata
        assert not other._tables
        for name, text in other._entities.items():
            self._entities.setdefault(name, text)

    def export(self, name: str) -> None:
        """Let other modules call a function of this one."""
        self._entities[name] = self._entities[name].replace("define internal ", "define ", 1)

    def source(self, text: str, **words: object) -> None:
        """Add what is written by hand, filled as by `fill`."""
        for name, entity in _entities(fill(text, **words)):
            self._entities.setdefault(name, entity)

    def table(self, dtype: DType, element_type: str, values: Sequence[bool | int | float]) -> str:
        """A constant array in memory; gives its name `@table0`."""
        key = (dtype, tuple((type(v), repr(v)) for v in values))
        name = self._tables.get(key)
        if name is None:
            name = f"table{len(self._tables)}"
            self._tables[key] = name
            entries = ", ".join(
                f"{element_type} {int(bool(v)) if dtype == 'bool' else literal(dtype, v)}" for v in values
            )
            array = f"[{len(values)} x {element_type}] [{entries}]"
            self._entities[name] = f"@{name} = private unnamed_addr constant {array}, align 64"
        return f"@{name}"

    def metadata(self, text: str) -> str:
        """Add a metadata node; `{self}` in it is its own name."""
        name = f"!{len(self._metadata)}"
        self._metadata.append(f"{name} = {text.replace('{self}', name)}")
        return name

    def shared_metadata(self, content: str) -> str:
        """The metadata node `!{content}`, one for all that ask for it."""
        node = self._shared.get(content)
        if node is None:
            node = self._shared[content] = self.metadata(f"!{{{content}}}")
        return node

    def render(self) -> str:
        """The module as LLVM assembly language."""
        return "\n".join((*self._entities.values(), *self._metadata, ""))


def fill(text: str, **words: object) -> str:
    """Assembly written by hand, with the value of each word in the place of `$WORD`.

    Raises ValueError for a place without a value and for a value without a place.
    """
    places = set(_WORD.findall(text))
    if places != words.keys():
        wrong = ", ".join(f"${name}" for name in sorted(places ^ words.keys()))
        raise ValueError(f"words and places of the text differ: {wrong}")
    return _WORD.sub(lambda place: str(words[place[1]]), text)


def _entities(text: str) -> Iterable[tuple[str, str]]:
    """(name, text) of each top-level entity of module text."""
    lines = iter(text.splitlines())
    for line in lines:
        stripped = line.strip()
        if not stripped or stripped.startswith(";"):
            continue
        found = _ENTITY.match(line)
        name = found.group(1) if found else line
        if not stripped.startswith("define"):
            yield name, line
            continue
        body = [line]
        while body[-1].strip() != "}":
            body.append(next(lines))
        yield name, "\n".join(body)
