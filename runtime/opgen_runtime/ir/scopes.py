"""Blocks of a program's text: in which block each node of a DAG is written.

A function body, each branch of an `If` and the body of a `Let` are blocks.  A node belongs to the innermost block
that encloses all its uses, so that a shared node is written once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from ..base.vocabulary import dataclass
from .expr import Expr, Function, If, Let, Var


@dataclass(eq=False, slots=True)
class Block:
    """A block; `tail` is its value, `members` the nodes that belong to it, operands first."""

    tail: Expr
    parent: Block | None = None
    depth: int = 0
    jump: Block | None = None  # an ancestor further up, so that common ancestors are found in O(log depth)
    members: list[Expr] = field(default_factory=list)

    def inner(self, tail: Expr) -> Block:
        """A new block inside this one."""
        jump = self.jump
        if (
            jump is not None
            and jump.jump is not None
            and self.depth - jump.depth == jump.depth - jump.jump.depth
        ):
            return Block(tail, self, self.depth + 1, jump.jump)
        return Block(tail, self, self.depth + 1, self)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Where the nodes belong, by id.

    `at`: the block of each node that is used.  `inner`: the blocks that a node has, in the order of the text.
    """

    root: Block
    at: dict[int, Block]
    inner: dict[int, tuple[Block, ...]]


def blocks_of(expr: Expr, order: Sequence[Expr]) -> Blocks:
    """Places every node of `order`, the post order of `expr`."""
    root = Block(expr)
    place: dict[int, Block] = {id(expr): root}
    inner: dict[int, tuple[Block, ...]] = {}

    def use(node: Expr, block: Block) -> None:
        other = place.get(id(node))
        place[id(node)] = block if other is None or other is block else _common(other, block)

    for node in reversed(order):  # users come before what they use
        here = place.get(id(node))
        if here is None:
            continue  # a variable that is bound and not used
        tails = tails_of(node)
        for child in evaluated_in(node):
            use(child, here)
        if tails:
            inner[id(node)] = own = tuple([here.inner(tail) for tail in tails])
            for block in own:
                use(block.tail, block)
    for node in order:
        if id(node) in place:
            place[id(node)].members.append(node)
    return Blocks(root, place, inner)


def function_depths(order: Sequence[Expr], blocks: Blocks) -> dict[int, int]:
    """In how many functions each block lies, by the id of the block; `order` and `blocks` as of `blocks_of`."""
    depth = {id(blocks.root): 0}
    for node in reversed(order):  # users come before what they use
        for block in blocks.inner.get(id(node), ()):
            depth[id(block)] = depth[id(blocks.at[id(node)])] + isinstance(node, Function)
    return depth


def encloses(outer: Block, inner: Block) -> bool:
    """Whether `inner` is `outer` or lies in it."""
    return _common(outer, inner) is outer


def binders_of(node: Expr) -> tuple[Var, ...]:
    """The variables that `node` binds in its one block."""
    if isinstance(node, Let):
        return (node.var,)
    return node.params if isinstance(node, Function) else ()


def evaluated_in(node: Expr) -> tuple[Expr, ...]:
    """What is evaluated in the node's own block."""
    if isinstance(node, If):
        return (node.condition,)
    if isinstance(node, Let):
        return (node.value,)
    return () if isinstance(node, Function) else node.children()


def tails_of(node: Expr) -> tuple[Expr, ...]:
    """The values of the blocks that `node` has, in the order of the text."""
    if isinstance(node, If):
        return (node.then, node.otherwise)
    if isinstance(node, Let | Function):
        return (node.body,)
    return ()


def _common(a: Block, b: Block) -> Block:
    """The innermost block that encloses both."""
    if a.depth < b.depth:
        a, b = b, a
    while a.depth > b.depth:
        up = a.jump if a.jump is not None and a.jump.depth >= b.depth else a.parent
        assert up is not None
        a = up
    while a is not b:  # at one depth, so that their jumps lead to one depth
        far, other = a.jump, b.jump
        if far is None or other is None or far is other:
            far, other = a.parent, b.parent
            assert far is not None
            assert other is not None
        a, b = far, other
    return a
