"""Why two ops, one of which reads the other's result, are in different segments."""

from __future__ import annotations

from collections.abc import Sequence

from ....base.vocabulary import OpPattern
from ....ir import TupleGetItem
from ....operator import Op, TupleType
from .dataflow import Node
from .groups import Groups


def reasons(nodes: Sequence[Node], groups: Groups) -> list[str]:
    """A line for each pair of ops, `exp -> sum: why`, in the order of the readers."""
    found = {
        (id(node.call), id(user.call), why): f"{_name(node)} -> {_name(user)}: {why}"
        for node in nodes
        if node.call is not None
        for user in _readers(node)
        if groups.find(user) is not groups.find(node)
        for why in (_why(node, user, groups),)
    }
    return list(found.values())


def _readers(node: Node) -> list[Node]:
    """The ops that read a node's result, or a field of it, each once."""
    fields = [part for part in node.readers if part.call is None and isinstance(part.expr, TupleGetItem)]
    return list(dict.fromkeys([user for part in (node, *fields) for user, _ in part.users]))


def _name(node: Node) -> str:
    assert node.call is not None
    assert isinstance(node.call.op, Op)
    return node.call.op.name


def _why(node: Node, user: Node, groups: Groups) -> str:
    if groups.max_ops == 1:
        return "every op is a segment of its own at level 0"
    for each in (node, user):
        if isinstance(each.expr.checked_type, TupleType):
            return f"{_name(each)} has several results"
        if each.pattern == OpPattern.OPAQUE:
            return f"{_name(each)} is opaque"
    if node.block is not user.block:
        return "they are in different blocks of control flow"
    known = groups.apart.get((node, user)) or groups.apart.get((node, groups.find(user).root))
    if known is not None:
        return known
    if node.parent is not None and (known := groups.apart.get((node, node.parent))) is not None:
        return known
    if node.escapes:
        return f"the result of {_name(node)} is needed elsewhere, too"
    if node.parent is None:
        return f"no op comes after all that read {_name(node)}"
    mine, theirs = groups.find(node).pattern, groups.find(user).pattern
    if OpPattern.OUT_ELEMWISE_FUSABLE in (mine, theirs) and min(mine, theirs) >= OpPattern.COMM_REDUCE:
        return "both are reductions, and one of them a contraction"
    if theirs == OpPattern.OUT_ELEMWISE_FUSABLE:
        return f"{_name(user)} reads each element often, and {_name(node)} is computed once"
    if mine >= OpPattern.COMM_REDUCE:
        return f"{_name(user)} does not read the reduction element by element"
    return f"{_name(node)} also feeds ops that cannot be joined with {_name(user)}"
