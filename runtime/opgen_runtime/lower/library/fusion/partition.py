"""The body of a function with each group of ops replaced by a call of its segment.

A segment is a function marked `Primitive`.  Scalar constants become part of it, other constants are its arguments.
Of several results it gives a tuple.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from ....ir import Call, Constant, Expr, Function, Tuple, TupleGetItem, Var, rebuild
from ....operator import TupleType
from .dataflow import Node, is_segment, position
from .groups import Groups
from .joint import results
from .order import in_order

PRIMITIVE: Final = MappingProxyType({"Primitive": 1})


def partition(body: Expr, nodes: Sequence[Node], groups: Groups) -> Expr:
    """`body` with a call of a segment for each group; `nodes` are those of its dataflow."""
    new: dict[int, Expr] = {}
    for group in in_order(nodes, groups):
        if not group.members:
            expr = group.root.expr
            if is_segment(expr):
                new[id(expr)] = expr
            else:
                children = expr.children()
                if all([id(child) in new for child in children]):
                    new[id(expr)] = rebuild(expr, [new[id(child)] for child in children])
                # else: a tuple of operands inside one segment, which is rebuilt there
            continue
        members = sorted(group.members, key=position)
        outer = results(group, groups)
        function, operands = made_segment(members, outer)
        call = Call(function, tuple([_replaced(each, new) for each in operands]), span=members[-1].expr.span)
        for k, result in enumerate(outer):
            new[id(result.expr)] = call if len(outer) == 1 else TupleGetItem(call, k)
    return new[id(body)]


def made_segment(members: Sequence[Node], outer: Sequence[Node]) -> tuple[Function, list[Expr]]:
    """The function that holds `members`, operands first, and gives the values of `outer`; and what it is called with.

    A tuple that is computed outside is handed over field by field.
    """
    inside: dict[int, Expr] = {}
    params: list[Var] = []
    operands: list[Expr] = []

    def param(expr: Expr) -> Var:
        hint = expr.name_hint if isinstance(expr, Var) else f"p{len(params)}"
        params.append(Var(hint, expr.checked_type))
        operands.append(expr)
        return params[-1]

    def operand(expr: Expr) -> Expr:
        found = inside.get(id(expr))
        if found is None:
            if isinstance(expr, Constant) and expr.is_scalar:
                found = expr
            elif isinstance(expr, Tuple):
                found = Tuple(tuple([operand(part) for part in expr.fields]), span=expr.span)
            elif isinstance(expr.checked_type, TupleType):
                parts = range(len(expr.checked_type.fields))
                found = Tuple(tuple([param(TupleGetItem(expr, k)) for k in parts]))
            else:
                found = param(expr)
            inside[id(expr)] = found
        return found

    for member in members:
        call, expr = member.call, member.expr
        assert call is not None
        if id(call) not in inside:
            args = tuple([operand(arg) for arg in call.args])
            inside[id(call)] = Call(call.op, args, call.attrs, call.type_args, span=call.span)
        if isinstance(expr, TupleGetItem):
            inside[id(expr)] = TupleGetItem(inside[id(call)], expr.index, span=expr.span)
    values = tuple([inside[id(result.expr)] for result in outer])
    return Function(
        tuple(params), values[0] if len(values) == 1 else Tuple(values), attrs=PRIMITIVE
    ), operands


def _replaced(operand: Expr, new: dict[int, Expr]) -> Expr:
    if id(operand) in new:
        return new[id(operand)]
    assert isinstance(operand, TupleGetItem)  # made above: a field of a tuple that is computed outside
    return TupleGetItem(new[id(operand.tuple_value)], operand.index)
