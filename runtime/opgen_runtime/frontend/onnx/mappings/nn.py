"""Normalisations, losses and other parts of networks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....ir import Expr
from ....operator import dims_equal
from ..element_types import dtype_of
from ..emit import op
from ..errors import ModelError, NotSupported
from ..rules import Flag, Positive, converts
from ._tools import (
    at_least,
    axis_of,
    cast,
    dtype,
    exactly,
    extent,
    ndim,
    reshape,
    scalar,
    shape,
    sizes,
    take_slice,
)

if TYPE_CHECKING:
    from ..convert import NodeView

Ints = Sequence[int]


def _per_channel(x: Expr, like: Expr) -> Expr:
    """One number a channel, shaped to broadcast against axis 1 of `like`."""
    return reshape(x, [1, exactly(x, 1)[0], *[1] * (ndim(like) - 2)])


@converts("BatchNormalization")
def batch_normalization_1(
    x: Expr,
    gamma: Expr,
    beta: Expr,
    mean: Expr,
    variance: Expr,
    *,
    consumed_inputs: Ints | None = None,
    epsilon: float = 1e-5,
    is_test: Flag = 0,
    momentum: float = 0.9,
    spatial: Flag = 1,
    node: NodeView,
) -> Expr | tuple[Expr, ...]:
    if not is_test:
        raise NotSupported("training")
    return batch_normalization(x, gamma, beta, mean, variance, epsilon=epsilon, spatial=spatial, node=node)


@converts("BatchNormalization", since=7)
def batch_normalization(
    x: Expr,
    gamma: Expr,
    beta: Expr,
    mean: Expr,
    variance: Expr,
    *,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    spatial: Flag = 1,
    training_mode: Flag = 0,
    node: NodeView,
) -> Expr | tuple[Expr, ...]:
    if not spatial:
        raise NotSupported("statistics of each element (spatial = 0)")
    if training_mode:
        return _trained(x, gamma, beta, mean, variance, epsilon, momentum)
    if any(node.has_output(k) for k in range(1, node.num_outputs)):
        raise NotSupported("the outputs of training")
    if {dtype(p) for p in (gamma, beta, mean, variance)} == {dtype(x)} and ndim(x) > 1:
        return op.batch_norm(x, gamma, beta, mean, variance, epsilon=epsilon)[0]
    wide = dtype(mean)
    factor = op.multiply(op.rsqrt(op.add(variance, scalar(epsilon, wide))), cast(gamma, wide))
    if ndim(x) == 1:
        return cast(op.add(op.multiply(op.subtract(cast(x, wide), mean), factor), cast(beta, wide)), dtype(x))
    centred = op.subtract(cast(x, wide), _per_channel(mean, x))
    moved = op.add(op.multiply(centred, _per_channel(factor, x)), _per_channel(cast(beta, wide), x))
    return cast(moved, dtype(x))


def _trained(
    x: Expr, gamma: Expr, beta: Expr, mean: Expr, variance: Expr, epsilon: float, momentum: float
) -> tuple[Expr, ...]:
    """Normalised by its own statistics, and those mixed into the running ones."""
    axes = tuple(d for d in range(ndim(x)) if d != 1)
    wide = dtype(mean)
    data = cast(x, wide)
    own = op.mean(data, axis=axes, keepdims=False)
    centred = op.subtract(data, _per_channel(own, x))
    spread = op.mean(op.multiply(centred, centred), axis=axes, keepdims=False)
    factor = op.multiply(op.rsqrt(op.add(spread, epsilon)), cast(gamma, wide))
    result = op.add(op.multiply(centred, _per_channel(factor, x)), _per_channel(cast(beta, wide), x))

    def mixed(running: Expr, current: Expr) -> Expr:
        return op.add(op.multiply(running, momentum), op.multiply(current, 1.0 - momentum))

    return cast(result, dtype(x)), mixed(mean, own), mixed(variance, spread)


@converts("InstanceNormalization")
def instance_normalization(x: Expr, gamma: Expr, beta: Expr, *, epsilon: float = 1e-5) -> Expr:
    axes = tuple(range(2, ndim(x)))
    centred, factor = _standard(x, axes, epsilon)
    return op.add(op.multiply(op.multiply(centred, factor), _per_channel(gamma, x)), _per_channel(beta, x))


def _standard(x: Expr, axes: tuple[int, ...], epsilon: float) -> tuple[Expr, Expr]:
    """`x` without its mean over the axes, and one over its standard deviation."""
    centred = op.subtract(x, op.mean(x, axis=axes, keepdims=True))
    variance = op.mean(op.multiply(centred, centred), axis=axes, keepdims=True)
    return centred, op.rsqrt(op.add(variance, scalar(epsilon, dtype(x))))


@converts("LayerNormalization", since=17)
def layer_normalization(
    x: Expr,
    gamma: Expr,
    beta: Expr | None = None,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    stash_type: int = 1,
    node: NodeView,
) -> tuple[Expr, ...]:
    """Over the axes from `axis` on, computed in the stash type."""
    axes = tuple(range(axis_of(axis, ndim(x)), ndim(x)))
    wide = dtype_of(stash_type) if dtype(x).bits < 32 else dtype(x)
    if wide == dtype(x) and not (node.has_output(1) or node.has_output(2)):
        return (_layer_norm(x, gamma, beta, axes, epsilon),)
    data = cast(x, wide)
    mean = op.mean(data, axis=axes, keepdims=True)
    centred, factor = _standard(data, axes, epsilon)
    result = op.multiply(cast(op.multiply(centred, factor), dtype(x)), gamma)
    if beta is not None:
        result = op.add(result, beta)
    kept = dtype_of(stash_type)
    return (result, cast(mean, kept), cast(factor, kept))[: node.num_outputs]


def _layer_norm(x: Expr, gamma: Expr, beta: Expr | None, axes: tuple[int, ...], epsilon: float) -> Expr:
    """The declared op, which normalises one axis; several are the rows of a matrix."""
    normal = tuple([sizes(x)[d] for d in axes])
    columns = math.prod(normal)
    rows = x if len(axes) == 1 else reshape(x, (math.prod(sizes(x)[: axes[0]]), columns))

    def row(p: Expr) -> Expr:
        same = ndim(p) == len(normal) and all(map(dims_equal, sizes(p), normal))
        return reshape(p if same else op.broadcast_to(p, shape=normal), (columns,))

    shift = row(gamma if beta is None else beta)  # one that is not added may be anything
    made = op.layer_norm(
        rows, row(gamma), shift, axis=ndim(rows) - 1, epsilon=epsilon, center=beta is not None
    )
    return reshape(made, sizes(x))


@converts("RMSNormalization", since=23)
def rms_normalization(
    x: Expr, gamma: Expr, *, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1
) -> Expr:
    axes = tuple(range(axis_of(axis, ndim(x)), ndim(x)))
    wide = dtype_of(stash_type) if dtype(x).bits < 32 else dtype(x)
    data = cast(x, wide)
    factor = op.rsqrt(
        op.add(op.mean(op.multiply(data, data), axis=axes, keepdims=True), scalar(epsilon, wide))
    )
    return op.multiply(cast(op.multiply(data, factor), dtype(gamma)), gamma)


@converts("GroupNormalization", since=18)
def group_normalization_18(
    x: Expr, gamma: Expr, beta: Expr, *, epsilon: float = 1e-5, num_groups: Positive
) -> Expr:
    """The scale and the shift are one number a group."""
    c = _grouped(x, num_groups)

    def spread(p: Expr) -> Expr:
        return op.repeat(p, repeats=c, axis=0)

    return group_normalization(x, spread(gamma), spread(beta), epsilon=epsilon, num_groups=num_groups)


@converts("GroupNormalization", since=21)
def group_normalization(
    x: Expr, gamma: Expr, beta: Expr, *, epsilon: float = 1e-5, num_groups: Positive, stash_type: int = 1
) -> Expr:
    wide = dtype_of(stash_type) if dtype(x).bits < 32 else dtype(x)
    n, _, *rest = at_least(x, 2)
    grouped = reshape(cast(x, wide), (n, num_groups, _grouped(x, num_groups) * math.prod(rest)))
    centred, factor = _standard(grouped, (2,), epsilon)
    normal = cast(reshape(op.multiply(centred, factor), shape(x)), dtype(x))
    return op.add(op.multiply(normal, _per_channel(gamma, x)), _per_channel(beta, x))


def _grouped(x: Expr, groups: int) -> int:
    """How many channels a group has.  Raises ModelError where they are not divided."""
    channels = extent(x, 1)
    if channels % groups:
        raise ModelError(f"{channels} channels of a tensor of shape {list(shape(x))} in {groups} groups")
    return channels // groups


@converts("LpNormalization")
def lp_normalization(x: Expr, *, axis: int = -1, p: int = 2) -> Expr:
    """Where the norm is 0 the result is 0."""
    at = (axis_of(axis, ndim(x)),)
    if p == 1:
        norm = op.sum(op.abs(x), axis=at, keepdims=True)
    else:
        norm = op.sqrt(op.sum(op.multiply(x, x), axis=at, keepdims=True))
    none = op.equal(norm, 0.0)
    return op.where(none, scalar(0.0, dtype(x)), op.divide(x, op.where(none, scalar(1.0, dtype(x)), norm)))


@converts("LRN")
def lrn(x: Expr, *, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0, size: Positive) -> Expr:
    """Divided by a power of the sum of squares of neighbouring channels."""
    c, before = extent(x, 1), (size - 1) // 2
    widths = [0, 0, before, size - 1 - before, *[0] * (2 * ndim(x) - 4)]
    squares = op.pad(op.multiply(x, x), pad_width=tuple(widths))
    total = take_slice(squares, 1, 0, c)
    for k in range(1, size):
        total = op.add(total, take_slice(squares, 1, k, k + c))
    return op.divide(x, op.power(op.add(op.multiply(total, alpha / size), bias), beta))
