"""The table of examples: each gives its code, and nothing once it is mended; the command and the page show it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.analyse import check_project, read_sources
from opgen.commands import main
from opgen.diagnostics import CODES, to_text
from opgen.diagnostics.examples import examples
from opgen.project import resources

PAGE = Path(__file__).parents[3] / "docs/language/diagnostics.md"
UNREACHED = {"compute"}  # the code of errors for which no declaration is known


def test_every_code_has_one() -> None:
    assert list(examples()) == list(CODES)
    assert {code for code, example in examples().items() if not example.bad} == UNREACHED


@pytest.mark.parametrize("code", [code for code in CODES if code not in UNREACHED])
def test_the_example_gives_its_code_until_it_is_mended(code: str) -> None:
    example = examples()[code]
    assert code in {finding.code for finding in check_project({"example.yaml": example.bad})[1]}
    library = read_sources(resources("opdefs") / "elementwise")
    ops, found = check_project({"example.yaml": example.mended}, library=library)
    assert to_text(found) == ""
    assert ops


def test_the_page_has_the_same() -> None:
    page = PAGE.read_text(encoding="utf-8").replace("\u2407", "\a")
    for code, example in examples().items():
        section = page.partition(f"### `{code}`\n")[2].partition("\n##")[0]
        assert example.say in section
        assert example.bad in section


def test_it_is_explained() -> None:
    done = CliRunner().invoke(main, ["explain-error", "error[bad-name]"])
    assert done.exit_code == 0
    meaning, _, rest = done.output.partition("\n\n")
    assert meaning == "bad-name: a name that is not a lower-case identifier."
    assert "op: Same-Shape" in rest
    assert "example.yaml:1:5: error[bad-name]" in rest
    assert rest.rstrip().endswith(examples()["bad-name"].mended.rstrip())


def test_all_codes_are_listed() -> None:
    listed = CliRunner().invoke(main, ["explain-error"]).output.splitlines()
    assert [line.split()[0] for line in listed] == list(CODES)


def test_an_unknown_code() -> None:
    done = CliRunner().invoke(main, ["explain-error", "out-of-bound"])
    assert done.exit_code == 2
    assert "did you mean `out-of-bounds`?" in done.output
