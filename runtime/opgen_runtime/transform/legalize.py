"""Legalize: calls become what their ops' legalisations give for them.

    register_op_attr("hand.square", "FTVMLegalize", lambda attrs, args, types: multiply(args[0], args[0]))
    hand.square(%x)        multiply(%x, %x)

A legalisation takes the attrs of a call, its operands (legalised already) and the types of operands and result; it
gives an expression, or None for a call that is to stay.  What it gives is not legalised again.
"""

from __future__ import annotations

from typing import Any

from ..base.contract import handed_in
from ..base.errors import PassError
from ..ir import Call, Expr, Function, IRModule, MixedModeMutator, join_types
from ..operator import Op
from .context import PassContext
from .define import function_pass
from .infer_type import InferType
from .info import Option

OPTIONS = {"attr": Option("FTVMLegalize", "The attribute of ops that holds the legalisation.")}


@function_pass(
    opt_level=1, required=(InferType,), options=OPTIONS, error_bound="what the legalisations of ops say"
)
def Legalize(function: Function, module: IRModule, context: PassContext, *, attr: str) -> Function:
    """Calls of ops with a legalisation become what it gives.

    Raises PassError for one that raises or gives no expression, TypeInferenceError for an expression of another type.
    """
    made = _Legalization(attr).rewrite(function)
    assert isinstance(made, Function)
    return made


class _Legalization(MixedModeMutator):
    def __init__(self, attr: str) -> None:
        super().__init__()
        self.attr = attr

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        legalise: Any = pre.op.get_attr(self.attr, None) if isinstance(pre.op, Op) else None
        if legalise is None:
            return post
        assert isinstance(pre.op, Op)
        types = [*[arg.checked_type for arg in pre.args], pre.checked_type]
        what = f"{pre.op.name}: its attribute {self.attr}"
        with handed_in(what, PassError):
            made = legalise(post.attrs, list(post.args), types)
        if made is None:
            return post
        if not isinstance(made, Expr):
            raise PassError(f"{what} gives {made!r:.80}, expected an expression or None")
        join_types(
            pre.checked_type, made.checked_type, f"a call of {pre.op.name} and what its {self.attr} gives"
        )
        return made
