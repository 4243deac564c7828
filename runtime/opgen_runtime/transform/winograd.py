"""Winograd: convolutions of three by three filters by Winograd's minimal filtering, F(2x2, 3x3) or F(4x4, 3x3).

    conv2d(%x, weight)      winograd_conv2d(%x, filters, tile=4), filters = winograd_filters(weight, tile=4)

    where conv2d's declaration says `traits: {winograd: {conv: winograd_conv2d, filters: winograd_filters}}`

A tile of m by m results takes (m + 2)^2 products a channel instead of 9 m^2 (Lavin and Gray 2016, Fast algorithms for
convolutional neural networks): a 2.25th of them for m = 2, a fourth for m = 4.  Weights are constants, and transformed
when the program is built.  A call that the other op does not take stays (steps other than one, groups, layouts), and
so does one for which transforms and the larger filters cost more than products are saved: few channels, filters or
results.

Rounding errors are larger.  By the analysis of products of matrices (Higham 2002, Accuracy and stability of numerical
algorithms, 3.5), with u half the epsilon of the dtype, an error is at most

    (C + 20) u / (1 - (C + 20) u) * k^2 * sum over the C channels of max |weight| * max |x in the tile|,
    k = max(|A^T| (|G| 1 * |B^T| 1)): 8 for m = 2, 48 for m = 4

where the definition has 9 C for C + 20, and 9 for k^2.  It is relative to the greatest magnitudes of a tile, not of a
result's own window, and an infinity or NaN reaches every result of its tile.  So the pass runs only where it is asked
for: `PassContext(required=["Winograd"])`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..base.errors import OpgenError, PassError
from ..base.vocabulary import DType
from ..ir import Call, Constant, Expr, Function, IRModule, MixedModeMutator
from ..operator import Op, TensorType, has_op
from .context import PassContext
from .define import function_pass
from .evaluator import Evaluator
from .infer_type import InferType
from .info import Option

TRAIT: Final = "winograd"
GROWTH: Final[Mapping[int, int]] = {2: 8**2, 4: 48**2}  # k^2 of each tile
_TAPS: Final = 3
_TRANSFORMED: Final = 20  # an element that is transformed takes as long as so many products
_FETCHED: Final = 4  # and one of the filters that is fetched
_BETTER: Final = 0.9  # of the definition's products; more expensive ones are not worth their error

OPTIONS = {
    "tile": Option(4, "The most results along a side of a tile: 2, or 4, with the larger error.", least=2)
}


def _bound(tile: int) -> str:
    largest = max(size for size in GROWTH if size <= tile)
    return (
        f"(C + 20) * epsilon / 2 * {GROWTH[largest]} * the sum over C channels of max |filter| * max |image's tile|; "
        f"the definition's is 9 * C * epsilon / 2 * 9 * that sum; infinities and NaN reach all results of a tile"
    )


@function_pass(
    opt_level=5, required=(InferType,), preserves=("InferType",), options=OPTIONS, error_bound=_bound
)
def Winograd(function: Function, module: IRModule, context: PassContext, *, tile: int) -> Function:
    """Convolutions of constant filters of three by three take fewer products, where that pays.

    Raises PassError where a declaration names what is no op.
    """
    found = _Rewrite((context.evaluator or Evaluator)(), tile).rewrite(function)
    assert isinstance(found, Function)
    return found


class _Rewrite(MixedModeMutator):
    def __init__(self, evaluator: Evaluator, most: int) -> None:
        super().__init__()
        self.evaluator, self.most = evaluator, most

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        names = _names(post.op) if isinstance(post.op, Op) else None
        if names is None or len(post.args) != 2 or not self.evaluator.is_constant(post.args[1]):
            return post
        tile = _tile(post, self.most)
        conv, filters = names
        kind = conv.get_attr("declaration").attrs
        if tile is None or post.attrs is None:
            return post
        try:
            attrs = kind(**{**post.attrs.as_dict(), "tile": tile})
            transform = filters.get_attr("declaration").attrs(tile=tile)
            transformed = Constant(self.evaluator.array(Call(filters, post.args[1:], transform)))
            made = Call(conv, (post.args[0], transformed), attrs, span=post.span)
        except OpgenError:
            return post
        return made if made.checked_type == post.checked_type else post


def _names(op: Op) -> tuple[Op, Op] | None:
    """What an op's declaration names: the op of tiles, and that of its filters."""
    declaration = op.get_attr("declaration")
    named = None if declaration is None else declaration.traits.get(TRAIT)
    if named is None:
        return None
    found = [named.get(role) if isinstance(named, Mapping) else None for role in ("conv", "filters")]
    for name in found:
        if not isinstance(name, str) or not has_op(name):
            raise PassError(f"op {op.name} declares {TRAIT} {named!r}: {name!r} is no op")
    return Op.get(str(found[0])), Op.get(str(found[1]))


def _tile(call: Call, most: int) -> int | None:
    """The results along a side of a tile for which a call takes least; None where the definition takes as little."""
    types = [arg.checked_type for arg in (*call.args, call)]
    if not all([isinstance(each, TensorType) and each.is_static and _is_wide(each.dtype) for each in types]):
        return None
    data, weight, result = [each.concrete_shape for each in types if isinstance(each, TensorType)]
    if not len(data) == len(weight) == len(result) == 4 or weight[2:] != (_TAPS, _TAPS):
        return None
    count, channels, filters = data[0], weight[1], weight[0]
    best: tuple[float, int | None] = (
        _BETTER * _TAPS**2 * channels * filters * count * result[2] * result[3],
        None,
    )
    for tile in GROWTH:
        tiles = count * -(-result[2] // tile) * -(-result[3] // tile)
        products = channels * filters * (tiles + _FETCHED) + _TRANSFORMED * tiles * (channels + filters)
        if tile <= most:
            best = min(best, ((tile + _TAPS - 1) ** 2 * products, tile), key=lambda each: each[0])
    return best[1]


def _is_wide(dtype: DType) -> bool:
    """Whether results are kept as they are computed."""
    return dtype.float_format is not None and not dtype.is_storage
