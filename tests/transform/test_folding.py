"""FoldConstant, DeadCodeElimination, EliminateCommonSubexpr: whole outputs, and what must stay."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base.errors import RegistryError
from opgen_runtime.operator.types import TensorType
from opgen_runtime.transform import (
    DeadCodeElimination,
    DynamicToStatic,
    EliminateCommonSubexpr,
    Evaluator,
    FoldConstant,
    PassContext,
)
from tests.transform.whole import function, gives

FOLDED = {
    "calls of constants": (
        "fn (%x: [2]) { %0 = multiply(2f, 3f); add(%0, %x) }",
        "fn (%x: [2]) { add(6f, %x) }",
    ),
    "calls of calls of constants": (
        "fn (%x: [2]) { %0 = multiply(2f, 3f); %1 = exp(%0); %2 = subtract(%1, %1); add(%2, %x) }",
        "fn (%x: [2]) { add(0f, %x) }",
    ),
    "a let of a constant": (
        "fn (%x: [2]) { let %v = add(1f, 1f); let %w = multiply(%v, 2f); add(%w, %x) }",
        "fn (%x: [2]) { add(4f, %x) }",
    ),
    "a field of a tuple": ("fn (%x: [2], %y: [2]) { (%x, %y).1 }", "fn (%x: [2], %y: [2]) { %y }"),
    "a branch that is known": (
        "fn (%x: [2]) { %0 = less(1f, 2f); if (%0) { exp(%x) } else { %x } }",
        "fn (%x: [2]) { exp(%x) }",
    ),
    "a call of several results": (
        "fn (%x: [2]) { %0 = expand_dims(1f, axis=0); %1 = concatenate((%0, %0)); "
        "%2 = split(%1, indices_or_sections=[2]); add(%2.1, %x) }",
        "fn (%x: [2]) { add(const([1.0], float32), %x) }",
    ),
}
UNFOLDED = {
    "what reads a variable": "fn (%x: [2]) { add(%x, 1f) }",
    "a let that is read": "fn (%x: [2]) { let %v = exp(%x); add(%v, %v) }",
    "a shape that depends on data": "fn () { argwhere(const([1, 0, 2], int32)) }",
    "a constant that is large": "fn () { full(1f, shape=[5000, 5000]) }",
}


@pytest.mark.parametrize("name", FOLDED)
def test_constants_are_folded(name: str) -> None:
    gives(FoldConstant(), *FOLDED[name])


@pytest.mark.parametrize("name", UNFOLDED)
def test_what_is_not_folded(name: str) -> None:
    gives(FoldConstant(), UNFOLDED[name])


STATIC = {
    "dims that a constant decides": (
        "fn (%x: [3]) { %0 = argwhere(const([0, 5, 7], int32)); %1 = squeeze(%0, axis=[1]); take(%x, %1) }",
        "fn (%x: [3]) { take(%x, const([1, 2], int64)) }",
    ),
    "what is made of constants comes first": (
        "fn (%x: [2]) { %0 = add(const([0, 5], int64), 1i64); %1 = argwhere(%0); add(%1, 0i64) }",
        "fn (%x: [2]) { const([[0], [1]], int64) }",
    ),
    "one of several results": (
        "fn () { %0 = unique(const([3, 3, 1], int32)); %0.0 }",
        "fn () { const([1, 3], int32) }",
    ),
    "under a name": (
        "fn (%x: [3]) { let %v = argwhere(const([0, 5, 7], int32)); let %w = squeeze(%v, axis=[1]); take(%x, %w) }",
        "fn (%x: [3]) { take(%x, const([1, 2], int64)) }",
    ),
}
DYNAMIC = {
    "dims that a parameter decides": "fn (%x: [3]) { argwhere(%x) }",
    "static dims": "fn (%x: [3]) { abs(%x) }",
}


@pytest.mark.parametrize("name", STATIC)
def test_dims_that_constants_decide_are_static(name: str) -> None:
    gives(DynamicToStatic(), *STATIC[name])


@pytest.mark.parametrize("name", DYNAMIC)
def test_dims_that_data_decide_stay(name: str) -> None:
    gives(DynamicToStatic(), DYNAMIC[name])


def test_a_large_value_whose_dims_are_decided_stays() -> None:
    found = "fn () { argwhere(const([1, 1, 1], int8)) }"
    gives(DynamicToStatic(max_bytes=23), found)
    gives(DynamicToStatic(max_bytes=24), found, "fn () { const([[0], [1], [2]], int64) }")


def test_the_size_of_constants_is_limited_unless_it_is_there_already() -> None:
    x = ir.var("x", shape=(64,))
    table = ir.const(np.arange(64, dtype=np.float32))
    grown = ir.Function((x,), ops.add(ops.full(ir.const(2.0), shape=(64,)), x))
    gives(FoldConstant(max_bytes=255), grown)
    assert "full" not in str(FoldConstant(max_bytes=256)(grown))
    kept = ir.Function((x,), ops.add(ops.multiply(table, 2.0), x))
    assert "multiply" not in str(FoldConstant(max_bytes=0)(kept))


def test_the_context_supplies_the_evaluator() -> None:
    asked: list[ir.Expr] = []

    class Told(Evaluator):
        def compiled(self, expr: ir.Expr) -> np.ndarray | None:
            asked.append(expr)
            return None

    table = ir.const(np.ones(100_000, np.float32))
    program = ir.Function((), ops.add(ops.add(table, table), 1.0))
    with PassContext(evaluator=Told):
        found = FoldConstant()(program)
    assert isinstance(found.body, ir.Constant)
    assert len(asked) == 1
    assert found.body.data[0] == 3.0


def test_the_executors_evaluator_compiles_what_is_large() -> None:
    from opgen_runtime.executor import CompilingEvaluator

    table = ir.const(np.linspace(-1, 1, 70_000, dtype=np.float32))
    program = ir.Function((), ops.add(ops.tanh(table), 1.0))
    with PassContext(evaluator=CompilingEvaluator):
        compiled = FoldConstant()(program).body
    interpreted = FoldConstant()(program).body
    assert isinstance(compiled, ir.Constant)
    assert isinstance(interpreted, ir.Constant)
    np.testing.assert_allclose(compiled.data, interpreted.data, rtol=1e-6)


def test_dead_code_goes() -> None:
    gives(
        DeadCodeElimination(),
        "fn (%x: [2]) { let %a = exp(%x); let %b = tanh(%a); let %c = abs(%x); add(%c, %x) }",
        "fn (%x: [2]) { let %c = abs(%x); add(%c, %x) }",
    )
    gives(
        DeadCodeElimination(),
        "fn (%x: [2]) { let %a = exp(%x); let %b = tanh(%x); (%b, %a).0 }",
        "fn (%x: [2]) { let %b = tanh(%x); %b }",
    )
    gives(
        DeadCodeElimination(),
        "fn (%x: [2], %c: [] bool) { let %a = exp(%x); if (%c) { let %b = %a; %x } else { abs(%x) } }",
        "fn (%x: [2], %c: [] bool) { if (%c) { %x } else { abs(%x) } }",
    )


def test_what_is_read_stays() -> None:
    gives(DeadCodeElimination(), "fn (%x: [2], %unused: [2]) { let %a = exp(%x); add(%a, %a) }")
    gives(DeadCodeElimination(), "fn (%x: [2], %c: [] bool) { let %a = exp(%x); if (%c) { %a } else { %x } }")


INLINED = {
    "a value that is read once": (
        "fn (%x: [2]) { let %a = exp(%x); let %b = abs(%a); add(%b, %x) }",
        "fn (%x: [2]) { add(abs(exp(%x)), %x) }",
    ),
    "what is dead reads nothing": (
        "fn (%x: [2]) { let %a = exp(%x); let %b = tanh(%a); abs(%a) }",
        "fn (%x: [2]) { abs(exp(%x)) }",
    ),
    "into the branch that reads it": (
        "fn (%x: [2], %c: [] bool) { let %a = exp(%x); if (%c) { %a } else { %x } }",
        "fn (%x: [2], %c: [] bool) { if (%c) { exp(%x) } else { %x } }",
    ),
    "two names of one value": (
        "fn (%x: [2]) { %0 = exp(%x); let %a = %0; let %b = %0; add(%a, %b) }",
        "fn (%x: [2]) { %0 = exp(%x); add(%0, %0) }",
    ),
    "a name of a name": ("fn (%x: [2]) { let %a = %x; let %b = %a; abs(%b) }", "fn (%x: [2]) { abs(%x) }"),
    "a name of a value that has a name": (
        "fn (%x: [2]) { let %a = exp(%x); let %b = %a; let %c = %b; abs(%c) }",
        "fn (%x: [2]) { abs(exp(%x)) }",
    ),
    "in a function, its own": (
        "fn (%x: [2]) { let %f = fn (%y: [2]) { let %a = exp(%y); abs(%a) }; add(%f(%x), %f(%x)) }",
        "fn (%x: [2]) { let %f = fn (%y: [2]) { abs(exp(%y)) }; add(%f(%x), %f(%x)) }",
    ),
}
NAMED = {
    "read twice": "fn (%x: [2]) { let %a = exp(%x); add(%a, %a) }",
    "read by a function": (
        "fn (%x: [2]) { let %a = exp(%x); let %f = fn (%y: [2]) { add(%y, %a) }; add(%f(%x), %f(%f(%x))) }"
    ),
    "what says more of its dims": "fn (%x: [?]) { let %a: [2] = exp(%x); abs(%a) }",
}


@pytest.mark.parametrize("name", INLINED)
def test_what_is_read_once_stands_where_it_is_read(name: str) -> None:
    gives(DeadCodeElimination(inline_once=True), *INLINED[name])


@pytest.mark.parametrize("name", NAMED)
def test_what_keeps_its_name(name: str) -> None:
    gives(DeadCodeElimination(inline_once=True), NAMED[name])


def test_a_name_to_skip_is_that_of_an_op() -> None:
    with pytest.raises(RegistryError, match="no op is named 'expo'; did you mean 'exp'"):
        EliminateCommonSubexpr(skip=("expo",))(function("fn (%x: [2]) { exp(%x) }"))


def test_common_subexpressions_are_one() -> None:
    gives(
        EliminateCommonSubexpr(),
        "fn (%x: [2]) { %0 = exp(%x); %1 = exp(%x); %2 = add(%0, 1f); %3 = add(%1, 1f); multiply(%2, %3) }",
        "fn (%x: [2]) { %0 = exp(%x); %2 = add(%0, 1f); multiply(%2, %2) }",
    )
    gives(
        EliminateCommonSubexpr(skip=("exp",)),
        "fn (%x: [2]) { %0 = exp(%x); %1 = exp(%x); %2 = abs(%x); %3 = abs(%x); ((%0, %1), (%2, %3)) }",
        "fn (%x: [2]) { %0 = exp(%x); %1 = exp(%x); %2 = abs(%x); ((%0, %1), (%2, %2)) }",
    )
    gives(
        EliminateCommonSubexpr(skip=(lambda call: call.op.name == "abs",)),
        "fn (%x: [2]) { %0 = exp(%x); %1 = exp(%x); %2 = abs(%x); %3 = abs(%x); ((%0, %1), (%2, %3)) }",
        "fn (%x: [2]) { %0 = exp(%x); %2 = abs(%x); %3 = abs(%x); ((%0, %0), (%2, %3)) }",
    )
    before = "fn (%x: [2]) { %0 = exp(%x); %1 = exp(%x); add(%0, %1) }"
    found = EliminateCommonSubexpr()(gives_function(before))
    assert len([n for n in ir.post_order(found) if isinstance(n, ir.Call)]) == 2


def gives_function(text: str) -> ir.Function:
    from tests.transform.whole import function

    return function(text)


def test_expressions_of_a_block_outside_serve_inside() -> None:
    program = gives_function(
        "fn (%x: [2], %c: [] bool) { %0 = exp(%x); let %v = %0; if (%c) { %1 = exp(%x); add(%1, %v) } else { %v } }"
    )
    found = EliminateCommonSubexpr()(program)
    assert str(found).count("exp") == 1


@pytest.mark.parametrize(
    "body",
    [
        "if (%c) { exp(%x) } else { %0 = exp(%x); abs(%0) }",  # neither branch is computed in any case
        "%0 = clip(%x, a_min=0.0, a_max=1.0); %1 = clip(%x, a_min=-0.0, a_max=1.0); add(%0, %1)",
        "%0 = add(%x, 0f); %1 = add(%x, -0f); add(%0, %1)",
    ],
)
def test_what_is_not_equal_stays_apart(body: str) -> None:
    gives(EliminateCommonSubexpr(), f"fn (%x: [2], %c: [] bool) {{ {body} }}")


def test_functions_keep_their_types() -> None:
    x = ir.Var("x", TensorType((2,), "float32"))
    inner = ir.Function((x,), ops.exp(x))
    y = ir.Var("y", TensorType((2,), "float32"))
    program = ir.Function((y,), ir.Call(inner, (ops.multiply(y, ops.add(1.0, 1.0)),)))
    assert "2.0f" in str(FoldConstant()(program))
