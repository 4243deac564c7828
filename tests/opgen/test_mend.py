"""`opgen generate --fix`: what is a matter of spelling is mended, and nothing else is touched."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.analyse import check_project
from opgen.commands import main

WRONG = """\
# kept as it is
op: spelt
doc: "A \u00e4 sum, scaled"   # and this
inputs: {x: {shape: "N", dtype: float, optionl: false}}
attrs: {scale: {type: flot, defalt: 1.0}}
outputs: {out: {shape: N, dtype: x.dtype}}
patern: injective
compute: out[i] = x[i] * scal
tests: [{x: "float32[3]"}]
"""
RIGHT = (
    WRONG.replace("optionl", "optional").replace("flot,", "float,").replace("defalt", "default")
    .replace("patern: injective", "pattern: elemwise").replace("* scal\n", "* scale\n")
)  # fmt: skip


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["init", "mend_lab"]).exit_code == 0
    monkeypatch.chdir(tmp_path / "mend_lab")
    return tmp_path / "mend_lab"


def test_spelling_is_mended(project: Path) -> None:
    file = project / "opdefs/spelt.yaml"
    file.write_text(WRONG, encoding="utf-8")
    done = CliRunner().invoke(main, ["generate", "--fix"])
    assert file.read_text(encoding="utf-8") == RIGHT
    assert done.exit_code == 0, done.output
    assert "opdefs/spelt.yaml:7:1: `patern` is now `pattern`" in done.output
    assert (project / "mend_lab/_spelt.py").exists()


def test_what_is_no_matter_of_spelling_stays(project: Path) -> None:
    text = RIGHT.replace("x[i] *", "x[i + 1] *")
    file = project / "opdefs/spelt.yaml"
    file.write_text(text, encoding="utf-8")
    done = CliRunner().invoke(main, ["generate", "--fix"])
    assert done.exit_code == 1
    assert "error[out-of-bounds]" in done.output
    assert file.read_text(encoding="utf-8") == text


def test_a_finding_keeps_its_fix_on_the_way_from_a_process() -> None:
    (finding,) = check_project({"a.yaml": RIGHT.replace("elemwise", "injective")})[1]
    assert finding.fix == "elemwise"
    assert pickle.loads(pickle.dumps(finding)).fix == "elemwise"
