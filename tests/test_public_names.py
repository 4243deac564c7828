"""The public modules have their names wherever they stand; names of earlier versions end in one clear line."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

import opgen_runtime
from opgen_runtime.public import MODULES


@pytest.mark.parametrize(("name", "place"), MODULES.items())
def test_one_module_with_two_names(name: str, place: str) -> None:
    inner = import_module(f"opgen_runtime.{place}")
    assert getattr(opgen_runtime, name) is inner
    assert import_module(f"opgen_runtime.{name}") is inner
    assert name in dir(opgen_runtime)
    assert inner.__spec__ is not None
    assert inner.__name__ == inner.__spec__.name == f"opgen_runtime.{place}"


def test_modules_inside_are_not_loaded_twice() -> None:
    assert import_module("opgen_runtime.tir.nodes.stmt") is import_module(
        "opgen_runtime.lower.tir.nodes.stmt"
    )


def test_in_a_new_process_whatever_comes_first() -> None:
    code = (
        "from opgen_runtime.tir.nodes.stmt import PrimFunc; from opgen_runtime.errors import OpgenError; "
        "import opgen_runtime.compute.te as te, opgen_runtime as rt; "
        "assert rt.tir.PrimFunc is PrimFunc and te.Tensor is rt.te.Tensor and rt.OpgenError is OpgenError"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_of_earlier_versions() -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        import_module("opgen_runtime.attrs")
    assert str(caught.value) == (
        "opgen_runtime.attrs is not there any more; a module that opgen has generated: run opgen generate; "
        "other code: the names that users need are in opgen_runtime itself"
    )
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'opgen_runtime\.nonsense'"):
        import_module("opgen_runtime.nonsense")
