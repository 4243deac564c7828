"""The built-in declarations as texts, one by one."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from opgen.analyse import Source, SourceSet, read_sources

ROOT: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = {"opgen_runtime": ROOT / "runtime" / "opgen_runtime"}


@dataclass(frozen=True, slots=True)
class Declared:
    """One declaration: the op and its text, the family and path of its file, and the name of what it extends."""

    name: str
    text: str
    path: str
    family: str
    extends: str | None
    abstract: bool
    composed: bool

    @property
    def source(self) -> Source:
        return Source(self.path, self.text, self.family)

    @property
    def parents(self) -> SourceSet:
        """What `check_project` needs of the library for this declaration alone; a composed one calls any of it."""
        needed = [each for each in _all() if each is not self] if self.composed else self._ancestors()
        return SourceSet(tuple(each.source for each in needed))

    def _ancestors(self) -> Iterator[Declared]:
        above = next((each for each in _all() if each.name == self.extends), None)
        if above is not None:
            yield above
            yield from above._ancestors()


@functools.cache
def library() -> SourceSet:
    return read_sources(ROOT / "opdefs", ROOT)


@functools.cache
def declarations() -> tuple[Declared, ...]:
    """Every declaration that makes an op: not those that are there for others to extend."""
    return tuple(declared for declared in _all() if not declared.abstract)


@functools.cache
def _all() -> tuple[Declared, ...]:
    found: list[Declared] = []
    for source in library().sources:
        for node in yaml.compose_all(source.text, yaml.CBaseLoader):
            if isinstance(node, yaml.MappingNode):
                keys = {key.value: value.value for key, value in node.value}
                text = source.text[node.start_mark.index : node.end_mark.index]
                is_abstract = keys.get("abstract") == "true"
                above, is_composed = keys.get("extends"), "composed" in keys
                found.append(
                    Declared(keys["op"], text, source.path, source.family, above, is_abstract, is_composed)
                )
    return tuple(found)
