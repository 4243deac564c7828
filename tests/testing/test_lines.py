"""Calls as lines of text: what is read is what was printed, and what is no call says what was expected."""

from __future__ import annotations

import ast
import math
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen.diagnostics import Place
from opgen.formatting import lay_out
from opgen.model import BoundProbe, CheckedCase
from opgen.views.suite import _probe_line, _table, case_line
from opgen_runtime.base.vocabulary import DTYPES
from opgen_runtime.operator.attrs import value_text
from opgen_runtime.testing import Case, Inferred, Probe
from opgen_runtime.testing.lines import (
    LineError,
    parse_cases,
    parse_fields,
    parse_line,
    parse_probes,
    parse_refusals,
)

NAMES: Final = ("data", "weight", "bias", "others")
_NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70), st.floats(), st.booleans(), st.sampled_from([-0.0, math.inf, math.nan])
)
_TEXTS = st.text(st.one_of(st.sampled_from("\"'\\ ,|()[]->in..#=\n\t\u2028{}"), st.characters()), max_size=30)
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    _NUMBERS,
    _TEXTS,
    st.lists(_NUMBERS, max_size=4).map(tuple),
    st.lists(_TEXTS, max_size=3).map(tuple),
)
SPECS = st.builds(
    lambda dtype, shape, limits: f"{dtype}[{', '.join(map(str, shape))}]{limits}",
    st.sampled_from(sorted(DTYPES)),
    st.lists(st.integers(0, 99), max_size=6),
    st.sampled_from(["", " in 0..4", " in -0.5..1e3", " in 1..9223372036854775807"]),
)
INPUTS = st.tuples(SPECS, st.none() | SPECS, st.none() | SPECS, st.none() | st.lists(SPECS).map(tuple)).map(
    lambda found: dict(zip(NAMES, found, strict=True))
)
ATTRS = st.dictionaries(st.sampled_from(["axis", "mode", "scale", "inf_", "é", "type"]), VALUES, max_size=4)


def key(case: Case) -> object:
    """What tells cases apart: NaN equals itself, and 1 is not True."""
    return dict(case.inputs), {name: (type(v), value_text(v)) for name, v in case.attrs.items()}


def table_of(lines: list[str]) -> str:
    """The table's text, as the module that is laid out has it."""
    module = ast.parse(lay_out(f"class Suite:\n    table = {_table(lines)}\n"))
    assert isinstance(module.body[0], ast.ClassDef)
    assert isinstance(module.body[0].body[0], ast.Assign)
    return str(ast.literal_eval(module.body[0].body[0].value))


@given(st.lists(st.tuples(INPUTS, ATTRS), min_size=1, max_size=4))
@settings(max_examples=150)
def test_what_was_printed_is_read(calls: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    table = table_of([case_line(inputs, attrs) for inputs, attrs in calls])
    found = parse_cases("cases", table, NAMES)
    assert list(map(key, found)) == [key(Case(inputs, attrs)) for inputs, attrs in calls]
    for case in found:
        assert case.place is not None
        line = table.split("\n")[case.place[1]]
        assert line.lstrip().startswith("data=")


@given(INPUTS, ATTRS, VALUES, VALUES, st.booleans())
@settings(max_examples=150)
def test_what_was_printed_of_a_probe_is_read(
    inputs: dict[str, Any], attrs: dict[str, Any], inside: Any, outside: Any, accepted: bool
) -> None:
    case = CheckedCase(inputs, attrs, Place("x.yaml", 1, 1, 1, 1))
    line = _probe_line(case, BoundProbe(0, "axis", inside, outside, accepted))
    (found,) = parse_probes("bounds", table_of([line]), NAMES)
    expected = Probe(Case(inputs, attrs).with_attr("axis", inside), "axis", inside, outside, accepted)
    assert key(found.case)[0] == key(expected.case)[0]  # type: ignore[index]
    assert sorted(map(repr, found.case.attrs.items())) == sorted(map(repr, expected.case.attrs.items()))
    assert (str(found), found.attr, found.accepted) == (str(expected), "axis", accepted)


@given(
    st.dictionaries(st.sampled_from(["axis", "mode"]), st.text(st.characters(exclude_categories=["C", "Z"])))
)
def test_what_was_printed_of_fields_is_read(fields: dict[str, str]) -> None:
    lines = [f"{name}: int, default=0, {text} and  {text * 3}." for name, text in fields.items()]
    expected = {name: line.partition(": ")[2] for name, line in zip(fields, lines, strict=True)}
    assert parse_fields(table_of(lines)) == expected


TABLE: Final = """
    data=float32[2,3], weight=int64[] in 0..4, axis=(0, 1)
    # no comment stands here in generated suites
    data=bfloat16[1],
        others=(int8[2], bool[]), mode="a -> \\"b\\""
"""


def test_a_table() -> None:
    table = TABLE.replace("    # no comment stands here in generated suites\n", "\n")
    first, second = parse_cases("cases", table, NAMES)
    assert first.inputs == {
        "data": "float32[2, 3]",
        "weight": "int64[] in 0..4",
        "bias": None,
        "others": None,
    }
    assert (first.attrs, first.place) == ({"axis": (0, 1)}, ("cases", 1))
    assert second.inputs == {
        "data": "bfloat16[1]",
        "weight": None,
        "bias": None,
        "others": ("int8[2]", "bool[]"),
    }
    assert (second.attrs, second.place) == ({"mode": 'a -> "b"'}, ("cases", 3))
    assert parse_cases("cases", "\n  \n", NAMES) == ()
    assert parse_cases("cases", case_line({"data": None}, {}), ["data"]) == (Case({"data": None}, {}),)
    (case,) = parse_cases("cases", "data=int8[2] -> alone data, weight; together", NAMES)
    assert case.inferred == Inferred(alone=("data", "weight"))
    ((case, error),) = parse_refusals("refused", "data=int8[2], axis=1 -> DTypeError", NAMES)
    assert (key(case), error) == (
        key(Case(dict.fromkeys(NAMES) | {"data": "int8[2]"}, {"axis": 1})),
        "DTypeError",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("data=f[2", "expected `name=value, ...`, such as `data=float32[2,3], axis=1`, found `data=f[2`"),
        ("float32[2]", "expected `name=value, ...`"),
        ("data float32[2]", "expected `name=value, ...`"),
        ("**data", "expected `name=value, ...`"),
        ("data=float31[2]", "`data`: 'float31[2]' is no spec; expected for example 'float32[2, 3]'"),
        ("data=float32[-1]", "`data`: 'float32[-1]' is no spec"),
        ("data=float32[n]", "`data`: 'float32[n]' is no spec"),
        ("data=float32", "`data` has no value that a case can have"),
        ("axis=print(1)", "`axis` has no value that a case can have, in the line `axis=print(1)`"),
        ("axis=1+1", "`axis` has no value that a case can have"),
        ("axis=-'a'", "`axis` has no value that a case can have"),
        ("data=float32[2], data=float32[3]", "`data` is given twice, in the line `"),
        ("data=3", "`data` is an input; expected a tensor such as `float32[2,3]`, or a tuple of them"),
        ("date=float32[2]", "`date` is no input; the inputs are data, weight, bias, others"),
        ("data=float32[2], axis=0|1", "`axis` has two values"),
        ("data=float32[2] -> DTypeError", "expected `-> alone x; together y`"),
    ],
)  # fmt: skip
def test_what_is_no_call(line: str, message: str) -> None:
    with pytest.raises(LineError) as caught:
        parse_cases("cases", line, NAMES)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("parse", "line", "message"),
    [
        (parse_refusals, "data=int8[2]", "expected the error of the refusal, such as `-> DTypeError`"),
        (
            parse_probes,
            "data=int8[2], axis=1",
            "expected one attr with the values inside and outside its bound",
        ),
        (
            parse_probes,
            "axis=1|2, mode=1|2",
            "expected one attr with the values inside and outside its bound",
        ),
        (parse_probes, "axis=1|2 -> no", "expected nothing or `refused` after the arrow, found `no`"),
    ],
)
def test_what_is_no_line_of_its_table(parse: Any, line: str, message: str) -> None:
    with pytest.raises(LineError) as caught:
        parse("table", line, NAMES)
    assert str(caught.value) == f"{message}, in the line `{line}`" or str(caught.value).startswith(message)


def test_fields() -> None:
    with pytest.raises(LineError, match="expected `attr: type text`, found `axis int`"):
        parse_fields("axis int")


def test_a_line_is_data() -> None:
    with pytest.raises(LineError):
        parse_line("data=float32[2]) + open('x'")
