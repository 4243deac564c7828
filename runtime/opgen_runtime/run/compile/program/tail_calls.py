"""How the ways through a function's body end: with a value, or with a call of the function itself, as loops do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from .... import ir
from ....ir import Call, Expr, GlobalVar, Let, post_order
from ....ir.scopes import Block, Blocks, blocks_of
from .held import NoPlanError


def calls(body: Expr, callee: str) -> bool:
    """Whether an expression names the function `callee` of the module."""
    return any([isinstance(node, GlobalVar) and node.name == callee for node in post_order(body)])


def is_call(node: Expr, callee: str) -> TypeGuard[Call]:
    """Whether a node calls the function `callee` of the module."""
    return isinstance(node, Call) and isinstance(node.op, GlobalVar) and node.op.name == callee


class TailPositions:
    """The blocks of a function's body that have code of their own, and what each ends with.

    The body of a let is in the block around it.  `callee`: the function's name where it calls itself: then what ends
    the branches that end the function ends the function, too.  Raises NoPlanError for such branches that others share.
    """

    def __init__(self, expr: Expr, order: Sequence[Expr], callee: str | None) -> None:
        self.blocks: Blocks = blocks_of(expr, order)
        self._callee = callee
        self._around: dict[int, Block] = {}  # the body of a let -> the block around
        self._own: list[Block] = [self.blocks.root]
        self._tails: list[tuple[Block, Expr]] = []
        self._last: set[int] = set()  # the ifs and calls that a function ends with
        for node in reversed(order):  # blocks around come first
            for block in self.blocks.inner.get(id(node), ()):
                if isinstance(node, Let):
                    self._around[id(block)] = self.home(node)
                else:
                    self._own.append(block)
        self._find(expr)

    def own_blocks(self) -> Sequence[Block]:
        """The blocks that have code of their own."""
        return self._own

    def home(self, node: Expr) -> Block:
        """The block that a node's code is in."""
        block = self.blocks.at[id(node)]
        return self._around.get(id(block), block)

    def is_own_call(self, node: Expr) -> TypeGuard[Call]:
        """Whether a node is a call of the function itself."""
        return self._callee is not None and is_call(node, self._callee)

    def is_last(self, node: Expr) -> bool:
        """Whether the function ends with this node: an If, or a call of the function itself."""
        return id(node) in self._last

    def ends(self) -> Iterator[tuple[Block, Expr]]:
        """(block, value) of the ways that end the function, but for the branches that have ends of their own."""
        return (
            (block, tail)
            for block, tail in self._tails
            if not (isinstance(tail, ir.If) and self.is_last(tail))
        )

    def _find(self, expr: Expr) -> None:
        waiting: list[tuple[Block, Expr]] = [(self.blocks.root, expr)]
        while waiting:
            block, tail = waiting.pop()
            while isinstance(tail, Let):
                tail = tail.body
            self._tails.append((block, tail))
            if self._callee is None:
                continue
            if isinstance(tail, ir.If):
                if self.home(tail) is not block or self.is_last(tail):
                    raise NoPlanError("branches that end a function are shared by others")
                self._last.add(id(tail))
                waiting.extend([(inner, inner.tail) for inner in self.blocks.inner[id(tail)]])
            elif self.is_own_call(tail):
                self._last.add(id(tail))
