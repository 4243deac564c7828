"""The programs of examples/from_tvm.py: more than sixty, each of which runs."""

from __future__ import annotations

import ast
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
PATH = ROOT / "examples" / "from_tvm.py"


def loaded() -> ModuleType:
    spec = spec_from_file_location("from_tvm", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclass looks for it
    spec.loader.exec_module(module)
    return module


PROGRAMS = {each.name: each for each in loaded().PROGRAMS}


def test_there_are_more_than_sixty() -> None:
    functions = [
        each for each in ast.parse(PATH.read_text(encoding="utf-8")).body if isinstance(each, ast.FunctionDef)
    ]
    assert list(PROGRAMS) == [each.name for each in functions if each.decorator_list]
    assert len(PROGRAMS) > 60


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    PROGRAMS[name].run()


def test_the_script_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    module = loaded()
    monkeypatch.setattr(module, "PROGRAMS", module.PROGRAMS[:1])
    module.main(["-v"])
    assert capsys.readouterr().out == (
        "vector_add  # there: tvm.nd.array around each array; here they are numpy's\n1 programs\n"
    )


def test_the_guide_names_it() -> None:
    assert "examples/from_tvm.py" in (ROOT / "docs" / "coming-from-tvm.md").read_text(encoding="utf-8")
