"""DefuseOps: the ops of kernels stand by themselves again, as they did before FuseOps.

    %0 = fn (%a, Primitive=1) { exp(abs(%a)) }; %0(%x)      exp(abs(%x))

What FuseOps has put into several kernels, because each needs it, stays as often as that.
"""

from __future__ import annotations

from ..ir import Call, Expr, Function, IRModule, MixedModeMutator, Tuple, TupleGetItem, substitute
from ..lower.library.fusion.dataflow import is_segment
from .context import PassContext
from .define import function_pass


@function_pass(opt_level=0, preserves=("InferType",))
def DefuseOps(function: Function, module: IRModule, context: PassContext) -> Function:
    """Calls of kernels become what these compute."""
    made = _Defusing().rewrite(function)
    assert isinstance(made, Function)
    return made


class _Defusing(MixedModeMutator):
    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        if not isinstance(pre.op, Function) or not is_segment(pre.op):
            return post
        return substitute(pre.op.body, dict(zip(pre.op.params, post.args, strict=True)))

    def rewrite_tuple_get_item(self, pre: TupleGetItem, post: TupleGetItem) -> Expr:
        """A field of a kernel's results."""
        whole = post.tuple_value
        is_result = whole is not pre.tuple_value and isinstance(whole, Tuple)
        return whole.fields[post.index] if is_result and isinstance(whole, Tuple) else post
