"""The text form: whole outputs, and the round trip over random programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgen_runtime import ir, ops
from opgen_runtime.base.arith import Any, dim
from opgen_runtime.base.errors import OpgenError, ParseError
from opgen_runtime.operator.types import FuncType, TensorType, TupleType, TypeVar

F = TensorType((2, 3), "float32")


def round_trip(expr: ir.Expr) -> ir.Expr:
    text = ir.to_text(expr)
    parsed = ir.parse_expr(text)
    assert ir.structural_equal(parsed, expr, map_free_vars=True), text
    assert ir.to_text(parsed) == text
    return parsed


def test_shared_nodes_are_bound_once_and_attrs_print_where_they_differ() -> None:
    x = ir.var("x", F)
    y = ops.exp(x)
    z = ops.divide(y, ops.sum(y, axis=1, keepdims=True))
    assert ir.to_text(z) == (
        "free_var %x: Tensor[(2, 3), float32];\n"
        "%0 = exp(%x);\n"
        "%1 = sum(%0, axis=[1], keepdims=True);\n"
        "divide(%0, %1)"
    )
    round_trip(z)


def test_blocks_a_node_used_in_both_branches_stands_before_them() -> None:
    x, c = ir.var("x", F), ir.var("c", TensorType((), "bool"))
    y = ops.exp(x)
    v = ir.Var("v", F)
    expr = ir.Let(v, ops.negative(x), ir.If(c, ops.abs(y), ops.add(y, v)))
    assert ir.to_text(expr) == (
        "free_var %x: Tensor[(2, 3), float32];\n"
        "free_var %c: Tensor[(), bool];\n"
        "let %v: Tensor[(2, 3), float32] = negative(%x);\n"
        "%0 = exp(%x);\n"
        "if (%c) {\n"
        "  abs(%0)\n"
        "} else {\n"
        "  add(%0, %v)\n"
        "}"
    )
    round_trip(expr)


def test_names_are_told_apart_and_made_valid() -> None:
    a, b, c = ir.var("x", F), ir.var("x", F), ir.var("0 odd-name", F)
    assert ir.to_text(a + b + c).splitlines()[:3] == [
        "free_var %x: Tensor[(2, 3), float32];",
        "free_var %x_1: Tensor[(2, 3), float32];",
        "free_var %v0_odd_name: Tensor[(2, 3), float32];",
    ]
    round_trip(a + b + c)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (3, "int32", "3"), (-3, "int64", "-3i64"), (200, "uint8", "200u8"), (True, "bool", "True"),
        (0.1, "float32", "0.1f"), (-0.0, "float32", "-0.0f"), (1e-7, "float64", "1e-07f64"), (0.5, "float16", "0.5f16"),
        (float("inf"), "float32", "inff"), (float("-inf"), "float64", "-inff64"), (float("nan"), "float16", "nanf16"),
        (-(2**63), "int64", "-9223372036854775808i64"), (2**64 - 1, "uint64", "18446744073709551615u64"),
    ],
)  # fmt: skip
def test_scalars_read_back_bit_for_bit(value: object, dtype: str, text: str) -> None:
    constant = ir.const(value, dtype)
    assert ir.to_text(constant) == text
    parsed = ir.parse_expr(text)
    assert isinstance(parsed, ir.Constant)
    assert parsed.data.dtype == constant.data.dtype
    assert parsed.data.tobytes() == constant.data.tobytes()


def test_arrays_stand_in_place_or_in_the_section_of_constants() -> None:
    small = ir.Constant(np.array([[1, 2], [3, 4]], np.int8))
    assert ir.to_text(small) == "const([[1, 2], [3, 4]], int8)"
    round_trip(small)
    round_trip(ir.Constant(np.zeros((0, 3), np.float32)))
    payload = np.array([0x7FC00001], np.uint32).view(np.float32)  # a NaN that decimals do not tell
    for data in (np.arange(40.0), payload):
        parsed = round_trip(ir.Tuple((ir.Constant(data), ir.const(1))))
        assert isinstance(parsed, ir.Tuple)
        constant = parsed.fields[0]
        assert isinstance(constant, ir.Constant)
        assert constant.data.tobytes() == data.tobytes()


def test_types_with_symbolic_dims_tuples_functions_and_type_parameters() -> None:
    n, m = dim("n"), dim("n")
    t = TypeVar("T")
    generic = ir.Var("f", FuncType((t, TupleType((t,))), t, (t,)))
    expr = ir.Tuple(
        (
            ir.var("x", TensorType((n, m, (n + 1) // 2 * m, Any()), "float32")),
            ir.var("t", TupleType((F, TupleType(())))),
            generic,
            ir.var("u"),
            ir.TupleGetItem(ir.TupleGetItem(ir.var("w", TupleType((TupleType((F, F)),))), 0), 1),
        )
    )
    text = ir.to_text(expr)
    assert "Tensor[(n, n_1, (((n + 1) // 2) * n_1), ?), float32]" in text
    assert "%f: fn[T](T, (T,)) -> T;" in text
    assert "%w.0.1" in text
    round_trip(expr)


def test_type_parameters_of_one_name_are_told_apart() -> None:
    a, b = TypeVar("A"), TypeVar("A")
    inner = ir.Var("g", FuncType((b,), b, (b,)))
    f = ir.Var("f", FuncType((a, b), a))
    assert ir.to_text(ir.Function((f,), f, None, (a, b))) == "fn [A, A_1](%f: fn(A, A_1) -> A) {\n  %f\n}"
    round_trip(ir.Function((f,), f, None, (a, b)))
    x = ir.Var("x", a)
    round_trip(ir.Function((inner, x), x, a, (a,)))


def test_modules_round_trip() -> None:
    text = (
        "def @main(%x: Tensor[(2, 3), float32], Inline=1) -> Tensor[(2, 3), float32] {\n"
        "  %0 = @half(%x);\n"
        "  add(%0, %x)\n"
        "}\n"
        "\n"
        "def @half(%x_1: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {\n"
        "  multiply(%x_1, 0.5f)\n"
        "}"
    )
    module = ir.parse_module(text)
    assert str(module) == text
    assert ir.structural_equal(module, ir.parse_module(text.replace("%x_1", "%y").replace("%0", "%7")))
    assert not ir.structural_equal(module, ir.parse_module(text.replace("0.5f", "0.25f")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("free_var %x: Tensor[(2), float32];\nexp(%y)", "line 2, column 5: %y is not defined here"),
        ("(fn [A](%x: A) { %x }, fn (%x: A) { %x })", "line 1, column 32: unknown type 'A'"),
        ("free_var %f: (fn[A](A) -> A, A);\n%f", "line 1, column 30: unknown type 'A'"),
        ("exp(1f", "line 1, column 7: expected ',', found 'the end of the text'"),
        ("1f $", "line 1, column 4: unexpected character '$'"),
        ("1q7", "line 1, column 2"),
        ("%a = 1; %a", "line 1, column 1: %a is bound by `let`; only %<number> stands without it"),
        ("const([[1], [2, 3]], int32)", "line 1, column 6"),
        ("300u8", "line 1, column 1: 300 does not fit dtype uint8"),
        ("meta[0]", "line 1, column 1: constant 0 is not in the section #[constants]"),
        ("meta[0]\n#[constants]\n{}", "constant 0 of the section is damaged"),
        ("exp(1f, axis=2)", "line 1, column 1: op 'exp' has no attrs; found axis"),
        ("(" * 200 + ")" * 200, "nest 100 deep"),
    ],
)
def test_parse_errors_say_where(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        ir.parse_expr(text)
    assert message in str(caught.value)


def test_errors_of_ops_name_the_line_of_the_text() -> None:
    with pytest.raises(OpgenError, match=r"sum: attr 'axis'(.|\n)*<text>:3"):
        ir.parse_expr("free_var %x: Tensor[(2,), float32];\n\nsum(%x, axis=[5])")


UNARY = ("exp", "tanh", "negative", "abs")
BINARY = ("add", "multiply", "maximum")


@st.composite
def programs(draw: st.DrawFn) -> ir.Expr:
    """A random DAG of ops, tuples, lets, branches and functions over a few variables."""
    types = [TensorType((2, 3), "float32"), TensorType((dim("n"), 3), "float32")]
    kind = draw(st.sampled_from(types))
    nodes: list[ir.Expr] = [ir.var("x", kind), ir.var("y", kind)]
    tuples: list[ir.Expr] = []
    for _ in range(draw(st.integers(0, 12))):
        a, b = draw(st.sampled_from(nodes)), draw(st.sampled_from(nodes))
        match draw(st.integers(0, 8)):
            case 0 | 1:
                nodes.append(ir.make_call(ir.operators.Op.get(draw(st.sampled_from(UNARY))), (a,)))
            case 2 | 3:
                nodes.append(ir.make_call(ir.operators.Op.get(draw(st.sampled_from(BINARY))), (a, b)))
            case 4:
                value = draw(st.floats(width=32) | st.integers(-5, 5))
                nodes.append(ir.make_call(ir.operators.Op.get("add"), (a, value)))
            case 5:
                var = ir.Var("v", kind)
                nodes.append(ir.Let(var, a, ops.add(var, b)))
            case 6:
                nodes.append(
                    ir.If(draw(st.sampled_from([ir.const(True), ir.var("c", TensorType((), "bool"))])), a, b)
                )
            case 7:
                p = ir.Var("p", kind)
                nodes.append(ir.Call(ir.Function((p,), ops.add(p, a)), (b,)))
            case 8:
                tuples.append(ir.Tuple((a, *draw(st.lists(st.sampled_from([*nodes, *tuples]), max_size=2)))))
                nodes.append(ir.TupleGetItem(tuples[-1], 0))
    return draw(st.sampled_from([*nodes, *tuples]))


@given(programs())
@settings(max_examples=120)
def test_random_programs_round_trip(expr: ir.Expr) -> None:
    parsed = round_trip(expr)
    assert ir.structural_hash(parsed, map_free_vars=True) == ir.structural_hash(expr, map_free_vars=True)
    assert ir.structural_digest(parsed) == ir.structural_digest(expr)
    assert repr(parsed.checked_type) == repr(expr.checked_type)
    assert ir.why_not_well_formed(parsed) == ir.why_not_well_formed(expr)
