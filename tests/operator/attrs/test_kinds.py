"""The two tables of attr kinds: rows for the same kinds, and all that a new kind needs."""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path

import numpy as np
import pytest

import opgen_runtime as rt
from opgen.analyse import Source, check_project
from opgen.diagnostics import to_text
from opgen.document.kinds import KINDS, AttrKind, parse_texts
from opgen.emit.outputs import render_project
from opgen.project import find_project
from opgen.render import Renderer
from opgen.views.scaffold import parse_attr
from opgen_runtime.base.errors import AttrError
from opgen_runtime.operator import attrs

DECLARATION = """
op: mirrored
doc: Negate, and take what is left of it, as flags say.
inputs: {data: {shape: "*S", dtype: float, doc: The input tensor.}}
attrs:
  flags: {type: bools, default: [true, false], doc: Whether to negate and whether to be positive.}
type_relation:
  require: ["len(flags) == 2"]
outputs: {out: {shape: "*S", dtype: data.dtype, doc: The result.}}
compute: |
  out[*i] = abs(data[*i]) if flags[1] else -data[*i] if flags[0] else data[*i]
reference: |
  out = np.abs(data) if flags[1] else -data if flags[0] else data
tests:
- {data: "float32[3]"}
- {data: "float32[2, 3]", flags: [false, true]}
"""


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise attrs.KindError("a bool")
    return value


def test_both_tables_have_the_same_kinds() -> None:
    assert list(KINDS) == list(attrs.KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_what_the_generator_tries_is_what_the_runtime_keeps(name: str) -> None:
    row, values = KINDS[name], attrs.KINDS[name]
    example = parse_texts(name, [row.example])
    for value in (example, *row.samples, *row.starts, *row.near(row.samples[0])):
        assert values.kept(value) == value
        assert values.kept(values.read_json(json.loads(json.dumps(attrs.to_json_value(value))))) == value
        assert isinstance(value, tuple) == values.is_list
    assert parse_attr(f"x:{name}").default == row.example


def test_a_kind_is_two_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Lists of bools: declared, checked, generated, called, printed and read back."""
    monkeypatch.setitem(attrs.KINDS, "bools", attrs.AttrKind("bools", _bool, "a bool or a sequence of bools"))
    row = AttrKind(
        lambda text: text == "true", "tuple[bool, ...]", "bool | _d.Sequence[bool]", "[true]", ((True,),)
    )
    monkeypatch.setitem(KINDS, "bools", row)
    checked, found = check_project([Source("opdefs/mirrored.yaml", DECLARATION, "elementwise")])
    assert not found, to_text(found)
    (tmp_path / "pyproject.toml").write_text('[tool.opgen]\npackage = "ops_of_kinds"\n')
    (tmp_path / "opdefs").mkdir()
    project = find_project(tmp_path)
    for output in render_project(project, Renderer(), checked):
        output.path.parent.mkdir(parents=True, exist_ok=True)
        output.path.write_text(output.text)
    monkeypatch.syspath_prepend(str(tmp_path))
    mirrored = importlib.import_module("ops_of_kinds").mirrored

    x = rt.var("x", rt.TensorType((2,), "float32"))
    with pytest.raises(AttrError, match=r"requires len\(flags\) == 2"):
        mirrored(x, flags=False)
    with pytest.raises(
        AttrError, match=r"attr 'flags' must be bools \(a bool or a sequence of bools\), found 1"
    ):
        mirrored(x, flags=1)
    call = mirrored(x, flags=[True, False])
    assert str(inspect.signature(mirrored)).startswith(
        "(data: '_d.ExprLike', flags: 'bool | _d.Sequence[bool]' = ("
    )
    assert call.attrs.flags == (True, False)
    assert type(call.attrs).from_json(call.attrs.to_json()) == call.attrs
    assert rt.parse_expr(str(call)).attrs == call.attrs
    data = np.array([1, -2], np.float32)
    assert rt.create_executor("graph").evaluate(call, {x: data}).numpy().tolist() == [-1, 2]
