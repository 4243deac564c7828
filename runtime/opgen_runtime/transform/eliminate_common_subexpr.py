"""EliminateCommonSubexpr: what is computed twice is computed once.

    add(exp(%x), exp(%x))        %0 = exp(%x); add(%0, %0)

Two expressions are one if they are the same op, or tuple, of the same operands, and the second stands where the first
is computed in any case: in its block or in one inside it.  What only a branch computes is not taken out of it.  With
`skip=("exp",)` calls of that op stay as many as they are, with `skip=(f,)` those of which `f(call)` is true.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from typing import TypeAlias

from ..base.contract import handed_in
from ..base.errors import PassError
from ..ir import Call, Constant, Expr, Function, IRModule, Tuple, TupleGetItem, post_order, rebuild
from ..ir.scopes import Block, blocks_of, encloses
from ..lower.library.fusion.dataflow import is_segment
from ..operator import Op
from .context import PassContext
from .define import function_pass
from .info import Option

_TRIED = 8  # so many earlier equals are looked at, so that the work stays linear where none of them encloses
Skip: TypeAlias = "Callable[[Call], bool]"
OPTIONS = {"skip": Option((), "Names of ops whose calls stay, and functions of calls that are to stay.")}


@function_pass(opt_level=3, preserves=("InferType",), options=OPTIONS)
def EliminateCommonSubexpr(
    function: Function, module: IRModule, context: PassContext, *, skip: tuple[str | Skip, ...]
) -> Function:
    """Equal expressions of a block become one node.  Raises RegistryError for a name in `skip` that no op has, and
    PassError where a function of it raises."""
    skipped = {Op.get(each) for each in skip if isinstance(each, str)}
    functions = [each for each in skip if not isinstance(each, str)]
    order = post_order(function, is_segment)
    blocks = blocks_of(function, order)
    new: dict[int, Expr] = {}
    known: dict[Hashable, list[tuple[Block, Expr]]] = {}
    alive: list[Expr] = []  # an id stays that of its node
    for node in order:
        made = node if is_segment(node) else rebuild(node, [new[id(child)] for child in node.children()])
        alive.append(made)
        stays = isinstance(made, Call) and (made.op in skipped or _is_skipped(made, functions))
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


def _is_skipped(call: Call, functions: Sequence[Skip]) -> bool:
    with handed_in("EliminateCommonSubexpr: a function of skip", PassError):
        return any([function(call) for function in functions])


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
