"""The mutants of one op: of its declaration's `compute` and `reference`, and of its generated module.

A mutant of a declaration is generated anew; one that the generator refuses is no mutant.  A mutant of a module stands
beside the suite that was generated for the right one.
"""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

from opgen.analyse import Source, SourceSet, check_project, read_sources
from opgen.emit import emitter_digest
from opgen.emit.outputs import render_op
from opgen.model import CheckedOp
from opgen.project import Project, find_project
from opgen.render import Renderer

from .equivalent import why_equivalent
from .mutators import Change, changes

ROOT: Final = Path(__file__).resolve().parents[2]
PER_PART: Final = {"compute": 4, "reference": 2, "default": 1, "bound": 2, "relation": 1}


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
        self.ops = {op.name: op for op in ops if self._is_subject(op)}

    def _is_subject(self, op: CheckedOp) -> bool:
        own = self.documents.get(op.name)
        return bool(op.compute and op.reference and op.tests and own and "compute" in own.texts)

    def chosen(self, seed: int, count: int) -> list[CheckedOp]:
        """`count` ops of each pattern."""
        chooser = random.Random(seed)
        patterns = sorted({op.pattern for op in self.ops.values()})
        groups = [[op for _, op in sorted(self.ops.items()) if op.pattern == pattern] for pattern in patterns]
        return [op for group in groups for op in chooser.sample(group, min(count, len(group)))]

    def generated(self, name: str, text: str, project: Project) -> tuple[str, str] | None:
        """Module and suite of a declaration; None if the generator refuses it."""
        ops, found = check_project([Source("opdefs/mutant.yaml", text)], library=self.sources)
        if found or len(ops) != 1 or ops[0].name != name:
            return None
        module, suite = render_op(project, Renderer(), emitter_digest(), ops[0])
        return module.text, suite.text

    def right(self, op: CheckedOp, project: Project) -> Mutant:
        """The op without a mutation, whose suite must pass."""
        made = self.generated(op.name, self.documents[op.name].source, project)
        assert made is not None, f"the declaration of {op.name} is refused"
        return Mutant(op.name, op.pattern.name.lower(), "none", "none", *made)

    def mutants_of(
        self, op: CheckedOp, project: Project, seed: int, most: int | None = None
    ) -> Iterator[Mutant]:
        """At most `most` mutants of each part (by default as `PER_PART` has it), chosen by `seed`."""
        document, chooser = self.documents[op.name], random.Random(f"{seed} {op.name}")
        right = self.generated(op.name, document.source, project)
        assert right is not None, f"the declaration of {op.name} is refused"
        for part in ("compute", "reference"):
            if part in document.texts:
                tree = ast.parse(document.texts[part].text)
                for change in self._some(changes(tree), op, part, chooser, most):
                    text = document.with_text(part, ast.unparse(change.applied(tree)))
                    made = self.generated(op.name, text, project)
                    if made is not None and made != right:
                        yield Mutant(op.name, op.pattern.name.lower(), part, change.text, *made)
        module = ast.parse(right[0])
        for part, roots in _parts(module).items():
            every = [
                _OfModule(part, number, c) for number, (_, root) in enumerate(roots) for c in changes(root)
            ]
            for chosen in self._some(every, op, part, chooser, most):
                text = "\n".join(right[0].split("\n")[:2]) + "\n" + chosen.applied(right[0])
                yield Mutant(op.name, op.pattern.name.lower(), part, chosen.text, text, right[1])

    def _some(
        self, every: Iterable[_AnyChange], op: CheckedOp, part: str, chooser: random.Random, most: int | None
    ) -> list[_AnyChange]:
        """Some of the changes, without those that mean the same."""
        real = [change for change in every if why_equivalent(op.name, part, change.text) is None]
        return chooser.sample(real, min(PER_PART[part] if most is None else most, len(real)))


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
        replace, root = _parts(tree)[self.part][self.number]
        replace(self.change.applied(root))
        return ast.unparse(tree)


_AnyChange = TypeVar("_AnyChange", Change, _OfModule)


def _parts(module: ast.Module) -> dict[str, list[tuple[Any, ast.AST]]]:
    """The expressions of a module that state defaults, bounds and the relation, each with what replaces it."""
    found: dict[str, list[tuple[Any, ast.AST]]] = {"default": [], "bound": [], "relation": []}
    for node in ast.walk(module):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id == "_attr":
            for keyword in node.keywords:
                if keyword.arg in ("default", "check"):
                    part = "default" if keyword.arg == "default" else "bound"
                    found[part].append((_replace(keyword, "value"), keyword.value))
        elif node.func.id == "_Bound":
            found["bound"].append((_at(node.args, 1), node.args[1]))
        elif node.func.id in ("_Require", "_Static", "_Spread"):
            found["relation"].append((_at(node.args, 0), node.args[0]))
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
