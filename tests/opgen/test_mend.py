"""`opgen generate --fix`: what is a matter of spelling is mended, and nothing else is touched."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.analyse import check_project
from opgen.commands import main
from opgen.diagnostics import mended

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
    ((place, text),) = finding.fix
    assert (place, text) == (finding.place, "elemwise")
    assert pickle.loads(pickle.dumps(finding)).fix == finding.fix


KINDS = """\
op: kinds
doc: Of each kind one.
inputs: {x: {shape: "*S", dtype: float}, y: {shape: "N, M", dtype: float, optional: false}}
arity: 2
type_relation: {require: N == M}
let: |
  pair = (1, 2)
  one = (3,)
  squares = tuple(k * k for k in range(3))
  told = N if N != 3 else M
  same = M == 2
outputs: {out: {shape: "*S", dtype: float32}}
compute: |
  def both(a): return exp(a) + (1) * a
  out[*i] = cast((both(x[*i]) + 1), float32) + cast(x[*i], float32)
tests: [{x: "float32[3]", y: "float32[2, 2]"}]
"""
SLIPS = {
    "op: kinds": "op: Kinds",
    '"*S", dtype: float}, y': "*S, dtype: float}, y",
    '"N, M", dtype: float,': "N, M, dtype: float,",
    "optional: false": "optional: no",
    "arity: 2": "arity: -1",
    "N == M}": "N = M}",
    "(1, 2)": "[1, 2]",
    "(3,)": "[3]",
    "tuple(k * k for k in range(3))": "[k * k for k in range(3)]",
    "if N != 3": "if N is not 3",
    "= M == 2": "= M is 2",
    "return exp(a) +": "return +np.exp(a) +",
    "cast((both(x[*i]) + 1), float32)": "(both(x[*i]) + 1).astype(float32)",
    "cast(x[*i], float32)": "float32(x[*i])",
    "Of each": "Of \u202aeach",
}


def after_rounds(text: str) -> str:
    for _ in range(8):
        text, notes = mended(text, check_project({"a.yaml": text})[1])
        if not notes:
            return text
    raise AssertionError("fixes without end")


def test_what_is_meant_is_written() -> None:
    """Each slip is found with a fix, whatever stands beside it, and together they give what was meant."""
    text = KINDS
    for right, wrong in SLIPS.items():
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    assert after_rounds(text) == KINDS
    assert not check_project({"a.yaml": KINDS})[1]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("out[i] = x[i] + 1", "out[i] = x[i].astype(x.dtype, 1) + x.exp()"),  # no function of a module
        ("out[i] = x[i] + 1", "out[i] = sum(x) + 1"),
    ],
)
def test_what_may_mean_several_things_stays(right: str, wrong: str) -> None:
    text = f"""op: stays
inputs: {{x: {{shape: "N", dtype: float}}}}
outputs: {{out: {{shape: N, dtype: x.dtype}}}}
compute: {right}
""".replace(right, wrong)
    found = check_project({"a.yaml": text})[1]
    assert [each.fix for each in found] == [()] * max(1, len(found))
