"""Findings of one part of a declaration do not hide those of another, and none is said twice in other words."""

from __future__ import annotations

import pytest

from opgen.analyse import check_project
from opgen.diagnostics import Diagnostic

PARTS = {
    "inputs": 'inputs: {x: {shape: "N, M", dtype: float32}}',
    "attrs": "attrs: {k: {type: int, default: 0}}",
    "let": "let: w = k + 1",
    "outputs": "outputs: {out: {shape: N, dtype: x.dtype}}",
    "compute": "compute: out[i] = x[i, 0] * w",
    "tests": 'tests: [{x: "float32[3, 4]"}]',
}


def findings(**changed: str) -> list[Diagnostic]:
    text = "op: one\n" + "\n".join({**PARTS, **changed}.values()) + "\n"
    return check_project({"one.yaml": text})[1]


WRONG = {
    "inputs": [
        ('inputs: {x: {shape: "N, M", dtype: float32, size: 3}}', "unknown-key"),
        (
            'inputs: {x: {shape: "N, M", dtype: float32}, y: {shape: "K +", dtype: any, optional: true}}',
            "syntax",
        ),
        ('inputs: {x: {shape: "N, M", dtype: float32}, y: 3}', "wrong-kind"),
    ],
    "attrs": [
        ("attrs: {k: {type: whole, default: 0}}", "bad-value"),
        ("attrs: {k: {type: int, default: 0, bounds: k >}}", "syntax"),
    ],
    "let": [("let: |\n  w = k + 1\n  v = [1]", "not-in-language"), ("let: w = (k", "syntax")],
    "tests": [('tests: [{x: "float32[3 4]"}]', "test")],
}


@pytest.mark.parametrize(
    ("part", "text", "code"), [(part, *entry) for part, all_ in WRONG.items() for entry in all_]
)
def test_names_are_checked_beside_a_part_that_cannot_be_read(part: str, text: str, code: str) -> None:
    compute = "compute: out[i] = x[i, 0] * w + nowhere"
    outputs = "outputs: {out: {shape: Elsewhere, dtype: x.dtype}}"
    found = findings(**{part: text}, compute=compute, outputs=outputs)
    assert sorted(finding.code for finding in found) == sorted([code, "unbound-dim", "unknown-name"])


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (
            "inputs",
            'inputs: {x: {shape: "N, M", dtype: float32}, y: {shape: "K +", dtype: any, optional: true}}',
        ),
        ("attrs", "attrs: {k: {type: int, default: 0}, K: 3}"),
        ("let", "let: |\n  w = k + 1\n  K = [1]"),
    ],
)
def test_what_an_unreadable_part_would_have_bound_is_not_unknown(part: str, text: str) -> None:
    assert len(findings(**{part: text}, compute="compute: out[i] = x[i, 0] * K")) == 1


def test_a_definition_in_a_loop_is_one_mistake() -> None:
    compute = """compute: |
  out[i] = 0
  for r in range(w):
      out[j] = x[j, r] + j * (j + 1)
      out[j] += j"""
    (found,) = findings(compute=compute)
    assert (found.code, found.place.line) == ("unknown-name", 9)
    assert found.message == "inside a `for` this updates `out`, whose indices are bound; `j` is not"
    assert found.suggestion == "write `for j in range(...)` around it, or define `out` outside the `for`"


@pytest.mark.parametrize(("name", "hint"), [("j", None), ("n", "did you mean `N`?"), ("ww", None)])
def test_short_names_are_near_to_none_but_themselves(name: str, hint: str | None) -> None:
    (found,) = findings(compute=f"compute: out[i] = x[i, 0] * {name}")
    assert found.suggestion == hint


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("c[i] = nowhere", "unknown-name"),
        ("c[i] = [1]", "not-in-language"),
        ("c[i] = exp(1, 2)", "call"),
        ("c[i] = t[i]\n  t[i]: N = exp(b[i], 2)", "call"),
    ],
)
def test_running_shows_more_of_the_statements_that_are_sound(statement: str, code: str) -> None:
    outputs = "outputs: {" + ", ".join(f"{name}: {{shape: N, dtype: x.dtype}}" for name in "abc") + "}"
    compute = f"compute: |\n  a[i] = x[i]\n  b[i] = x[i, 9]\n  {statement}"
    found = findings(outputs=outputs, compute=compute)
    assert [finding.code for finding in found] == ["rank", "out-of-bounds", code]


@pytest.mark.parametrize(
    "part",
    [
        {"tests": 'tests: [{x: "float32[3, 4]"}, {y: 3}]'},
        {"tests": PARTS["tests"] + "\nreference: out = open(x)"},
    ],
)
def test_running_is_not_kept_by_a_part_that_it_does_not_need(part: dict[str, str]) -> None:
    assert len(findings(**part, compute="compute: out[i] = x[i]")) == 2


def test_what_needs_a_statement_that_is_wrong_is_not_run() -> None:
    compute = """compute: |
  def f(i): return nowhere
  s[i]: N = f(i)
  out[i] = s[i] + (1, 2)
  s[0] = x[0]"""
    assert [found.code for found in findings(compute=compute)] == ["unknown-name"]


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("K + 1", "write `P` here, `require: P >= 1` and `let: K = P - 1`"),
        ("K - 2", "write `P` here and `let: K = P + 2`"),
        ("K * 2", "write `P` here, `require: P % 2 == 0` and `let: K = P // 2`"),
    ],
)
def test_an_entry_that_is_computed_binds_nothing_and_says_what_does(entry: str, hint: str) -> None:
    inputs = f'inputs: {{x: {{shape: "{entry}, M", dtype: float32}}}}'
    outputs = "outputs: {out: {shape: K, dtype: x.dtype}}"
    (found,) = findings(inputs=inputs, outputs=outputs, tests="since: 0.1")
    assert (found.code, found.suggestion) == ("unbound-dim", hint)


def test_pairs_of_a_dim_that_is_even() -> None:
    compute = "compute: out[*s, d] = x[*s, d + 1] if d % 2 == 0 else x[*s, d - 1]"
    inputs = 'inputs: {x: {shape: "*S, D", dtype: float32}}\ntype_relation: {require: D % 2 == 0}'
    assert (
        findings(inputs=inputs, outputs="outputs: {out: {shape: x.shape, dtype: x.dtype}}", compute=compute)
        == []
    )
    (found,) = findings(
        inputs=inputs.replace("% 2", "% 3"),
        outputs="outputs: {out: {shape: x.shape, dtype: x.dtype}}",
        compute=compute,
        tests='tests: [{x: "float32[2, 3]"}]',
    )
    assert found.message.startswith("cannot prove that index 1 of x is in bounds: d + 1 ranges over 1..3")


@pytest.mark.parametrize(
    "ends", ["max(at[m], 0), min(at[m + 1], Z)", "clip(at[m], 0, Z), clip(at[m + 1], 0, Z)"]
)
def test_a_loop_between_two_elements(ends: str) -> None:
    found = findings(
        inputs="inputs: {x: {shape: Z, dtype: float32}, at: {shape: P, dtype: int64}}\ntype_relation: {require: P > 0}",
        outputs="outputs: {out: {shape: P - 1, dtype: x.dtype}}",
        compute=f"compute: out[m] = sum(x[z] for z in range({ends}))",
        tests='tests: [{x: "float32[4]", at: "int64[3] in -1..5"}]',
    )
    assert found == []
