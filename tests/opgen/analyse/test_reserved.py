"""Names that a declaration may bind: those of functions hide the function, the reserved ones are refused."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

import pytest

from opgen.analyse import check_project
from opgen.diagnostics import Diagnostic
from opgen.expression.vocabulary import LIBRARY, RESERVED, RESERVED_ATTRS, why_reserved

DOCS = Path(__file__).parents[3] / "docs" / "language.md"
OP = """\
op: one
inputs: {{{input}: {{shape: N, dtype: float}}}}
attrs: {{{attr}: {{type: int, default: 0}}}}
outputs: {{{output}: {{shape: N, dtype: {input}.dtype}}}}
compute: |
  {output}[i] = {input}[i] * {attr}
reference: {output} = {input} * {attr}
tests: [{{{input}: "float32[4]"}}]
"""


def findings(text: str) -> list[Diagnostic]:
    return check_project({"one.yaml": text})[1]


def bound(**names: str) -> list[Diagnostic]:
    return findings(OP.format(**{"input": "x", "attr": "a", "output": "out"} | names))


@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_a_function_is_hidden(name: str) -> None:
    assert bound(input=name) == []
    assert bound(output=name) == []
    assert [found.code for found in bound(attr=name)] == ["reserved-name"] * (name in RESERVED_ATTRS)


EVERYWHERE = """\
op: one
dtypes: {promote: number}
inputs: {max: {shape: "*zip, range", dtype: promote}, tuple: {shape: range, dtype: promote}}
attrs:
  clip: {type: int, default: 3, bounds: 0 <= clip}
  span: {type: str, default: exp, bounds: "span in ('exp', 'log')"}
let: |
  sum = clip + 1
  def norm_axes(any): return any * sum
type_relation: {require: norm_axes(2) > 0}
outputs:
  min: {shape: "*zip, range", dtype: promote}
  argmin: {shape: range, dtype: promote}
compute: |
  def ravel(log, *cos): return log + max[*cos]
  sqrt[*all, k]: (*zip, range) = max[*all, k]
  min[*i, bits] = sqrt[*i, bits] + ravel(tuple[bits], *i, bits)
  argmin[sorted] = prod(tuple[abs] for abs in ndindex((range,)) if abs[0] == sorted)
reference: |
  min = max + max + tuple
  argmin = tuple.copy()
tests: [{max: "float32[2, 4]", tuple: "float32[4]"}]
"""


def test_names_of_functions_may_be_bound_by_everything() -> None:
    assert findings(EVERYWHERE) == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "out[i] = max(x[i], max)",
            "`max` is an attr here and hides the function; give the attr another name",
        ),
        (
            "out[i] = x[i] * max + max(x[k] for k in range(N))",
            "`max` is an attr here and hides the function; give the attr another name",
        ),
        (
            "out[exp] = exp(x[exp]) * max",
            "`exp` is an index here and hides the function; give the index another name",
        ),
        ("out[i] = x[i] * max + exp(2)\n  exp = 3", "`exp` is bound further down and hides the function"),
        ("out[i] = x[i] + i(3) * max", "`i` is an index, not a function"),
    ],
)
def test_a_hidden_function_is_not_called(line: str, message: str) -> None:
    text = OP.format(input="x", attr="max", output="out").replace("out[i] = x[i] * max", line)
    assert [found.message for found in findings(text.replace("reference", "# reference"))] == [message]


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("out = max(x, 0)", "`max` is a name of the declaration here, and hides Python's"),
        ("out = x\n  min = 3", "`min` has a meaning in Python already; choose another name"),
    ],
)
def test_a_hidden_function_of_a_reference(reference: str, message: str) -> None:
    text = OP.format(input="x", attr="max", output="out").replace("out = x * max", f"|\n  {reference}")
    assert [found.message for found in findings(text)] == [message]


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_a_reserved_name_is_refused(name: str) -> None:
    found = bound(input=name)
    (reserved,) = (each for each in found if each.code == "reserved-name" and each.place.line == 2)
    assert reserved.message == f"{why_reserved(name)}; choose another name, such as `{name}_`"
    assert bound(input=f"{name}_") == []


@pytest.mark.parametrize("name", sorted(RESERVED_ATTRS))
def test_a_reserved_name_of_attrs_is_refused(name: str) -> None:
    (found,) = bound(attr=name)
    assert (found.code, found.place.line) == ("reserved-name", 3)
    assert bound(attr=f"{name}_") == []
    if name not in RESERVED:
        assert bound(input=name) == []


def test_the_documented_lists_are_the_real_ones() -> None:
    page = DOCS.read_text(encoding="utf-8")

    def listed(title: str) -> set[str]:
        (row,) = re.findall(rf"^\| {title} \| (.*) \|$", page, re.M)
        return set(re.findall(r"`(\w+)`", row))

    words = listed("keywords")
    assert words == set(keyword.kwlist)
    others = [listed(title) for title in ("dtypes", "constants", "generated code")]
    assert words.union(*others) == set(RESERVED)
    assert listed("attrs only") == set(RESERVED_ATTRS) - set(RESERVED)
