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
