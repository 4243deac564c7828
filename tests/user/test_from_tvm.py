"""The programs of examples/from_tvm: each runs, and the command that the guide names."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "from_tvm"


def loaded() -> ModuleType:
    sys.path.insert(0, str(FOLDER.parent))
    try:
        import from_tvm
    finally:
        sys.path.remove(str(FOLDER.parent))
    found: ModuleType = from_tvm
    return found


MODULE = loaded()
PROGRAMS = {each.name: each for each in MODULE.PROGRAMS}


def test_every_function_under_the_decorator_is_a_program() -> None:
    functions = [
        each.name
        for path in FOLDER.glob("*.py")
        for each in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(each, ast.FunctionDef) and each.decorator_list
    ]
    assert sorted(PROGRAMS) == sorted(functions)
    assert len(PROGRAMS) > 70


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    PROGRAMS[name].run()


def test_the_script_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "PROGRAMS", MODULE.PROGRAMS[:1])
    MODULE.main(["-v"])
    assert capsys.readouterr().out == (
        "vector_add  # there: tvm.nd.array around each array; here they are numpy's\n1 programs\n"
    )
    assert "from from_tvm import main" in (FOLDER.parent / "from_tvm.py").read_text(encoding="utf-8")


def test_the_guide_names_it() -> None:
    assert "examples/from_tvm.py" in (ROOT / "docs" / "coming-from-tvm.md").read_text(encoding="utf-8")
