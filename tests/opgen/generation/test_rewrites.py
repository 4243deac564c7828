"""Rewrites of a project: the files that come of them, what is refused, and that nothing is tried twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from opgen.emit import apply
from opgen.generation import generate as generation
from opgen.generation import rewrite_trial
from opgen.project import Project

RULES = """
rewrite: ClampOnce
doc: What is clamped is not clamped again.
decreases: nodes
rules:
  - {match: "myops.clamped(myops.clamped(?x, low=?a), low=?a)", replace: "myops.clamped(?x, low=a)"}
"""


PASS = '''\
"""ClampOnce: What is clamped is not clamped again.

    myops.clamped(myops.clamped(?x, low=?a), low=?a) -> myops.clamped(?x, low=a)
"""

from __future__ import annotations

import opgen_runtime.transform.pattern as _p

ClampOnce = _p.rewrite_pass(
    "ClampOnce",
    [
        _p.Rule(
            _p.apply(
                "myops.clamped",
                _p.apply("myops.clamped", _p.capture("x"), low=_p.capture("a")),
                low=_p.capture("a"),
            ),
            replace=lambda x, a, out: _p.call("myops.clamped", x, low=a, out=out),
        ),
    ],
    doc="What is clamped is not clamped again.", module=__name__, opt_level=0,
)
'''
SUITE = """\
from __future__ import annotations

from opgen_runtime.testing.rewrites import Rewritten, RewriteSuite
from myops.rewrites import ClampOnce


class TestClampOnce(RewriteSuite):
    make = ClampOnce
    cases = (
        Rewritten(
            "myops.clamped(myops.clamped(?x, low=?a), low=?a) -> myops.clamped(?x, low=a)",
            "fn (%x: Tensor[(2,), float32]) { %0 = myops.clamped(%x); myops.clamped(%0) }",
            "fn (%x: Tensor[(2,), float32]) { myops.clamped(%x) }",
            {},
        ),
    )
"""


def write(project: Project, text: str, name: str = "few.yaml") -> Path:
    path = project.rewrites / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def messages(project: Project) -> list[str]:
    made = generation.generate(project, 1)
    assert made.outputs == () or made.found
    return [f"{each.place.line} {each.code}: {each.message}" for each in made.found]


def test_a_pass_and_its_suite(project: Project) -> None:
    write(project, RULES)
    made = generation.generate(project, 1)
    assert (made.found, made.problem) == ((), None)
    apply(made.plan())
    assert sorted(path.name for path in project.passes.glob("*.py")) == ["__init__.py", "clamp_once.py"]
    assert (project.passes / "clamp_once.py").read_text().split("\n", 2)[2] == PASS
    suite = project.pass_tests / "test_clamp_once.py"
    assert suite.read_text().split("\n", 2)[2] == SUITE
    environment = {**os.environ, "PYTHONPATH": str(project.root)}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(suite)],
        cwd=project.root, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_is_tried_twice(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    try_apart = rewrite_trial.try_apart

    def noted(project, rewrites, unwritten):  # type: ignore[no-untyped-def]  # as the function that it stands for
        tried.extend(each.name for each in rewrites)
        return try_apart(project, rewrites, unwritten)

    monkeypatch.setattr(rewrite_trial, "try_apart", noted)
    write(project, RULES)
    apply(generation.generate(project, 1).plan())
    assert tried == ["ClampOnce"]
    again = generation.generate(project, 1).plan()
    assert (again.steps, tried) == ((), ["ClampOnce"])
    path = project.opdefs / "ends/clamped.yaml"
    path.write_text(path.read_text().replace("max(x[*i], low)", "x[*i] * 2 + low"))
    assert messages(project) == [  # tried with the op as it will be
        "6 value: the rule changes values: it makes `fn (%x: Tensor[(2,), float32]) { %0 = myops.clamped(%x); "
        "myops.clamped(%0) }` into `fn (%x: Tensor[(2,), float32]) { myops.clamped(%x) }` which give 8 and 4 for "
        "x = 2; expected the same bits"
    ]


REFUSED = {
    "another value": (
        {"match": "?x + ?c: known", "replace": "?x", "when": "is_all(c, 0)"},
        "the rule changes values: it makes `fn (%x: Tensor[(2,), float32]) { add(%x, 0.0f) }` into "
        "`fn (%x: Tensor[(2,), float32]) { %x }` which give 0 and -0 for x = -0; expected the same bits",
    ),
    "nothing less": (
        {"match": "?x * ?y", "replace": "?y * ?x"},
        "the rule does not decrease nodes, so that rules may never end: it makes",
    ),
    "another type": (
        {"match": "cast(?x: float32, dtype=?t)", "replace": "cast(?x, dtype=x.dtype)"},
        "the rule does not decrease nodes",
    ),
    "types that never stay": (
        {"match": "less(?x: number, ?y)", "replace": "?x"},
        "the rule makes `fn (%x: Tensor[(2,), float32], %y: Tensor[(2,), float32]) { less(%x, %y) }` of type "
        "Tensor[(2,), bool] into `fn (%x: Tensor[(2,), float32]) { %x }` of type Tensor[(2,), float32]",
    ),
    "no such op": (
        {"match": "negativ(?x)", "replace": "?x"},
        "no op is named 'negativ'; did you mean 'negative'?",
    ),
    "nothing that it is of": (
        {"match": "conv2d(?x, ?w)", "replace": "?x"},
        "the rule applied to none of the calls that were tried; state what its captures may be, such as samples",
    ),
    "no function": (
        {"match": "abs(?x)", "replace": "?x", "when": "is_posit(x)"},
        "when: there is no function is_posit",
    ),
    "no name": ({"match": "abs(?x)", "replace": "?y"}, "replace: ?y is no operand that `match` captures"),
    "code": (
        {"match": "abs(?x)", "replace": "?x", "when": "x.__class__"},
        "when: .__class__: the fields are",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_with_an_example(project: Project, name: str) -> None:
    keys, expected = REFUSED[name]
    rule = ", ".join(f'{key}: "{value}"' for key, value in keys.items())
    write(project, f"rewrite: Wrong\ndoc: It is wrong.\ndecreases: nodes\nrules:\n  - {{{rule}}}\n")
    found = messages(project)
    assert len(found) == 1, found
    assert found[0].startswith("5 "), found
    assert expected in found[0], found


def test_a_later_rule_that_is_left_nothing(project: Project) -> None:
    rule = '  - {match: "negative(negative(?x))", replace: "?x"}\n'
    write(project, f"rewrite: Twofold\ndoc: Twice.\ndecreases: nodes\nrules:\n{rule}{rule}")
    assert messages(project) == [
        "6 value: the rules before it take every call that was tried, and leave it nothing"
    ]


def test_mistakes_of_form_are_found_together(project: Project) -> None:
    write(project, 'rewrite: lower\ndoc: d\nlevl: 1\ndecreases: nodes\nrules:\n  - {match: "?x"}\n')
    assert messages(project) == [
        "1 bad-name: 'lower': the name of a pass is like `DivToMul`",
        "3 unknown-key: a rewrite has no key 'levl'; the keys are rewrite, doc, level, decreases, bound, options, "
        "rules",
        "6 missing-key: a rule needs the key 'replace'",
    ]


def test_the_pass_of_a_removed_declaration_goes(project: Project) -> None:
    path = write(project, RULES)
    apply(generation.generate(project, 1).plan())
    path.unlink()
    apply(generation.generate(project, 1).plan())
    assert list(project.passes.glob("*.py")) == list(project.pass_tests.glob("*.py")) == []
