"""A segment over operands of other types: its calls are made again, so that types are inferred anew."""

from __future__ import annotations

from collections.abc import Callable

from ....base.arith.expr import Dim
from ....ir import Call, Function, post_order, rebuild
from ....ir import Expr as Node
from ....ir import Var as Parameter
from ....operator import Attrs, TensorType, TupleType, Type


def retyped(function: Function, sized: Callable[[Dim], Dim], valued: Callable[[object], object]) -> Function:
    """A segment with other dims in the types of its parameters, and other values in attrs, which stay where they are
    the same objects.  Raises what type inference raises, at once or when a type is asked for.
    """
    params = [
        Parameter(param.name_hint, _type(param.checked_type, sized), span=param.span)
        for param in function.params
    ]
    new: dict[int, Node] = {id(old): param for old, param in zip(function.params, params, strict=True)}
    for node in post_order(function.body):
        if id(node) in new:
            continue
        children = [new[id(child)] for child in node.children()]
        if isinstance(node, Call) and node.attrs is not None:
            attrs = _attrs(node.attrs, valued)
            new[id(node)] = Call(node.op, tuple(children), attrs, node.type_args, span=node.span)
        else:
            new[id(node)] = rebuild(node, children)
    return Function(tuple(params), new[id(function.body)], attrs=function.attrs)


def _type(kind: Type, sized: Callable[[Dim], Dim]) -> Type:
    if isinstance(kind, TupleType):
        return TupleType(tuple([_type(field, sized) for field in kind.fields]))
    if not isinstance(kind, TensorType):
        return kind
    return TensorType(tuple([sized(dim) for dim in kind.shape]), kind.dtype)


def _attrs(attrs: Attrs, valued: Callable[[object], object]) -> Attrs:
    changes = {name: valued(value) for name, value in attrs.as_dict().items()}
    changed = {name: value for name, value in changes.items() if value is not attrs[name]}
    return attrs.replace(**changed) if changed else attrs
