"""LambdaLift: functions inside of functions become functions of the module.

    def @main(%x) { fn (%y) { add(%y, %x) }(%x) }
        def @main(%x) { @lambda_lifted_0(%x, %x) }
        def @lambda_lifted_0(%x, %y) { add(%y, %x) }

What a function reads of the variables around it are parameters of what it becomes, the first ones.  Where it is no
callee, such as where it has a name, a function stays that only calls what it has become: `fn (%y) { @f(%x, %y) }`.
"""

from __future__ import annotations

from ..ir import Call, Expr, Function, GlobalVar, IRModule, MixedModeMutator, Var, free_vars, substitute
from .context import PassContext
from .define import module_pass
from .infer_type import InferType
from .regions import is_closed

STEM = "lambda_lifted"


@module_pass(opt_level=1, required=(InferType,), preserves=("InferType",))
def LambdaLift(module: IRModule, context: PassContext) -> IRModule:
    """Each function that stands in another is a function of the module; those with type parameters stay."""
    made: dict[str, Function] = {}
    lifted: dict[str, Function] = {}
    for var, function in module.functions.items():
        if not is_closed(function):
            found = _Lifting(function, module, lifted).rewrite(function)
            assert isinstance(found, Function)
            made[var.name] = found
    return module.with_functions(made | lifted) if lifted else module


class _Lifting(MixedModeMutator):
    def __init__(self, outer: Function, module: IRModule, lifted: dict[str, Function]) -> None:
        super().__init__()
        self.outer = outer
        self.module = module
        self.lifted = lifted

    def rewrite_function(self, pre: Function, post: Function) -> Expr:
        if pre is self.outer or is_closed(pre) or pre.type_params:
            return post
        captured = free_vars(post)
        own = [Var(each.name_hint, each.checked_type) for each in captured]
        body = substitute(post.body, dict(zip(captured, own, strict=True)))
        function = Function((*own, *post.params), body, post.ret_type, attrs=post.attrs, span=post.span)
        name = self._unused()
        self.lifted[name] = function
        target = GlobalVar(name, function.checked_type)
        if not captured:
            return target
        params = tuple([Var(each.name_hint, each.checked_type) for each in post.params])
        return Function(params, Call(target, (*captured, *params), span=post.span), span=post.span)

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        callee = post.op
        if not isinstance(callee, Function) or callee is pre.op or not isinstance(callee.body, Call):
            return post
        target = callee.body.op
        if not isinstance(target, GlobalVar) or target.name not in self.lifted:
            return post
        captured = callee.body.args[: len(callee.body.args) - len(callee.params)]
        return Call(target, (*captured, *post.args), span=post.span)

    def _unused(self) -> str:
        count = len(self.lifted)
        while f"{STEM}_{count}" in self.module:
            count += 1
        return f"{STEM}_{count}"
