"""Regions: parts of a function that are given to another compiler, each a function in its place.

    dense(%x, %w)      fn (%p0, %p1, Compiler="mylib") { dense(%p0, %p1) }(%x, %w)

A region reads its operands as parameters, tuples of operands field by field; constants stand in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Final, TypeGuard

from ..base.vocabulary import dataclass
from ..ir import (
    Call,
    Constant,
    Expr,
    ExprMutator,
    Function,
    Steps,
    Tuple,
    TupleGetItem,
    Var,
    rebuild,
    substitute,
)
from ..operator import TupleType

COMPILER: Final = "Compiler"
"""The attr of a function that another compiler is asked for; its value is the compiler's name."""
COMPOSITE: Final = "Composite"
"""The attr of a function that stands for a pattern of ops; its value is the pattern's name."""
SYMBOL: Final = "global_symbol"
"""The attr of a function of the module that is compiled by itself; its value is its name there."""


@dataclass(eq=False, slots=True)
class Region:
    """What becomes one function: `members`, operands first, and the attrs of the function.

    `outputs`: members whose values are read elsewhere, or are the function's result.
    """

    members: list[Expr]
    outputs: list[Expr]
    attrs: Mapping[str, object]
    inputs: list[Expr] = field(init=False)

    def __post_init__(self) -> None:
        inside = {id(member) for member in self.members}
        self.inputs = list(
            dict.fromkeys(
                [
                    each
                    for member in self.members
                    for each in operands_of(member)
                    if id(each) not in inside and not isinstance(each, Constant)
                ]
            )
        )


def is_region_call(expr: Expr) -> TypeGuard[Call]:
    """Whether an expression is a call of a region in its place."""
    return isinstance(expr, Call) and isinstance(expr.op, Function) and COMPILER in expr.op.attrs


def is_composite_call(expr: Expr) -> TypeGuard[Call]:
    """Whether an expression is a call of a function that stands for a pattern."""
    return isinstance(expr, Call) and isinstance(expr.op, Function) and COMPOSITE in expr.op.attrs


def is_closed(expr: Expr) -> bool:
    """Whether an expression is a function whose ops are not looked at one by one: a region, a pattern, a kernel."""
    return isinstance(expr, Function) and not {COMPILER, COMPOSITE, "Primitive"}.isdisjoint(expr.attrs)


def operands_of(member: Expr) -> list[Expr]:
    """What a member of a region reads, with tuples written out; not the function that it calls."""
    args = member.args if isinstance(member, Call) else member.children()
    found: list[Expr] = []
    stack = list(reversed(args))
    while stack:
        each = stack.pop()
        if isinstance(each, Tuple):
            stack.extend(reversed(each.fields))
        else:
            found.append(each)
    return found


def outlined(function: Function, regions: Sequence[Region]) -> Function:
    """`function` with a call of a function in place of each region; the same object where there is none."""
    made = _Outlining(regions).visit(function)
    assert isinstance(made, Function)
    return made


class _Outlining(ExprMutator):
    def __init__(self, regions: Sequence[Region]) -> None:
        super().__init__()
        self.regions = {id(output): region for region in regions for output in region.outputs}
        self.calls: dict[Region, Call] = {}

    def visit_call(self, call: Call) -> Steps[Expr]:
        return self.visit_member(call, ExprMutator.visit_call)

    def visit_tuple_get_item(self, item: TupleGetItem) -> Steps[Expr]:
        return self.visit_member(item, ExprMutator.visit_tuple_get_item)

    def visit_member(self, node: Expr, otherwise: Callable[..., Steps[Expr]]) -> Steps[Expr]:
        region = self.regions.get(id(node))
        if region is None:
            return (yield from otherwise(self, node))
        if region not in self.calls:
            args: list[Expr] = []
            for each in region.inputs:
                args.append((yield each))
            self.calls[region] = Call(function_of(region), tuple(args), span=node.span)
        whole = self.calls[region]
        if len(region.outputs) == 1:
            return whole
        first = sum(map(_width, region.outputs[: _place(region.outputs, node)]))
        fields = tuple([TupleGetItem(whole, first + k) for k in range(_width(node))])
        return Tuple(fields) if isinstance(node.checked_type, TupleType) else fields[0]


def function_of(region: Region) -> Function:
    """The function that a region becomes; regions that are members of it are written out."""
    params = [
        Var(each.name_hint if isinstance(each, Var) else f"p{k}", each.checked_type)
        for k, each in enumerate(region.inputs)
    ]
    new: dict[int, Expr] = {id(old): param for old, param in zip(region.inputs, params, strict=True)}
    for member in region.members:
        if is_region_call(member):
            callee = member.op
            assert isinstance(callee, Function)
            given = {p: _inside(arg, new) for p, arg in zip(callee.params, member.args, strict=True)}
            new[id(member)] = substitute(callee.body, dict(given))
            continue
        children = [
            child if isinstance(child, Function) else _inside(child, new) for child in member.children()
        ]
        made = rebuild(member, children)
        whole = made.tuple_value if isinstance(made, TupleGetItem) else None
        new[id(member)] = (
            whole.fields[made.index] if isinstance(made, TupleGetItem) and isinstance(whole, Tuple) else made
        )
    results = [new[id(output)] for output in region.outputs]
    body = results[0] if len(results) == 1 else Tuple(tuple([f for each in results for f in _fields(each)]))
    return Function(tuple(params), body, attrs=region.attrs)


def _inside(operand: Expr, new: dict[int, Expr]) -> Expr:
    """An operand as the region has it."""
    if id(operand) not in new:
        if not isinstance(operand, Tuple):
            return operand  # a constant
        new[id(operand)] = rebuild(operand, [_inside(each, new) for each in operand.fields])
    return new[id(operand)]


def _place(outputs: Sequence[Expr], node: Expr) -> int:
    return next(k for k, each in enumerate(outputs) if each is node)


def _width(node: Expr) -> int:
    """How many results of a region a member's value is."""
    return len(node.checked_type.fields) if isinstance(node.checked_type, TupleType) else 1


def _fields(value: Expr) -> list[Expr]:
    if not isinstance(value.checked_type, TupleType):
        return [value]
    if isinstance(value, Tuple):
        return list(value.fields)
    return [TupleGetItem(value, k) for k in range(len(value.checked_type.fields))]
