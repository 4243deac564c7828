"""EtaExpand: a function of the module that is used as a value becomes a function that calls it.

    (@f, %x)      (fn (%y) { @f(%y) }, %x)

So each of the module's functions is called, and nothing else, as a pass may rely on that rewrites both sides of calls.
"""

from __future__ import annotations

from ..ir import Call, Expr, Function, GlobalVar, IRModule, MixedModeMutator, Var
from ..operator import FuncType
from .context import PassContext
from .define import function_pass
from .infer_type import InferType


@function_pass(opt_level=1, required=(InferType,), preserves=("InferType",))
def EtaExpand(function: Function, module: IRModule, context: PassContext) -> Function:
    """Names of functions that are values become functions that call them."""
    made = _Expansion().rewrite(function)
    assert isinstance(made, Function)
    return made


class _Expansion(MixedModeMutator):
    def rewrite_global_var(self, pre: GlobalVar, post: GlobalVar) -> Expr:
        kind = pre.checked_type
        if not isinstance(kind, FuncType) or kind.type_params:
            return pre
        params = tuple([Var("x", each) for each in kind.params])
        return Function(params, Call(pre, params), span=pre.span)

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        if not isinstance(pre.op, GlobalVar):
            return post
        if all([new is old for new, old in zip(post.args, pre.args, strict=True)]):
            return pre
        return Call(pre.op, post.args, post.attrs, post.type_args, span=post.span)
