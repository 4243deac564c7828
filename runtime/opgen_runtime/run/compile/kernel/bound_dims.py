"""All dims of a segment are bound by its parameters.

A reshape to `(n, (m + 3) // 8)` may follow values of which no whole dim is `m`: its kernel takes a parameter of the
program that has such a dim too, for its shape alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....base.arith import Var
from ....ir import Call, Function, post_order, rebuild
from ....ir import Expr as Node
from ....ir import Var as Parameter
from ....operator import TensorType
from .dims import dims_in, sizes_of
from .multiversioning import opened
from .segments import is_segment


def with_dims_bound(function: Function) -> Function:
    """A partitioned function whose segments take parameters for the dims in attrs that no operand binds.

    Segments stay as they are where no parameter of the function binds such a dim.
    """
    binders: dict[Var, Parameter] = {}
    for param in function.params:
        for dim in _whole([param]) if isinstance(param.checked_type, TensorType) else ():
            binders.setdefault(dim, param)
    if not binders:
        return function
    new: dict[int, Node] = {}
    for node in post_order(function.body, is_segment):
        children = [node] if is_segment(node) else [new[id(child)] for child in node.children()]
        made = node if is_segment(node) else rebuild(node, children)
        if isinstance(made, Call) and is_segment(made.op):
            needed = _needed(made.op, binders)
            if needed:
                more = [Parameter(each.name_hint, each.checked_type) for each in needed]
                segment = Function((*made.op.params, *more), made.op.body, attrs=made.op.attrs)
                made = Call(segment, (*made.args, *needed), made.attrs, made.type_args, span=made.span)
        new[id(node)] = made
    body = new[id(function.body)]
    if body is function.body:
        return function
    return Function(function.params, body, function.ret_type, function.type_params, function.attrs)


def _needed(segment: Function, binders: dict[Var, Parameter]) -> list[Parameter]:
    """The parameters that bind the dims of a segment which its own do not; none where some dim is bound by none."""
    apart = opened(segment)
    bound = set(_whole(apart.params))
    missing = [dim for dim in dims_in(apart) if dim not in bound]
    if not all([dim in binders for dim in missing]):
        return []
    return list(dict.fromkeys([binders[dim] for dim in missing]))


def _whole(params: Sequence[Parameter]) -> Iterator[Var]:
    """The dims that are whole dims of parameters."""
    return (dim for dim in sizes_of(params) if isinstance(dim, Var))
