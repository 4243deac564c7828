"""Values of expressions while a program is compiled: constants, and what given arrays decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ..declaration import Arrays, evaluate_call
from ..ir import Call, Constant, Expr, Tuple, TupleGetItem, Var, post_order
from ..operator import Attrs, Op, TensorType, TupleType, Type

_SMALL: Final = 1 << 16  # elements; below it numpy is faster than compiling


class Evaluator:
    """Evaluates calls of ops and tuples of them over variables with known arrays; each node once.

    This one interprets tensor expressions by numpy.  `PassContext(evaluator=...)` gives passes another class, which
    overrides `compiled` for values of many elements: that of the executors compiles them.
    """

    def __init__(self, arrays: Mapping[Var, np.ndarray] | None = None) -> None:
        self.arrays: dict[Var, np.ndarray] = dict(arrays or {})
        self._results: dict[int, Arrays] = {}
        self._constant: dict[int, bool] = {}
        self._alive: list[Expr] = []  # an id stays that of its node

    def is_constant(self, expr: Expr) -> bool:
        """Whether `expr` is made of constants, calls of ops and tuples alone, and not of dims."""
        for node in self._order(expr, self._constant):
            known = isinstance(node, Constant | Tuple | TupleGetItem) or (
                is_op_call(node) and not reads_dims(node)
            )
            self._constant[id(node)] = known and all([self._constant[id(c)] for c in node.children()])
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
            self.will_make(expr.checked_type)
            found = frozen(self.made(expr))
            self._results[id(expr)] = found
            self._alive.append(expr)
        return found

    def made(self, expr: Expr) -> Arrays:
        """The value of an expression that has none yet."""
        order = self._order(expr, self._results)
        large = sum([elements(node.checked_type) for node in order]) > _SMALL
        found = self.compiled(expr) if large else None
        return self._by_op(order) if found is None else found

    def will_make(self, kind: Type) -> None:
        """A value of that type is about to be made."""

    def compiled(self, expr: Expr) -> Arrays | None:
        """The value of an expression of many elements by compiling it, or None to interpret it."""
        return None

    def _order(self, expr: Expr, done: Mapping[int, object]) -> list[Expr]:
        return [] if id(expr) in done else [
            node for node in post_order(expr, lambda node: id(node) in done) if id(node) not in done
        ]  # fmt: skip

    def _by_op(self, order: Sequence[Expr]) -> Arrays:
        for node in order:
            self._results[id(node)] = frozen(self._node(node))
            self._alive.append(node)
        return self._results[id(order[-1])]

    def _node(self, node: Expr) -> Arrays:
        if isinstance(node, Constant):
            return node.data
        if isinstance(node, Var):
            return self.arrays[node]
        inner = [self._results[id(child)] for child in node.children()]
        if isinstance(node, Call):
            return evaluate_call(node, inner)
        if isinstance(node, TupleGetItem):
            return inner[0][node.index]
        assert isinstance(node, Tuple), "what is evaluated is calls of ops and tuples"
        return tuple(inner)


def is_op_call(expr: Expr) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op)


def reads_dims(expr: Expr) -> bool:
    """Whether a node's attrs are made of symbolic dims, so that it has another value for each of theirs."""
    return isinstance(expr, Call) and isinstance(expr.attrs, Attrs) and bool(expr.attrs.open_dims)


def elements(kind: Type) -> int:
    """How many elements a value of the type has, those of a tuple together; 1 where that is not known."""
    if isinstance(kind, TupleType):
        return sum([elements(field) for field in kind.fields])
    if isinstance(kind, TensorType) and kind.is_static:
        return math.prod(kind.concrete_shape)
    return 1


def frozen(value: Arrays) -> Arrays:
    """The arrays, or views of them, that cannot be written to."""
    if isinstance(value, tuple):
        return tuple([frozen(part) for part in value])
    array = np.asarray(value)
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array
