"""Normal forms, LambdaLift, EtaExpand and PartialEvaluate: whole programs before and after."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime import create_executor, ir, ops, parse_module, to_text
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import (
    EtaExpand,
    InferType,
    LambdaLift,
    PartialEvaluate,
    PassContext,
    PassMaker,
    ToANormalForm,
    ToBasicBlockNormalForm,
    ToGraphNormalForm,
    VerifyIR,
    check_basic_block_normal_form,
    infer_type,
)
from opgen_runtime.transform.infrastructure import FunctionPass

MAIN = "def @main(%x: Tensor[(2), float32], %b: Tensor[(), bool]) "
HELPER = "\ndef @f(%y: Tensor[(2), float32]) -> Tensor[(2), float32] { exp(%y) }"
CASES: dict[str, tuple[PassMaker[FunctionPass], str, str]] = {
    "a chain": (
        ToANormalForm,
        "{ exp(add(%x, 1f)) }",
        "{ let %a = add(%x, 1f); let %b1 = exp(%a); %b1 }",
    ),
    "a shared value, once": (
        ToANormalForm,
        "{ %0 = exp(%x); add(%0, tanh(%0)) }",
        "{ let %a = exp(%x); let %c = tanh(%a); let %d = add(%a, %c); %d }",
    ),
    "branches have their own": (
        ToANormalForm,
        "{ %0 = exp(%x); if (%b) { add(%0, tanh(%x)) } else { %0 } }",
        "{ let %a = exp(%x); let %r = if (%b) { let %c = tanh(%x); let %d = add(%a, %c); %d } else { %a }; %r }",
    ),
    "names that there are": (
        ToANormalForm,
        "{ let %v = exp(%x); let %w = %v; (%w, add(%v, %w)).1 }",
        "{ let %v = exp(%x); let %w = %v; let %s = add(%v, %w); let %t = (%w, %s); let %u = %t.1; %u }",
    ),
    "what both branches use": (
        ToBasicBlockNormalForm,
        "{ %0 = exp(%x); %1 = abs(%x); if (%b) { add(%0, tanh(%x)) } else { multiply(%1, %0) } }",
        "{ let %a = exp(%x); if (%b) { add(%a, tanh(%x)) } else { multiply(abs(%x), %a) } }",
    ),
    "what a function uses from around it": (
        ToBasicBlockNormalForm,
        "{ %0 = exp(add(%x, 1f)); let %f = fn (%y: Tensor[(2), float32]) { add(%y, %0) }; %f(%0) }",
        "{ let %a = exp(add(%x, 1f)); let %f = fn (%y: Tensor[(2), float32]) { add(%y, %a) }; %f(%a) }",
    ),
    "lets become shared nodes": (
        ToGraphNormalForm,
        "{ let %v = exp(%x); let %w = tanh(%v); add(%v, %w) }",
        "{ %0 = exp(%x); add(%0, tanh(%0)) }",
    ),
    "what functions need alone stays outside": (
        ToGraphNormalForm,
        "{ let %v = exp(%x); let %f = fn (%y: Tensor[(2), float32]) { add(%y, %v) }; %f(%f(%x)) }",
        "{ let %v = exp(%x); %0 = fn (%y: Tensor[(2), float32]) { add(%y, %v) }; %0(%0(%x)) }",
    ),
    "a function as a value": (
        EtaExpand,
        "{ let %g = @f; add(%g(%x), @f(%x)) }",
        "{ let %g = fn (%z: Tensor[(2), float32]) { @f(%z) }; add(%g(%x), @f(%x)) }",
    ),
    "a condition of constants": (
        PartialEvaluate,
        "{ let %c = less(1f, 2f); if (logical_not(%c)) { exp(%x) } else { tanh(%x) } }",
        "{ tanh(%x) }",
    ),
    "a condition of data": (
        PartialEvaluate,
        "{ if (%b) { let %c = True; if (%c) { %x } else { exp(%x) } } else { tanh(%x) } }",
        "{ if (%b) { %x } else { tanh(%x) } }",
    ),
    "a function that is called twice": (
        PartialEvaluate,
        "{ let %f = fn (%y: Tensor[(2), float32]) { let %v = exp(%y); add(%v, %x) }; add(%f(%x), %f(tanh(%x))) }",
        "{ %0 = { let %v = exp(%x); add(%v, %x) }; %1 = { let %w = exp(tanh(%x)); add(%w, %x) }; add(%0, %1) }",
    ),
    "what is computed keeps its name": (
        PartialEvaluate,
        "{ let %v = exp(%x); let %t = (%x, %v); add(%t.1, %v) }",
        "{ let %v = exp(%x); add(%v, %v) }",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_whole(name: str) -> None:
    maker, before, after = CASES[name]
    module = parse_module(MAIN + before + HELPER)
    expected = InferType()(parse_module(MAIN + after + HELPER))
    with PassContext(instruments=[VerifyIR()]):
        found = maker()(module)
        again = maker()(found)
    assert ir.structural_equal(found["main"], expected["main"]), (
        f"{to_text(found)}\nexpected\n{to_text(expected)}"
    )
    assert ir.structural_equal(again["main"], found["main"])
    x, b = np.array([0.5, -1.0], np.float32), np.array(True)
    one, other = [create_executor("debug", each).evaluate()(x, b).numpy() for each in (module, found)]
    np.testing.assert_array_equal(one, other)


def test_lets_inside_of_operands_come_out() -> None:
    x, v = ir.var("x", TensorType((2,), "float32")), ir.Var("v", TensorType((2,), "float32"))
    before = ir.Function((x,), ops.exp(ir.Let(v, ops.tanh(x), ops.add(v, v))))
    text = "fn (%x: Tensor[(2), float32]) { let %v = tanh(%x); let %s = add(%v, %v); let %t = exp(%s); %t }"
    assert ir.structural_equal(ToANormalForm()(before), infer_type(ir.parse_expr(text)))


def test_what_is_needed_in_one_branch_ends_a_recursion() -> None:
    text = """def @main(%x: Tensor[(2), float32], %n: Tensor[(), int32]) -> Tensor[(2), float32] {
      %0 = @main(tanh(%x), subtract(%n, 1));
      if (less(%n, 1)) { %x } else { add(%0, exp(%0)) }
    }"""
    module = parse_module(text)
    x, n = np.array([0.5, -1.0], np.float32), np.array(3, np.int32)
    with PassContext(instruments=[VerifyIR()]):
        forms = [module, ToANormalForm()(module), ToGraphNormalForm()(ToANormalForm()(module))]
    assert ir.structural_equal(forms[0]["main"], forms[2]["main"])
    results = [create_executor("debug", each).evaluate()(x, n).numpy() for each in forms]
    np.testing.assert_array_equal(results[0], results[1])


def test_whether_it_is_in_basic_blocks() -> None:
    before = InferType()(parse_module(MAIN + CASES["what both branches use"][1]))["main"]
    assert not check_basic_block_normal_form(before)
    assert check_basic_block_normal_form(ToBasicBlockNormalForm()(before))


LIFTED = {
    "a function that is called": (
        "{ fn (%y: Tensor[(2), float32]) { add(%y, %x) }(exp(%x)) }",
        """{ @lambda_lifted_0(%x, exp(%x)) }
        def @lambda_lifted_0(%u: Tensor[(2), float32], %v: Tensor[(2), float32]) { add(%v, %u) }""",
    ),
    "a function that has a name": (
        "{ let %f = fn (%y: Tensor[(2), float32]) { add(%y, %x) }; %f(%f(%x)) }",
        """{
          let %f = fn (%y: Tensor[(2), float32]) { @lambda_lifted_0(%x, %y) };
          %f(%f(%x))
        }
        def @lambda_lifted_0(%u: Tensor[(2), float32], %v: Tensor[(2), float32]) { add(%v, %u) }""",
    ),
    "one that reads its own parameters alone": (
        "{ let %f = fn (%y: Tensor[(2), float32]) { exp(%y) }; %f(%x) }",
        "{ let %f = @lambda_lifted_0; %f(%x) } def @lambda_lifted_0(%v: Tensor[(2), float32]) { exp(%v) }",
    ),
}


@pytest.mark.parametrize("name", LIFTED)
def test_functions_of_functions_are_the_modules(name: str) -> None:
    before, after = (InferType()(parse_module(MAIN + text)) for text in LIFTED[name])
    found = LambdaLift()(before)
    assert [var.name for var in found] == ["main", "lambda_lifted_0"]
    for var in found:
        assert ir.structural_equal(found[var], after[var.name]), str(found)
    values = np.array([1, 2], "float32"), np.array(True)
    one, other = (create_executor("debug", each).evaluate()(*values).numpy() for each in (before, found))
    np.testing.assert_array_equal(one, other)


def test_copies_of_bodies_are_bounded() -> None:
    """Each function calls the one before it twice, so that the last body would be 2 to the 40 copies of the first."""
    text = "let %f0 = fn (%y: Tensor[(2), float32]) { exp(%y) }; "
    for k in range(1, 41):
        text += f"let %f{k} = fn (%y{k}: Tensor[(2), float32]) {{ %f{k - 1}(%f{k - 1}(%y{k})) }}; "
    module = parse_module(f"{MAIN}{{ {text} %f40(%x) }}")
    found = PartialEvaluate(max_nodes=500)(module)
    assert ir.well_formed(found)
    assert len(ir.post_order(found["main"])) < 1_000
