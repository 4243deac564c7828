"""PruneFilterTaps: taps of constant filters that read nothing but padding go, and with them the padding.

    conv2d(%x, weight, padding=(24, 24), dilation=(24, 24))  -->  conv2d(%x, weight[:, :, 1:2, 1:2])

    for %x of 14 by 14 and filters of 3 by 3, where conv2d's declaration says `traits: {taps: true}`: its
operands are an image and filters, each stored by a layout, and `strides`, `dilation` and `padding` are among its attrs.

What they add is 0 times a weight, so a call of weights that are not finite stays, and so do layouts in blocks and dims
that are not known.  Segmentation models have such layers: their dilations are made for larger images.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..base.errors import PassError
from ..base.vocabulary import dataclass
from ..ir import Call, Constant, Expr, Function, IRModule, MixedModeMutator
from ..operator import Op, TensorType
from .context import PassContext
from .define import function_pass
from .evaluator import Evaluator
from .infer_type import InferType

TRAIT: Final = "taps"
_ERROR: Final = (
    "as many epsilon of the dtype as a result has products, relative to the greatest: their order differs"
)


@dataclass(frozen=True, slots=True)
class Taps:
    """The taps of a filter along one axis that stay, and the padding that they need before and after the image."""

    first: int
    count: int
    before: int
    after: int


@function_pass(opt_level=2, required=(InferType,), preserves=("InferType",), error_bound=_ERROR)
def PruneFilterTaps(function: Function, module: IRModule, context: PassContext) -> Function:
    """Convolutions of constant filters whose outer taps read padding alone have smaller filters.

    Raises PassError where a declaration of taps has not two operands with a layout.
    """
    found = _Rewrite((context.evaluator or Evaluator)()).rewrite(function)
    assert isinstance(found, Function)
    return found


class _Rewrite(MixedModeMutator):
    def __init__(self, evaluator: Evaluator) -> None:
        super().__init__()
        self.evaluator = evaluator

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        if not isinstance(post.op, Op) or post.attrs is None or len(post.args) != 2:
            return post
        layouts = _layouts(post.op, post.attrs.as_dict())
        if layouts is None or not self.evaluator.is_constant(post.args[1]):
            return post
        image, filters = layouts
        axes = sorted({*image} & {*filters})  # depth, height, width
        kept = _kept(post, image, filters, axes)
        if kept is None:
            return post
        weight = self.evaluator.array(post.args[1])
        if not np.isfinite(weight).all():
            return post
        index = [slice(None)] * weight.ndim
        for axis, taps in zip(axes, kept, strict=True):
            index[filters.index(axis)] = slice(taps.first, taps.first + taps.count)
        attrs = post.attrs.as_dict()
        attrs["padding"] = (*[taps.before for taps in kept], *[taps.after for taps in kept])
        if attrs.get("kernel_size") is not None:
            attrs["kernel_size"] = tuple([taps.count for taps in kept])
        smaller = Constant(np.ascontiguousarray(weight[tuple(index)]))
        return Call(post.op, (post.args[0], smaller), type(post.attrs)(**attrs), span=post.span)


def _layouts(op: Op, attrs: Mapping[str, object]) -> tuple[str, str] | None:
    """Those of the image and of the filters, of an op that declares taps."""
    declaration = op.get_attr("declaration")
    if declaration is None or not declaration.traits.get(TRAIT):
        return None
    found = [attrs[each.layout[0]] for each in declaration.signature.inputs if each.layout is not None]
    if len(found) != 2:
        raise PassError(
            f"op {op.name} declares {TRAIT}: expected two operands with a layout, found {len(found)}"
        )
    return str(found[0]), str(found[1])


def _kept(call: Call, image: str, filters: str, axes: Sequence[str]) -> list[Taps] | None:
    """The taps along each axis that stay; None where all do."""
    types = [arg.checked_type for arg in (*call.args, call)]
    if not all([isinstance(each, TensorType) and each.is_static for each in types]) or call.attrs is None:
        return None
    data, weight, result = [each.concrete_shape for each in types if isinstance(each, TensorType)]
    if not len(image) == len(data) == len(result) or len(filters) != len(weight) or 0 in result:
        return None
    attrs, count = call.attrs.as_dict(), len(axes)
    steps, dilations = _each(attrs["strides"], count), _each(attrs["dilation"], count)
    sides = _each(attrs["padding"], 2 * count)
    found = []
    for n, axis in enumerate(axes):
        place = image.index(axis)
        whole = Taps(0, weight[filters.index(axis)], sides[n], sides[count + n])
        found.append(_read(whole, data[place], (result[place] - 1) * steps[n], dilations[n]))
    return (
        found
        if any([taps.count < weight[filters.index(axis)] for axis, taps in zip(axes, found, strict=True)])
        else None
    )


def _each(numbers: Any, count: int) -> tuple[int, ...]:
    """An attr of numbers that stand for `count` of them: repeated as a whole."""
    return tuple(numbers) * (count // len(numbers))


def _read(taps: Taps, extent: int, reach: int, dilation: int) -> Taps:
    """Those that read some of an image of an extent, where the last result is `reach` further than the first.

    One stays at least, and those without which the padding would be negative.
    """
    while taps.count > 1 and reach < taps.before and taps.before >= dilation:
        taps = Taps(taps.first + 1, taps.count - 1, taps.before - dilation, taps.after)
    while taps.count > 1 and (taps.count - 1) * dilation - taps.before >= extent and taps.after >= dilation:
        taps = Taps(taps.first, taps.count - 1, taps.before, taps.after - dilation)
    return taps
