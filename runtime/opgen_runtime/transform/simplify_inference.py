"""SimplifyInference: ops that only training needs whole become what they are at inference.

    dropout(%x).0                                          %x
    batch_norm(%x, %gamma, %beta, %mean, %var).0           (%x - %mean) * (rsqrt(%var + e) * %gamma) + %beta

A result that is an operand, unchanged, is that operand.  An op whose declaration says `traits: {simplified: true}` is
written as the basic ops of its compute expression, in the order and the dtypes in which it computes, so that every bit
stays; other passes then fold what depends on constants alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..base.arith import Binary, Cast, Const, post_order
from ..base.arith import Call as Intrinsic
from ..base.arith.expr import Expr as Scalar
from ..base.arith.expr import Var as Index
from ..compute.te import Compute, Placeholder, Read, Tensor, tensor_order
from ..compute.te.roles import plain
from ..ir import Call, Constant, Expr, Function, IRModule, MixedModeMutator, TupleGetItem, const
from ..operator import Op, TensorType, has_op
from .build import binary, call, cast, placed
from .calls import Facts, facts
from .context import PassContext
from .define import function_pass
from .infer_type import InferType

TRAIT: Final = "simplified"


@function_pass(opt_level=0, required=(InferType,), preserves=("InferType",))
def SimplifyInference(function: Function, module: IRModule, context: PassContext) -> Function:
    """Results that are operands become these; ops with the trait `simplified` become basic ops."""
    found = _Rewrite().rewrite(function)
    assert isinstance(found, Function)
    return found


class _Rewrite(MixedModeMutator):
    def rewrite_tuple_get_item(self, pre: TupleGetItem, post: TupleGetItem) -> Expr:
        source = post.tuple_value
        found = self.result(source, post.index) if isinstance(source, Call) else None
        return post if found is None or found.checked_type != post.checked_type else found

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        if not isinstance(post.checked_type, TensorType):
            return post
        found = self.result(post, 0)
        return post if found is None or found.checked_type != post.checked_type else found

    def result(self, post: Call, index: int) -> Expr | None:
        """What result `index` of a call is; None where it stays."""
        declaration = post.op.get_attr("declaration") if isinstance(post.op, Op) else None
        simplified = declaration is not None and declaration.traits.get(TRAIT)
        several = not isinstance(post.checked_type, TensorType)
        known = facts(post) if simplified or several else None
        if known is None or known.made.lengths:
            return None
        position = known.copied(index) if several else None
        if position is not None:
            return post.args[position]
        return _Writer(post, known).tensor(known.outputs[index]) if simplified else None


class _Writer:
    """A tensor expression without reductions as calls of basic ops; None where a part of it is none."""

    def __init__(self, post: Call, known: Facts) -> None:
        self.known: dict[Tensor, Expr] = {}
        for operand, arg in zip(known.made.operands, post.args, strict=True):
            if isinstance(operand, Tensor):
                self.known[operand] = arg

    def tensor(self, output: Tensor) -> Expr | None:
        for tensor in tensor_order([output]):
            if tensor in self.known or isinstance(tensor.op, Placeholder):
                continue
            made = self.body(tensor.op) if isinstance(tensor.op, Compute) else None
            if made is None:
                return None
            self.known[tensor] = made
        return self.known.get(output)

    def body(self, op: Compute) -> Expr | None:
        place = {axis.var: k for k, axis in enumerate(op.axes)}
        values: dict[int, Expr] = {}
        indices = {id(n) for node in post_order(op.body) if isinstance(node, Read) for i in node.indices
                   for n in post_order(i)}  # fmt: skip
        for node in post_order(op.body):
            if id(node) in indices:
                continue
            if isinstance(node, Read):
                made = self.read(node, place)
            else:
                made = _node(node, [values[id(child)] for child in node.children()])
            if made is None:
                return None
            values[id(node)] = made
        return values[id(op.body)]

    def read(self, node: Read, place: Mapping[Index, int]) -> Expr | None:
        axes: list[int] = []
        for index in map(plain, node.indices):
            if not isinstance(index, Index) or index not in place:
                return None
            axes.append(place[index])
        source = self.known.get(node.tensor)
        if source is None or axes != sorted(axes):
            return None
        return placed(source, axes, len(place))


def _node(node: Scalar, parts: Sequence[Expr]) -> Expr | None:
    """One element operation as a call of an op."""
    match node:
        case Const():
            return const(node.value, node.dtype)
        case Cast():
            return cast(parts[0], node.dtype)
        case Binary():
            return binary(node.op, parts[0], parts[1])
        case Intrinsic() if has_op(node.name) and not all([isinstance(part, Constant) for part in parts]):
            return call(node.name, parts)
    return None
