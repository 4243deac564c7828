"""Ops registered by hand with attrs, relations by name, and what is registered of an op that is there."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from opgen_runtime.schedule import create_schedule

import opgen_runtime as rt
from opgen_runtime import errors, ir, ops, te
from opgen_runtime.operator.attrs import attrs_from_json
from opgen_runtime.operator.registry import remove_global_func, remove_op


class AxisAbsAttrs(rt.Attrs):
    """What axis_abs2 takes."""

    type_key = "attrs.hand.axis_abs2"
    axis: int = rt.attr("int", default=0, bounds="axis >= 0", check=lambda axis, attrs: axis >= 0)
    indice: int = rt.attr("int", default=0)


def same_as_first(types: Any, num_inputs: int, attrs: Any, reporter: Any) -> bool:
    if not types[0].is_complete:
        return False
    if attrs.indice >= types[0].shape[attrs.axis]:
        raise IndexError(f"no slice {attrs.indice} on axis {attrs.axis}")
    reporter.assign(types[num_inputs], types[0])
    return True


@pytest.fixture
def op() -> Iterator[rt.Op]:
    rt.register_func("types.type_relation.HandAxisAbs", same_as_first)
    made = rt.register_op("hand.axis_abs2").add_argument("data").set_attrs_type_key("attrs.hand.axis_abs2")
    made.add_type_rel("HandAxisAbs").set_attr("TOpPattern", rt.OpPattern.ELEMWISE)

    @rt.register_compute("hand.axis_abs2")
    def compute(attrs: Any, inputs: Any, out_type: Any) -> list[te.Tensor]:
        (x,) = inputs

        def element(*i: Any) -> Any:
            return te.if_then_else(i[attrs.axis] == attrs.indice, te.abs(x[i]), x[i])

        return [te.compute(out_type.shape, element, name="out")]

    yield made
    remove_op("hand.axis_abs2")
    remove_global_func("types.type_relation.HandAxisAbs")


X = rt.var("x", shape=(2, 3), dtype="float32")


def test_it_computes(op: rt.Op) -> None:
    x = np.float32([[-1, 2, -3], [-4, -5, 6]])
    call = ir.make_call(op, (X,), AxisAbsAttrs(axis=1, indice=2))
    found = rt.build(ir.Function((X,), call)).run([x])
    np.testing.assert_array_equal(found, [[-1, 2, 3], [-4, -5, 6]])


def test_text_json_pickles_and_equality(op: rt.Op) -> None:
    call = ir.make_call(op, (X,), AxisAbsAttrs(axis=1))
    module = rt.IRModule.from_expr(call)
    text = rt.to_text(module)
    assert "hand.axis_abs2(%x, axis=1)" in text
    assert rt.structural_equal(rt.parse_module(text), module)
    assert rt.structural_equal(pickle.loads(pickle.dumps(module)), module)
    assert not rt.structural_equal(call, ir.make_call(op, (X,), AxisAbsAttrs()))
    assert rt.structural_hash(call) != rt.structural_hash(ir.make_call(op, (X,), AxisAbsAttrs()))
    attrs = AxisAbsAttrs(axis=1, indice=2)
    assert attrs_from_json(attrs.to_json()) == attrs


def test_wrong_attrs_in_text_have_a_place(op: rt.Op) -> None:
    text = rt.to_text(rt.IRModule.from_expr(ir.make_call(op, (X,), AxisAbsAttrs(axis=1))))
    with pytest.raises(errors.OpgenError, match=r"hand\.axis_abs2: attr 'axis' must be an int, found 'a'"):
        rt.parse_module(text.replace("axis=1", 'axis="a"'))
    with pytest.raises(errors.OpgenError, match="unknown attr 'axes'"):
        rt.parse_module(text.replace("axis=1", "axes=1"))


def test_what_the_relation_raises_is_an_error_of_the_op_at_the_call(op: rt.Op) -> None:
    with pytest.raises(errors.TypeInferenceError) as caught:
        ir.make_call(op, (X,), AxisAbsAttrs(axis=1, indice=7))
    first, _, at = str(caught.value).partition("\n  at ")
    assert first == ("hand.axis_abs2: its type relation HandAxisAbs raised IndexError: no slice 7 on axis 1")
    assert at.startswith(f"{__file__}:")


def test_what_is_no_attrs_type_is_refused(op: rt.Op) -> None:
    other = rt.register_op("hand.other").add_argument("data")
    try:
        with pytest.raises(errors.RegistryError, match="no class of Attrs with a type_key"):
            other.set_attrs_type(dict)  # type: ignore[arg-type]
        with pytest.raises(
            errors.RegistryError, match=r"no global function 'types\.type_relation\.None_such'"
        ):
            other.add_type_rel("None_such")
        other.set_attrs_type(AxisAbsAttrs).set_attrs_type_key("attrs.hand.axis_abs2")
        assert other.attrs_type is AxisAbsAttrs
        with pytest.raises(errors.RegistryError, match="already has attrs of type"):
            other.set_attrs_type_key("attrs.none")
    finally:
        remove_op("hand.other")


def test_a_schedule_and_a_strategy_are_registered_by_the_name_of_an_op(op: rt.Op) -> None:
    used: list[str] = []

    @rt.register_schedule("hand.axis_abs2")
    def mine(outputs: Any, target: Any) -> Any:
        used.append("schedule")
        return create_schedule(outputs)

    x = np.ones((2, 3), np.float32)
    build = lambda: rt.build(ir.Function((X,), ir.make_call(op, (X,), AxisAbsAttrs())))  # noqa: E731
    np.testing.assert_array_equal(build().run([-x]), [[1, 1, 1], [-1, -1, -1]])

    @rt.generic_func
    def strategy(attrs: Any, inputs: Any, out_type: Any) -> rt.OpStrategy:
        raise AssertionError("another key is registered")

    @strategy.register(keys="cpu")
    def on_cpu(attrs: Any, inputs: Any, out_type: Any) -> rt.OpStrategy:
        used.append(f"strategy for {out_type}")
        return rt.OpStrategy().add_implementation(None, mine, "mine")

    rt.register_strategy("hand.axis_abs2", strategy, plevel=11)
    np.testing.assert_array_equal(build().run([x]), x)
    assert used[0] == "schedule"
    assert "strategy for Tensor[(2, 3), float32]" in used


def test_declared_ops_take_them_too() -> None:
    used: list[str] = []

    def mine(outputs: Any, target: Any) -> Any:
        used.append("mine")
        return create_schedule(outputs)

    rt.register_schedule("abs", mine, plevel=20)
    try:
        found = rt.build(ir.Function((X,), ops.abs(X))).run([-np.ones((2, 3), np.float32)])
    finally:
        rt.Op.get("abs").reset_attr("strategy", plevel=20)
    np.testing.assert_array_equal(found, np.ones((2, 3)))
    assert used == ["mine"]
