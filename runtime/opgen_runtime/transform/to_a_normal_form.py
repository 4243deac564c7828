"""ToANormalForm: every value that is computed has a name, and operands are names.

    exp(add(%x, 1))      let %a = add(%x, 1); let %b = exp(%a); %b

Variables, constants and names of functions of the module are operands as they are, and so are segments.  A value is
bound in the innermost block that encloses all its uses, so that what only a branch needs is computed in the branch.
"""

from __future__ import annotations

from ..ir import Expr, ExprFunctor, Function, If, IRModule, Let, Steps, Var, post_order, rebuild
from ..ir import structural_equal as same_program
from ..ir.scopes import Block, blocks_of
from ..lower.library.fusion.dataflow import is_segment
from ..operator import is_narrower
from .context import PassContext
from .define import function_pass
from .infer_type import InferType


@function_pass(opt_level=1, required=(InferType,), preserves=("InferType",))
def ToANormalForm(function: Function, module: IRModule, context: PassContext) -> Function:
    """Each value that is computed is bound by a `let` of its own."""
    if is_segment(function):
        return function
    naming = _Naming(function.body)
    body = naming.closed(naming.root, naming.visit(function.body))
    made = rebuild(function, (*function.params, body))
    assert isinstance(made, Function)
    return function if same_program(made, function) else made


class _Naming(ExprFunctor[Expr]):
    """Gives what stands for a node as an operand, and keeps what must be bound before, block by block.

    The body of a `let` is no block any more: it goes on where the `let` stood.
    """

    def __init__(self, body: Expr) -> None:
        super().__init__()
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

    def closed(self, block: Block, tail: Expr) -> Expr:
        """The block's value behind all that is bound in it."""
        for var, value in reversed(self.bound.pop(id(block), [])):
            tail = Let(var, value, tail)
        return tail

    def bind(self, node: Expr, var: Var, value: Expr) -> Var:
        self.bound.setdefault(id(self.block[id(node)]), []).append((var, value))
        return var

    def named(self, node: Expr, value: Expr) -> Var:
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
