"""FoldStatic: what static types decide becomes a constant.

    shape_of(%x: Tensor[(2, 3), float32])      [2, 3]
    arange(stop=4)                             [0, 1, 2, 3]
    full(2, shape=(3,))                        [2, 2, 2]

That are calls that read no element, and fills with a literal.  A fill of the shape of an operand (`zeros_like`) stays:
its reader writes it down.  FoldConstant goes on with what is made of constants.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..base.errors import OpgenError
from ..compute.te.roles import Role
from ..declaration import evaluate_call
from ..ir import Call, Constant, Expr, Function, IRModule, MixedModeMutator
from ..operator import TensorType, same_shape
from .calls import facts
from .context import PassContext
from .define import function_pass
from .evaluator import elements, is_op_call, reads_dims
from .infer_type import InferType
from .info import Option

OPTIONS = {"max_bytes": Option(1 << 24, "The most bytes of a constant that is made.", least=0)}
_UNREAD: Final = (Role.FREE, Role.ZERO)


@function_pass(opt_level=0, required=(InferType,), preserves=("InferType",), options=OPTIONS)
def FoldStatic(function: Function, module: IRModule, context: PassContext, *, max_bytes: int) -> Function:
    """Calls that types and attrs decide become constants."""
    folded = _Folding(max_bytes).rewrite(function)
    assert isinstance(folded, Function)
    return folded


class _Folding(MixedModeMutator):
    def __init__(self, max_bytes: int) -> None:
        super().__init__()
        self.max_bytes = max_bytes

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        kind = post.checked_type
        if not is_op_call(post) or not isinstance(kind, TensorType) or not kind.is_static or reads_dims(post):
            return post
        if elements(kind) * kind.dtype.itemsize > self.max_bytes or not _is_decided(post, kind):
            return post
        arrays = [_array(arg) for arg in post.args]
        try:
            value = evaluate_call(post, arrays)
        except OpgenError:  # an op without a compute: running it says so
            return post
        return Constant(value, span=post.span) if isinstance(value, np.ndarray) else post


def _is_decided(call: Call, kind: TensorType) -> bool:
    """Whether the call reads no element of its operands, but that of a literal to fill with."""
    if not all([_may_be_unread(arg, kind) for arg in call.args]):
        return False
    known = facts(call)
    if known is None or not known.is_plain:
        return False
    literals = [k for k, arg in enumerate(call.args) if _is_literal(arg)]
    return all(
        [known.role(k) in _UNREAD or (k in literals and k == known.filled) for k in range(len(call.args))]
    )


def _is_literal(arg: Expr) -> bool:
    return isinstance(arg, Constant) and arg.data.ndim == 0


def _may_be_unread(arg: Expr, result: TensorType) -> bool:
    """Whether an operand is a literal, or a tensor of static shape that the result is no fill of."""
    if _is_literal(arg):
        return True
    kind = arg.checked_type
    if not isinstance(kind, TensorType) or not kind.is_static:
        return False
    return elements(result) == 1 or not same_shape(kind.shape, result.shape)


def _array(arg: Expr) -> np.ndarray:
    """The literal, or for what is not read an array of the type, of one element in memory."""
    if isinstance(arg, Constant):
        return arg.data
    kind = arg.checked_type
    assert isinstance(kind, TensorType)
    return np.broadcast_to(np.zeros((), kind.dtype.numpy), kind.concrete_shape)
