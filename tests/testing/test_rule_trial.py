"""What a rule of a declared rewrite decreases."""

from __future__ import annotations

import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.testing.rule_trial import first_less

X = rt.var("x", shape=(2,), dtype="float32")
Y = rt.var("y", shape=(2,), dtype="float32")


@pytest.mark.parametrize(
    ("before", "after", "measures", "expected"),
    [
        (ops.abs(ops.negative(X)), ops.abs(X), ("nodes",), "nodes"),
        (ops.square(X), ops.multiply(X, X), ("square",), "square"),  # x stands twice, and is one node
        (ops.square(X), ops.multiply(X, X), ("exp", "square"), "square"),  # of `exp` there are no more
        (ops.square(X), ops.multiply(ops.exp(X), ops.exp(X)), ("exp", "square"), None),  # here there are
        (ops.multiply(X, Y), ops.multiply(Y, X), ("nodes", "cost"), None),
        (ops.divide(X, Y), ops.multiply(X, ops.reciprocal(Y)), ("divide", "reciprocal"), "divide"),
        (ops.divide(X, Y), ops.multiply(X, ops.reciprocal(Y)), ("reciprocal", "divide"), None),
        (ops.multiply(ops.exp(X), ops.exp(X)), ops.exp(ops.add(X, X)), ("abs", "exp"), "exp"),
        (ops.add(ops.exp(X), Y), ops.multiply(Y, Y), ("abs", "exp"), None),  # y stands more often: as a tree
    ],
)
def test_first_less(before: rt.Expr, after: rt.Expr, measures: tuple[str, ...], expected: str | None) -> None:
    assert first_less(before, after, {id(X), id(Y)}, measures) == expected
