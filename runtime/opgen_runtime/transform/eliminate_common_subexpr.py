"""EliminateCommonSubexpr: what is computed twice is computed once.

    add(exp(%x), exp(%x))        %0 = exp(%x); add(%0, %0)

Two expressions are one if they are the same op, or tuple, of the same operands, and the second stands where the first
is computed in any case: in its block or in one inside it.  What only a branch computes is not taken out of it.  With
`skip=("exp",)` calls of that op stay as many as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable

from ..ir import Call, Constant, Expr, Function, IRModule, Tuple, TupleGetItem, post_order, rebuild
from ..ir.scopes import Block, blocks_of, encloses
from ..lower.library.fusion.dataflow import is_segment
from ..operator import Op
from .context import PassContext
from .define import function_pass
from .info import Option

_TRIED = 8  # so many earlier equals are looked at, so that the work stays linear where none of them encloses
OPTIONS = {"skip": Option((), "The names of ops whose calls stay, each by itself.")}


@function_pass(opt_level=3, preserves=("InferType",), options=OPTIONS)
def EliminateCommonSubexpr(
    function: Function, module: IRModule, context: PassContext, *, skip: tuple[str, ...]
) -> Function:
    """Equal expressions of a block become one node.  Raises RegistryError for a name in `skip` that no op has."""
    skipped = {Op.get(name) for name in skip}
    order = post_order(function, is_segment)
    blocks = blocks_of(function, order)
    new: dict[int, Expr] = {}
    known: dict[Hashable, list[tuple[Block, Expr]]] = {}
    alive: list[Expr] = []  # an id stays that of its node
    for node in order:
        made = node if is_segment(node) else rebuild(node, [new[id(child)] for child in node.children()])
        alive.append(made)
        stays = isinstance(made, Call) and made.op in skipped
        key, block = None if stays else _key(made), blocks.at.get(id(node))
        if key is not None and block is not None:
            equals = known.setdefault(key, [])
            for where, equal in equals[-_TRIED:]:
                if encloses(where, block):
                    made = equal
                    break
            else:
                equals.append((block, made))
        new[id(node)] = made
    found = new[id(function)]
    assert isinstance(found, Function)
    return found


def _key(node: Expr) -> Hashable | None:
    """What equal expressions have in common; None for a node that is equal to itself alone."""
    children = tuple([id(child) for child in node.children()])
    match node:
        case Call() if isinstance(node.op, Op):
            return (id(node.op), node.attrs, node.type_args, children)
        case Tuple():
            return ("tuple", children)
        case TupleGetItem():
            return (node.index, children)
        case Constant():
            digest = hashlib.blake2b(node.data.tobytes(), digest_size=20).digest()
            return (node.data.dtype.name, node.data.shape, digest)
    return None
