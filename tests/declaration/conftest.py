"""Packages of ops, generated from declarations and imported."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

import pytest

from opgen.diagnostics import to_text
from opgen.emit import apply
from opgen.generation.generate import generate
from opgen.project import find_project


@pytest.fixture(scope="module")
def package_of(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str, Sequence[str]], ModuleType]]:
    """Makes the package of that name and namespace, of the ops that the texts declare."""
    roots: list[str] = []

    def made(name: str, declarations: Sequence[str]) -> ModuleType:
        root = tmp_path_factory.mktemp(name)
        text = f'[tool.opgen]\npackage = "{name}"\nnamespace = "{name}"\n'
        (root / "pyproject.toml").write_text(text)
        (root / "opdefs").mkdir()
        for number, each in enumerate(declarations):
            (root / f"opdefs/{number}.yaml").write_text(each)
        generation = generate(find_project(root), processes=1)
        assert to_text(generation.found) == ""
        apply(generation.plan())
        roots.append(str(root))
        sys.path.insert(0, roots[-1])
        return importlib.import_module(name)

    yield made
    for root in roots:
        sys.path.remove(root)
