"""The symbolic dims in the types and the attrs of a program."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ....base.arith import Expr, Var, free_vars
from ....base.arith.expr import Any, AnyDim
from ....ir import Call, Function, post_order
from ....ir import Expr as Node
from ....operator import Attrs, TensorType, TupleType, Type


def dims_in(function: Function) -> tuple[Var, ...]:
    """The symbolic dims of a function's types, then those of attrs alone, in the order in which they occur, which equal
    functions share.
    """
    found: dict[Var, None] = {}
    nodes = list(post_order(function.body))
    for dim in sizes_of([*function.params, *nodes]):
        if not isinstance(dim, AnyDim):
            found.update(dict.fromkeys(free_vars(dim)))
    for node in nodes:
        if isinstance(node, Call) and isinstance(node.attrs, Attrs):
            found.update(dict.fromkeys(node.attrs.open_dims))
    return tuple(found)


def sizes_of(nodes: Sequence[Node]) -> Iterator[Expr]:
    """The dims in the types of nodes that are no ints, in order."""
    kinds = [node.checked_type for node in reversed(nodes)]
    while kinds:
        kind = kinds.pop()
        if isinstance(kind, TupleType):
            kinds.extend(reversed(kind.fields))
        elif isinstance(kind, TensorType):
            yield from [dim for dim in kind.shape if isinstance(dim, Expr)]


def are_bound(segment: Function) -> bool:
    """Whether each dim of a segment is the whole dim of an operand somewhere, and none is unknown."""
    sizes = list(sizes_of(segment.params))
    needed = {*dims_in(segment), *[dim for dim in sizes if isinstance(dim, AnyDim)]}
    return needed <= {dim for dim in sizes if isinstance(dim, Var)}


def declared_of(function: Function) -> Type:
    """The declared type of a function's result, `?` for dims that no parameter binds; of the body where none is."""
    if function.ret_type is None:
        return function.body.checked_type
    bound = {dim for dim in sizes_of(function.params) if isinstance(dim, Var)}
    return _of_bound(function.ret_type, bound)


def _of_bound(kind: Type, bound: Collection[Var]) -> Type:
    if isinstance(kind, TupleType):
        return TupleType(tuple([_of_bound(field, bound) for field in kind.fields]))
    if not isinstance(kind, TensorType):
        return kind
    dims = [dim if isinstance(dim, int) or set(free_vars(dim)) <= set(bound) else Any() for dim in kind.shape]
    return TensorType(tuple(dims), kind.dtype)
