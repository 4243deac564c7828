"""`composed:` text becomes statements of `compute:`, and a rule for the types of the results."""

from __future__ import annotations

import ast

from opgen.analyse.declarations import check_project
from opgen.model import CheckedOp
from tests.library import library

ELU = """
op: bend
inputs: {x: {dtype: float}}
attrs: {alpha: {type: float, default: 1.0}}
composed: where(x > 0, x, alpha * expm1(x))
tests: [{x: "float32[3]"}]
"""
LOSS = """
op: loss
dtypes: {T: float}
inputs: {x: {dtype: T}, y: {dtype: T}}
attrs: {total: {type: bool, default: false}}
composed: |
  off = x - y
  out = sum(off * off) if total else off
tests: [{x: "float32[3]", y: "float32[2, 1]"}]
"""
PARTS = """
op: halves
inputs: {x: {dtype: float}}
outputs: {low: {}, high: {doc: The rest.}}
composed: low, high = split(x, indices_or_sections=2)
tests: [{x: "float32[4]"}]
"""
INVERTED = """
op: chained
inputs: {x: {dtype: bool}, part: {dtype: bool}, i: {dtype: bool}}
composed: not x and (part or i) == True
tests: [{x: "bool[4]", part: "bool[]", i: "bool[4]"}]
"""


def checked(text: str) -> CheckedOp:
    ops, found = check_project({"t.yaml": text}, library=library())
    assert found == []
    return ops[0]


def statements(op: CheckedOp) -> list[str]:
    assert op.compute is not None
    return [ast.unparse(statement) for statement in op.compute.body]


def types(op: CheckedOp) -> str:
    return ast.unparse(op.signature.rules[0].function.body)  # type: ignore[union-attr]


def test_what_has_no_name_becomes_a_part() -> None:
    op = checked(ELU)
    assert statements(op) == [
        "part = _l.tensor('part', x.shape)",
        "part.define(lambda *i: _l.greater(x[*i,], 0))",
        "part2 = _l.call_op(lambda: _l.expand(_d.called('expm1'), 1, x))",
        "part3 = _l.tensor('part3', part2.shape)",
        "part3.define(lambda *i: alpha * part2[*i,])",
        "part4 = _l.call_op(lambda: _l.expand(_d.called('where'), 1, part, x, part3))",
        "out.define(lambda *i: part4[*i,])",
    ]
    assert types(op) == (
        "_l.result_type(_d.called('where'), 1, _l.predicate_type(x, 0), x, "
        "_l.operator_type(alpha, _l.result_type(_d.called('expm1'), 1, x)))"
    )
    assert (op.pattern.name, op.calls) == ("ELEMWISE", ("expm1", "where"))


def test_a_static_condition_chooses_what_is_composed() -> None:
    op = checked(LOSS)
    assert statements(op) == [
        "off = _l.tensor('off', _l.broadcast(x.shape, y.shape))",
        "off.define(lambda *i: x[*_l.bcast(i, x.shape),] - y[*_l.bcast(i, y.shape),])",
        "if _l.truth(total):\n"
        "    part = _l.tensor('part', off.shape)\n"
        "    part.define(lambda *i: off[*i,] * off[*i,])\n"
        "    part2 = _l.call_op(lambda: _l.expand(_d.called('sum'), 1, part))\n"
        "    out.define(lambda *i: part2[*i,])\n"
        "else:\n"
        "    out.define(lambda *i: off[*i,])",
    ]
    assert types(op) == (
        "(lambda off: (lambda out: out)(_l.select(total, lambda: _l.result_type(_d.called('sum'), 1, "
        "_l.operator_type(off, off)), lambda: _l.operator_type(off))))(_l.operator_type(x, y))"
    )


def test_results_of_one_call_have_names() -> None:
    op = checked(PARTS)
    assert statements(op) == [
        "part, part2 = _l.call_op(lambda: _l.expand(_d.called('split'), 2, x, indices_or_sections=2), 2)",
        "low.define(lambda *i: part[*i,])",
        "high.define(lambda *i: part2[*i,])",
    ]


def test_parts_take_no_name_of_the_declaration() -> None:
    assert statements(checked(INVERTED)) == [
        "out.define(lambda *i2: _l.both(_l.negate(x[*_l.bcast(i2, x.shape),]), lambda: "
        "_l.equal(_l.either(part[*_l.bcast(i2, part.shape),], lambda: i[*_l.bcast(i2, i.shape),]), True)))",
    ]


def test_a_composition_takes_the_place_of_the_compute_that_is_extended() -> None:
    text = """
op: base
abstract: true
inputs: {x: {dtype: float}}
outputs: {out: {shape: x.shape, dtype: x.dtype}}
compute: out[*i] = x[*i]
tests: [{x: "float32[3]"}]
---
op: twice
extends: base
composed: x + x
"""
    assert statements(checked(text)) == ["out.define(lambda *i: x[*i,] + x[*i,])"]


def findings(line: str) -> list[tuple[str, int, str]]:
    text = f"op: wrong\ninputs: {{x: {{dtype: float}}}}\ncomposed: {line}\ntests: [{{x: 'float32[3]'}}]\n"
    return [
        (each.code, each.place.column, each.message.partition(" (for")[0])
        for each in check_project({"t.yaml": text}, library=library())[1]
    ]


def test_what_is_wrong_is_told_at_its_place() -> None:
    assert findings("tanh(y)") == [("unknown-name", 16, "nothing binds the name `y`")]
    assert findings("x + wrong(x)") == [
        ("cyclic", 15, "`wrong` calls itself; the compute of an op that is called is expanded")
    ]
    assert findings("x @ x") == [
        (
            "not-in-language",
            11,
            "the language does not have `@`; write `sum(a[i, k] * b[k, j] for k in range(K))`",
        )
    ]
    assert findings("2.0") == [("value", 11, "the output `out` is made of no tensor")]
    assert findings("softmax(x, 1)") == [
        ("op-call", 11, "operand 1 of `softmax` is int 1, expected a tensor; attrs are given by name")
    ]
    assert findings("x + transpose(stack((x, x)))") == [
        ("shape-mismatch", 11, "shapes (3,) and (3, 2) do not broadcast: 3 and 2 differ and neither is 1")
    ]
