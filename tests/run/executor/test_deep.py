"""Programs that are deep: chains of every kind of node, and functions that call themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.run.compile.interpret import interpreter
from opgen_runtime.run.compile.interpret.interpreter import Scope

TYPE = rt.TensorType((2,), "float32")
X = rt.var("x", TYPE)


def lets(depth: int) -> rt.Expr:
    names = [rt.Var(f"v{k}", TYPE) for k in range(depth)]
    body: rt.Expr = names[-1]
    for k in reversed(range(depth)):
        body = rt.Let(names[k], ops.negative(names[k - 1] if k else X), body)
    return body


def chain(wrap: Callable[[rt.Expr], rt.Expr]) -> Callable[[int], rt.Expr]:
    def made(depth: int) -> rt.Expr:
        body: rt.Expr = X
        for _ in range(depth):
            body = wrap(body)
        return body

    return made


def called(body: rt.Expr) -> rt.Expr:
    own = rt.Var("own", TYPE)
    return rt.Call(rt.Function((own,), ops.negative(own)), (body,))


def nested(depth: int) -> rt.Expr:
    """Functions that stand inside functions."""
    own = rt.Var("own", TYPE)
    made = rt.Function((own,), ops.negative(own))
    for _ in range(depth - 1):
        own = rt.Var("own", TYPE)
        made = rt.Function((own,), ops.negative(rt.Call(made, (own,))))
    return rt.Call(made, (X,))


KINDS = {
    "calls": (chain(ops.negative), 3000),
    "lets": (lets, 1501),
    "choices": (chain(lambda body: rt.If(rt.const(True), ops.negative(body), X)), 1501),
    "tuples": (chain(lambda body: rt.TupleGetItem(rt.Tuple((ops.negative(body),)), 0)), 1501),
    "functions": (chain(called), 1501),
    "functions in functions": (nested, 1501),
}


@pytest.mark.parametrize("kind", KINDS)
def test_debug_runs_chains_of_any_depth(kind: str) -> None:
    make, depth = KINDS[kind]
    found = rt.create_executor("debug").evaluate(make(depth), {X: np.ones(2, np.float32)})
    np.testing.assert_array_equal(found.numpy(), [(-1) ** depth] * 2)


@pytest.mark.parametrize("kind", KINDS)
def test_graph_runs_chains_of_any_depth(kind: str) -> None:
    make, depth = KINDS[kind]
    found = rt.create_executor("graph", opt_level=0).evaluate(make(depth), {X: np.ones(2, np.float32)})
    np.testing.assert_array_equal(found.numpy(), [(-1) ** depth] * 2)


def test_an_activation_holds_its_own_values_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def scope(own: dict[rt.Var, object], outer: object = None) -> Scope:
        sizes.append(len(own))
        return Scope(own, outer)  # type: ignore[arg-type]

    monkeypatch.setattr(interpreter, "Scope", scope)
    rt.create_executor("debug").evaluate(nested(40), {X: np.ones(2, np.float32)})
    assert sizes == [1] * 41


def test_debug_runs_deep_recursion() -> None:
    module = rt.parse_module("""
        def @down(%n: Tensor[(), int64]) -> Tensor[(), int64] {
            if (less(%n, 1i64)) { 0i64 } else { add(@down(subtract(%n, 1i64)), 2i64) }
        }
        def @main(%n: Tensor[(), int64]) -> Tensor[(), int64] { @down(%n) }
    """)
    assert rt.create_executor("debug", module).evaluate()(np.int64(1200)).numpy() == 2400
