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
    text += f"type_relation:\n  require: >-\n    {condition}\n" if condition else ""
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


TEXTS = [
    "tuple(c for c in layout) == ('N', 'C', 'H', 'W')",
    "tuple(layout.index(c) for c in 'HWC') == (2, 3, 1)",
    "sum(1 for c in layout if c in 'NC') == 2",
    "all(c in layout for c in 'CN') and not any(c == 'D' for c in layout)",
    "layout[0] == 'N' and layout[-1] == 'W' and layout[1:3] == 'CH' and layout[::-1] == 'WHCN'",
    "tuple(d for d, c in enumerate(layout) if c == 'C') == (1,)",
    "tuple(a == b for a, b in zip(layout, 'NHWC')) == (True, False, False, False)",
    "sorted(layout) == tuple(reversed('WNHC')) and sorted(layout) == ('C', 'H', 'N', 'W')",
    "len(layout) == 4 and len('') == 0",
    "layout.index('HW') == 2",
    "layout[:2] + 'D' + layout[2:] == 'NCDHW'",
    "layout + '' == 'N' 'CHW'",
    "next((c for c in layout if c != 'N'), '') == 'C'",
]


REPEATED = [
    "(1, 2) * 2 == (1, 2, 1, 2) and 2 * (1,) == (1, 1)",
    "(3,) * 0 == () and (3,) * -1 == () and () * 5 == ()",
    "len(((0, 1),) * 3) == 3 and ((0, 1),) * 1 == ((0, 1),)",
    "'ab' * 2 == 'abab' and 0 * 'ab' == ''",
]


@pytest.mark.parametrize("condition", [*TEXTS, *REPEATED])
def test_texts_and_tuples_are_sequences(condition: str) -> None:
    assert findings("", condition) == []
    assert findings(f"def f(text): return {condition.replace('layout', 'text')}", "f(layout)") == []
    assert findings("", "", f"ok = {condition}\nif ok:\n    out[i] = x[i]\nelse:\n    out[i] = 300") == []
    assert findings("", "", f"out[i] = x[i] if {condition} else 300") == []


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        ("out[i] = x[i] if layout[4] == 'N' else 0", "index 4 is outside a text of 4"),
        (
            "out[i] = x[i] if layout[i] == 'N' else 0",
            "a text is indexed by a static integer, found an element",
        ),
        ("out[i] = x[layout.index('D')]", "'D' is not in 'NCHW'"),
        ("out[i] = x[i] if layout + 1 == 'N' else 0", "+ joins two tuples or two texts, or adds two numbers"),
        ("out[i] = x[i] if 1 in layout else 0", "`in` a text takes a text, found int 1"),
        ("out[i] = sum(1 for c in x.dtype)", "cannot run over dtype int8"),
        ("out[i] = sum(layout)", "cannot reduce text 'NCHW'"),
        ("out[i] = x[i] * (1, 2)", "* repeats a tuple or a text a static number of times, found an element"),
        (
            "out[i] = ((1, 2) * 2.0)[0]",
            "* repeats a tuple or a text a static number of times, found float 2.0",
        ),
        (
            "out[i] = ((1, 2) * True)[0]",
            "* repeats a tuple or a text a static number of times, found bool True",
        ),
        (
            "out[i] = ((1, 2) * (1,))[0]",
            "* repeats a tuple or a text a static number of times, found a tuple",
        ),
        ("out[i] = len((1, 2) * 600000)", "a static tuple has 1200000 entries; the limit is 1048576"),
        (
            "out[i] = len(10**30 * 'ab')",
            "a static text has 2000000000000000000000000000000 entries; the limit",
        ),
    ],
)
def test_what_sequences_are_not(compute: str, message: str) -> None:
    (found,) = findings("", "", compute)
    assert found.message.startswith(message)


def test_a_slice_in_a_definition_has_static_ends() -> None:
    let = "def count(n): return sum(1 for k in range(n))"
    compute = "out[*i] = x[*i[:count(1)]] + x[(*i, 0)[count(0):count(1)][0]] + x[i[count(0)]]"
    assert findings(let, "", compute) == []
    (found,) = findings(let, "", "def cut(n): return (1, 2)[:count(n)]\nout[i] = x[i] * len(cut(i))")
    assert (found.code, found.message.split(" (for")[0]) == (
        "stage",
        "this range must be static to unroll, but its bounds are element values or symbolic dims",
    )


def test_the_least_of_nothing_has_no_static_value() -> None:
    (found,) = findings("least = min(k for k in (1, 2) if k > 4)", "least > 0")
    assert (found.code, "min of nothing has no static value" in found.message) == ("value", True)
    assert findings("", "", "out[i] = min(min(x[k] for k in range(N) if k > 9), 3)") == []


POSITIONS = {
    "argmax(t for t in (5, 9, 7) if t > 5)": 1,
    "argmin(t for t in (5, 9, 7) if t > 5)": 2,
    "argmax(t for t in (5, 9, 7) if t > 9)": -1,
    "argmax(t for t in (5, 9, 7, 9))": 1,
    "argmax(k for k in range(6) if k % 4 == 3)": 3,
    "argmax(k for k in ())": -1,
}


@pytest.mark.parametrize("expression", POSITIONS)
def test_a_position_counts_the_steps_that_are_left_out(expression: str) -> None:
    position = POSITIONS[expression]
    assert findings("", f"{expression} == {position}") == []
    assert findings(f"def f(n): return {expression}", f"f(1) == {position}") == []
