"""Errors that only running a compute text shows: all that are independent, none that follows from another."""

from __future__ import annotations

import pytest

from opgen.analyse import check_project

HEAD = """\
op: one
dtypes: {T: float}
inputs: {x: {shape: "N, M", dtype: T}, n: {shape: N, dtype: int64}}
outputs: {a: {shape: N, dtype: T}, b: {shape: N, dtype: T}}
compute: |
"""
TAIL = '\ntests: [{x: "float32[3, 4]", n: "int64[3]"}]\n'
FIRST = 6  # the line of the first statement


def findings(compute: str, head: str = HEAD, tail: str = TAIL) -> list[tuple[int, str]]:
    found = check_project({"one.yaml": head + compute + tail})[1]
    return [(finding.place.line - FIRST + 1, finding.code) for finding in found]


@pytest.mark.parametrize(
    ("compute", "expected"),
    [
        ("  a[i] = x[i, 9]\n  b[i] = n[i]", [(1, "out-of-bounds"), (2, "dtype")]),
        ("  a[0] = x[0, 9]\n  a[i] = x[i]\n  b[i] = 0", [(1, "out-of-bounds"), (2, "rank")]),
        ("  a[0] = x[0, 9]\n  b[0] = x[0, 0]", [(1, "uncovered"), (1, "out-of-bounds"), (2, "uncovered")]),
        ("  a[i] = x[i]\n  b[i] = b[N - 1 - i]", [(1, "rank"), (2, "cyclic")]),
        (
            "  a[i] = 0\n  b[i] = x[i]\n  for k in range(N):\n      a[k + 1] += 1",
            [(2, "rank"), (4, "out-of-bounds")],
        ),
    ],
)
def test_independent_failures_are_all_reported(compute: str, expected: list[tuple[int, str]]) -> None:
    assert findings(compute) == expected


@pytest.mark.parametrize(
    "compute",
    [
        "  a[i] = b[i] * 2\n  b[i] = x[i]",
        "  b[i] = x[i] + a[i]\n  a[i] = b[i]",
        "  t[i]: N = x[i]\n  a[i] = t[i] + n[i]\n  b[i] = t[i] * a[i]",
        "  t[i]: N = x[i]\n  a[i] = 0\n  b[i] = 0\n  for k in range(N):\n      a[k] += t[k]",
        "  m = (1, 2)[2]\n  a[0] = 0\n  b[i] = m\n  a[i] = x[i]",
    ],
)
def test_what_follows_from_a_failure_is_not_reported(compute: str) -> None:
    assert len(findings(compute)) == 1


def test_a_failure_without_a_place_in_the_text_is_placed_at_its_tensor() -> None:
    head = HEAD.replace("b: {shape: N, dtype: T}", "b: {shape: N, dtype: bool}")
    found = check_project({"one.yaml": head + "  a[i] = 1\n  b[i] = 3" + TAIL})[1]
    assert [(finding.place.line, finding.message.split(" (for")[0]) for finding in found] == [
        (FIRST + 1, "the int literal 3 does not suit dtype bool; use cast")
    ]


def test_every_test_is_tried() -> None:
    head = HEAD.replace("type_relation", "").replace(
        "compute", "attrs: {k: {type: int, default: 0}}\ncompute"
    )
    tail = '\ntests: [{x: "float32[3, 4]", n: "int64[3]"}, {x: "float32[3, 4]", n: "int64[3]", k: 1}]\n'
    compute = "  if k == 0:\n      a[i] = x[i]\n  else:\n      a[i] = n[i]\n  b[i] = 0"
    assert findings(compute, head, tail) == [(3, "rank"), (5, "dtype")]


EMPTY_BODIES = {
    "pass": "for k in range(3):\n    pass",
    "pass in a condition": "for k in range(3):\n    if k > 1:\n      pass",
    "no tensor": "for k in range(3):\n    nowhere[k] = 3",
    "the loop's own name": "for k in range(3):\n    k[0] += 1",
    "both branches": "for k in range(3):\n    if data[k] > 0:\n      pass\n    else:\n      pass",
}


@pytest.mark.parametrize("name", EMPTY_BODIES)
def test_a_statement_of_which_nothing_is_left(name: str) -> None:
    """One mistake, one finding: what could not be read leaves a body without statements."""
    text = f"""\
op: h
inputs: {{data: {{shape: N, dtype: number}}}}
outputs: {{out: {{shape: N, dtype: data.dtype}}}}
compute: |
  out[i] = data[i]
  {EMPTY_BODIES[name]}
tests: [{{data: "float32[4]"}}]
"""
    _, found = check_project({"h.yaml": text})
    assert len(found) == (2 if name == "both branches" else 1), found
    assert {finding.code for finding in found} <= {"not-in-language", "unknown-name", "update"}
    assert found[0].place.line >= 6


def test_defaults_outside_their_own_bounds() -> None:
    """Each at its place, with all other findings of the run."""
    text = """\
op: h
inputs: {data: {shape: N, dtype: number}}
attrs:
  axis: {type: int, default: -1, bounds: 0 <= axis < data.ndim}
  sizes: {type: ints, default: [1, 0, 2, -3], bounds: sizes >= 1}
  mode: {type: str, default: other, bounds: "mode in ('a', 'b')"}
  low: {type: int, default: 3}
  high: {type: int, default: 2, bounds: high >= low}
outputs: {out: {shape: N, dtype: data.dtype}}
compute: out[i] = data[i] + nothing
reference: |
  out = data
  for _ in range(3):
    out = out + 0
tests: [{data: "float32[4]"}]
"""
    _, found = check_project({"h.yaml": text})
    assert [(str(finding.place), finding.message) for finding in found] == [
        ("h.yaml:4:30", "the default of `axis` is -1, outside its bounds: 0 <= axis < data.ndim"),
        ("h.yaml:5:36", "the default of `sizes` is 0, outside its bounds: sizes >= 1"),
        ("h.yaml:5:42", "the default of `sizes` is -3, outside its bounds: sizes >= 1"),
        ("h.yaml:6:30", "the default of `mode` is \"other\", outside its bounds: mode in ('a', 'b')"),
        ("h.yaml:10:29", "nothing binds the name `nothing`"),
        ("h.yaml:13:7", "a name begins with a letter, not `_`"),
    ]
    assert found[-1].suggestion == "write a name, such as `k`; it need not be used"
