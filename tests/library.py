"""The built-in declarations as texts, one by one."""

from __future__ import annotations

import functools
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
    abstract: bool

    @property
    def source(self) -> Source:
        return Source(self.path, self.text, self.family)

    @property
    def others(self) -> SourceSet:
        """What `check_project` needs of the library for this declaration alone: it may call any of it."""
        return SourceSet(tuple(each.source for each in _all() if each is not self))


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
                found.append(Declared(keys["op"], text, source.path, source.family, is_abstract))
    return tuple(found)
