"""DeadCodeElimination: what no result needs is left out.

    let %v = exp(%x); %y         %y
    (%a, exp(%x)).0              %a

Ops have no effects, so a `let` whose variable is not read goes, with all that its value alone needed.  Calls that
nothing reads are no part of a program to begin with.
"""

from __future__ import annotations

from ..ir import Expr, Function, IRModule, Let, Tuple, TupleGetItem, Var, post_order, rebuild
from .context import PassContext
from .define import function_pass


@function_pass(opt_level=1, preserves=("InferType",))
def DeadCodeElimination(function: Function, module: IRModule, context: PassContext) -> Function:
    """Lets that are not read and fields of tuples that are not taken are left out."""
    order = post_order(function)
    read = _read(function)
    new: dict[int, Expr] = {}
    alive: list[Expr] = []  # an id stays that of its node
    for node in order:
        if isinstance(node, Let) and id(node.var) not in read:
            new[id(node)] = new[id(node.body)]
            continue
        children = [new[id(child)] for child in node.children()]
        if isinstance(node, TupleGetItem) and isinstance(children[0], Tuple):
            new[id(node)] = children[0].fields[node.index]
            continue
        new[id(node)] = rebuild(node, children)
        alive.append(new[id(node)])
    found = new[id(function)]
    assert isinstance(found, Function)
    return found


def _read(function: Function) -> set[int]:
    """The ids of the variables that the result needs."""
    seen: set[int] = set()
    read: set[int] = set()
    waiting: dict[int, list[Expr]] = {}  # the values of variables that nothing has read so far
    stack: list[Expr] = [function.body]
    while stack:
        node = stack.pop()
        if isinstance(node, TupleGetItem) and isinstance(node.tuple_value, Tuple):
            stack.append(node.tuple_value.fields[node.index])  # its other fields are not needed for this
            continue
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Var):
            read.add(id(node))
            stack.extend(waiting.pop(id(node), ()))
        elif isinstance(node, Let):
            stack.append(node.body)
            if id(node.var) in read:
                stack.append(node.value)
            else:
                waiting.setdefault(id(node.var), []).append(node.value)
        elif isinstance(node, Function):
            stack.append(node.body)
        else:
            stack.extend(node.children())
    return read
