"""A project of a few declarations that use all that a key must cover, and a cache of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from opgen.project import Project, find_project

DECLARATIONS = {
    "base.yaml": """
op: unary_base
abstract: true
doc: The parent.
inputs: {x: {shape: "*S", dtype: number}}
outputs: {out: {shape: "*S", dtype: x.dtype}}
tests: [{x: "float32[3, 4]"}]
""",
    "family.yaml": """
op: twice
doc: Twice the value.
extends: unary_base
compute: out[*i] = x[*i] + x[*i]
grad: {x: "twice(grad)"}
---
op: thrice
doc: Thrice the value.
extends: unary_base
compute: out[*i] = x[*i] + x[*i] + x[*i]
grad: {x: "grad + twice(grad)"}
""",
    "ends/clamped.yaml": """
op: clamped
doc: No less than a bound.
inputs: {x: {shape: "*S", dtype: float}}
attrs: {low: {type: int, default: 0, bounds: 0 <= low < 100}}
outputs: {out: {shape: "*S", dtype: x.dtype}}
compute: out[*i] = max(x[*i], low)
tests: [{x: "float32[3]"}, {x: "float32[2, 2]", low: 3}]
""",
    "by_hand.yaml": """
op: by_hand
doc: Written in Python.
inputs: {x: {shape: "*S", dtype: float}}
outputs: {out: {shape: "*S", dtype: x.dtype}}
compute: {python: "myops.hand:by_hand"}
reference: out = x + x
tests: [{x: "float32[3]"}]
""",
}
HAND = "def by_hand(x):\n    return x + x\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "project"
    for name, text in DECLARATIONS.items():
        path = root / "opdefs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (root / "myops").mkdir()
    (root / "myops/hand.py").write_text(HAND)
    (root / "pyproject.toml").write_text('[tool.opgen]\npackage = "myops"\n')
    return find_project(root)
