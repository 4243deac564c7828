"""PartialEvaluate: what a program decides by itself is decided.

    if (less(1, 2)) %a else %b                              %a
    let %f = fn (%y) { exp(%y) }; %f(%x)                    exp(%x)
    let %c = false; if (%c) { exp(%a) } else { %b }         %b
    let %t = (%a, %b); %t.1                                 %b

Conditions are computed where they are made of constants; the other branch is not looked at.  Variables that stand for
constants, variables, functions and tuples of them are replaced; calls of functions that stand there become their
bodies, as long as these have no more than `max_nodes` nodes together.  Calls of functions of the module stay (Inline
puts their bodies there), and so do calls of ops with constants (FoldConstant computes them).
"""

from __future__ import annotations

from ..base.errors import OpgenError
from ..ir import (
    Call,
    Constant,
    Expr,
    ExprMutator,
    Function,
    GlobalVar,
    If,
    IRModule,
    Let,
    Steps,
    Tuple,
    TupleGetItem,
    Var,
    post_order,
    rebuild,
    substitute,
)
from ..ir.scopes import binders_of
from ..lower.library.fusion.dataflow import is_segment
from ..operator import is_narrower
from .context import PassContext
from .define import function_pass
from .evaluator import Evaluator
from .infer_type import InferType
from .info import Option

OPTIONS = {"max_nodes": Option(1 << 16, "How many nodes bodies of called functions may add.", least=0)}


@function_pass(opt_level=1, required=(InferType,), preserves=("InferType",), options=OPTIONS)
def PartialEvaluate(
    function: Function, module: IRModule, context: PassContext, *, max_nodes: int
) -> Function:
    """Known conditions, variables and functions are replaced by what they stand for."""
    if is_segment(function):
        return function
    body = _Knowing((context.evaluator or Evaluator)(), max_nodes).visit(function.body)
    made = rebuild(function, (*function.params, body))
    assert isinstance(made, Function)
    return made


class _Knowing(ExprMutator):
    def __init__(self, evaluator: Evaluator, room: int) -> None:
        super().__init__()
        self.evaluator = evaluator
        self.room = room

    def visit_let(self, let: Let) -> Steps[Expr]:
        value = yield let.value
        if self.is_known(value) and not is_narrower(let.var.checked_type, value.checked_type):
            self._keep(let.var, value)
            body: Expr = yield let.body
            return body
        return rebuild(let, (let.var, value, (yield let.body)))

    def is_known(self, value: Expr) -> bool:
        """Whether nothing is computed by it when the program runs."""
        if isinstance(value, Var | GlobalVar | Constant | Function):
            return True
        if isinstance(value, Tuple):
            return all([self.is_known(each) for each in value.fields])
        return self.evaluator.is_constant(value)

    def visit_if(self, node: If) -> Steps[Expr]:
        condition = yield node.condition
        known = self.truth(condition)
        if known is not None:
            taken: Expr = yield node.then if known else node.otherwise
            return taken
        return rebuild(node, (condition, (yield node.then), (yield node.otherwise)))

    def truth(self, condition: Expr) -> bool | None:
        """The value of a condition of constants; None where it has none."""
        if not self.evaluator.is_constant(condition):
            return None
        try:
            return bool(self.evaluator.array(condition))
        except OpgenError:  # an index out of range, an op without a compute: running it says so
            return None

    def visit_tuple_get_item(self, item: TupleGetItem) -> Steps[Expr]:
        value = yield item.tuple_value
        return value.fields[item.index] if isinstance(value, Tuple) else rebuild(item, (value,))

    def visit_function(self, function: Function) -> Steps[Expr]:
        if is_segment(function):
            return function
        return (yield from super().visit_function(function))

    def visit_call(self, call: Call) -> Steps[Expr]:
        made = yield from super().visit_call(call)
        if not isinstance(made, Call) or not isinstance(made.op, Function) or is_segment(made.op):
            return made
        copied = self.body_for(made.op, made.args)
        if copied is None:
            return made
        found: Expr = yield copied
        return found

    def body_for(self, callee: Function, args: tuple[Expr, ...]) -> Expr | None:
        """A copy of the body over the operands; None where there is no room, or where types say more than they."""
        order = post_order(callee.body)
        if len(order) > self.room or callee.type_params or callee.ret_type is not None:
            return None
        if any(
            [is_narrower(p.checked_type, a.checked_type) for p, a in zip(callee.params, args, strict=True)]
        ):
            return None
        self.room -= len(order)
        values: dict[Var, Expr] = {}
        for node in order:  # a variable is bound once: each copy of the body has its own
            for var in binders_of(node):
                values[var] = Var(var.name_hint, var.type)
        values.update(zip(callee.params, args, strict=True))
        return substitute(callee.body, values)
