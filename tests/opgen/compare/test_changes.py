"""Crafted changes of a declaration, each with its class and reason."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from opgen.commands import main
from opgen.compare.versions import Declarations, compare_projects
from opgen.sources import Source, SourceSet

BASE = """\
op: scaled
doc: A sum along an axis, scaled.
operator: "+"
dtypes: {T: [float32, float64, int32]}
inputs:
  x: {shape: "N, M", dtype: T}
  y: {shape: "N, M", dtype: T}
attrs:
  axis: {type: int, default: 0, bounds: 0 <= axis < 2}
  power: {type: int, default: 1, bounds: 1 <= power <= 3}
outputs:
  out: {shape: "N, M", dtype: T}
compute: |
  out[i, j] = x[i, j] * power + y[i, j] * (axis + 1)
tests:
  - {x: "float32[3, 4]", y: "float32[3, 4]"}
  - {x: "float64[2, 5]", y: "float64[2, 5]", axis: 1, power: 2}
"""
Y_LINE = '  y: {shape: "N, M", dtype: T}\n'
POWER_LINE = "  power: {type: int, default: 1, bounds: 1 <= power <= 3}\n"
POWER_LAST = [("outputs:", "  more: {type: int, default: 0}\noutputs:"), ("axis + 1", "axis + 1 + more")]

# What is replaced by what, and the codes, with `!` for a breaking one.
CHANGES: dict[str, tuple[list[tuple[str, str]], set[str]]] = {
    "default changed": ([("default: 0", "default: 1")], {"default-changed!"}),
    "bound tightened": ([("power <= 3", "power <= 2")], {"bound-tightened!"}),
    "bound loosened": ([("power <= 3", "power <= 5")], {"bound-loosened"}),
    "bound moved": (
        [("1 <= power <= 3", "2 <= power <= 4"), ("default: 1", "default: 2")],
        {"bound-tightened!", "bound-loosened", "default-changed!"},
    ),
    "bound rewritten": ([("0 <= axis < 2", "0 <= axis <= 1")], {"bound-rewritten"}),
    "optional input added last": (
        [("attrs:", '  z: {shape: "N, M", dtype: T, optional: true}\nattrs:')],
        {"input-added"},
    ),
    "input added": (
        [
            ("attrs:", '  z: {shape: "N, M", dtype: T}\nattrs:'),
            ('y: "float32[3, 4]"', 'y: "float32[3, 4]", z: "float32[3, 4]"'),
            ('y: "float64[2, 5]"', 'y: "float64[2, 5]", z: "float64[2, 5]"'),
        ],
        {"input-added!"},
    ),
    "input removed": (
        [(Y_LINE, ""), ("y[i, j] *", ""), (', y: "float32[3, 4]"', ""), (', y: "float64[2, 5]"', "")],
        {"input-removed!"},
    ),
    "inputs reordered": ([(Y_LINE, ""), ("inputs:\n", f"inputs:\n{Y_LINE}")], {"inputs-reordered!"}),
    "input renamed": (
        [("  x: {", "  left: {"), ("x[i, j]", "left[i, j]"), ("- {x:", "- {left:"), ("- {x:", "- {left:")],
        {"input-renamed!"},
    ),
    "dtype dropped": ([("float64, int32", "float64")], {"dtype-dropped!"}),
    "dtype added": ([("float64, int32", "float64, int32, int64")], {"dtype-added"}),
    "shape rule narrower": (
        [
            ("outputs:", "type_relation: {require: M <= 4}\noutputs:"),
            ("[2, 5]", "[2, 3]"),
            ("[2, 5]", "[2, 3]"),
        ],
        {"shape-rule!"},
    ),
    "shape of the result": (
        [('out: {shape: "N, M"', 'out: {shape: "M, N"'), ("out[i, j]", "out[j, i]")],
        {"shape-rule!"},
    ),
    "dtype of the result": (
        [
            ('M", dtype: T}\ncompute', 'M", dtype: float64}\ncompute'),
            ("= x", "= cast(x"),
            ("+ 1)", "+ 1), float64)"),
        ],
        {"dtype-rule!"},
    ),
    "value changed": ([("axis + 1", "axis + 2")], {"value-changed!"}),
    "compute rewritten": ([("x[i, j] * power", "power * x[i, j]")], {"compute-rewritten"}),
    "attr removed": ([(POWER_LINE, ""), (" * power", ""), (", power: 2", "")], {"attr-removed!"}),
    "attr added with a default": (POWER_LAST, {"attr-added"}),
    "attr added without": (
        [
            *((old, new.replace(", default: 0", "")) for old, new in POWER_LAST),
            ('y: "float32[3, 4]"}', 'y: "float32[3, 4]", more: 0}'),
            ("power: 2}", "power: 2, more: 0}"),
        ],
        {"attr-added!"},
    ),
    "attrs reordered": ([(POWER_LINE, ""), ("attrs:\n", f"attrs:\n{POWER_LINE}")], {"attrs-reordered!"}),
    "operator removed": ([('operator: "+"\n', "")], {"operator!"}),
    "deprecated": ([("inputs:", "deprecated: Use add.\ninputs:")], {"deprecated"}),
    "version": ([("inputs:", "version: 2\ninputs:")], {"version"}),
    "words": ([("A sum", "The sum")], {"text"}),
    "renamed": ([("op: scaled", "op: scaling")], {"removed!", "added"}),
}


def declarations(text: str) -> Declarations:
    return Declarations(SourceSet((Source("scaled.yaml", text),)), None, {})


def changed(edits: list[tuple[str, str]]) -> str:
    text = BASE
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_classed(name: str) -> None:
    edits, expected = CHANGES[name]
    found = compare_projects(declarations(BASE), declarations(changed(edits)))
    assert found.found == ()
    codes = {change.code + "!" * change.breaking for change in found.changes}
    extra = {"compute-rewritten", "pattern"} - expected  # a formula that follows another change
    assert codes - extra == expected, found.changes


def test_what_is_the_same_is_not_checked() -> None:
    found = compare_projects(declarations(BASE), declarations(f"# a comment\n{BASE}"))
    assert (found.changes, found.unchanged) == ((), 1)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_revisions_folders_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "opdefs").mkdir()
    (tmp_path / "myops").mkdir()
    (tmp_path / "myops/__init__.py").write_text("")
    (tmp_path / "pyproject.toml").write_text('[tool.opgen]\npackage = "myops"\n')
    file = tmp_path / "opdefs/scaled.yaml"
    file.write_text(BASE)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True, cwd=tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "old/scaled.yaml").write_text(BASE)
    file.write_text(changed([("default: 0", "default: 1")]))
    told = "scaled\n  breaking    default-changed: the default of attr `axis` is 1, not 0\n"
    for old in ("HEAD", "old", "old/scaled.yaml"):
        for new in (".", "opdefs", "opdefs/scaled.yaml"):
            result = run("diff", old, new)
            assert result.exit_code == 1, result.output
            assert told in result.output
    assert run("diff", "HEAD", "HEAD").exit_code == 0
    result = run("diff", "nowhere")
    assert result.exit_code == 2
    assert "'nowhere' is no file, no folder, and no revision of" in result.output


def test_a_breaking_change_needs_a_new_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    for folder in ("opdefs", "myops", "old"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.opgen]\npackage = "myops"\n')
    (tmp_path / "old/scaled.yaml").write_text(BASE)
    file = tmp_path / "opdefs/scaled.yaml"
    was = "upgrades: {1: {attrs: {axis: {type: int, default: 0}}}}"
    for edits, said in (
        ([("power <= 3", "power <= 9")], None),
        ([("default: 0", "default: 1")], "give the ops a new `version:`"),
        ([("default: 0", "default: 1"), ("inputs:", "version: 2\ninputs:")], "today's: scaled 1"),
        ([("default: 0", "default: 1"), ("inputs:", f"version: 2\n{was}\ninputs:")], None),
        ([('operator: "+"\n', "version: 2\n")], None),
    ):
        text = changed(edits)
        file.write_text(text)
        assert run("generate").exit_code == 0
        assert run("check").exit_code == 0
        result = run("check", "--against", "old")
        assert result.exit_code == (said is not None), result.output
        assert said is None or said in result.output
