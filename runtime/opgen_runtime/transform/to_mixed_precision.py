"""ToMixedPrecision: products that are summed take and give halves; what needs digits keeps them.

    softmax(add(dense(%x, %w), 1f))
        %0 = cast(%x, dtype="float16"); %1 = cast(%w, dtype="float16"); %2 = add(dense(%0, %1), 1f16)
        softmax(cast(%2, dtype="float32"))

A call is of one of three kinds, by what its op computes:

    always   it sums products: operands of float32 are converted
    never    it sums, is a recurrence or an update, or calls a function that rounds (exp): operands are as before
    follow   all else, such as sums and products of elements, maxima, moves: in halves where all its operands are halves
             or constants

`traits: {mixed_precision: never}` of a declaration says otherwise, and so does the attribute `MixedPrecision` of an op.
Sums of halves are kept in float32 and rounded once.  The function keeps its type, and so do values of `let` and `if`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Final

import numpy as np

from ..base.arith import ELEMENT_FUNCTIONS
from ..base.arith import Call as ElementFunction
from ..base.arith import post_order as scalar_post_order
from ..base.errors import OpgenError, PassError
from ..base.vocabulary import DType
from ..compute.te import Compute, Placeholder, Reduce, Tensor, tensor_order
from ..compute.te.operations import summed_factors
from ..compute.te.roles import Role
from ..ir import Call, Constant, Expr, Function, IRModule, Tuple, TupleGetItem, post_order, rebuild
from ..operator import Op, TensorType, TupleType, Type
from .build import cast
from .calls import Facts, facts
from .context import PassContext
from .define import function_pass
from .infer_type import InferType
from .info import Option
from .regions import is_closed

TRAIT: Final = "mixed_precision"
ATTR: Final = "MixedPrecision"
WIDE: Final = "float32"
HALVES: Final = {"float16": 11, "bfloat16": 8}
"""How many bits of their values they keep."""
OPTIONS: Final = {"dtype": Option("float16", "What products are computed of: float16 or bfloat16.")}


class Kind(Enum):
    """What becomes of the operands of a call."""

    ALWAYS = "always"
    FOLLOW = "follow"
    NEVER = "never"


def _bound(dtype: str) -> str:
    digits = HALVES.get(dtype)
    return f"operands and results of products that are summed, and what follows them, are rounded to {digits} bits"


@function_pass(opt_level=0, required=(InferType,), options=OPTIONS, error_bound=_bound)
def ToMixedPrecision(function: Function, module: IRModule, context: PassContext, *, dtype: str) -> Function:
    """Contractions are computed of halves, and what follows them where that loses few digits.

    Raises PassError for a dtype that is no half, and for an op that is declared to be of no kind.
    """
    if dtype not in HALVES:
        raise PassError(f"ToMixedPrecision: dtype is {dtype!r}, expected 'float16' or 'bfloat16'")
    made = _Mixing(dtype).mixed(function)
    assert isinstance(made, Function)
    return made


def kind_of(call: Call) -> Kind:
    """What becomes of the operands of a call, as its op says, else by what it computes."""
    op = call.op
    assert isinstance(op, Op)
    declaration = op.get_attr("declaration")
    stated = op.get_attr(ATTR, None if declaration is None else declaration.traits.get(TRAIT))
    if stated is not None:
        try:
            return Kind(stated)
        except ValueError:
            kinds = ", ".join([each.value for each in Kind])
            raise PassError(
                f"{op.name}: its mixed precision is {stated!r}, expected one of {kinds}"
            ) from None
    known = facts(call)
    if known is None:
        return Kind.NEVER
    if _is_contraction(known, len(call.args)):
        return Kind.ALWAYS
    return Kind.NEVER if any(map(_loses_digits, tensor_order(known.outputs))) else Kind.FOLLOW


def _is_contraction(known: Facts, count: int) -> bool:
    """Whether products of two operands are summed, in each of which the result is linear."""
    linear = {known.operand(k) for k in range(count) if known.role(k) in (Role.LINEAR, Role.AFFINE)}
    return any([linear & (a - b) and linear & (b - a) for a, b in summed_factors(known.outputs)])


def _loses_digits(tensor: Tensor) -> bool:
    """Whether elements of a tensor are sums of many, depend on each other, or are values of functions that round."""
    op = tensor.op
    if isinstance(op, Placeholder):
        return False
    if not isinstance(op, Compute):
        return True
    for node in scalar_post_order(op.body):
        if isinstance(node, Reduce) and node.combiner not in ("max", "min"):
            return True
        if isinstance(node, ElementFunction) and not ELEMENT_FUNCTIONS[node.name].exact:
            return True
    return False


class _Mixing:
    """The nodes of a function in halves: `new` of a node may be of another dtype than the node."""

    def __init__(self, dtype: str) -> None:
        self.half = DType(dtype)
        self.new: dict[int, Expr] = {}
        self.casts: dict[tuple[int, DType], Expr] = {}
        self.alive: list[Expr] = []  # so that an id is that of one node

    def mixed(self, function: Function) -> Expr:
        for node in post_order(function, is_closed):
            self.new[id(node)] = self.node(node)
        return self.new[id(function)]

    def node(self, node: Expr) -> Expr:
        if is_closed(node):
            return node
        if isinstance(node, Call) and isinstance(node.op, Op):
            return self.call(node, node.op)
        if isinstance(node, Tuple | TupleGetItem):
            return rebuild(node, [self.new[id(child)] for child in node.children()])
        return rebuild(node, [self.as_before(child) for child in node.children()])

    def call(self, call: Call, op: Op) -> Expr:
        before = rebuild(call, [self.as_before(arg) for arg in call.args])
        kind = kind_of(call)
        operands = [each for arg in call.args for each in (arg.fields if isinstance(arg, Tuple) else (arg,))]
        if kind is Kind.NEVER or (kind is Kind.FOLLOW and not self.are_halves(operands)):
            return before
        args = tuple([self.halves(arg) for arg in call.args])
        if all([new is old for new, old in zip(args, before.children(), strict=True)]):
            return before
        try:
            made = Call(op, args, call.attrs, call.type_args, span=call.span)
        except OpgenError:  # the op takes no halves
            return before
        return made if self.may_stand_for(made.checked_type, call.checked_type) else before

    def are_halves(self, operands: Sequence[Expr]) -> bool:
        """Whether those operands that may be halves are, or are constants that are none too large."""
        floats = [each for each in operands if _is_wide(each)]
        is_half = [self.new[id(each)].checked_type != each.checked_type for each in floats]
        return any(is_half) and all(
            [half or self.fits(each) for half, each in zip(is_half, floats, strict=True)]
        )

    def fits(self, operand: Expr) -> bool:
        if not isinstance(operand, Constant):
            return False
        with np.errstate(over="ignore"):
            made = operand.data.astype(self.half.numpy)
        return bool(np.all(np.isfinite(made) | ~np.isfinite(operand.data)))

    def halves(self, operand: Expr) -> Expr:
        """An operand with its elements of float32 as halves."""
        if isinstance(operand, Tuple):
            return rebuild(operand, [self.halves(each) for each in operand.fields])
        new = self.new[id(operand)]
        if not _is_wide(operand) or new.checked_type != operand.checked_type:
            return new
        if isinstance(operand, Constant) and self.fits(operand):
            return Constant(operand.data.astype(self.half.numpy))
        return self.cast(new, self.half)

    def as_before(self, node: Expr) -> Expr:
        """What a node has become, of the node's own type."""
        return self._of_type(self.new[id(node)], node.checked_type)

    def _of_type(self, value: Expr, wanted: Type) -> Expr:
        if value.checked_type == wanted:
            return value
        if isinstance(wanted, TupleType):
            fields = value.fields if isinstance(value, Tuple) else list(value)
            pairs = zip(fields, wanted.fields, strict=True)
            return Tuple(tuple([self._of_type(field, kind) for field, kind in pairs]))
        return self.cast(value, wanted.dtype) if isinstance(wanted, TensorType) else value

    def cast(self, value: Expr, dtype: DType) -> Expr:
        key = (id(value), dtype)
        if key not in self.casts:
            self.casts[key] = cast(value, str(dtype))
            self.alive.append(value)
        return self.casts[key]

    def may_stand_for(self, made: Type, wanted: Type) -> bool:
        """Whether one type is another, but for halves."""
        if isinstance(made, TupleType) and isinstance(wanted, TupleType):
            return all(map(self.may_stand_for, made.fields, wanted.fields))
        if not isinstance(made, TensorType) or not isinstance(wanted, TensorType):
            return False
        dtypes = (wanted.dtype, self.half) if wanted.dtype == WIDE else (wanted.dtype,)
        return made.shape == wanted.shape and made.dtype in dtypes


def _is_wide(operand: Expr) -> bool:
    kind = operand.checked_type
    return isinstance(kind, TensorType) and kind.dtype == WIDE
