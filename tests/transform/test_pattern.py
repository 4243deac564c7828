"""Patterns and rules in Python: what matches, in which ways, what stands there instead, and what is refused."""

from __future__ import annotations

import pytest

from opgen_runtime import ir
from opgen_runtime.base.errors import PassError
from opgen_runtime.declaration.pattern_text import parse_pattern
from opgen_runtime.operator import Op
from opgen_runtime.transform import pattern
from tests.transform.whole import function

Captured = dict[str, str]


def found(text: str, program: str) -> list[Captured]:
    """What is captured, as text, in each way in which the body of a program is of a pattern."""
    body = function(program).body
    return [
        {name: _text(value) for name, value in bound.items()}
        for bound in pattern.matches(parse_pattern(text), body)
    ]


def _text(value: object) -> str:
    if isinstance(value, tuple) and all(isinstance(part, ir.Expr) for part in value):
        return "*" + " ".join(map(_text, value))
    if isinstance(value, ir.Var):
        return value.name_hint
    if isinstance(value, ir.Call):
        return f"{value.op.name}()" if isinstance(value.op, Op) else "call()"
    return str(value.data) if isinstance(value, ir.Constant) else str(value)


X, XY = "fn (%x: [2]) { ", "fn (%x: [2], %y: [2]) { "
FOUND: dict[str, tuple[str, str, list[Captured]]] = {
    "an op": ("exp(?a)", X + "exp(%x) }", [{"a": "x"}]),
    "another op": ("exp(?a)", X + "tanh(%x) }", []),
    "both orders": ("add(?a, ?b)", XY + "add(%x, %y) }", [{"a": "x", "b": "y"}, {"a": "y", "b": "x"}]),
    "one order": ("subtract(?a, ?b)", XY + "subtract(%x, %y) }", [{"a": "x", "b": "y"}]),
    "a constant first": ("add(?a, ?c: constant)", X + "add(2f, %x) }", [{"a": "x", "c": "2.0"}]),
    "an operator": ("?a * ?c: constant", X + "multiply(2f, %x) }", [{"a": "x", "c": "2.0"}]),
    "an op that is an operator": ("?a * ?a", X + "square(%x) }", [{"a": "x"}]),
    "a shared result": (
        "add(?a, exp(?a))",
        X + "%0 = tanh(%x); %1 = exp(%0); add(%1, %0) }",
        [{"a": "tanh()"}],
    ),
    "two results": ("add(?a, exp(?a))", XY + "%0 = exp(%y); add(%x, %0) }", []),
    "a dtype": ("exp(?a: integer)", X + "exp(%x) }", []),
    "an attr": (
        "sum(?a, axis=?k, keepdims=True)",
        X + "sum(%x, axis=[0], keepdims=True) }",
        [{"a": "x", "k": "(0,)"}],
    ),
    "an attr with another value": ("sum(?a, axis=?k)", X + "sum(%x, axis=[0], keepdims=True) }", []),
    "a tuple": (
        "concatenate((?a, *?b))",
        XY + "concatenate((%x, %y, %x)) }",
        [{"a": "x", "b": "*y x"}],
    ),
    "anywhere in a tuple": (
        "concatenate((*?a, exp(?b), *?c))",
        XY + "%0 = exp(%x); %1 = exp(%y); concatenate((%0, %y, %1)) }",
        [
            {"a": "*", "b": "x", "c": "*y exp()"},
            {"a": "*exp() y", "b": "y", "c": "*"},
        ],
    ),
    "a form": ("form.conversion(?a, dtype=?t)", X + 'cast(%x, dtype="int8") }', [{"a": "x", "t": "int8"}]),
}


@pytest.mark.parametrize("name", FOUND)
def test_each_way_in_which_a_pattern_matches(name: str) -> None:
    text, program, expected = FOUND[name]
    assert found(text, program) == expected


def test_rules_apply_until_none_does() -> None:
    rules = [
        pattern.rule("exp(log(?x))", "?x"),
        pattern.rule("?x * ?c: constant", "?x + c", when="c.ndim == 0 and max(c.shape, (0,)) == (0,)"),
        pattern.rule("?x + ?c: constant", "?x - (c + 1)"),
    ]
    program = function("fn (%x: [2]) { %0 = log(%x); %1 = exp(%0); multiply(%1, 2f) }")
    expected = function("fn (%x: [2]) { subtract(%x, 3f) }")
    assert ir.structural_equal(pattern.Rewriter(rules).rewrite(program), expected)


def test_rules_that_never_end_are_an_error() -> None:
    rules = [pattern.rule("?x + ?y", "?y + ?x")]
    with pytest.raises(PassError, match="rules still apply after 64 steps"):
        pattern.Rewriter(rules).rewrite(function("fn (%x: [2], %y: [2]) { add(%x, %y) }"))


def test_a_result_of_another_type_is_none() -> None:
    program = function("fn (%x: [2]) { add(%x, const([[1.0], [1.0]], float32)) }")
    assert pattern.Rewriter([pattern.rule("?x + ?c: constant", "?x")]).rewrite(program) is program


WRONG = [
    ("?x", "?x", "", "expected a call of an op, or an operator"),
    ("exp(?x", "?x", "", "was never closed"),
    ("exp(x)", "?x", "", "x is no pattern: expected ?name"),
    ("exp(?x: tensor)", "?x", "", "the kinds are constant, known"),
    ("form.sum(?x)", "?x", "", "the forms are add, sub"),
    ("form.copy(?x, ?y)", "?x", "", "form.copy has 1 operand, found 2"),
    ("exp(?out)", "?out", "", "the name has a meaning of its own"),
    ("sum(?x, axis=?x)", "?x", "", "is of one kind in every place"),
    ("exp(?x)", "?x", "open('f')", "there is no function open"),
    ("exp(?x)", "?x", "x.dtype.__class__", ".__class__: the fields are"),
    ("exp(?x)", "?x", "[k for k in x.shape]", "cannot be written in a value"),
    ("exp(?x)", "?x", "(lambda: 1)()", "there is no function lambda: 1"),
    ("exp(?x)", "?x", "y == 1", "nothing is called y"),
    ("exp(?x)", "tanh(?x, *?x)", "", "cannot be written in a value"),
    ("exp(?x)", "(*?x,)", "", "is no part of a tuple that `match` captures"),
]


@pytest.mark.parametrize(("match", "replace", "when", "message"), WRONG)
def test_texts_that_are_no_rules(match: str, replace: str, when: str, message: str) -> None:
    with pytest.raises(PassError) as raised:
        pattern.rule(match, replace, when)
    assert message in str(raised.value)
