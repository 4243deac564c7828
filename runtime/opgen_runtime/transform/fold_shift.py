"""FoldShift: what is added and subtracted one after the other, and is smaller than the result, becomes one summand.

    (conv2d(%x, %w) - %mean) + %beta      conv2d(%x, %w) + (%beta - %mean)

Behind FoldScaleAxis nothing is left of a normalisation but this one sum, which is a bias.  A sum that others read, too,
stays as it is, and so do shifts whose sum is larger than they are, or whose sum of constants is not finite.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from ..base.vocabulary import dataclass
from ..ir import Call, Constant, Expr, Function, IRModule, MixedModeMutator, post_order
from ..operator import TensorType
from .build import placed
from .calls import UNIT, Operand, facts
from .context import PassContext
from .define import function_pass
from .evaluator import elements, is_op_call
from .infer_type import InferType

ERROR: Final = "a few epsilon of the dtype, relative to the greatest summand: it is summed in another order"


@function_pass(opt_level=3, required=(InferType,), preserves=("InferType",), error_bound=ERROR)
def FoldShift(function: Function, module: IRModule, context: PassContext) -> Function:
    """Summands that are smaller than the result are added to each other first."""
    readers = Counter([id(child) for node in post_order(function) for child in node.children()])
    found = _Folding(readers).rewrite(function)
    assert isinstance(found, Function)
    return found


@dataclass(frozen=True, slots=True)
class _Shift:
    """`data + values`, or `data - values`; `values` broadcast to `data` as numpy has it."""

    data: Expr
    values: Expr
    negative: bool


class _Folding(MixedModeMutator):
    def __init__(self, readers: Counter[int]) -> None:
        super().__init__()
        self.single: set[int] = set()  # ids of what one node reads, as it is now
        self.readers = readers

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        outer = _shift(post)
        made = post if outer is None else self.joined(post, outer)
        if self.readers[id(pre)] == 1:
            self.single.add(id(made))
        return made

    def joined(self, call: Call, outer: _Shift) -> Expr:
        inner = _shift(outer.data) if id(outer.data) in self.single else None
        if inner is None:
            return call
        total = _total(inner, outer)
        if total is None:
            return call
        return inner.data - total if inner.negative and outer.negative else inner.data + total


def _shift(call: Expr) -> _Shift | None:
    """A call as a sum of data and of what is smaller; None if it is none."""
    known = facts(call) if is_op_call(call) else None
    form = None if known is None else known.binary
    if form is None or form.op not in ("add", "sub") or not isinstance(call, Call):
        return None
    pairs = [(form.a, form.b)] if form.op == "sub" else [(form.a, form.b), (form.b, form.a)]
    for data, values in pairs:
        x, kind = call.args[data.position], call.checked_type
        if x.checked_type == kind and isinstance(kind, TensorType) and not isinstance(x, Constant):
            found = _aligned(call.args[values.position], values, kind.ndim)
            if found is not None and _is_smaller(found, x):
                return _Shift(x, found, form.op == "sub")
    return None


def _is_smaller(values: Expr, data: Expr) -> bool:
    kinds = (values.checked_type, data.checked_type)
    static = all([isinstance(kind, TensorType) and kind.is_static for kind in kinds])
    return static and elements(kinds[0]) < elements(kinds[1])


def _aligned(values: Expr, form: Operand, ndim: int) -> Expr | None:
    """The values with their axes where broadcasting from the last axis on finds them."""
    last = range(ndim - len(form.axes), ndim)
    if all([axis in (UNIT, k) for axis, k in zip(form.axes, last, strict=True)]):
        return values
    return (
        None if UNIT in form.axes or list(form.axes) != sorted(form.axes) else placed(values, form.axes, ndim)
    )


def _total(inner: _Shift, outer: _Shift) -> Expr | None:
    """The sum of both shifts, negative where both are; None where it is larger than they are, or not finite."""
    a, b = inner.values, outer.values
    if inner.negative and not outer.negative:
        a, b = b, a
    apart = inner.negative != outer.negative
    made = a - b if apart else a + b
    if elements(made.checked_type) > max(elements(a.checked_type), elements(b.checked_type)):
        return None
    if not isinstance(a, Constant) or not isinstance(b, Constant):
        return made
    kind = made.checked_type
    assert isinstance(kind, TensorType)
    wide = np.dtype(np.float32) if kind.dtype.is_storage else kind.dtype.numpy
    with np.errstate(all="ignore"):
        x, y = a.data.astype(wide), b.data.astype(wide)
        value = (x - y if apart else x + y).astype(kind.dtype.numpy)
    return Constant(value) if np.isfinite(value.astype(np.float64)).all() else None
