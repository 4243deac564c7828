"""DivToMul: a division by a constant becomes a multiplication by its reciprocal.

    divide(%x, 4f)               multiply(%x, 0.25f)
    divide(%x, 10f)              stays; with approximate=True: multiply(%x, 0.1f)

A division is any op whose result is a quotient of floats, element by element.  By default only divisors whose
reciprocals are exact are replaced, powers of two, so that every bit stays.  All elements of a divisor must do: zeros,
infinities, NaN and numbers whose reciprocal is not finite keep the division, as integers do.  Reciprocals of halves are
computed in float32.
"""

from __future__ import annotations

import numpy as np

from ..base.vocabulary import DType
from ..ir import Call, Constant, Expr, Function, IRModule, MixedModeMutator
from ..operator import TensorType
from .calls import is_aligned, move_facts
from .context import PassContext
from .define import function_pass
from .infer_type import InferType
from .info import Option

OPTIONS = {"approximate": Option(False, "Replace divisors whose reciprocals are rounded, too.")}


def _bound(approximate: bool) -> str:
    """The reciprocal and the product are rounded instead of the quotient: three roundings of half an epsilon."""
    if not approximate:
        return ""
    return (
        "1.5 epsilon of the dtype, relative to the quotient, where that is finite and normal; one least step where "
        "it is subnormal"
    )


@function_pass(
    opt_level=0,
    required=(InferType,),
    preserves=("InferType",),
    options=OPTIONS,
    error_bound=_bound,
)
def DivToMul(function: Function, module: IRModule, context: PassContext, *, approximate: bool) -> Function:
    """Divisions by constants become multiplications, exact ones by default."""
    found = _Rewrite(approximate).rewrite(function)
    assert isinstance(found, Function)
    return found


class _Rewrite(MixedModeMutator):
    def __init__(self, approximate: bool) -> None:
        super().__init__()
        self.approximate = approximate

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        if not any([isinstance(arg, Constant) for arg in post.args]):
            return post
        known = move_facts(post)
        form = None if known is None else known.binary
        type_ = post.checked_type
        if form is None or form.op != "div" or not isinstance(type_, TensorType):
            return post
        x, divisor = post.args[form.a.position], post.args[form.b.position]
        if not isinstance(divisor, Constant) or not all(
            [is_aligned(operand.axes, type_.ndim) for operand in (form.a, form.b)]
        ):
            return post
        factor = reciprocal(divisor.data, type_.dtype, self.approximate)
        return post if factor is None else x * Constant(factor, span=divisor.span)


def reciprocal(divisor: np.ndarray, dtype: DType, approximate: bool) -> np.ndarray | None:
    """1 / divisor in its dtype; None unless every element is exact or, if `approximate`, finite and normal."""
    wide = divisor.astype(np.float32) if dtype.is_storage else divisor
    with np.errstate(all="ignore"):
        found = (np.ones((), wide.dtype) / wide).astype(divisor.dtype)
        back = found.astype(wide.dtype)
        usable = np.isfinite(back) & (back != 0) & np.isfinite(wide)
        exact = usable & (np.abs(np.frexp(wide)[0]) == 0.5) & (back * wide == 1)
    if approximate and dtype.float_format is not None:
        exact |= usable & (np.abs(back) >= dtype.float_format.tiny)
    return found if bool(exact.all()) else None
