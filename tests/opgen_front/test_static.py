"""Static code: reductions, texts and tuples that are computed when a signature is bound or a kernel is built."""

from __future__ import annotations

import pytest

from opgen.analyse import check_project
from opgen.diagnostics import Diagnostic

HEAD = """\
op: one
inputs: {x: {shape: "N", dtype: int8}}
attrs: {layout: {type: str, default: NCHW}}
"""


def findings(let: str, condition: str, compute: str = "out[i] = x[i]") -> list[Diagnostic]:
    """What is found wrong with an op that requires `condition`; `x` has 4 elements."""
    lines = "".join(f"  {line}\n" for line in let.split("\n"))
    text = f"let: |\n{lines}" if let else ""
    text += f"type_relation: {{require: {condition!r}}}\n".replace("'", '"') if condition else ""
    text += 'outputs: {out: {shape: "N", dtype: x.dtype}}\n'
    text += "compute: |\n" + "".join(f"  {line}\n" for line in compute.split("\n"))
    return check_project({"one.yaml": HEAD + text + 'tests: [{x: "int8[4]"}]\n'})[1]


REDUCTIONS = {
    "sum(k * k for k in range(n))": 14,
    "prod(k for k in range(1, n) if k != 2)": 3,
    "max(k % 3 for k in range(n))": 2,
    "min(p + q for p, q in ndindex((n, n)))": 0,
    "sum(j for k in range(n) for j in range(k))": 4,
    "argmax(k % 3 for k in range(n))": 2,
    "argmin(k - 2 for k in reversed(range(n)))": 3,
    "next((k for k in range(n) if k * k > 3), -1)": 2,
    "next((k for k in range(n) if k > n), -1)": -1,
    "sum(1 for k in range(n) if any(j > 1 for j in range(k)))": 1,
    "sum(range(n))": 6,
}


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_a_reduction_in_a_def_of_let_is_static(reduction: str) -> None:
    let = f"def f(n): return {reduction}"
    assert findings(let, f"f(4) == {REDUCTIONS[reduction]}") == []
    (wrong,) = findings(let, f"f(4) == {REDUCTIONS[reduction] + 1}")
    assert "does not hold" in wrong.message or "test does not fit" in wrong.message


def test_a_def_of_compute_is_static_in_static_places() -> None:
    compute = """\
def area(n): return sum(k for k in range(n))
m[i, j]: (N, area(4)) = x[i] + cast(j, int8)
top = area(3) + area(2) + 1
if area(N) > 2:
    out[i] = m[i, top]
else:
    out[i] = m[i, 0]"""
    assert findings("", "", compute) == []


def test_a_def_of_let_is_a_loop_among_elements() -> None:
    let = "def total(n): return sum(k for k in range(n))"
    assert findings(let, "total(4) == 6", "out[i] = cast(total(i) + total(3), int8)") == []


def test_a_static_reduction_over_a_range_counts_as_work() -> None:
    (found,) = findings("v = sum(sum(range(60000)) for k in range(50000))", "v > 0")
    assert found.code == "limit"
