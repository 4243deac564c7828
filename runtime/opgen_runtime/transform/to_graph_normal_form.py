"""ToGraphNormalForm: values that have names are shared nodes, as far as they may be.

    let %a = add(%x, 1); let %b = exp(%a); multiply(%a, %b)      multiply(add(%x, 1), exp(add(%x, 1))), one addition

A `let` stays where it declares more of the dims than the value shows, and where its value is needed in functions alone
that stand in its body: it would be computed again in each call of them.
"""

from __future__ import annotations

from ..ir import Expr, ExprMutator, Function, IRModule, Let, Steps, post_order, rebuild
from ..ir.scopes import blocks_of, function_depths
from ..lower.library.fusion.dataflow import is_segment
from ..operator import is_narrower
from .context import PassContext
from .define import function_pass
from .infer_type import InferType


@function_pass(opt_level=1, required=(InferType,), preserves=("InferType",))
def ToGraphNormalForm(function: Function, module: IRModule, context: PassContext) -> Function:
    """Lets become shared nodes."""
    if is_segment(function):
        return function
    body = _Sharing(_held_outside(function.body)).visit(function.body)
    made = rebuild(function, (*function.params, body))
    assert isinstance(made, Function)
    return made


def _held_outside(body: Expr) -> set[int]:
    """The ids of the lets whose values are needed in functions of their bodies alone."""
    order = post_order(body, is_segment)
    blocks = blocks_of(body, order)
    depth = function_depths(order, blocks)
    found: set[int] = set()
    for let in [node for node in order if isinstance(node, Let)]:
        used = blocks.at.get(id(let.var))
        if used is not None and depth[id(used)] > depth[id(blocks.at[id(let)])]:
            found.add(id(let))
    return found


class _Sharing(ExprMutator):
    def __init__(self, kept: set[int]) -> None:
        super().__init__()
        self.kept = kept

    def visit_let(self, let: Let) -> Steps[Expr]:
        value = yield let.value
        if id(let) not in self.kept and not is_narrower(let.var.checked_type, value.checked_type):
            self._keep(let.var, value)
            body: Expr = yield let.body
            return body
        return rebuild(let, (let.var, value, (yield let.body)))

    def visit_function(self, function: Function) -> Steps[Expr]:
        if is_segment(function):
            return function
        return (yield from super().visit_function(function))
