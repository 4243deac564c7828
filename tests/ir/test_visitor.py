"""Walks and rewriting: each shared node once, and no recursion limit."""

from __future__ import annotations

import time

import pytest

from opgen_runtime import ir, ops
from opgen_runtime.ir import Steps
from opgen_runtime.operator.registry import Op
from opgen_runtime.operator.types import TensorType

F = TensorType((2, 3), "float32")


class SwapAddMultiply(ir.MixedModeMutator):
    def __init__(self) -> None:
        super().__init__()
        self.seen = 0

    def rewrite_call(self, pre: ir.Call, post: ir.Call) -> ir.Expr:
        self.seen += 1
        assert isinstance(post.op, Op)
        other = {"add": "multiply", "multiply": "add"}.get(post.op.name)
        return post if other is None else ir.make_call(Op.get(other), post.args)


class CountCalls(ir.ExprVisitor):
    count = 0

    def visit_call(self, call: ir.Call) -> Steps[None]:
        yield from super().visit_call(call)
        self.count += 1


class Negate(ir.ExprMutator):
    """exp(x) becomes exp(-x)."""

    def visit_call(self, call: ir.Call) -> Steps[ir.Expr]:
        changed: ir.Expr = yield from super().visit_call(call)
        assert isinstance(changed, ir.Call)
        return ops.exp(ops.negative(changed.args[0])) if changed.op == Op.get("exp") else changed


class Names(ir.MixedModeVisitor):
    """What is met, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.met: list[str] = []

    def visit_var(self, var: ir.Var) -> None:
        self.met.append(f"%{var.name_hint}")

    def visit_call(self, call: ir.Call) -> None:
        assert isinstance(call.op, Op)
        self.met.append(call.op.name)

    def visit_let(self, let: ir.Let) -> None:
        self.met.append(f"let %{let.var.name_hint}")


def chain(length: int) -> ir.Expr:
    expr: ir.Expr = ir.var("x", F)
    op = Op.get("exp")
    for _ in range(length):
        expr = ir.Call(op, (expr,))
    return expr


def test_a_chain_of_100_000_calls() -> None:
    expr = chain(100_000)
    counter = CountCalls()
    counter.visit(expr)
    assert counter.count == 100_000
    assert ir.MixedModeMutator().rewrite(expr) is expr
    assert ir.ExprMutator().visit(expr) is expr
    longer = Negate().visit(expr)
    assert len(ir.post_order(longer)) == 200_001
    assert ir.structural_equal(longer, Negate().visit(expr))
    assert not ir.structural_equal(longer, expr)
    assert ir.well_formed(expr)
    assert ir.to_text(expr).count("\n") == 100_000
    del longer, expr  # taking the chain apart does not recurse either


def test_time_grows_with_the_length() -> None:
    def seconds(length: int) -> float:
        expr = chain(length)
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            SwapAddMultiply().rewrite(expr)
            ir.structural_hash(expr)
            ir.to_text(expr)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(16_000) < 16 * max(seconds(2_000), 0.002)  # linear would be 8


def test_mixed_mode_visits_operands_first_and_each_node_once() -> None:
    x, v = ir.var("x", F), ir.Var("v", F)
    shared = ops.exp(x)
    body = ir.Let(v, ops.add(shared, shared), ops.multiply(v, shared))
    names = Names()
    names.visit(body)
    assert names.met == ["%v", "%x", "exp", "add", "multiply", "let %v"]
    names.visit(ops.tanh(body))  # what it has met before is not visited again
    assert names.met[6:] == ["tanh"]
    long = Names()
    long.visit(chain(100_000))
    assert len(long.met) == 100_001


def test_a_dag_of_2_to_the_60_paths() -> None:
    expr: ir.Expr = ir.var("x", F)
    for _ in range(60):
        expr = ops.add(expr, expr)
    swap = SwapAddMultiply()
    product = swap.rewrite(expr)
    assert swap.seen == 60
    assert len(ir.post_order(product)) == 61
    assert ir.structural_equal(SwapAddMultiply().rewrite(product), expr)
    assert ir.structural_equal(ir.parse_expr(ir.to_text(expr)), expr, map_free_vars=True)
    assert ir.structural_digest(expr) != ir.structural_digest(product)


def test_deep_lets_branches_and_functions() -> None:
    x = ir.var("x", F)
    body: ir.Expr = x
    for _ in range(2_000):
        v = ir.Var("v", F)
        body = ir.Let(v, x, ir.If(ir.const(True), ir.Call(ir.Function((ir.Var("p", F),), v), (v,)), body))
    counter = CountCalls()
    counter.visit(body)
    assert counter.count == 2_000
    assert ir.well_formed(body)
    assert ir.free_vars(body) == [x]
    assert ir.structural_equal(body, body)
    assert ir.to_text(body).count("let ") == 2_000


def test_free_variables_in_order_of_use() -> None:
    x, y, z = (ir.var(name, F) for name in "xyz")
    assert ir.free_vars(ir.Let(z, ops.add(y, x), ops.add(z, y))) == [y, x]
    assert ir.free_vars(ir.Function((x,), ops.add(x, y))) == [y]


def test_substitution_keeps_what_does_not_change() -> None:
    x, y = ir.var("x", F), ir.var("y", F)
    kept = ops.exp(y)
    changed = ir.substitute(ops.add(ops.exp(x), kept), {x: y})
    assert isinstance(changed, ir.Call)
    assert changed.args[1] is kept
    assert ir.free_vars(changed) == [y]


def test_a_functor_without_a_method_says_so() -> None:
    class Nothing(ir.ExprFunctor[int]):
        pass

    with pytest.raises(NotImplementedError, match="Nothing has no method for Var"):
        Nothing().visit(ir.var("x", F))
