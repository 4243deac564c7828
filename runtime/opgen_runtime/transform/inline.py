"""Inline: calls of functions of the module become their bodies.

    def @main(%x) { @f(%x) }  def @f(%y) { exp(%y) }      def @main(%x) { exp(%x) }  def @f(%y) { exp(%y) }

A function that is called where it stands, `fn (%y) { exp(%y) }(%x)`, is treated alike.

Functions that call themselves, directly or through others, stay calls; so do segments.  A function that nothing calls
any more stays in the module: RemoveUnusedFunctions takes it out.  What a function declares of the dims of its operands
and of its result, and the call does not show, is held by a `let` of the declared type.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..base.arith import Analyzer, const
from ..base.arith import Expr as DimExpr
from ..base.arith import Var as DimVar
from ..base.arith import substitute as dim_substitute
from ..base.vocabulary import INDEX
from ..ir import Call, Expr, Function, GlobalVar, IRModule, Let, MixedModeMutator, Var, post_order
from ..ir.scopes import binders_of
from ..ir.visitor import substitute
from ..lower.library.fusion.dataflow import is_segment
from ..operator import TensorType, TupleType, Type, is_narrower
from .context import PassContext
from .define import module_pass
from .infer_type import InferType
from .info import Option

OPTIONS = {"max_nodes": Option(1 << 20, "The most nodes that a function may come to have.", least=0)}


@module_pass(opt_level=1, options=OPTIONS)
def Inline(module: IRModule, context: PassContext, *, max_nodes: int) -> IRModule:
    """Calls of functions that do not call themselves are replaced by the bodies, callees first."""
    if len(module.functions) < 2 and not any(map(_calls_a_function, module.functions.values())):
        return module
    if not all([f.checked_type.is_complete for f in module.functions.values()]):
        module = InferType()(module, context)  # what is declared is held where types do not show it
    made: dict[str, Function] = {}
    for name in _callees_first(module):
        function = module[name]
        found = _Inlining(made, max_nodes - len(post_order(function))).rewrite(function)
        assert isinstance(found, Function)
        made[name] = found
    changed = {name: function for name, function in made.items() if function is not module[name]}
    return module.with_functions(changed) if changed else module


def _calls_a_function(function: Function) -> bool:
    """Whether a function stands where it is called."""
    return any(
        [
            isinstance(node, Call) and isinstance(node.op, Function) and not is_segment(node.op)
            for node in post_order(function, is_segment)
        ]
    )


def _callees_first(module: IRModule) -> list[str]:
    """The functions that reach no circle of calls they are part of, callees before callers; others come last."""
    calls = {
        var.name: list(
            dict.fromkeys([n.name for n in post_order(f) if isinstance(n, GlobalVar) and n.name in module])
        )
        for var, f in module.functions.items()
    }
    order: list[str] = []
    state: dict[str, int] = {}  # 1 while under way, 2 when done
    for root in calls:
        stack = [root]
        while stack:
            name = stack[-1]
            if state.get(name, 0) == 0:
                state[name] = 1
                stack.extend([callee for callee in calls[name] if state.get(callee, 0) == 0])
                continue
            stack.pop()
            if state[name] == 1:
                state[name] = 2
                order.append(name)
    return order


class _Inlining(MixedModeMutator):
    def __init__(self, known: dict[str, Function], room: int) -> None:
        super().__init__()
        self.known = known  # a function that is not finished when its caller is: part of a circle
        self.room = room

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        callee = self.known.get(post.op.name) if isinstance(post.op, GlobalVar) else post.op
        if not isinstance(callee, Function) or callee.type_params or is_segment(callee):
            return post
        order = post_order(callee.body)
        name = post.op.name if isinstance(post.op, GlobalVar) else ""
        if any(isinstance(node, GlobalVar) and node.name == name for node in order):
            return post
        if len(order) > self.room:
            return post
        self.room -= len(order)
        values: dict[Var, Expr] = {}
        for node in order:  # a variable is bound once: each copy of the body has its own
            for var in binders_of(node):
                values[var] = Var(var.name_hint, var.type)
        declared: list[tuple[Var, Expr]] = []
        dims = _dims(callee, post)
        for param, arg in zip(callee.params, post.args, strict=True):
            values[param] = _held(_over(param.checked_type, dims), arg, declared)
        made = substitute(callee.body, values)
        if callee.ret_type is not None:
            made = _held(_over(callee.ret_type, dims), made, declared)
        for var, value in reversed(declared):
            made = Let(var, value, made)
        return made


def _held(declared: Type, value: Expr, bound: list[tuple[Var, Expr]]) -> Expr:
    """The value, or where more is declared of its dims than is known of it, a variable of the declared type."""
    if not is_narrower(declared, value.checked_type):
        return value
    var = Var("declared", declared)
    bound.append((var, value))
    return var


def _dims(callee: Function, call: Call) -> dict[DimVar, DimExpr]:
    """What the dims of a function's operands are in a call: those of the first operand that has them."""
    found: dict[DimVar, DimExpr] = {}
    for param, arg in zip(callee.params, call.args, strict=True):
        declared, given = param.checked_type, arg.checked_type
        if isinstance(declared, TensorType) and isinstance(given, TensorType):
            for dim, extent in zip(declared.shape, given.shape, strict=True):
                if isinstance(dim, DimVar):
                    found.setdefault(dim, const(extent, INDEX) if isinstance(extent, int) else extent)
    return found


def _over(kind: Type, dims: Mapping[DimVar, DimExpr]) -> Type:
    """A type whose dims have these values."""
    if isinstance(kind, TupleType):
        return TupleType(tuple([_over(field, dims) for field in kind.fields]))
    if not isinstance(kind, TensorType):
        return kind
    shape = [d if isinstance(d, int) else Analyzer().simplify(dim_substitute(d, dims)) for d in kind.shape]
    return TensorType(shape, kind.dtype)
