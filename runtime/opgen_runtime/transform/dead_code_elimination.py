"""DeadCodeElimination: what no result needs is left out.

    let %v = exp(%x); %y         %y
    (%a, exp(%x)).0              %a

Ops have no effects, so a `let` whose variable is not read goes, with all that its value alone needed.  Calls that
nothing reads are no part of a program to begin with.  With `inline_once` a variable that is read once goes, too; its
value stands where it was read:

    let %v = exp(%x); abs(%v)    abs(exp(%x))

Such a `let` stays where it declares more of the dims than its value shows, and where a function of its body reads it,
in each call of which the value would be computed again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..ir import Expr, Function, IRModule, Let, Tuple, TupleGetItem, Var, post_order, rebuild
from ..ir.scopes import binders_of, blocks_of, function_depths
from ..lower.library.fusion.dataflow import is_segment
from ..operator import is_narrower
from .context import PassContext
from .define import function_pass
from .info import Option

OPTIONS = {
    "inline_once": Option(False, "Whether a value whose variable is read once stands where it is read.")
}


@function_pass(opt_level=1, preserves=("InferType",), options=OPTIONS)
def DeadCodeElimination(
    function: Function, module: IRModule, context: PassContext, *, inline_once: bool
) -> Function:
    """Lets that are not read and fields of tuples that are not taken are left out."""
    alive = _alive(function)
    return _inlined(alive) if inline_once else alive


def _alive(function: Function) -> Function:
    """The function without lets that are not read and fields that are not taken."""
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


def _inlined(function: Function) -> Function:
    """The function with the values of variables that are read once where these are read."""
    order = post_order(function, is_segment)
    inlined = _read_once(function, order)
    values: dict[Expr, Expr] = {let.var: let.value for let in inlined}
    new: dict[int, Expr] = {}

    def placed(read: Expr) -> Expr:
        while read in values:  # a value may be the name of another
            read = values[read]
        return new[id(read)]

    for node in order:
        if isinstance(node, Let) and node in inlined:
            new[id(node)] = placed(node.body)
        elif is_segment(node):
            new[id(node)] = node
        else:
            new[id(node)] = rebuild(node, [placed(child) for child in node.children()])
    found = new[id(function)]
    assert isinstance(found, Function)
    return found


def _read_once(function: Function, order: Sequence[Expr]) -> set[Let]:
    """The lets whose variables are read once, of what they declare no more than their values show, and there where
    the value is computed as often."""
    reads: Counter[int] = Counter()
    for node in order:
        if not is_segment(node):
            bound = {id(var) for var in binders_of(node)}
            reads.update([id(child) for child in node.children() if id(child) not in bound])
    blocks = blocks_of(function, order)
    depth = function_depths(order, blocks)
    return {
        node
        for node in order
        if isinstance(node, Let)
        and reads[id(node.var)] == 1
        and depth[id(blocks.at[id(node.var)])] == depth[id(blocks.at[id(node)])]
        and not is_narrower(node.var.checked_type, node.value.checked_type)
    }


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
