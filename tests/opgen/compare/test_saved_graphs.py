"""A graph that was saved before a compatible change of its op loads after it, and means the same."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import opgen_runtime as rt
from opgen.analyse import check_project
from opgen.emit.outputs import render_op
from opgen.project import Project
from opgen.render import Renderer
from opgen_runtime.ir import Function, parse_expr
from tests.opgen.compare.test_changes import BASE, CHANGES, changed

COMPATIBLE = [name for name, (_, codes) in CHANGES.items() if not any(code.endswith("!") for code in codes)]
ARRAYS = [np.arange(12, dtype="float32").reshape(3, 4), np.ones((3, 4), "float32")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("saved")
    sys.path.insert(0, str(made))
    yield made
    sys.path.remove(str(made))


def declared(folder: Path, package: str, text: str) -> rt.Op:
    """The op of a declaration, as the op of a project of its own."""
    ops, found = check_project({"opdefs/scaled.yaml": text.replace('operator: "+"\n', "")})
    assert not found
    output = folder / package
    project = Project(folder, folder / "opdefs", output, folder / "tests", package, package, None, (package,))
    output.mkdir()
    (output / "__init__.py").write_text("")
    module = render_op(project, Renderer(), ops[0])[0]
    module.path.write_text(module.text)
    op: rt.Op = importlib.import_module(f"{package}._scaled").OP
    return op


def value(function: Function) -> np.ndarray:
    feeds = dict(zip(function.params, ARRAYS, strict=True))
    found: np.ndarray = rt.create_executor("debug").evaluate(function.body, feeds).numpy()
    return found


@pytest.fixture(scope="module")
def saved(folder: Path) -> tuple[str, np.ndarray]:
    """The text of a graph that was saved with the declaration as it was, and its value."""
    op = declared(folder, "saved_before", BASE)
    call = rt.get_global_func(f"op._make.{op.name}")
    x, y = (rt.var(name, rt.TensorType((3, 4), "float32")) for name in "xy")
    function = Function((x, y), call(call(x, y), y, 1, 2))
    return str(function), value(function)


@pytest.mark.parametrize("name", COMPATIBLE)
def test_it_loads(folder: Path, saved: tuple[str, np.ndarray], name: str) -> None:
    package = f"saved_after_{COMPATIBLE.index(name)}"
    declared(folder, package, changed(CHANGES[name][0]))
    text, before = saved
    function = parse_expr(text.replace("saved_before.", f"{package}."))
    assert isinstance(function, Function)
    np.testing.assert_array_equal(value(function), before)
    assert parse_expr(str(function)).checked_type == function.checked_type


@pytest.mark.parametrize("name", COMPATIBLE)
def test_a_call_maker_takes_the_operands_that_there_were(folder: Path, name: str) -> None:
    package = f"called_after_{COMPATIBLE.index(name)}"
    op = declared(folder, package, changed(CHANGES[name][0]))
    x, y = (rt.var(each, rt.TensorType((3, 4), "float32")) for each in "xy")
    call = rt.get_global_func(f"op._make.{op.name}")(x, y)
    np.testing.assert_array_equal(value(Function((x, y), call)), ARRAYS[0] + ARRAYS[1])


def test_the_changes_are_many() -> None:
    assert len(CHANGES) >= 20
    assert len(COMPATIBLE) >= 8
