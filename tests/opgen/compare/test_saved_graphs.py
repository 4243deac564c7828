"""A graph that was saved before a compatible change of its op loads after it, and means the same."""

from __future__ import annotations

import ast
import importlib
import pickle
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
from opgen_runtime.base.errors import AttrError, ParseError
from opgen_runtime.ir import Function, parse_expr
from opgen_runtime.operator.attrs import attrs_from_json
from tests.opgen.compare.test_changes import BASE, CHANGES, Y_LINE, changed

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
    ops, found = check_project(
        {"opdefs/scaled.yaml": text.replace('operator: "+"\n', "")},
        {package: folder / package},
        known_ops={name: name for name in ("multiply", "negative", "zeros_like")},
    )
    assert not found
    output = folder / package
    project = Project(folder, folder / "opdefs", output, folder / "tests", package, package, None, (package,))
    output.mkdir(exist_ok=True)
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


# Of each change that breaks saved graphs, where calls can be said in today's: the entries of `upgrades:`.
UPGRADES: dict[str, str] = {
    "default changed": "1: {attrs: {axis: {type: int, default: 0}}}",
    "bound tightened": "1: {}",
    "input added": "1: {inputs: [x, y], becomes: {z: zeros_like(x)}}",
    "inputs reordered": "1: {inputs: [x, y]}",
    "input renamed": "1: {inputs: [x, y], becomes: {left: x}}",
    "dtype dropped": "1: {}",
    "shape rule narrower": "1: {}",
    "attr added without": "1: {becomes: {more: 0}}",
    "attrs reordered": "1: {}",
    "operator removed": "1: {}",
    "attr added with a default": "",  # no entry: calls are taken as they stand
    "bound loosened": "",
    "attr renamed": "1: {attrs: {power: {type: int, default: 1}}, becomes: {times: power}}",
    "result negated": "1: {result: negative(out)}",
    "by hand": '1: {inputs: [x, y], python: "PACKAGE.older:swapped"}',
    "two steps": """
  1: {attrs: {power: {type: int, default: 1}, axis: {type: int, default: 0}}, becomes: {times: power}}
  2: {inputs: [y, x], attrs: {times: {type: int, default: 2}}, becomes: {more: times - 1, x: y, y: x}}""",
}
FURTHER = {
    "attr renamed": [
        ("power: {", "times: {"), ("1 <= power <= 3", "1 <= times <= 3"), ("* power", "* times"),
        ("power: 2}", "times: 2}"),
    ],
    "result negated": [("x[i, j] * power + y", "-x[i, j] * power - y")],
    "by hand": [(Y_LINE, ""), ("inputs:\n", f"inputs:\n{Y_LINE}")],
    "two steps": [
        ("power: {type: int, default: 1, bounds: 1 <= power <= 3}", "more: {type: int, default: 4, bounds: more >= 0}"),
        ("axis: {type: int, default: 0", "axis: {type: int, default: 1"),
        ("* power", "* (more + 1)"),
        ("power: 2}", "more: 2}"),
    ],
}  # fmt: skip
OLDER = """\
def swapped(inputs, attrs):
    return {"x": inputs["x"], "y": inputs["y"]}, attrs
"""


def upgraded(name: str, package: str) -> str:
    text = changed(FURTHER.get(name) or CHANGES[name][0])
    entries = UPGRADES[name].replace("PACKAGE", package)
    version = 3 if name == "two steps" else 2
    if not entries:
        return text.replace("inputs:", f"version: {version}\ninputs:", 1)
    return text.replace("inputs:", f"version: {version}\nupgrades:\n  {entries.lstrip()}\ninputs:", 1)


@pytest.mark.parametrize("name", UPGRADES)
def test_it_is_upgraded(folder: Path, saved: tuple[str, np.ndarray], name: str) -> None:
    package = f"upgraded_{list(UPGRADES).index(name)}"
    (folder / package).mkdir()
    (folder / package / "older.py").write_text(OLDER)
    op = declared(folder, package, upgraded(name, package))
    text, before = saved
    function = parse_expr(text.replace("saved_before.", f"{package}."))
    assert isinstance(function, Function)
    np.testing.assert_array_equal(value(function), before)
    again = str(function)
    assert f"{op.name}@{op.get_attr('declaration').version}(" in again
    np.testing.assert_array_equal(value(parse_expr(again)), before)
    np.testing.assert_array_equal(value(pickle.loads(pickle.dumps(function))), before)


def test_attrs_in_json_are_upgraded(folder: Path) -> None:
    old = declared(folder, "json_before", BASE).get_attr("declaration").attrs
    new = declared(folder, "json_after", upgraded("two steps", "json_after")).get_attr("declaration").attrs
    saved = old(power=3).to_json() | {"type_key": "attrs.json_after.scaled"}
    assert new.from_json(saved).as_dict() == {"axis": 0, "more": 2}
    again = new(more=5).to_json()
    assert again["type_key"] == "attrs.json_after.scaled@3"
    assert new.from_json(again) == new(more=5) == attrs_from_json(again)
    with pytest.raises(AttrError, match=r"expected attrs of type 'attrs.json_after.scaled@3', found '.*@4'"):
        new.from_json(again | {"type_key": "attrs.json_after.scaled@4"})


CALL = """\
free_var %x: Tensor[(3, 4), float32];
{name}.scaled{call}"""


@pytest.mark.parametrize(
    ("call", "message"),
    {
        "@3(%x, %x)": "line 2, column 15: op 'refused.scaled' is of version 2 here, the text of version 3",
        "(%x, %x, %x)": r"version 1 takes 2 operands \(x, y\), found 3",
        "(%x, %x, powr=1)": "version 1 has no attr 'powr'; did you mean 'power'",
        "(%x, %x, power=3)": "a call of version 1 is upgraded only where power < 3; found power=3",
        '(%x, %x, power="a")': "attr 'power' of version 1 must be an int, found 'a'",
    }.items(),
)
def test_what_cannot_be_upgraded(folder: Path, call: str, message: str) -> None:
    entries = "{1: {require: power < 3, becomes: {power: power + 1}}}"
    text = BASE.replace("inputs:", f"version: 2\nupgrades: {entries}\ninputs:", 1)
    if not (folder / "refused").exists():
        declared(folder, "refused", text)
    with pytest.raises(ParseError, match=message):
        parse_expr(CALL.format(name="refused", call=call))


def test_upgrades_are_checked() -> None:
    entries = """
upgrades:
  2: {}
  1:
    inputs: [x]
    attrs: {old: {type: int, default: a}}
    becomes: {powr: old, power: x.ndim, axis: olt}
    result: negativ(out)
    python: nowhere:made
inputs:"""
    text = BASE.replace("inputs:", f"version: 2{entries}", 1)
    _, found = check_project({"scaled.yaml": text}, known_ops={"negative": "negative"})
    assert [
        f"{each.place.line}:{each.place.column} {each.code}: {each.message}" for each in found
    ] == UPGRADE_FINDINGS
    text = text.replace("    python: nowhere:made\n", "")
    assert "calls of version 1 have no `y`, and nothing says what it becomes" in str(
        check_project({"s.yaml": text})[1]
    )


UPGRADE_FINDINGS = [
    "7:3 bad-value: `2` is no version before 2, which the op is of",
    "10:39 bad-value: the default of `old`: expected an int of 64 bits, found `a`",
    "11:15 unknown-name: version 2 has no operand or attr `powr`",
    "11:33 unknown-name: `x` is an input, which an upgrade of an attr does not see",
    "11:47 unknown-name: nothing binds the name `olt`",
    "12:13 unknown-name: there is no op `negativ`",
    "13:13 extern: `nowhere` is not one of the project's packages (none)",
]


def test_ops_of_a_project_are_called_by_their_full_names() -> None:
    text = BASE + "grad: {x: 'scaled(grad, exp(y))'}\n"
    names = {"scaled": "myops.scaled", "exp": "exp"}
    (op,), found = check_project({"scaled.yaml": text}, known_ops=names)
    assert not found
    assert (
        ast.unparse(op.gradients[0].function) == "lambda y, grad: _d.ops['myops.scaled'](grad, _d.ops.exp(y))"
    )


def test_the_changes_are_many() -> None:
    assert len(CHANGES) >= 20
    assert len(COMPATIBLE) >= 8
