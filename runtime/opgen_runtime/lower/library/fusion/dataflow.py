"""The dataflow graph of a function body, and the post-dominator of each of its nodes.

The immediate post-dominator of a node is the nearest later node through which every path from it to a result goes; if
it is fused with anything, then with that one and all that lies between.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ....base.vocabulary import OpPattern
from ....declaration import pattern_of
from ....ir import Call, Expr, Function, Tuple, TupleGetItem, post_order
from ....ir.scopes import Block, blocks_of
from ....operator import Op, TensorType, same_shape


@dataclass(eq=False, slots=True)
class Node:
    """A node of the graph.

    `call`: the call of an op that it is, or is a field of; None for what is no op.  `users`: (call that reads this one,
    how it does) for each read; `parts`: the nodes that it is made of, `readers`: those that have it as a part.
    `escapes`: the value is needed by something that cannot be fused with (the result, a branch, another block).
    `parent`: the immediate post-dominator, or None.
    `reach`: the most restrictive way in which the paths up to `parent` read.  `position`: in the order of `dataflow`;
    `block`: the block of control flow that it belongs to.
    """

    expr: Expr
    call: Call | None
    pattern: OpPattern
    position: int
    block: Block | None
    users: list[tuple[Node, OpPattern]] = field(default_factory=list)
    parts: list[Node] = field(default_factory=list)
    readers: list[Node] = field(default_factory=list)
    escapes: bool = False
    parent: Node | None = None
    reach: OpPattern = OpPattern.OPAQUE
    depth: int = 0


def dataflow(body: Expr) -> list[Node]:
    """The nodes of `body`, each after those that it reads; calls of ops have their patterns, the rest is opaque.

    Functions marked `Primitive` are segments already: they are nodes, and what they hold is left out.
    """
    order = post_order(body, is_segment)
    blocks = blocks_of(body, order)
    calls = {id(expr): expr for expr in order if isinstance(expr, Call) and is_op_call(expr)}
    in_calls = {id(arg) for call in calls.values() for arg in call.children() if isinstance(arg, Tuple)}
    fields = _fields(order, body)
    apart = {id(call) for call in fields.values()}
    order = [expr for expr in order if id(expr) not in apart]
    calls.update(fields)
    nodes = {
        id(expr): Node(
            expr, calls.get(id(expr)), _pattern(expr, calls.get(id(expr))), position, blocks.at.get(id(expr))
        )
        for position, expr in enumerate(order)
    }
    elsewhere = {id(child) for expr in order if id(expr) not in calls for child in expr.children()} | {
        id(body)
    }
    for expr in order:
        node = nodes[id(expr)]
        if not is_segment(expr):
            for child in (expr if node.call is None else node.call).children():
                node.parts.append(nodes[id(child)])
                nodes[id(child)].readers.append(node)
        if node.call is not None:
            for operand in operands(node.call):
                source = nodes[id(operand)]
                source.users.append((node, _edge(node, operand)))
                source.escapes |= source.block is not node.block
        elif is_segment(expr):
            continue
        elif not (isinstance(expr, Tuple) and id(expr) in in_calls and id(expr) not in elsewhere):
            for child in expr.children():
                nodes[id(child)].escapes = True
    nodes[id(body)].escapes = True
    return [nodes[id(expr)] for expr in order]


def _fields(order: Sequence[Expr], body: Expr) -> dict[int, Call]:
    """The calls of several results that are read field by field, by the ids of the fields.

    Each field is computed where it is needed, so none may reduce: what several share would be computed for each.
    """
    found: dict[int, Call] = {}
    whole = {id(body)}
    for expr in order:
        call = expr.tuple_value if isinstance(expr, TupleGetItem) else None
        if isinstance(call, Call) and is_op_call(call) and _call_pattern(call) == OpPattern.TUPLE:
            found[id(expr)] = call
        else:
            whole.update(map(id, expr.children()))
    return {field: call for field, call in found.items() if id(call) not in whole}


def position(node: Node) -> int:
    """Where a node stands among those of `dataflow`: a key to sort by."""
    return node.position


def is_op_call(expr: Expr) -> bool:
    return isinstance(expr, Call) and isinstance(expr.op, Op)


def is_segment(expr: Expr) -> bool:
    return isinstance(expr, Function) and "Primitive" in expr.attrs


def operands(call: Call) -> list[Expr]:
    """The tensors that a call reads: its arguments, with tuples written out."""
    found: list[Expr] = []
    for arg in call.args:
        found.extend(arg.fields if isinstance(arg, Tuple) else (arg,))
    return found


def find_post_dominators(nodes: Sequence[Node], limit: int) -> None:
    """Fill in `parent`, `reach` and `depth`; a post-dominator more than `limit` steps away is not found."""
    for node in reversed(nodes):
        if node.escapes or not node.users:
            continue
        parent, reach = node.users[0]
        for user, edge in node.users[1:]:
            found = _common(parent, user, max(reach, edge), limit)
            if found is None:
                break
            parent, reach = found
        else:
            node.parent, node.reach, node.depth = parent, reach, parent.depth + 1


def _common(a: Node, b: Node, reach: OpPattern, limit: int) -> tuple[Node, OpPattern] | None:
    """The nearest common post-dominator of `a` and `b` (either may be it), with how the paths to it read."""
    for _ in range(limit):
        if a is b:
            return a, reach
        if a.depth < b.depth:
            a, b = b, a
        reach = max(reach, a.reach)
        if a.parent is None:
            return None
        a = a.parent
    return None


def _pattern(expr: Expr, call: Call | None) -> OpPattern:
    """The pattern of a call, or of a field of one; what has several results is opaque."""
    if call is None or not isinstance(expr.checked_type, TensorType):
        return OpPattern.OPAQUE
    return _call_pattern(call) if expr is call else OpPattern.INJECTIVE


def _call_pattern(call: Call) -> OpPattern:
    assert isinstance(call.op, Op)
    return pattern_of(call.op, call.attrs, [arg.checked_type for arg in call.args])


def _edge(user: Node, operand: Expr) -> OpPattern:
    """How `user` reads `operand`: a broadcast that does not widen this operand reads it element by element."""
    if user.pattern == OpPattern.BROADCAST:
        found, result = operand.checked_type, user.expr.checked_type
        if (
            isinstance(found, TensorType)
            and isinstance(result, TensorType)
            and same_shape(found.shape, result.shape)
        ):
            return OpPattern.ELEMWISE
    return user.pattern
