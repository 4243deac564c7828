"""Inline: calls of functions of the module become their bodies.

    def @main(%x) { @f(%x) }  def @f(%y) { exp(%y) }      def @main(%x) { exp(%x) }  def @f(%y) { exp(%y) }

Functions that call themselves, directly or through others, stay calls; so do segments.  A function that nothing calls
any more stays in the module: RemoveUnusedFunctions takes it out.
"""

from __future__ import annotations

from ..ir import Call, Expr, Function, GlobalVar, IRModule, MixedModeMutator, Var, post_order
from ..ir.scopes import binders_of
from ..ir.visitor import substitute
from ..lower.library.fusion.dataflow import is_segment
from .context import PassContext
from .define import module_pass
from .info import Option

OPTIONS = {"max_nodes": Option(1 << 20, "The most nodes that a function may come to have.", least=0)}


@module_pass(opt_level=1, options=OPTIONS)
def Inline(module: IRModule, context: PassContext, *, max_nodes: int) -> IRModule:
    """Calls of functions that do not call themselves are replaced by the bodies, callees first."""
    if len(module.functions) < 2:
        return module
    made: dict[str, Function] = {}
    for name in _callees_first(module):
        function = module[name]
        found = _Inlining(made, max_nodes - len(post_order(function))).rewrite(function)
        assert isinstance(found, Function)
        made[name] = found
    changed = {name: function for name, function in made.items() if function is not module[name]}
    return module.with_functions(changed) if changed else module


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
        if not isinstance(post.op, GlobalVar):
            return post
        callee = self.known.get(post.op.name)
        if callee is None or callee.type_params or is_segment(callee):
            return post
        order = post_order(callee.body)
        if any(isinstance(node, GlobalVar) and node.name == post.op.name for node in order):
            return post
        if len(order) > self.room:
            return post
        self.room -= len(order)
        values: dict[Var, Expr] = {}
        for node in order:  # a variable is bound once: each copy of the body has its own
            for var in binders_of(node):
                values[var] = Var(var.name_hint, var.type)
        values.update(zip(callee.params, post.args, strict=True))
        return substitute(callee.body, values)
