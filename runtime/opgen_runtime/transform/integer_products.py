"""IntegerProducts: products of dequantised numbers are added up as the integers that they are made of.

    %x = (cast(%q, "float32") - cast(zq, "float32")) * sq
    conv2d(%x, (cast(p, "float32") - cast(zp, "float32")) * sp)
                                   cast(quantised_conv(%q, p, zq, zp), "float32") * (sq * sp)

    where conv2d's declaration says `traits: {quantised: quantised_conv}`

Numbers of 8 bits and their zero points are integers, so the sum is exact, and takes a fraction of the time where the
machine multiplies narrow integers (`lower/schedule/rewriting/dot_product.py`). This is what models hold that were
quantised with QuantizeLinear and DequantizeLinear around each layer. Scales are constants: one for an operand, or
one for each position on an axis that passes through to the result. Zero points are constants, one for an operand.
A call stays as it is where the sum is short or may leave int32, where scales overflow or vanish together, where an
attr says what the other op cannot, or where an operand is something else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ..base.arith import post_order
from ..base.errors import OpgenError, PassError
from ..base.vocabulary import DType, dataclass
from ..compute.te import Compute, Reduce
from ..declaration import OpDeclaration
from ..ir import Call, Constant, Expr, Function, IRModule, MixedModeMutator, make_call
from ..operator import Attrs, Op, TensorType, has_op
from . import build
from .calls import UNIT, Facts, facts, move_facts
from .context import PassContext
from .define import function_pass
from .evaluator import Evaluator
from .infer_type import InferType

TRAIT: Final = "quantised"
_BITS: Final = 8
_SUM: Final = DType("int32")
_MIN_STEPS: Final = 32  # steps of a sum; shorter ones, as of one channel, take as long as floats, or longer
_LARGEST: Final = (2**_BITS - 1) ** 2  # product of two numbers less their zero points
_ERROR: Final = (
    "three halves of an epsilon of the dtype, relative to the exact result; the definition rounds each product and "
    "each sum"
)


@dataclass(frozen=True, slots=True)
class Dequantised:
    """(numbers - zero point) * scale.

    `scale`: of rank 0, or 1 along an axis of the numbers.
    """

    numbers: Expr
    zero: int
    scale: np.ndarray
    axis: int | None


@function_pass(opt_level=2, required=(InferType,), preserves=("InferType",), error_bound=_ERROR)
def IntegerProducts(function: Function, module: IRModule, context: PassContext) -> Function:
    """Products of dequantised numbers are sums of products of integers, scaled.

    Raises PassError where a declaration names what is no op.
    """
    found = _Rewrite((context.evaluator or Evaluator)()).rewrite(function)
    assert isinstance(found, Function)
    return found


class _Rewrite(MixedModeMutator):
    def __init__(self, evaluator: Evaluator) -> None:
        super().__init__()
        self.evaluator = evaluator

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        quantised = _quantised(post.op) if isinstance(post.op, Op) else None
        type_ = post.checked_type
        if quantised is None or len(post.args) != 2 or not isinstance(type_, TensorType):
            return post
        operands = [self.dequantised(arg) for arg in post.args]
        known = facts(post)
        if known is None or not _is_worth(known):
            return post
        product: Expr | None = None
        scale = np.ones((), np.float32)
        for position, operand in enumerate(operands):
            if operand is None:
                return post
            axis = None if operand.axis is None else known.axes(position)[operand.axis]
            if operand.axis is not None and axis is None:
                return post
            placed = operand.scale.reshape(_spread(operand.scale.size, axis, len(type_.shape)))
            with np.errstate(all="ignore"):
                scale = scale * placed.astype(np.float32)
        if not _is_normal(scale):
            return post
        product = _called(quantised, post, [each for each in operands if each is not None])
        if product is None or product.checked_type != TensorType(type_.shape, _SUM):
            return post
        return build.cast(product, str(type_.dtype)) * Constant(scale.astype(type_.dtype.numpy))

    def dequantised(self, expr: Expr) -> Dequantised | None:
        """What an operand is made of; None where it is no dequantised number of 8 bits."""
        known = move_facts(expr)
        form = None if known is None else known.binary
        type_ = expr.checked_type
        if (
            form is None
            or form.op != "mul"
            or not isinstance(expr, Call)
            or not isinstance(type_, TensorType)
        ):
            return None
        if type_.dtype != DType("float32"):
            return None
        for data, factor in ((form.a, form.b), (form.b, form.a)):
            steps, scale = expr.args[data.position], expr.args[factor.position]
            axes = [axis for axis in factor.axes if axis != UNIT]
            if steps.checked_type != type_ or len(axes) > 1 or not self.evaluator.is_constant(scale):
                continue
            shifted = self._shifted(steps)
            if shifted is None:
                continue
            values = self.evaluator.array(scale).reshape([-1] if axes else [])
            return Dequantised(*shifted, values, axes[0] if axes else None)
        return None

    def _shifted(self, steps: Expr) -> tuple[Expr, int] | None:
        """(numbers, zero point) of their difference, as floats."""
        numbers = _converted(steps)
        if numbers is not None:
            return numbers, 0
        known = move_facts(steps)
        form = None if known is None else known.binary
        if form is None or form.op != "sub" or not isinstance(steps, Call):
            return None
        numbers, zero = _converted(steps.args[form.a.position]), steps.args[form.b.position]
        if numbers is None or not self.evaluator.is_constant(zero):
            return None
        values = np.unique(self.evaluator.array(zero))
        kind = numbers.checked_type.dtype  # type: ignore[attr-defined]  # a tensor, as it was converted
        whole = values.size == 1 and kind.lowest <= values[0] <= kind.highest and values[0] == int(values[0])
        return (numbers, int(values[0])) if whole and _shape(numbers) == _shape(steps) else None


def _shape(x: Expr) -> object:
    type_ = x.checked_type
    return type_.shape if isinstance(type_, TensorType) else None


def _converted(x: Expr) -> Expr | None:
    """The numbers of 8 bits that are converted to floats."""
    known = move_facts(x)
    found = None if known is None else known.conversion
    if found is None or not isinstance(x, Call):
        return None
    position, source, target = found
    return x.args[position] if source.is_int and source.bits == _BITS and target.is_float else None


def _quantised(op: Op) -> Op | None:
    """The op on integers that a declaration names."""
    declaration: OpDeclaration | None = op.get_attr("declaration")
    name = None if declaration is None else declaration.traits.get(TRAIT)
    if name is None:
        return None
    if not isinstance(name, str) or not has_op(name):
        raise PassError(f"op {op.name} declares {TRAIT} {name!r}: there is no such op")
    return Op.get(name)


def _is_worth(known: Facts) -> bool:
    """Whether sums of products are long, but leave int32 for no numbers."""
    made = known.outputs[0].op
    sums = [n for n in post_order(made.body) if isinstance(n, Reduce)] if isinstance(made, Compute) else []
    if len(sums) != 1 or not all([isinstance(axis.extent, int) for axis in sums[0].axes]):
        return False
    steps = math.prod([axis.extent for axis in sums[0].axes if isinstance(axis.extent, int)])
    return _MIN_STEPS <= steps <= _SUM.highest // _LARGEST


def _is_normal(scale: np.ndarray) -> bool:
    """Whether factors are finite and as exact as their dtype can be."""
    return bool((np.isfinite(scale) & (np.abs(scale) >= np.finfo(scale.dtype).tiny)).all())


def _spread(size: int, axis: int | None, rank: int) -> tuple[int, ...]:
    return () if axis is None else tuple([size if k == axis else 1 for k in range(rank)])


def _called(quantised: Op, call: Call, operands: Sequence[Dequantised]) -> Call | None:
    """The call on integers; None where the other op cannot say all that the call says."""
    declaration: OpDeclaration = quantised.get_attr("declaration")
    signature = declaration.signature
    args: list[Expr | None] = [operand.numbers for operand in operands]
    for operand, declared in zip(operands, signature.inputs[len(operands) :], strict=False):
        if operand.zero == 0 and declared.optional:
            args.append(None)
            continue
        own = operand.numbers.checked_type.dtype  # type: ignore[attr-defined]  # a tensor, as it was converted
        dtype = own if declared.dtype in signature.dtypes else DType(str(declared.dtype))
        args.append(Constant(np.full((1,) * len(declared.shape or ()), operand.zero, dtype.numpy)))
    kind, said = declaration.attrs, _unusual(call.attrs)
    if kind is None and said:
        return None
    try:
        return make_call(quantised, args, None if kind is None else kind(**said), span=call.span)
    except OpgenError:  # an attr that the op does not have, or a value or an operand that it does not take
        return None


def _unusual(attrs: Attrs | None) -> dict[str, object]:
    """The attrs that are not what they are by default."""
    if attrs is None:
        return {}
    usual = type(attrs)().as_dict()
    return {name: value for name, value in attrs.as_dict().items() if value != usual[name]}
