"""Names for values, bound in the innermost block that encloses all their uses."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Expr, ExprFunctor, Function, If, Let, Steps, Var, post_order, rebuild
from ..ir.scopes import Block, blocks_of, evaluated_in, tails_of
from ..lower.library.fusion.dataflow import is_segment
from ..operator import is_narrower


def every_value(names: Naming, node: Expr) -> bool:
    """Every value has a name."""
    return True


def what_inner_blocks_use(names: Naming, node: Expr) -> bool:
    """A value has a name where a block inside its own uses it."""
    return id(node) in names.used_inside


class Naming(ExprFunctor[Expr]):
    """Gives what stands for a node as an operand, and keeps what must be bound before, block by block.

    The body of a `let` is no block any more: it goes on where the `let` stood.  `is_named`: which values get a name.
    `used_inside`: the ids of nodes that a block uses which lies in theirs.
    """

    def __init__(self, body: Expr, is_named: Callable[[Naming, Expr], bool] = every_value) -> None:
        super().__init__()
        self.is_named = is_named
        order = post_order(body, is_segment)
        blocks = blocks_of(body, order)
        self.inner = blocks.inner
        self.root = blocks.root
        self.bound: dict[int, list[tuple[Var, Expr]]] = {}  # by block
        self.names: dict[int, Var] = {}  # the variable that the program itself has for a value
        goes_on: dict[int, Block] = {}  # by block of a let's body
        self.block: dict[int, Block] = {}  # by node
        for node in reversed(order):  # blocks before those inside them
            if id(node) not in blocks.at:
                continue  # a variable that is bound and not used
            at = blocks.at[id(node)]
            self.block[id(node)] = at = goes_on.get(id(at), at)
            if isinstance(node, Let):
                goes_on[id(self.inner[id(node)][0])] = at
                if not is_narrower(node.var.checked_type, node.value.checked_type):
                    self.names[id(node.value)] = node.var
        self.used_inside = {
            id(used)
            for node in order
            if id(node) in self.block
            for used, block in self._uses(node)
            if goes_on.get(id(block), block) is not self.block[id(used)]
        }

    def _uses(self, node: Expr) -> list[tuple[Expr, Block]]:
        """What a node uses, with the block in which it does."""
        own = [(each, self.block[id(node)]) for each in evaluated_in(node)]
        return own + list(zip(tails_of(node), self.inner.get(id(node), ()), strict=True))

    def closed(self, block: Block, tail: Expr) -> Expr:
        """The block's value behind all that is bound in it."""
        for var, value in reversed(self.bound.pop(id(block), [])):
            tail = Let(var, value, tail)
        return tail

    def bind(self, node: Expr, var: Var, value: Expr) -> Var:
        self.bound.setdefault(id(self.block[id(node)]), []).append((var, value))
        return var

    def named(self, node: Expr, value: Expr) -> Expr:
        if id(node) not in self.names and not self.is_named(self, node):
            return value
        known = self.names.get(id(node))
        return self.bind(node, Var("x", node.checked_type) if known is None else known, value)

    def visit_default(self, node: Expr) -> Steps[Expr] | Expr:
        return self._compound(node) if node.children() else node

    def _compound(self, node: Expr) -> Steps[Expr]:
        operands = []
        for child in node.children():
            operands.append((yield child))
        return self.named(node, rebuild(node, operands))

    def visit_let(self, let: Let) -> Steps[Expr]:
        value = yield let.value
        if value is not let.var:
            self.bind(let, let.var, value)
        body: Expr = yield let.body
        return body

    def visit_if(self, node: If) -> Steps[Expr]:
        condition = yield node.condition
        then, otherwise = (yield node.then), (yield node.otherwise)
        first, second = self.inner[id(node)]
        return self.named(
            node, rebuild(node, (condition, self.closed(first, then), self.closed(second, otherwise)))
        )

    def visit_function(self, function: Function) -> Steps[Expr] | Expr:
        return function if is_segment(function) else self._function(function)

    def _function(self, function: Function) -> Steps[Expr]:
        body = yield function.body
        (block,) = self.inner[id(function)]
        return self.named(function, rebuild(function, (*function.params, self.closed(block, body))))
