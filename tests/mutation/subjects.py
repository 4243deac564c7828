"""The mutants of one op: of its declaration's `compute` and `reference`, and of its generated module.

A mutant of a declaration is generated anew; one that the generator refuses is no mutant.  A mutant of a module stands
beside the suite that was generated for the right one.
"""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

from opgen.analyse import Source, SourceSet, check_project, read_sources
from opgen.emit.outputs import render_op
from opgen.model import CheckedOp
from opgen.project import Project, find_project
from opgen.render import Renderer

from .bounds import BoundChanges
from .equivalent import why_equivalent
from .mutators import Change, Finder, changes

ROOT: Final = Path(__file__).resolve().parents[2]
PER_PART: Final = {"compute": 4, "reference": 2, "default": 1, "bounds": 2, "relation": 1}
PARTS: Final = tuple(PER_PART)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module and a suite that should fail."""

    op: str
    pattern: str
    part: str
    change: str
    module: str
    suite: str

    def __str__(self) -> str:
        return f"{self.op} ({self.pattern}), {self.part}: {self.change}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A text at the top of a declaration: its value, and where it stands in the source."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Document:
    """One declaration as it was written."""

    source: str
    texts: Mapping[str, Entry]

    @staticmethod
    def of(node: yaml.MappingNode, source: str) -> Document:
        first = node.start_mark.index
        texts = {
            key.value: Entry(value.value, value.start_mark.index - first, value.end_mark.index - first)
            for key, value in node.value
            if isinstance(value, yaml.ScalarNode)
        }
        return Document(source[first : node.end_mark.index], texts)

    def with_text(self, key: str, text: str) -> str:
        """The source with another text."""
        entry = self.texts[key]
        return f"{self.source[: entry.start]}{json.dumps(text)}\n{self.source[entry.end :]}"


class Library:
    """The built-in declarations, checked."""

    def __init__(self) -> None:
        self.sources: SourceSet = read_sources(ROOT / "opdefs", ROOT)
        packages = {"opgen_runtime": ROOT / "runtime" / "opgen_runtime"}
        ops, _ = check_project(self.sources, packages)
        self.documents: dict[str, Document] = {}
        for source in self.sources.sources:
            for node in yaml.compose_all(source.text, yaml.CBaseLoader):
                if isinstance(node, yaml.MappingNode):
                    document = Document.of(node, source.text)
                    self.documents[document.texts["op"].text] = document
        self.ops = {op.name: op for op in ops}

    def subjects(self, parts: Collection[str]) -> list[CheckedOp]:
        """The ops of which some of these parts can be changed."""
        only_bounds = set(parts) == {"bounds"}
        return [op for op in self.ops.values() if (_has_bounds(op) if only_bounds else self._is_whole(op))]

    def _is_whole(self, op: CheckedOp) -> bool:
        own = self.documents.get(op.name)
        return bool(op.compute and op.reference and op.tests and own and "compute" in own.texts)

    def chosen(self, seed: int, count: int) -> list[CheckedOp]:
        """`count` ops of each pattern."""
        chooser = random.Random(seed)
        whole = sorted(self.subjects(PARTS), key=lambda op: op.name)
        patterns = sorted({op.pattern for op in whole})
        groups = [[op for op in whole if op.pattern == pattern] for pattern in patterns]
        return [op for group in groups for op in chooser.sample(group, min(count, len(group)))]

    def generated(self, name: str, text: str, project: Project) -> tuple[str, str] | None:
        """Module and suite of a declaration; None if the generator refuses it."""
        ops, found = check_project([Source("opdefs/mutant.yaml", text)], library=self.sources)
        if found or len(ops) != 1 or ops[0].name != name:
            return None
        return _texts(project, ops[0])

    def right(self, op: CheckedOp, project: Project, parts: Collection[str]) -> Mutant:
        """The op without a mutation, whose suite must pass."""
        part = "bounds" if set(parts) == {"bounds"} else "none"
        return Mutant(op.name, op.pattern.name.lower(), part, "none", *_texts(project, op))

    def mutants_of(
        self, op: CheckedOp, project: Project, seed: int, most: int | None, parts: Collection[str]
    ) -> Iterator[Mutant]:
        """At most `most` mutants of each of the parts (None: as `PER_PART` has it), chosen by `seed`."""
        chooser, pattern = random.Random(f"{seed} {op.name}"), op.pattern.name.lower()
        document = self.documents.get(op.name)
        for part in ("compute", "reference"):
            if part in parts and document is not None and part in document.texts:
                right = self.generated(op.name, document.source, project)
                tree = ast.parse(document.texts[part].text)
                for change in self._some(changes(tree), op, part, chooser, most):
                    text = document.with_text(part, ast.unparse(change.applied(tree)))
                    made = self.generated(op.name, text, project)
                    if made is not None and made != right:
                        yield Mutant(op.name, pattern, part, change.text, *made)
        module, suite = _texts(project, op)
        for part, roots in _parts(ast.parse(module)).items():
            every = [
                _OfModule(part, number, change)
                for number, root in enumerate(roots if part in parts else ())
                for change in changes(root.tree, root.finder)
            ]
            for chosen in self._some(every, op, part, chooser, most):
                text = "\n".join(module.split("\n")[:2]) + "\n" + chosen.applied(module)
                yield Mutant(op.name, pattern, part, chosen.text, text, suite)

    def _some(
        self, every: Iterable[_AnyChange], op: CheckedOp, part: str, chooser: random.Random, most: int | None
    ) -> list[_AnyChange]:
        """Some of the changes, without those that mean the same."""
        real = [change for change in every if why_equivalent(op.name, part, change.text) is None]
        return chooser.sample(real, min(PER_PART[part] if most is None else most, len(real)))


def _has_bounds(op: CheckedOp) -> bool:
    return any(attr.bound is not None for attr in op.attrs)


def _texts(project: Project, op: CheckedOp) -> tuple[str, str]:
    """Module and suite."""
    module, suite = render_op(project, Renderer(), op)
    return module.text, suite.text


@dataclass(frozen=True, slots=True)
class _Root:
    """An expression of a module that may be changed: what replaces it, and what finds its changes."""

    replace: Callable[[ast.AST], None]
    tree: ast.AST
    finder: Finder | None = None


@dataclass(frozen=True, slots=True)
class _OfModule:
    """A change of one of the expressions that `_parts` finds."""

    part: str
    number: int
    change: Change

    @property
    def text(self) -> str:
        return self.change.text

    def applied(self, module: str) -> str:
        tree = ast.parse(module)
        root = _parts(tree)[self.part][self.number]
        root.replace(self.change.applied(root.tree))
        return ast.unparse(tree)


_AnyChange = TypeVar("_AnyChange", Change, _OfModule)


def _parts(module: ast.Module) -> dict[str, list[_Root]]:
    """The expressions of a module that state defaults, bounds and the relation."""
    found: dict[str, list[_Root]] = {"default": [], "bounds": [], "relation": []}
    kinds: dict[str, str] = {}
    for node in ast.walk(module):
        match node:
            case ast.AnnAssign(
                target=ast.Name(id=attr), value=ast.Call(func=ast.Attribute(attr="attr")) as field
            ):
                kinds[attr] = ast.literal_eval(field.args[0])
                for keyword in field.keywords:
                    if keyword.arg == "default":
                        found["default"].append(_Root(_replace(keyword, "value"), keyword.value))
                    elif keyword.arg == "check":
                        finder = BoundChanges(attr, kinds[attr])
                        found["bounds"].append(_Root(_replace(keyword, "value"), keyword.value, finder))
            case ast.Call(
                func=ast.Attribute(attr="Bound"), args=[ast.Constant(value=str(attr)), function, *_]
            ):
                found["bounds"].append(_Root(_at(node.args, 1), function, BoundChanges(attr, kinds[attr])))
            case ast.Call(func=ast.Attribute(attr="Require" | "Static" | "Spread"), args=[function, *_]):
                found["relation"].append(_Root(_at(node.args, 0), function))
    return found


def _replace(node: ast.AST, field: str) -> Any:
    return lambda value: setattr(node, field, value)


def _at(items: list[ast.expr], position: int) -> Any:
    return lambda value: items.__setitem__(position, value)


def scratch_project(folder: Path) -> Project:
    """An empty project in `folder`, whose package is `mutated`."""
    (folder / "opdefs").mkdir()
    (folder / "pyproject.toml").write_text('[tool.opgen]\npackage = "mutated"\nnamespace = "mutated"\n')
    return find_project(folder)
