"""InferType: forwards, backwards, only where something is unknown."""

from __future__ import annotations

import pytest

from opgen_runtime import ir, ops, testing
from opgen_runtime.base.arith import dim
from opgen_runtime.base.errors import CallError, ShapeError, TypeInferenceError
from opgen_runtime.operator.types import FuncType, TensorType, TupleType
from opgen_runtime.transform import InferType, PassContext, VerifyIR, infer_type

F = TensorType((2, 3), "float32")


def test_what_is_typed_is_returned_as_it_is() -> None:
    x = ir.var("x", F)
    expr = ops.exp(x)
    assert infer_type(expr) is expr
    module = ir.IRModule.from_expr(expr)
    assert InferType()(module).functions == module.functions


def test_types_flow_forwards_from_given_variables() -> None:
    x, y = ir.var("x"), ir.var("y", F)
    typed = infer_type(ops.add(ops.exp(x), ops.exp(y)), {x: TensorType((1, 3), "float32")})
    assert typed.checked_type == F
    assert isinstance(typed, ir.Call)
    assert typed.args[1] is not None
    assert ir.to_text(typed).startswith("free_var %x: Tensor[(1, 3), float32];")


def test_operands_are_inferred_from_results() -> None:
    x = ir.var("x")
    typed = infer_type(ir.Function((x,), ops.exp(x), F))
    assert typed.checked_type == FuncType((F,), F)


def test_nodes_that_are_typed_stay_the_same_objects() -> None:
    x, u = ir.var("x", F), ir.var("u")
    kept = ops.exp(x)
    typed = infer_type(ir.Tuple((kept, ops.exp(u))), {u: F})
    assert isinstance(typed, ir.Tuple)
    assert typed.fields[0] is kept


def test_lets_branches_tuples_and_functions() -> None:
    c, x, v, p = ir.var("c"), ir.var("x", F), ir.var("v"), ir.var("p")
    pair = ir.Tuple((v, ops.exp(v)))
    function = ir.Function((p,), ir.TupleGetItem(p, 1))
    expr = ir.Let(v, x, ir.If(c, ir.Call(function, (pair,)), v))
    typed = infer_type(expr)
    assert typed.checked_type == F
    assert repr(typed) == "<Let: Tensor[(2, 3), float32]>"
    assert [repr(var.checked_type) for var in ir.free_vars(typed)] == [
        "Tensor[(2, 3), float32]",
        "Tensor[(), bool]",
    ]
    assert "%p: (Tensor[(2, 3), float32], Tensor[(2, 3), float32])" in ir.to_text(typed)


def test_functions_of_a_module_that_call_each_other() -> None:
    module = ir.parse_module(
        "def @main(%x: Tensor[(2, 3), float32]) { @twice(%x) }\n"
        "def @twice(%y) { let %z = @half(%y); add(%z, %z) }\n"
        "def @half(%y) { multiply(%y, 0.5f) }"
    )
    typed = InferType()(module)
    assert typed["half"].checked_type == FuncType((F,), F)
    assert typed["main"].checked_type == FuncType((F,), F)
    assert ir.well_formed(typed)
    assert InferType()(typed) is typed


GENERIC = {
    "operands say it": ("@pair(@pair(%x).1)", "(Tensor[(2,), float32], Tensor[(2,), float32])"),
    "of another type each": ("(@pair(%x).0, @pair((%x, %x)).1.0)", "(Tensor[(2,), float32], Tensor[(2,), float32])"),
    "of functions": ("@apply(fn (%y: Tensor[(2), float32]) { cast(%y, dtype=\"int8\") }, %x)", "Tensor[(2,), int8]"),
    "one calls another": ("@twice(fn (%y: Tensor[(2), float32]) { exp(%y) }, %x)", "Tensor[(2,), float32]"),
    "itself": ("@loop(%x, 3)", "Tensor[(2,), float32]"),
    "as types after its name": ("@pair[Tensor[(2), float32]](%x).0", "Tensor[(2,), float32]"),
}  # fmt: skip
FUNCTIONS = """
def @pair[A](%x: A) -> (A, A) { (%x, %x) }
def @apply[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }
def @twice[C](%f: fn (C) -> C, %x: C) -> C { @apply(%f, @apply(%f, %x)) }
def @loop[A](%x: A, %n: Tensor[(), int32]) -> A { if (less(%n, 1)) { %x } else { @loop(%x, subtract(%n, 1)) } }
"""


@pytest.mark.parametrize("name", GENERIC)
def test_calls_of_functions_with_type_parameters(name: str) -> None:
    body, expected = GENERIC[name]
    module = ir.parse_module(f"def @main(%x: Tensor[(2), float32]) {{ {body} }}{FUNCTIONS}")
    with PassContext(instruments=[VerifyIR()]):
        typed = InferType()(module)
    assert repr(typed["main"].body.checked_type) == expected
    assert all(node.checked_type.is_complete for f in typed.functions.values() for node in ir.post_order(f))
    assert ir.structural_equal(InferType()(ir.parse_module(ir.to_text(typed))), typed)


def test_wrong_calls_of_functions_with_type_parameters() -> None:
    for body, message in {
        "@apply(%x, %x)": "differ in type|different kinds",
        "@apply(fn (%y: Tensor[(3), float32]) { %y }, %x)": "differ in (type|shape)|cannot unify",
    }.items():
        with pytest.raises(TypeInferenceError, match=message):
            InferType()(ir.parse_module(f"def @main(%x: Tensor[(2), float32]) {{ {body} }}{FUNCTIONS}"))
    pair = ir.parse_module(FUNCTIONS)["pair"]
    with pytest.raises(CallError, match="a function of 1 type parameters is called with 2 types"):
        ir.Call(pair, (ir.var("x", F),), type_args=(F, F))


def test_narrowing_symbolic_dims() -> None:
    n = dim("n")
    x = ir.var("x", TensorType((n, 3), "float32"))
    function = ir.Function((x,), ops.sum(x, axis=1), TensorType((n,), "float32"))
    narrow = infer_type(function, {x: F})
    assert narrow.checked_type == FuncType((F,), TensorType((2,), "float32"))


def test_what_nothing_determines_is_listed() -> None:
    with pytest.raises(TypeInferenceError, match=r"types of %u are not determined"):
        testing.run_infer_type(ops.exp(ir.var("u")))


def test_mismatches_name_op_and_types() -> None:
    x, u = ir.var("x", F), ir.var("u")
    with pytest.raises(ShapeError, match=r"add(.|\n)*3(.|\n)*4"):
        infer_type(ops.add(x, ops.exp(u)), {u: TensorType((2, 4), "float32")})
    with pytest.raises(TypeInferenceError, match="cannot unify"):
        infer_type(ir.If(u, x, x), {u: F})


def test_tuples_of_unknown_fields() -> None:
    t = ir.var("t")
    typed = infer_type(ir.TupleGetItem(t, 1), {t: TupleType((F, TensorType((), "bool")))})
    assert repr(typed.checked_type) == "Tensor[(), bool]"
    with pytest.raises(TypeInferenceError, match="field 1 of"):
        infer_type(ir.TupleGetItem(t, 1), {t: F})
