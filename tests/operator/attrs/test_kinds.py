"""The two tables of attr kinds: rows for the same kinds, and all that a new kind needs."""

from __future__ import annotations

import importlib
import inspect
import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import opgen_runtime as rt
from opgen.analyse import Source, check_project
from opgen.diagnostics import to_text
from opgen.document.kinds import KINDS, WrittenKind, parse_texts
from opgen.emit.outputs import render_project
from opgen.project import find_project
from opgen.render import Renderer
from opgen.views.scaffold import parse_attr
from opgen_runtime.base.errors import AttrError
from opgen_runtime.ir import structural_digest
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


OBJECTS = """
op: resized_like
doc: The elements in the shape of a type, from either end, times what is given, and softened as other attrs say.
inputs: {data: {shape: "*S", dtype: float, doc: The input tensor.}}
attrs:
  like: {type: object, default: "Tensor[(2, 3), float32]", bounds: like.ndim >= 1, doc: Whose shape it is.}
  order: {type: enum, values: [forward, backward], doc: From which end.}
  factors: {type: array, default: [1, two], doc: What it is multiplied by.}
  along: {type: object, optional: true, doc: Attrs that have an axis.}
type_relation: {require: prod(S) > 0}
let: |
  n = prod(S)
  shift = 0 if along is None else along["axis"]
outputs: {out: {shape: like.shape, dtype: data.dtype, doc: The result.}}
compute: |
  def at(k): return data[*unravel(k % n if order == "forward" else n - 1 - k % n, S)]
  out[*i] = at(ravel(i, like.shape)) * factors[0] + shift
reference: |
  flat = np.ravel(data) if order == "forward" else np.ravel(data)[::-1]
  out = np.resize(flat, like.shape) * data.dtype.type(factors[0]) + (0 if along is None else along["axis"])
tests:
- {data: "float32[5]", order: forward}
- {data: "float64[2, 2]", like: "Tensor[(7,), int8]", order: backward, factors: [0.5, null, true]}
- {data: "float32[3]", order: forward, along: "attrs.glu(axis=1)"}
"""


def generate(folder: Path, package: str, checked: object) -> None:
    """The files of a project of one package, in a folder."""
    (folder / "pyproject.toml").write_text(f'[tool.opgen]\npackage = "{package}"\n')
    (folder / "opdefs").mkdir()
    for output in render_project(find_project(folder), Renderer(), checked):  # type: ignore[arg-type]  # as checked
        output.path.parent.mkdir(parents=True, exist_ok=True)
        output.path.write_text(output.text)


def test_both_tables_have_the_same_kinds() -> None:
    assert list(KINDS) == list(attrs.KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_what_the_generator_tries_is_what_the_runtime_keeps(name: str) -> None:
    row, values = KINDS[name], attrs.KINDS[name]
    example = parse_texts(name, [json.loads(row.example) if row.example.startswith('"') else row.example])
    for value in (example, *row.samples, *row.starts, *row.near(row.samples[0])):
        assert values.kept(value) == value
        assert values.kept(values.read_json(json.loads(json.dumps(values.to_json(value))))) == value
        assert isinstance(value, tuple) == values.is_list
    assert parse_attr(f"x:{name}").default == row.example


def test_a_kind_is_two_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Lists of bools: declared, checked, generated, called, printed and read back."""
    monkeypatch.setitem(attrs.KINDS, "bools", attrs.AttrKind("bools", _bool, "a bool or a sequence of bools"))
    row = WrittenKind(
        lambda text: text == "true", "tuple[bool, ...]", "bool | _d.Sequence[bool]", "[true]", ((True,),)
    )
    monkeypatch.setitem(KINDS, "bools", row)
    checked, found = check_project([Source("opdefs/mirrored.yaml", DECLARATION, "elementwise")])
    assert not found, to_text(found)
    generate(tmp_path, "ops_of_kinds", checked)
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


def test_objects_are_declared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Enums, arrays, types and other attrs: declared, checked, generated, and through every form of a call."""
    checked, found = check_project([Source("opdefs/resized_like.yaml", OBJECTS, "elementwise")])
    assert not found, to_text(found)
    generate(tmp_path, "ops_of_objects", checked)
    monkeypatch.syspath_prepend(str(tmp_path))
    resized_like = importlib.import_module("ops_of_objects").resized_like
    (path,) = tmp_path.glob("tests/**/test_resized_like.py")
    space: dict[str, object] = {"__name__": "suite"}
    exec(compile(path.read_text(), str(path), "exec"), space)
    suite = space["TestResizedLike"]()  # type: ignore[operator]  # the class
    assert {str(each.attrs["order"]) for each in suite.sampled_cases} == {"forward", "backward"}
    suite.test_interface()
    for case in suite.declared_cases:
        suite.test_types(case)
        for executor in ("debug", "graph"):
            suite.test_values(case, executor)
    assert [str(probe) for probe in suite.probes if probe.attr == "order"]
    for probe in suite.probes:
        suite.test_bounds(probe)

    x = rt.var("x", rt.TensorType((2,), "float32"))
    settings = rt.ops.glu(x, axis=0).attrs
    like = rt.TensorType((3,), "int8")
    call = resized_like(x, like=like, order="backward", factors=[2.0, (None, "a")], along=settings)
    assert str(call).splitlines()[-1] == (
        'ops_of_objects.resized_like(%x, like=Tensor[(3,), int8], order="backward", factors=[2.0, [None, "a"]], '
        "along=attrs.glu(axis=0))"
    )
    function = rt.Function((x,), call)
    module = rt.IRModule.from_expr(function)
    for again in (rt.parse_module(rt.to_text(module))["main"], pickle.loads(pickle.dumps(function))):
        assert rt.structural_equal(again, function)
    assert type(call.attrs).from_json(json.loads(json.dumps(call.attrs.to_json()))) == call.attrs

    other = rt.Function((x,), resized_like(x, like=like, order="backward", factors=[2.0]))
    assert structural_digest(function) == structural_digest(pickle.loads(pickle.dumps(function)))
    assert structural_digest(function) != structural_digest(other)
    data = np.array([1, -2], np.float32)
    built = rt.build(function, target="llvm")
    built.save(tmp_path / "saved.opgen")
    for executable in (built, rt.load(tmp_path / "saved.opgen")):
        assert np.asarray(executable.run([data])).tolist() == [-4, 2, -4]
    with pytest.raises(
        AttrError, match='attr \'order\' is "up", outside its bounds: one of "forward", "backward"'
    ):
        resized_like(x, order="up")
