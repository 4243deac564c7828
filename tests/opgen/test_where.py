"""From lines of generated files back to the keys of declarations."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opgen.commands import main
from opgen.emit.origin import origin_of

DECLARATION = """\
op: base_of_where
abstract: true
attrs:
  axis: {type: int, default: 0, bounds: 0 <= axis < 2, doc: An axis.}
---
op: halves
doc: Two halves.
extends: base_of_where
inputs:
  x: {doc: The operand., shape: "N, M", dtype: float}
let: |
  half = N // 2
  rest = N - half
outputs:
  out: {shape: "N, M", dtype: x.dtype}
compute: |
  t[i, j]: (N, M) = x[i, j] + axis
  out[0, j] = t[0, j]
  out[i, j] = -t[i, j] if i < half else t[i, j] * rest
reference: |
  half = x.shape[0] // 2
  t = x + axis
  sign = np.where(np.arange(x.shape[0]) < half, -1, x.shape[0] - half)
  sign[0] = 1
  out = t * sign[:, None].astype(x.dtype)
tests:
  - {x: "float32[3, 4]"}
  - {x: "float32[5, 2]", axis: 1}
"""
# A line of the module or the suite, by a text that it holds, and the place and key that are told.
MODULE = {
    "def halves(": "9:1: inputs",
    "Two halves.": "7:1: doc",
    "t[i, j]: (N, M) = x[i, j] + axis": "17:3: compute",
    "x : tensor": "10:3: inputs.x",
    "The operand.": "10:3: inputs.x",
    "axis : int": "4:3: attrs.axis",
    "out : tensor": "15:3: outputs.out",
    "class HalvesAttrs": "6:1: op",
    "axis: int = _d": "4:3: attrs.axis",
    "def compute(": "16:1: compute",
    't = _l.tensor("t"': "17:3: compute",
    "t.define(": "17:3: compute",
    "out.define(lambda j: t[0": "18:3: compute",
    '_d.Input("x"': "10:3: inputs.x",
    '_d.let("half': "12:3: let",
    '_d.let("rest': "13:3: let",
    '_d.Output("out"': "15:3: outputs.out",
}
SUITE = {
    "x=float32[3,4]\n": "27:5: tests.0",
    "x=float32[5,2], axis=1\n": "28:5: tests.1",
    "axis=0|-1": "4:33: attrs.axis.bounds",
    "sign[0] = 1": "24:3: reference",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("where")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        assert CliRunner().invoke(main, ["init", "where_lab"]).exit_code == 0
        patch.chdir(made / "where_lab")
        (made / "where_lab/opdefs/halves.yaml").write_text(DECLARATION)
        done = CliRunner().invoke(main, ["generate"])
        assert done.exit_code == 0, done.output
    return made / "where_lab"


def where(folder: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> Result:
    monkeypatch.chdir(folder)
    return CliRunner().invoke(main, ["where", place])


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        *(("where_lab/_halves.py", text, told) for text, told in MODULE.items()),
        *(("tests/generated/test_halves.py", text, told) for text, told in SUITE.items()),
    ],
)
def test_it_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, told: str) -> None:
    lines = (folder / file).read_text().splitlines(keepends=True)
    (number, *_) = [number for number, line in enumerate(lines, 1) if text in line]
    done = where(folder, monkeypatch, f"{file}:{number}")
    assert done.output == f"opdefs/halves.yaml:{told}\n"


def test_every_line_has_an_origin(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in ("where_lab/_halves.py", "tests/generated/test_halves.py"):
        text = (folder / file).read_text()
        lines = {origin_of(text, number): number for number in range(1, text.count("\n") + 1)}
        for number in lines.values():  # one of each origin: the rest of the command depends on nothing else
            assert where(folder, monkeypatch, f"{file}:{number}").exit_code == 0, f"{file}:{number}"


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("where_lab/_halves.py", "write FILE:LINE"),
        ("where_lab/_halves.py:0", "write FILE:LINE"),
        ("where_lab/_halves.py:9999", "lines"),
        ("opdefs/halves.yaml:3", "no file that opgen has generated"),
        ("nothing.py:3", "no file that opgen has generated"),
    ],
)
def test_what_has_no_origin(folder: Path, monkeypatch: pytest.MonkeyPatch, place: str, why: str) -> None:
    done = where(folder, monkeypatch, place)
    assert done.exit_code == 2
    assert why in done.output
