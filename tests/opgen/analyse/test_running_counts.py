"""A count of hits is a position under the guard that counts, whatever the form of the condition."""

from __future__ import annotations

import pytest

from opgen.analyse import check_project

DECLARATION = """\
op: one
inputs: {{x: {{shape: "N", dtype: [int32, float32]}}, y: {{shape: "N, 3", dtype: bool}}}}
dynamic: {{n: N}}
outputs: {{value: {{shape: n, dtype: x.dtype}}}}
compute: |
  def keep(i): return {condition}
  c[i]: N = (c[i - 1] if i > 0 else 0) + (1 if keep(i) else 0)
  n[()] = c[N - 1] if N > 0 else 0
  value[r] = 0
  for i in range(N):
      if {guard}:
          value[c[i] - 1] = x[i]
tests: [{{x: "int32[5]", y: "bool[5, 3]"}}, {{x: "float32[5]", y: "bool[5, 3]"}}]
"""

CONDITIONS = (
    "x[i] > 0",
    "x[i] > 0 and x[i] < 9",
    "x[i] > 0 or x[i] < -9",
    "not x[i] > 0 or y[i, 0]",
    "any(y[i, k] for k in range(3))",
    "not any(y[i, k] for k in range(3))",
    "sum(1 for k in range(3) if y[i, k]) == 0",
    "not any(x[j] == x[i] for j in range(i))",
    "x[i] > 0 if i > 3 else x[i] < 0",
    "y[i, 0] ^ y[i, 1]",
)


def findings(condition: str, guard: str) -> list[str]:
    text = DECLARATION.format(condition=condition, guard=guard)
    return [found.message for found in check_project({"one.yaml": text})[1]]


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_guard_that_counts(condition: str) -> None:
    assert findings(condition, "keep(i)") == []


@pytest.mark.parametrize("guard", ["keep(i) and i > 1", "i > 1 and keep(i)", "not (i < 2 or not keep(i))"])
def test_the_guard_may_ask_for_more(guard: str) -> None:
    assert findings(CONDITIONS[4], guard) == []


@pytest.mark.parametrize("guard", ["keep(i) or i > 1", "not keep(i)", "i > 1", "keep(N - 1 - i)"])
def test_another_guard_proves_nothing(guard: str) -> None:
    (found,) = findings(CONDITIONS[4], guard)
    assert found.startswith("cannot prove that index 0 of value is in bounds: c[i] - 1 ")


def test_a_message_names_the_loop_as_it_is_written_and_hides_what_a_dtype_gives() -> None:
    text = """\
op: one
inputs: {x: {shape: "N", dtype: int32}, at: {shape: "N", dtype: int64}}
outputs: {out: {shape: N, dtype: x.dtype}}
compute: |
  out[r] = 0
  for row in range(N):
      out[at[row] - 1] = x[row]
tests: [{x: "int32[5]", at: "int64[5]"}]
"""
    (found,) = check_project({"one.yaml": text})[1]
    assert found.message.startswith(
        "cannot prove that index 0 of out is in bounds: at[row] - 1 may be any value, the dim is 5 (0..4)"
    )
