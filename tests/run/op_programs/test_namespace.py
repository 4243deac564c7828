"""Modules whose names are ops."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from opgen_runtime import ops
from opgen_runtime.run.op_programs.namespace import BUILT_IN_NAMES, op_namespace


def test_ops_are_made_when_they_are_first_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("some_ops")
    monkeypatch.setitem(sys.modules, "some_ops", module)
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name.upper()

    find, names = op_namespace("some_ops", ["relu", "tanh"], make, "mine.", ["others"])
    module.__getattr__ = find  # type: ignore[method-assign]
    assert (module.relu, module.relu, made) == ("MINE.RELU", "MINE.RELU", ["mine.relu"])
    assert names() == ["others", "relu", "tanh"]
    with pytest.raises(AttributeError, match=r"^module 'some_ops' has no op 'rely'; did you mean 'relu'\?$"):
        find("rely")


def test_names_of_built_in_ops() -> None:
    assert sorted(BUILT_IN_NAMES) == sorted(ops.__all__)
