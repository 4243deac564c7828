"""MixedModeVisitor: plain methods over the nodes, operands first.

    class CountAdds(MixedModeVisitor):
        count = 0

        def visit_call(self, call: Call) -> None:
            self.count += call.op is ADD

`ExprVisitor` has a method decide which operands are visited, and when; here all were visited before their node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .expr import Call, Constant, Expr, Function, GlobalVar, If, Let, Tuple, TupleGetItem, Var
from .visitor import post_order


class MixedModeVisitor:
    """Calls `visit_<node>(node)` once for every node, in the order of `post_order`; override those of interest."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._alive: list[Expr] = []  # an id stays that of its node

    def visit(self, expr: Expr) -> None:
        """Visit what lies in `expr` and this object has not met before."""
        methods: dict[type[Expr], Callable[[Any], None]] = {
            Var: self.visit_var,
            GlobalVar: self.visit_global_var,
            Constant: self.visit_constant,
            Call: self.visit_call,
            Tuple: self.visit_tuple,
            TupleGetItem: self.visit_tuple_get_item,
            Let: self.visit_let,
            If: self.visit_if,
            Function: self.visit_function,
        }
        for node in post_order(expr, lambda each: id(each) in self._seen):
            if id(node) not in self._seen:
                self._seen.add(id(node))
                self._alive.append(node)
                methods[type(node)](node)

    def visit_var(self, var: Var) -> None:
        """A variable, also where it is bound."""

    def visit_global_var(self, var: GlobalVar) -> None:
        """The name of a function of the module."""

    def visit_constant(self, constant: Constant) -> None:
        """A constant."""

    def visit_call(self, call: Call) -> None:
        """A call of an op or a function."""

    def visit_tuple(self, tup: Tuple) -> None:
        """A tuple."""

    def visit_tuple_get_item(self, item: TupleGetItem) -> None:
        """A field of a tuple."""

    def visit_let(self, let: Let) -> None:
        """A `let`, after its body."""

    def visit_if(self, node: If) -> None:
        """An `if`, after both branches."""

    def visit_function(self, function: Function) -> None:
        """A function, after its body."""
