"""An op that is registered by hand, as in the field, is typed, fused and executed like a declared one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops, te
from opgen_runtime.base.vocabulary import OpPattern
from opgen_runtime.lower.library.strategy import OpStrategy
from opgen_runtime.lower.schedule import create_schedule
from opgen_runtime.operator.registry import Op, register_op, remove_op

USED: list[str] = []


def relation(types: Any, num_inputs: int, attrs: Any, reporter: Any) -> bool:
    if not all(t.is_complete for t in types[:num_inputs]):
        return False
    reporter.assign(types[num_inputs], types[0])
    return True


def compute(attrs: Any, inputs: Any, out_type: Any) -> list[te.Tensor]:
    x, y = inputs
    return [te.compute(out_type.shape, lambda *i: x[i] * 2.0 + y[i], name="out")]


def strategy(attrs: Any, inputs: Any, out_type: Any) -> OpStrategy:
    def schedule(outputs: Any, target: Any) -> Any:
        USED.append(f"{len(inputs)} inputs, {out_type}")
        return create_schedule(outputs)

    return OpStrategy().add_implementation(None, schedule, "mine", plevel=0)


@pytest.fixture
def op() -> Iterator[Op]:
    made = register_op("by_hand.mix").set_num_inputs(2).add_argument("x").add_argument("y")
    made.add_type_rel("Mix", relation).set_attr("TOpPattern", OpPattern.ELEMWISE)
    yield made.set_attr("FTVMCompute", compute)
    remove_op("by_hand.mix")


@pytest.mark.parametrize("executor", ["graph", "debug"])
def test_it_runs_beside_declared_ops(op: Op, executor: str) -> None:
    x, y = (rt.var(name, rt.TensorType((3, 4), "float32")) for name in "xy")
    call = ops.exp(ir.make_call(op, (ops.abs(x), y)))
    assert call.checked_type == rt.TensorType((3, 4), "float32")
    a, b = (np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4) * k for k in (1, 2))
    found = rt.create_executor(executor).evaluate(call, {x: a, y: b}).numpy()
    np.testing.assert_allclose(found, np.exp(np.abs(a) * 2 + b), rtol=1e-6)
    fused = rt.transform.Sequential([rt.transform.InferType(), rt.transform.FuseOps()])(
        rt.IRModule.from_expr(call)
    )
    assert str(fused).count("Primitive") == 1


def test_its_strategy_is_asked(op: Op) -> None:
    op.set_attr("strategy", strategy)
    x = rt.var("x", rt.TensorType((5,), "float32"))
    data = np.arange(5, dtype=np.float32)
    USED.clear()
    found = rt.create_executor("graph").evaluate(ir.make_call(op, (x, x)), {x: data}).numpy()
    np.testing.assert_array_equal(found, data * 3)
    assert USED == ["2 inputs, Tensor[(5,), float32]"]
