"""Which features a program uses, and the names that modules have of Relay's."""

from __future__ import annotations

import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.ir import Feature

F = rt.TensorType((2,), "float32")
X = ir.Var("x", F)
CONDITION = ir.Var("c", rt.TensorType((), "bool"))
V = ir.Var("v", F)
EXP = ops.exp(X)
VAR_OP_CALL = {Feature.VAR, Feature.OP, Feature.CALL}


@pytest.mark.parametrize(
    ("program", "features"),
    [
        (X, {Feature.VAR}),
        (ir.const(1), {Feature.CONSTANT}),
        (ops.add(X, X), VAR_OP_CALL),
        (ops.add(X, ops.exp(X)), VAR_OP_CALL),
        (ops.add(EXP, EXP), VAR_OP_CALL | {Feature.GRAPH}),
        (ops.add(EXP, ops.log(EXP)), VAR_OP_CALL | {Feature.GRAPH}),
        (ir.TupleGetItem(ir.Tuple((X,)), 0), {Feature.VAR, Feature.TUPLE, Feature.TUPLE_GET_ITEM}),
        (ir.Let(V, X, V), {Feature.VAR, Feature.LET}),
        (ir.If(CONDITION, X, X), {Feature.VAR, Feature.IF}),
        (ir.Function((X,), X)(X), {Feature.VAR, Feature.FUNCTION, Feature.CALL}),
        (rt.IRModule.from_expr(X), {Feature.VAR, Feature.FUNCTION}),
        (
            rt.parse_module("def @main(%x: Tensor[(), int8]) -> Tensor[(), int8] { @main(%x) }"),
            {Feature.VAR, Feature.FUNCTION, Feature.CALL, Feature.GLOBAL_VAR},
        ),
    ],
)
def test_features(program: ir.Expr | ir.IRModule, features: set[Feature]) -> None:
    assert rt.detect_feature(program) == features


def test_update_takes_functions_of_another_module() -> None:
    f, g, h = (ir.Function((X,), op(X)) for op in (ops.exp, ops.log, ops.sin))
    first = ir.IRModule({ir.GlobalVar("f"): f, ir.GlobalVar("g"): g})
    second = ir.IRModule({ir.GlobalVar("h"): h, ir.GlobalVar("f"): h})
    updated = first.update(second)
    assert [(var.name, updated[var]) for var in updated] == [("f", h), ("g", g), ("h", h)]
    assert first["f"] is f
    assert [var.name for var in first.update(second.functions)] == ["f", "g", "h"]


def test_astext_is_read_again() -> None:
    function = ir.Function((X,), EXP)
    module = ir.IRModule.from_expr(function)
    assert rt.structural_equal(rt.parse_module(module.astext())["main"], function)
    assert EXP.astext() == str(EXP)


def test_names_of_ops() -> None:
    assert rt.Op.list_op_names() == rt.list_ops()
