"""FastMath: ops become the faster, less accurate variants that their declarations name.

    exp(%x)     fast_exp(%x)     where exp's declaration says `traits: {fast_variant: fast_exp}`

A variant takes the operands and the attrs of the op; a call that it does not take, such as one of another dtype, stays.
"""

from __future__ import annotations

from typing import Final

from ..base.errors import OpgenError, PassError
from ..ir import Call, Expr, Function, IRModule, MixedModeMutator
from ..operator import Op, has_op
from .context import PassContext
from .define import function_pass
from .infer_type import InferType

TRAIT: Final = "fast_variant"


@function_pass(
    opt_level=4,
    required=(InferType,),
    preserves=("InferType",),
    error_bound="that which the declaration of each fast variant states",
)
def FastMath(function: Function, module: IRModule, context: PassContext) -> Function:
    """Ops become their fast variants. Raises PassError where a declaration names a variant that is no op."""
    found = _Rewrite().rewrite(function)
    assert isinstance(found, Function)
    return found


def variant_name(op: Op) -> object:
    """What the declaration of an op names as its fast variant; None if it names none."""
    declaration = op.get_attr("declaration")
    return None if declaration is None else declaration.traits.get(TRAIT)


class _Rewrite(MixedModeMutator):
    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        name = variant_name(post.op) if isinstance(post.op, Op) else None
        if name is None:
            return post
        assert isinstance(post.op, Op)
        if not isinstance(name, str) or not has_op(name):
            raise PassError(f"op {post.op.name} declares the fast variant {name!r}, which is no op")
        variant = Op.get(name)
        if variant is post.op:
            return post
        kind = variant.get_attr("declaration").attrs
        try:
            attrs = None if kind is None else kind(**({} if post.attrs is None else post.attrs.as_dict()))
            made = Call(variant, post.args, attrs, post.type_args, span=post.span)
        except OpgenError:
            return post
        return made if made.checked_type == post.checked_type else post
