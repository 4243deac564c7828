"""Random numbers from counters (Threefry): the same for the same seed, others in each call without one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....ir import Expr, const
from ....operator import Dim
from ..element_types import dtype_of
from ..emit import op
from ..rules import Naturals, Positive, converts
from ._tools import cast, dtype, exactly, ones_of, reshape, scalar, sizes

if TYPE_CHECKING:
    from ..convert import NodeView

Ints = Sequence[int]
Scalar = Any


def _key(seed: float | None, node: NodeView) -> Expr:
    """The two words of a key: of the seed, or a parameter of the program that each call fills anew."""
    if seed is None:
        return node.random_key()
    bits = np.array(seed, np.float64).view(np.uint64)
    return const(np.array([bits & np.uint64(0xFFFFFFFF), bits >> np.uint64(32)]).astype(np.uint32))


def uniform(to: Sequence[Dim], key: Expr, kind: str = "float32", stream: int = 0) -> Expr:
    """Numbers in [0, 1) with 24 random bits; `stream` tells apart those of one key."""
    counter = const(np.array([0, stream], np.uint32))
    bits = op.threefry_bits(key, counter, shape=tuple(to))
    return op.multiply(op.cast(op.right_shift(bits, scalar(8, "uint32")), dtype=kind), 2.0**-24)


def normal(to: Sequence[Dim], key: Expr, kind: str = "float32") -> Expr:
    """Standard normal numbers (Box and Muller 1958)."""
    radius = op.sqrt(op.multiply(op.log(op.subtract(1.0, uniform(to, key, kind))), -2.0))
    return op.multiply(radius, op.cos(op.multiply(uniform(to, key, kind, 1), 2 * math.pi)))


def _wide(kind: str) -> str:
    return "float64" if kind == "float64" else "float32"


def _uniform_between(to: Sequence[Dim], kind: str, low: float, high: float, key: Expr) -> Expr:
    wide = _wide(kind)
    return cast(op.add(op.multiply(uniform(to, key, wide), high - low), low), kind)


def _normal_around(to: Sequence[Dim], kind: str, mean: float, scale: float, key: Expr) -> Expr:
    return cast(op.add(op.multiply(normal(to, key, _wide(kind)), scale), mean), kind)


@converts("RandomUniform")
def random_uniform(
    *,
    dtype: int = 1,
    high: float = 1.0,
    low: float = 0.0,
    seed: float | None = None,
    shape: Naturals,
    node: NodeView,
) -> Expr:
    return _uniform_between(shape, dtype_of(dtype), low, high, _key(seed, node))


@converts("RandomNormal")
def random_normal(
    *,
    dtype: int = 1,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
    shape: Naturals,
    node: NodeView,
) -> Expr:
    return _normal_around(shape, dtype_of(dtype), mean, scale, _key(seed, node))


@converts("RandomUniformLike")
def random_uniform_like(
    x: Expr,
    *,
    dtype: int | None = None,
    high: float = 1.0,
    low: float = 0.0,
    seed: float | None = None,
    node: NodeView,
) -> Expr:
    return _uniform_between(sizes(x), _kind(x, dtype), low, high, _key(seed, node))


@converts("RandomNormalLike")
def random_normal_like(
    x: Expr,
    *,
    dtype: int | None = None,
    mean: float = 0.0,
    scale: float = 1.0,
    seed: float | None = None,
    node: NodeView,
) -> Expr:
    return _normal_around(sizes(x), _kind(x, dtype), mean, scale, _key(seed, node))


def _kind(x: Expr, wanted: int | None) -> str:
    return dtype(x) if wanted is None else dtype_of(wanted)


@converts("Bernoulli", since=15)
def bernoulli(x: Expr, *, dtype: int | None = None, seed: float | None = None, node: NodeView) -> Expr:
    return op.cast(
        op.less(uniform(sizes(x), _key(seed, node), _wide(_kind(x, None))), _widened(x)),
        dtype=_kind(x, dtype),
    )


def _widened(x: Expr) -> Expr:
    return cast(x, _wide(dtype(x)))


@converts("Multinomial")
def multinomial(
    x: Expr, *, dtype: int = 6, sample_size: Positive = 1, seed: float | None = None, node: NodeView
) -> Expr:
    """Classes drawn by the sums of their probabilities; the input holds logarithms of weights."""
    rows, classes = exactly(x, 2)
    wide = _widened(x)
    weights = op.exp(op.subtract(wide, op.max(wide, axis=(1,), keepdims=True)))
    sums = op.cumsum(weights, axis=1)
    total = op.strided_slice(sums, begin=(classes - 1,), end=(classes,), axes=(1,))
    drawn = op.multiply(uniform((rows, sample_size), _key(seed, node), _wide(_kind(x, None))), total)
    passed = op.greater_equal(reshape(drawn, (rows, sample_size, 1)), reshape(sums, (rows, 1, classes)))
    found = op.sum(op.cast(passed, dtype="int32"), axis=(2,), keepdims=False)
    return op.cast(op.minimum(found, classes - 1), dtype=dtype_of(dtype))


@converts("Dropout", since=12)
def dropout(
    x: Expr,
    ratio: Scalar | None = None,
    training: Scalar | None = None,
    *,
    seed: int | None = None,
    node: NodeView,
) -> object:
    """In training elements are dropped with probability `ratio` and the others scaled up."""
    rate = 0.5 if ratio is None else float(ratio)
    if not training or rate == 0.0:
        return (x, ones_of(x, "bool")) if node.num_outputs > 1 else x
    wide = _wide(dtype(x))
    kept = op.greater_equal(uniform(sizes(x), _key(seed, node), wide), rate)
    scaled = op.multiply(x, scalar(1.0 / (1.0 - rate), dtype(x)))
    return (op.where(kept, scaled, scalar(0.0, dtype(x))), kept)[: node.num_outputs]
