"""Values of expressions while a model is converted: constants, and what the inputs of a call decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ...ir import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var, post_order
from ...operator.types import TensorType, TupleType, Type
from ...run.executor import Arrays, build, call_op
from .limits import Budget

_SMALL: Final = 1 << 16  # elements; below it numpy is faster than compiling


class Evaluator:
    """Evaluates expressions over variables with known arrays; each node once."""

    def __init__(self, arrays: Mapping[Var, np.ndarray], budget: Budget) -> None:
        self.budget = budget
        self.arrays: dict[Var, np.ndarray] = dict(arrays)
        self._results: dict[int, Arrays] = {}
        self._constant: dict[int, bool] = {}
        self._alive: list[Expr] = []  # an id stays that of its node

    def is_constant(self, expr: Expr) -> bool:
        """Whether `expr` reads no variable."""
        for node in self._order(expr, self._constant):
            inner = node.children()
            self._constant[id(node)] = not isinstance(node, Var) and all(
                [self._constant[id(c)] for c in inner]
            )
            self._alive.append(node)
        return self._constant[id(expr)]

    def array(self, expr: Expr) -> np.ndarray:
        """The value of an expression of tensor type."""
        result = self.result(expr)
        assert isinstance(result, np.ndarray)
        return result

    def result(self, expr: Expr) -> Arrays:
        """The value of an expression whose variables have arrays, read-only."""
        found = self._results.get(id(expr))
        if found is None:
            order = self._order(expr, self._results)
            cost = sum([_size(node.checked_type) for node in order])
            self.budget.made(expr.checked_type)
            found = self._by_op(order) if cost <= _SMALL else self._compiled(expr)
            self._results[id(expr)] = found
            self._alive.append(expr)
        return found

    def _order(self, expr: Expr, done: Mapping[int, object]) -> list[Expr]:
        return [] if id(expr) in done else [
            node for node in post_order(expr, lambda node: id(node) in done) if id(node) not in done
        ]  # fmt: skip

    def _by_op(self, order: Sequence[Expr]) -> Arrays:
        for node in order:
            self._results[id(node)] = _frozen(self._node(node))
            self._alive.append(node)
        return self._results[id(order[-1])]

    def _node(self, node: Expr) -> Arrays:
        if isinstance(node, Constant):
            return node.data
        if isinstance(node, Var):
            return self.arrays[node]
        inner = [self._results[id(child)] for child in node.children()]
        if isinstance(node, Call):
            return call_op(node, inner)
        if isinstance(node, TupleGetItem):
            return inner[0][node.index]
        assert isinstance(node, Tuple), "a model is calls and tuples"
        return tuple(inner)

    def _compiled(self, expr: Expr) -> Arrays:
        leaves = [node for node in post_order(expr) if isinstance(node, Var)]
        executable = build(Function(tuple(leaves), expr))
        return _frozen(executable.run([np.ascontiguousarray(self.arrays[leaf]) for leaf in leaves]))


def _size(kind: Type) -> int:
    if isinstance(kind, TupleType):
        return sum([_size(field) for field in kind.fields])
    if isinstance(kind, TensorType) and kind.is_static:
        return math.prod(kind.concrete_shape)
    return 1


def _frozen(value: Arrays) -> Arrays:
    if isinstance(value, tuple):
        return tuple([_frozen(part) for part in value])
    array = np.asarray(value)
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array
