"""Declarations that no op of the tree is like, written from the documentation alone, generate and pass.

Several outputs, coupled and backward scans, scatter with duplicates, variadic and data-dependent sizes, layouts,
optional inputs, tables, text, list and dtype attrs, small integers and halves, families, names that Python uses too.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from opgen_runtime import testing

FILES = sorted((Path(__file__).parent / "outside").glob("*.yaml"))
PACKAGE = "outside_ops"
OPS = [
    name
    for file in FILES
    for name, abstract in re.findall(r"^op: (\w+)\n(abstract: true)?", file.read_text(), re.M)
    if not abstract
]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, opgen_command: Any) -> Any:
    """The generated project's folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("outside"))
        opgen_command("init", PACKAGE)
        patch.chdir(PACKAGE)
        for file in FILES:
            Path("opdefs", file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
        opgen_command("generate")
        patch.setattr(sys, "path", [str(Path.cwd()), *sys.path])
        yield Path.cwd()


def module_of(project: Path, op: str) -> ModuleType:
    path = project / "tests" / "generated" / f"test_{op}.py"
    spec = importlib.util.spec_from_file_location(f"{PACKAGE}_test_{op}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("op", OPS)
def test_op(op: str, project: Path) -> None:
    suite = testing.suite_of(module_of(project, op))
    assert suite.declared_cases
    assert suite.reference is not None
    for case in suite.declared_cases:
        testing.check_types(suite.op, case)
        for executor in ("debug", "graph"):
            testing.check_values(suite.op, case, suite.reference, executor)
