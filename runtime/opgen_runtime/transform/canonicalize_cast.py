"""CanonicalizeCast: each consumer of a widening conversion gets one of its own.

    %0 = cast(%x, "float32"); (exp(%0), tanh(%0))      %0 = cast(%x, ..); %1 = cast(%x, ..); (exp(%0), tanh(%1))

A shared conversion to a wider dtype would be stored in memory; one a consumer is computed inside that consumer's
kernel, which then reads the narrow tensor.  EliminateCommonSubexpr undoes it and stands before it.
"""

from __future__ import annotations

from collections import Counter

from ..base.vocabulary import OpPattern
from ..ir import Call, Expr, Function, IRModule, MixedModeMutator, post_order
from ..lower.library.fusion.dataflow import is_op_call
from ..operator import Op
from .calls import move_facts
from .context import PassContext
from .define import function_pass
from .infer_type import InferType


@function_pass(opt_level=3, required=(InferType,), preserves=("InferType",))
def CanonicalizeCast(function: Function, module: IRModule, context: PassContext) -> Function:
    """Shared widening conversions are made once for each elementwise consumer."""
    consumers = Counter(
        [id(arg) for node in post_order(function) if is_op_call(node) for arg in node.children()]
    )
    found = _Rewrite(consumers).rewrite(function)
    assert isinstance(found, Function)
    return found


class _Rewrite(MixedModeMutator):
    def __init__(self, consumers: Counter[int]) -> None:
        super().__init__()
        self.consumers = consumers
        self.given: set[int] = set()  # conversions that a consumer has taken for its own

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        if (
            not isinstance(post.op, Op)
            or post.op.get_attr("TOpPattern", OpPattern.OPAQUE) > OpPattern.BROADCAST
        ):
            return post
        args = [
            self.own(old, new) if self.consumers[id(old)] > 1 and _widens(new) else new
            for old, new in zip(pre.args, post.args, strict=True)
        ]
        if all([new is old for new, old in zip(args, post.args, strict=True)]):
            return post
        return Call(post.op, tuple(args), post.attrs, post.type_args, span=post.span)

    def own(self, old: Expr, shared: Expr) -> Expr:
        """The conversion itself for its first consumer, a copy for others."""
        if id(old) not in self.given:
            self.given.add(id(old))
            return shared
        assert isinstance(shared, Call)
        return Call(shared.op, shared.args, shared.attrs, shared.type_args, span=shared.span)


def _widens(expr: Expr) -> bool:
    known = move_facts(expr)
    if known is None or known.conversion is None:
        return False
    _, source, target = known.conversion
    return source.itemsize < target.itemsize
