"""None in tests and defaults: `null` and `~` always, `none` and `None` where no text is meant."""

from __future__ import annotations

import pytest

from opgen.analyse import check_project

TEXT = """\
op: one
inputs: {{x: {{shape: "N", dtype: float}}, y: {{shape: "N", dtype: float, optional: true}}}}
attrs: {{a: {{type: {kind}, optional: {optional}, default: {default}}}}}
outputs: {{out: {{shape: N, dtype: x.dtype}}}}
compute: out[i] = x[i]
tests: [{{x: {x}, y: {y}, a: {a}}}]
"""
DEFAULTS = {"int": "1", "str": "text", "ints": "[1]", "strs": "[text]", "dtype": "int8"}


def outcome(
    kind: str = "int", optional: bool = True, x: str = '"float32[3]"', y: str = '"float32[3]"', a: str = "2"
) -> object:
    """What the test gives `a` and `y`, or the message."""
    flag = "true" if optional else "false"
    text = TEXT.format(kind=kind, optional=flag, default=DEFAULTS[kind], x=x, y=y, a=a)
    ops, found = check_project({"one.yaml": text})
    if found:
        return found[0].message
    (case,) = ops[0].tests
    return case.attrs["a"], case.inputs["y"]


OPERAND = "float32[3]"
NEEDS = "is None, which needs `optional: true`"


@pytest.mark.parametrize(
    ("kind", "optional", "a", "expected"),
    [
        *((kind, True, a, None) for kind in DEFAULTS for a in ("null", "~")),
        *((kind, True, a, None) for kind in ("int", "ints", "dtype") for a in ("none", "None")),
        ("str", False, "none", "none"),
        ("str", False, "None", "None"),
        ("strs", False, "[none, null]", ("none", "null")),
        ("str", True, '"none"', "none"),
        ("str", True, "'null'", "null"),
        ("strs", True, '["none"]', ("none",)),
        ("strs", True, "[]", ()),
    ],
)
def test_attrs(kind: str, optional: bool, a: str, expected: object) -> None:
    assert outcome(kind, optional, a=a) == (expected, OPERAND)


@pytest.mark.parametrize(
    ("kind", "optional", "a", "message"),
    [
        *((kind, False, a, f"`a`: `{a}` {NEEDS}") for kind in ("int", "ints") for a in ("null", "~", "none")),
        ("str", False, "null", f"`a`: `null` {NEEDS}; quote it to mean the text"),
        ("int", True, '"none"', "`a`: expected an int of 64 bits, found `none`"),
        ("str", True, "none", "`a`: `none` may be None or a text here; write `null`, or quote it"),
        ("strs", True, "[None]", "`a`: `None` may be None or a text here; write `null`, or quote it"),
    ],
)
def test_what_an_attr_refuses(kind: str, optional: bool, a: str, message: str) -> None:
    assert outcome(kind, optional, a=a) == message


@pytest.mark.parametrize("y", ["null", "~", "none", "None"])
def test_operands(y: str) -> None:
    assert outcome(y=y) == (2, None)
    assert outcome(x=y) == f"`x`: `{y}` {NEEDS}"


def test_a_quoted_operand_is_a_text() -> None:
    assert outcome(y='"null"') == "`y`: expected `dtype[dims]` such as `int32[4, 4, 1]`, found `null`"
