"""What tests of counters say of the steps of a loop, against all ways that its branches may go."""

from __future__ import annotations

import random

import numpy as np
import pytest
from opgen_runtime.errors import PassError

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.ir.loops import loop_of, own_name
from opgen_runtime.operator import TensorType
from opgen_runtime.transform.loop_steps import most_steps

FAR = 300
"""Steps after which a loop of a counter of 8 bits is one without an end."""
COMPARED = {
    "<": (ops.less, np.less), "<=": (ops.less_equal, np.less_equal),
    ">": (ops.greater, np.greater), ">=": (ops.greater_equal, np.greater_equal),
}  # fmt: skip


def _longest(body: ir.Expr, n: ir.Var, first: np.generic, dtype: str) -> int:
    """The steps of the longest way; what is no test of the counter goes both ways."""
    evaluated = {test.__name__: function for test, function in COMPARED.values()}

    def following(node: ir.Expr, value: np.generic) -> set[int]:
        if isinstance(node, ir.If):
            if isinstance(node.condition, ir.Var):
                return following(node.then, value) | following(node.otherwise, value)
            assert isinstance(node.condition, ir.Call)
            operands = [value if arg is n else arg.data for arg in node.condition.args]
            holds = evaluated[node.condition.op.name](*operands)
            return following(node.then if holds else node.otherwise, value)
        if not isinstance(node, ir.Call):
            return set()
        added = node.args[0]
        assert isinstance(added, ir.Call)
        with np.errstate(over="ignore"):
            return {int((np.array(value, dtype) + added.args[1].data).astype(dtype))}

    values, steps = {int(first)}, 0
    while values and steps < FAR:
        values = set().union(*[following(body, np.array(value, dtype)[()]) for value in values])
        steps += bool(values)
    return steps


@pytest.mark.parametrize("seed", range(300))
def test_no_way_through_a_loop_takes_more_steps_than_its_bound(seed: int) -> None:
    source = random.Random(seed)
    dtype = source.choice(["int8", "uint8", "int8", "int64"])
    lowest, highest = (0, 250) if dtype == "uint8" else (-120, 120)
    type_ = TensorType((), dtype)
    n, flag = rt.var("n", type_), rt.var("flag", TensorType((), "bool"))
    own = own_name((n, flag), type_)
    pace = source.choice([1, 2, 7, 60, 100]) * (1 if dtype == "uint8" else source.choice([1, -1]))

    def made(depth: int) -> ir.Expr:
        if depth == 0 or source.random() < 0.2:
            return source.choice([again, n])
        condition: ir.Expr = flag
        if source.random() < 0.7:
            bound = np.array(source.choice([lowest, source.randint(lowest, highest), highest]), dtype)
            operands = [n, ir.const(bound)]
            condition = COMPARED[source.choice([*COMPARED])][0](*operands[:: source.choice([1, -1])])
        return ir.If(condition, made(depth - 1), made(depth - 1))

    again = ir.Call(own, (ops.add(n, np.array(pace, dtype)), flag))
    body = ir.If(flag, made(3), made(1)) if source.random() < 0.3 else made(3)
    first = np.array(source.randint(lowest, highest), dtype)
    loop = loop_of("counted", (n, flag), body, type_)
    try:
        found, _ = most_steps(loop, ir.Call(loop, (ir.const(first), ir.const(True))))
    except PassError:
        return
    assert _longest(body, n, first, dtype) <= found
