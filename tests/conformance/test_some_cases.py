"""Every 16th of ONNX's node cases in scope, and the lists; `node_cases.py` runs all of them."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")


def _node_cases() -> Any:
    spec = spec_from_file_location("node_cases", Path(__file__).parent / "node_cases.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["node_cases"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_some_cases() -> None:
    node_cases = _node_cases()
    cases = sorted(node_cases.collect(), key=lambda case: case.name)
    inside, outside = set(node_cases.listed("in_scope.txt")), set(node_cases.listed("left_out.txt"))
    if {case.name for case in cases} == inside | outside:  # the lists are of this version of onnx
        assert {case.name for case in cases if node_cases.why_left_out(case) is None} == inside
    chosen = list(node_cases.chosen(cases, inside, []))[::16]
    outcomes = [node_cases.check(case) for case in chosen]
    assert len(outcomes) > 90
    assert [(o.name, o.reason) for o in outcomes if o.status != "passed"] == []
