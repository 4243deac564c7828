"""CanonicalizeOps: an op that adds, multiplies and so on, along axes of its own choice, becomes the plain operator.

    bias_add(%x, %b, axis=1)     add(%x, expand_dims(%b, axis=1, num_newaxis=2))

Passes that look for a sum or a product then find it in one form.
"""

from __future__ import annotations

from ..ir import Call, Expr, Function, IRModule, MixedModeMutator
from ..operator import TensorType
from .build import binary, placed
from .calls import UNIT, is_aligned, move_facts
from .context import PassContext
from .define import function_pass
from .infer_type import InferType


@function_pass(opt_level=3, required=(InferType,), preserves=("InferType",))
def CanonicalizeOps(function: Function, module: IRModule, context: PassContext) -> Function:
    """Ops that broadcast in a way of their own become operators of expanded operands."""
    found = _Rewrite().rewrite(function)
    assert isinstance(found, Function)
    return found


class _Rewrite(MixedModeMutator):
    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        return canonical(post)


def canonical(call: Call) -> Call:
    """A call as an operator of expanded operands; the call itself where it is none, or is one already."""
    known = move_facts(call)
    form = None if known is None else known.binary
    type_ = call.checked_type
    if form is None or not isinstance(type_, TensorType) or len(call.args) != 2:
        return call
    operands: list[Expr] = []
    for operand in (form.a, form.b):
        arg, axes = call.args[operand.position], operand.axes
        if is_aligned(axes, type_.ndim):
            operands.append(arg)
        elif UNIT in axes or list(axes) != sorted(axes):
            return call  # its axes stand in another order
        else:
            operands.append(placed(arg, axes, type_.ndim))
    made = binary(form.op, *operands)
    if not isinstance(made, Call) or made.op is call.op or made.checked_type != type_:
        return call
    return made
