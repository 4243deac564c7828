"""Windows that move over spatial axes, and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ....base.arith import ge, select
from ....base.vocabulary import dataclass
from ....ir import Expr, const
from ....operator import Dim
from ..emit import op
from ..errors import ModelError, NotSupported
from ..limits import spending
from ..rules import Naturals, Positive, Positives, converts
from ._tools import (
    arange,
    at_least,
    at_least_0,
    dtype,
    extent,
    known,
    ndim,
    of_size,
    positions,
    reshape,
    room,
    scalar,
    simple,
    sizes,
    transpose,
    unsqueeze,
)

Ints = Sequence[int]


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over spatial axes of given extents, everything one number an axis.

    Where an extent is open, declared ops count the windows: `extents`, and what is computed of them, are not there.
    """

    sizes: tuple[Dim, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[Dim, ...]
    high: tuple[Dim, ...]
    ceil_mode: bool = False

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of the axes.  Raises NotSupported where one is open."""
        return tuple([known(size, axis) for axis, size in enumerate(self.sizes, 2)])

    @property
    def padding(self) -> tuple[Dim, ...]:
        """Begins, then ends."""
        return (*self.low, *self.high)

    @property
    def counts(self) -> tuple[Dim, ...]:
        """How many windows there are; one that would begin in the padding at the end is left out."""
        return tuple([self._count(d) for d in range(len(self.sizes))])

    def _count(self, d: int) -> Dim:
        size, low, step = self.sizes[d], self.low[d], self.strides[d]
        span = size + low + self.high[d] - self.dilations[d] * (self.kernel[d] - 1) - 1
        if isinstance(span, int) and span < 0:
            return 0
        if not self.ceil_mode:
            return at_least_0(span // step + 1)
        count = at_least_0((span + step - 1) // step + 1)
        beyond = (count - 1) * step - size - low  # at least 0 where the last window begins in the padding
        if isinstance(beyond, int):
            return count - 1 if beyond >= 0 else count
        return simple(select(ge(beyond, 0), count - 1, count))

    @property
    def outputs(self) -> tuple[int, ...]:
        """How many windows there are.  Raises NotSupported where an extent is open."""
        return tuple([known(size, axis) for axis, size in enumerate(self.counts, 2)])

    def places(self, d: int) -> np.ndarray:
        """The position on axis `d` of each element of each window; outside the tensor it is padding.

        Raises NotSupported where the extent is open.
        """
        starts = arange(self.outputs[d]) * self.strides[d] - known(self.low[d], 2 + d)
        room(self.outputs[d], self.kernel[d])
        return np.asarray(starts[:, None] + arange(self.kernel[d])[None, :] * self.dilations[d])

    def open_places(self, d: int, count: Dim) -> Expr:
        """`places` of so many windows, computed when the program runs."""
        starts = op.subtract(op.multiply(positions(count, 2), self.strides[d]), of_size(self.low[d]))
        return op.add(starts, arange(self.kernel[d])[None, :] * self.dilations[d])


def windows(
    extents: Sequence[Dim],
    kernel: Sequence[int],
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    auto_pad: str = "NOTSET",
    ceil_mode: int = 0,
) -> Windows:
    """The windows that ONNX's attributes describe.

    Raises ModelError where one has not a number for each axis.
    """
    k = len(extents)
    check_counts(k, kernel=kernel, strides=strides, dilations=dilations, pads=pads)
    ones = (1,) * k
    step, spread = tuple(strides or ones), tuple(dilations or ones)
    low: list[Dim] = [0] * k
    high: list[Dim] = [0] * k
    if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        for d in range(k):
            reach = spread[d] * (kernel[d] - 1) + 1
            n = 1 if step[d] == 1 else extents[d]  # steps of one need the same pads, whatever the extent
            total = at_least_0(((n + step[d] - 1) // step[d] - 1) * step[d] + reach - n)
            low[d] = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
            high[d] = total - low[d]
    elif auto_pad == "NOTSET" and pads is not None:
        low, high = list(pads[:k]), list(pads[k:])
    # Windows are read whole, wherever they lie: what is padded to hold them may be no larger than a tensor may.
    padded = zip(extents, low, high, strict=True)
    reaches = [n + begin + end for n, begin, end in padded]
    spending().check([max(n, 0) for n in reaches if isinstance(n, int)])
    return Windows(tuple(extents), tuple(kernel), step, spread, tuple(low), tuple(high), bool(ceil_mode))


def check_counts(k: int, **given: Sequence[int] | None) -> None:
    """Raises ModelError for an attribute that has not a number for each of `k` axes, or pads for each end."""
    for name, numbers in given.items():
        wanted = 2 * k if name == "pads" else k
        if numbers is not None and len(numbers) != wanted:
            raise ModelError(f"{name} has {len(numbers)} numbers, expected {wanted} for {k} spatial axes")


def spatial(x: Expr) -> tuple[Dim, ...]:
    """The extents of the spatial axes, which may be open. Raises ModelError for a tensor without batch and channels."""
    if ndim(x) < 2:
        at_least(x, 2)
    return sizes(x)[2:]


def extents_of(x: Expr) -> tuple[int, ...]:
    """The extents of the spatial axes. Raises ModelError as `spatial`, and NotSupported where one is open."""
    return tuple([known(size, axis) for axis, size in enumerate(spatial(x), 2)])


def gathered(x: Expr, moved: Windows, outside: float | int) -> Expr:
    """The elements of each window: (N, C, *windows, *kernel), `outside` where a window leaves the tensor."""
    k = len(moved.sizes)
    made, keep = (
        _gathered(x, moved) if all([isinstance(n, int) for n in moved.sizes]) else _gathered_open(x, moved)
    )
    if keep is not None:
        made = op.where(keep, made, scalar(outside, dtype(x)))
    return transpose(made, [0, 1, *[2 + 2 * d for d in range(k)], *[3 + 2 * d for d in range(k)]])


def _gathered(x: Expr, moved: Windows) -> tuple[Expr, Expr | None]:
    """The elements by window and place in it, axis by axis, and which of them are inside, None where all are."""
    k = len(moved.sizes)
    keep = np.ones((1,) * (2 + 2 * k), bool)
    room(*moved.outputs, *moved.kernel, itemsize=1)
    for d in range(k):
        places = moved.places(d)
        axis = 2 + 2 * d
        inside = (places >= 0) & (places < moved.extents[d])
        x = op.take(x, np.clip(places, 0, moved.extents[d] - 1), axis=axis)
        keep = keep & inside.reshape(
            [inside.shape[a - axis] if a in (axis, axis + 1) else 1 for a in range(2 + 2 * k)]
        )
    return x, None if keep.all() else const(keep)


def _gathered_open(x: Expr, moved: Windows) -> tuple[Expr, Expr]:
    """`_gathered` for open extents."""
    k = len(moved.sizes)
    keep: Expr = const(np.ones((1,) * (2 + 2 * k), bool))
    for d in range(k):
        places = moved.open_places(d, moved.counts[d])
        axis = 2 + 2 * d
        inside = op.logical_and(op.greater_equal(places, 0), op.less(places, of_size(moved.sizes[d])))
        x = op.take(x, places, axis=axis, mode="clip")
        keep = op.logical_and(
            keep, unsqueeze(inside, [a for a in range(2 + 2 * k) if a not in (axis, axis + 1)])
        )
    return x, keep


def with_rank(x: Expr, rank: int) -> Expr:
    """The tensor with spatial axes of extent 1 in front of its own, `rank` in all."""
    return reshape(x, (*sizes(x)[:2], *[1] * (rank - len(spatial(x))), *spatial(x)))


def without_rank(x: Expr, count: int) -> Expr:
    """The tensor without so many spatial axes in front."""
    return reshape(x, (*sizes(x)[:2], *sizes(x)[2 + count :]))


def window_attrs(moved: Windows, rank: int) -> dict[str, Any]:
    """Attrs for an op of `rank` spatial axes; missing ones in front are trivial."""
    ones, zeros = (1,) * (rank - len(moved.sizes)), (0,) * (rank - len(moved.sizes))
    return {
        "strides": ones + moved.strides,
        "dilation": ones + moved.dilations,
        "padding": zeros + moved.low + zeros + moved.high,
    }


def declared_rank(name: str, rank: int) -> int:
    """The rank of the declared op that serves `rank` spatial axes; 0 if there is none."""
    return next((r for r in (rank, 2) if rank <= r and op.has(name.format(r))), 0)


def cross_correlation(x: Expr, w: Expr, moved: Windows, groups: int) -> Expr:
    """The convolution of ONNX, without a bias."""
    k = len(moved.sizes)
    rank = declared_rank("conv{}d", k)
    if not rank:
        raise NotSupported(f"a convolution over {k} axes")
    name = f"conv{rank}d"
    result = getattr(op, name)(
        with_rank(x, rank), with_rank(w, rank), groups=groups, **window_attrs(moved, rank)
    )
    return without_rank(result, rank - k)


def add_bias(x: Expr, bias: Expr | None) -> Expr:
    """`bias` added to each channel."""
    return x if bias is None else op.bias_add(x, bias, axis=1)


@converts("Conv")
def conv(
    x: Expr,
    w: Expr,
    bias: Expr | None = None,
    *,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    dilations: Positives | None = None,
    group: Positive = 1,
    kernel_shape: Positives | None = None,
    pads: Naturals | None = None,
    strides: Positives | None = None,
) -> Expr:
    moved = windows(spatial(x), extents_of(w), strides, dilations, pads, auto_pad)
    return add_bias(cross_correlation(x, w, moved, group), bias)


@converts("ConvTranspose")
def conv_transpose(
    x: Expr,
    w: Expr,
    bias: Expr | None = None,
    *,
    auto_pad: Literal["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"] = "NOTSET",
    dilations: Positives | None = None,
    group: Positive = 1,
    kernel_shape: Positives | None = None,
    output_padding: Naturals | None = None,
    output_shape: Positives | None = None,
    pads: Naturals | None = None,
    strides: Positives | None = None,
) -> Expr:
    k = len(spatial(x))
    check_counts(k, kernel_shape=kernel_shape, strides=strides, dilations=dilations, pads=pads)
    check_counts(k, output_padding=output_padding)
    step, spread = strides or (1,) * k, dilations or (1,) * k
    extra = list(output_padding or (0,) * k)
    low, high = list((pads or (0,) * (2 * k))[:k]), list((pads or (0,) * (2 * k))[k:])
    if output_shape is not None or auto_pad.startswith("SAME"):
        if output_shape is not None and len(output_shape) not in (k, 2 + k):
            raise ModelError(
                f"output_shape {list(output_shape)}, expected an extent for each of {k} spatial axes"
            )
        wanted = (
            list(output_shape[-k:])
            if output_shape
            else [n * s for n, s in zip(extents_of(x), step, strict=True)]
        )
        for d in range(k):
            reach = spread[d] * (extent(w, 2 + d) - 1) + 1
            total = step[d] * (extents_of(x)[d] - 1) + extra[d] + reach - wanted[d]
            if total < 0:
                extra[d], total = extra[d] - total, 0
            low[d] = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
            high[d] = total - low[d]
    rank = declared_rank("conv{}d_transpose", k)
    if not rank:
        raise NotSupported(f"a transposed convolution over {k} axes")
    ones, zeros = (1,) * (rank - k), (0,) * (rank - k)
    result = getattr(op, f"conv{rank}d_transpose")(
        with_rank(x, rank),
        with_rank(w, rank),
        strides=ones + tuple(step),
        dilation=ones + tuple(spread),
        padding=(*zeros, *low, *zeros, *high),
        output_padding=zeros + tuple(extra),
        groups=group,
    )
    return add_bias(without_rank(result, rank - k), bias)
