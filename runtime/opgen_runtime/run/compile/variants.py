"""Variants of a segment: the same program where more is known of its dims, each with a schedule of its own.

A kernel chooses among them when it runs.  All of them have the kernel's operands; the whole segment serves what no
guard holds of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from ...base.arith import Analyzer, Const, Expr, Var, free_vars, structural_equal, substitute
from ...ir import Call, Function, post_order, rebuild
from ...ir import Expr as Node
from ...ir import Var as Parameter
from ...lower.schedule import Narrowing
from ...operator import Attrs, TensorType, TupleType, Type

MOST_VARIANTS: Final = 4  # of a segment, the whole of it included

A = TypeVar("A")
Values = Mapping[Var, Expr]


@dataclass(frozen=True, slots=True)
class Variant(Generic[A]):
    """What a segment is where the narrowing's guard holds."""

    narrowing: Narrowing
    what: A


def distinct(narrowings: list[Narrowing]) -> list[Narrowing]:
    """The first of the narrowings, without those whose guards come before, as many as there may be."""
    found: list[Narrowing] = []
    for each in narrowings:
        if not any(structural_equal(each.guard, before.guard) for before in found):
            found.append(each)
    return found[: MOST_VARIANTS - 1]


def narrowed(function: Function, values: Values) -> Function:
    """A segment of which dims are replaced by what they are known to be."""
    params = [
        Parameter(param.name_hint, _type(param.checked_type, values), span=param.span)
        for param in function.params
    ]
    new: dict[int, Node] = {id(old): param for old, param in zip(function.params, params, strict=True)}
    for node in post_order(function.body):
        if id(node) in new:
            continue
        children = [new[id(child)] for child in node.children()]
        if isinstance(node, Call) and node.attrs is not None:
            attrs = _attrs(node.attrs, values)
            new[id(node)] = Call(node.op, tuple(children), attrs, node.type_args, span=node.span)
        else:
            new[id(node)] = rebuild(node, children)
    return Function(tuple(params), new[id(function.body)], attrs=function.attrs)


def _type(kind: Type, values: Values) -> Type:
    if isinstance(kind, TupleType):
        return TupleType(tuple([_type(field, values) for field in kind.fields]))
    if not isinstance(kind, TensorType):
        return kind
    dims = [dim if isinstance(dim, int) else _dim(dim, values) for dim in kind.shape]
    return TensorType(tuple(dims), kind.dtype)


def _dim(dim: Expr, values: Values) -> int | Expr:
    if set(values).isdisjoint(free_vars(dim)):
        return dim
    found = Analyzer().simplify(substitute(dim, values))
    return int(found.value) if isinstance(found, Const) else found


def _attrs(attrs: Attrs, values: Values) -> Attrs:
    changes = {name: _value(value, values) for name, value in attrs.as_dict().items()}
    changed = {name: value for name, value in changes.items() if value is not attrs[name]}
    return attrs.replace(**changed) if changed else attrs


def _value(value: object, values: Values) -> object:
    if isinstance(value, tuple):
        parts = tuple([_value(part, values) for part in value])
        return parts if any(a is not b for a, b in zip(parts, value, strict=True)) else value
    return _dim(value, values) if isinstance(value, Expr) else value
