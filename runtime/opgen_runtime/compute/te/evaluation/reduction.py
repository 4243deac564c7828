"""Reductions over blocks: the axes of the reduction become the leading dims, which are folded block by block."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Final

import numpy as np

from ....base.arith import Expr, Var
from ....base.vocabulary import FLOAT64, DType, is_float_array
from ..tensor import Reduce
from .frame import Axis, Frame, Mask
from .operations import Array, rounded

LIMIT: Final = 1 << 22  # elements of one value


def reduce(frame: Frame, node: Reduce, mask: Mask | None) -> Array:
    """The value of a reduction where `mask` holds.

    Float sums and products are accumulated in a wider type and rounded once.
    """
    extents = [_extent(frame, axis.extent, mask) for axis in node.axes]
    outer = _outer_shape(frame)
    folder = _FOLDERS[node.combiner](node)
    sizes = [size for size, _ in extents]
    blocks = _blocks(sizes, max(1, LIMIT // max(1, prod(outer))))
    rebound = any(axis.var in frame.axes for axis in node.axes)  # then values outside are of another element
    for block in blocks:
        axes: dict[Var, Axis] = dict(frame.axes)
        for depth, (axis, (start, stop)) in enumerate(zip(reversed(node.axes), reversed(block), strict=True)):
            axes[axis.var] = Axis(start, stop, frame.rank + depth)
        shape = tuple(stop - start for start, stop in block)
        around = None if rebound else frame
        rank = frame.rank + len(block)
        inner = Frame(axes, frame.scalars, frame.arrays, rank, frame.reduce, frame.lenient, around)
        _fold_block(folder, node, inner, extents, shape, mask)
    if folder.acc is None:
        return folder.empty(frame, node, mask)
    return folder.result(frame, node, mask)


def _outer_shape(frame: Frame) -> tuple[int, ...]:
    shape = [1] * frame.rank
    for axis in frame.axes.values():
        shape[frame.rank - 1 - axis.position] = axis.stop - axis.start
    return tuple(shape)


def _extent(frame: Frame, extent: int | Expr, mask: Mask | None) -> tuple[int, Array | None]:
    """The number of steps, and where it varies over the block, the number at each point."""
    if isinstance(extent, int):
        return extent, None
    value = frame.value(extent, mask)
    if value.ndim == 0 or value.size == 1:
        count = int(value.reshape(-1)[0]) if value.size else 0
        if mask is not None and not mask.where.any():
            count = 0
        return max(0, count), None
    needed = value if mask is None else np.where(mask.where, value, value.dtype.type(0))
    return max(0, int(needed.max(initial=0))), value


def _blocks(sizes: list[int], limit: int) -> list[tuple[tuple[int, int], ...]]:
    """The reduction's domain in row-major order, in boxes of at most about `limit` points."""
    if any(size == 0 for size in sizes):
        return []
    steps: list[int] = []
    room = limit
    for size in reversed(sizes):
        step = max(1, min(size, room))
        steps.append(step)
        room = room // size if step == size else 0
    steps.reverse()
    ranges = [
        [(start, min(start + step, size)) for start in range(0, size, step)]
        for size, step in zip(sizes, steps, strict=True)
    ]
    return list(product(*ranges))


def _fold_block(
    folder: _Folder,
    node: Reduce,
    inner: Frame,
    extents: list[tuple[int, Array | None]],
    shape: tuple[int, ...],
    mask: Mask | None,
) -> None:
    valid: Array | None = None
    for axis, (_, varying) in zip(node.axes, extents, strict=True):
        if varying is not None:
            here = inner.axes[axis.var].values() < varying
            valid = here if valid is None else valid & here
    under = mask
    if valid is not None:
        under = Mask(valid if mask is None else valid & mask.where, mask)
    if node.condition is not None:
        condition = inner.value(node.condition, under)
        valid = condition if valid is None else valid & condition
        under = Mask(condition if under is None else condition & under.where, under)
    value = inner.value(node.value, under)
    rank = inner.rank
    value = _leading(value, rank, shape)
    valid = None if valid is None else _leading(valid, rank, shape)
    if folder.positional:
        folder.positions(node, inner, extents, shape)
    with np.errstate(all="ignore"):
        folder.fold(_flat(value, shape), None if valid is None else _flat(valid, shape))


def _leading(value: Array, rank: int, shape: tuple[int, ...]) -> Array:
    """`value` with `rank` dims, of which the leading ones have the block's shape."""
    value = value.reshape((1,) * (rank - value.ndim) + value.shape)
    return np.broadcast_to(value, shape + value.shape[len(shape) :])


def _flat(value: Array, shape: tuple[int, ...]) -> Array:
    return value.reshape((prod(shape), *value.shape[len(shape) :]))


@dataclass(slots=True)
class _Folder:
    """Folds blocks, whose first dim runs over the steps of the reduction in order."""

    node: Reduce
    acc: Array | None = None
    positional: bool = False

    def fold(self, value: Array, valid: Array | None) -> None:
        raise NotImplementedError

    def positions(
        self, node: Reduce, inner: Frame, extents: list[tuple[int, Array | None]], shape: tuple[int, ...]
    ) -> None:
        raise NotImplementedError

    def empty(self, frame: Frame, node: Reduce, mask: Mask | None) -> Array:
        return np.asarray(_IDENTITY[node.combiner](node.dtype), dtype=node.dtype.numpy)

    def result(self, frame: Frame, node: Reduce, mask: Mask | None) -> Array:
        assert self.acc is not None
        with np.errstate(all="ignore"):
            return rounded(self.acc, node.dtype)


@dataclass(slots=True)
class _Plain(_Folder):
    """sum prod min max any all."""

    def fold(self, value: Array, valid: Array | None) -> None:
        combine = _COMBINE[self.node.combiner]
        if valid is not None:
            identity = np.asarray(_IDENTITY[self.node.combiner](self.node.dtype), dtype=value.dtype)
            value = np.where(valid, value, identity)
        wide = _wide(self.node.dtype) if self.node.combiner in ("sum", "prod") else None
        if self.node.combiner in ("sum", "prod"):
            part = combine.reduce(value, axis=0, dtype=wide or value.dtype)
        else:
            part = combine.reduce(value, axis=0)
        self.acc = np.asarray(part) if self.acc is None else np.asarray(combine(self.acc, part))


@dataclass(slots=True)
class _Extreme(_Folder):
    """argmax and argmin: the position of the first extreme value; a NaN is the most extreme."""

    best: Array | None = None
    where: Array | None = None

    def positions(
        self, node: Reduce, inner: Frame, extents: list[tuple[int, Array | None]], shape: tuple[int, ...]
    ) -> None:
        position: Array = np.asarray(0, dtype=np.int64)
        for axis, (size, varying) in zip(node.axes, extents, strict=True):
            count = np.asarray(size) if varying is None else varying
            position = position * count + inner.axes[axis.var].values()
        self.where = _flat(_leading(position, inner.rank, shape), shape)

    def fold(self, value: Array, valid: Array | None) -> None:
        assert self.where is not None
        greatest = self.node.combiner == "argmax"
        shape = np.broadcast_shapes(value.shape, self.where.shape, () if valid is None else valid.shape)
        value = np.broadcast_to(value, shape)
        where = np.broadcast_to(self.where, shape)
        ok = np.ones(shape, bool) if valid is None else np.broadcast_to(valid, shape)
        nan = np.isnan(value) & ok if is_float_array(value.dtype) else np.zeros(shape, bool)
        worst = self.node.value.dtype.lowest if greatest else self.node.value.dtype.highest
        level = np.where(ok, value, np.asarray(worst, value.dtype))
        extreme = (np.maximum if greatest else np.minimum).reduce(level, axis=0)
        hit = ok & ((level == extreme) | nan)
        any_nan = nan.any(axis=0)
        hit = np.where(any_nan, nan, hit)
        first = hit.argmax(axis=0)[None]
        found = hit.any(axis=0)
        position = np.where(found, np.take_along_axis(where, first, 0)[0], -1)
        picked = np.take_along_axis(value, first, 0)[0]
        if self.acc is None or self.best is None:
            self.acc, self.best = position, picked
            return
        before_nan = np.isnan(self.best) if is_float_array(value.dtype) else np.zeros(self.best.shape, bool)
        ahead = picked > self.best if greatest else picked < self.best
        better = found & ((self.acc < 0) | (~before_nan & (any_nan | ahead)))
        self.acc = np.where(better, position, self.acc)
        self.best = np.where(better, picked, self.best)


@dataclass(slots=True)
class _First(_Folder):
    """The first value whose condition holds, else the default."""

    found: Array | None = None

    def fold(self, value: Array, valid: Array | None) -> None:
        ok = np.ones(value.shape[:1] + (1,) * (value.ndim - 1), bool) if valid is None else valid
        shape = np.broadcast_shapes(value.shape, ok.shape)
        value, ok = np.broadcast_to(value, shape), np.broadcast_to(ok, shape)
        first = ok.argmax(axis=0)[None]
        picked = np.take_along_axis(value, first, 0)[0]
        hit = np.asarray(ok.any(axis=0))
        if self.acc is None or self.found is None:
            self.acc, self.found = picked, hit
            return
        self.acc = np.where(self.found, self.acc, picked)
        self.found = np.asarray(self.found | hit)

    def empty(self, frame: Frame, node: Reduce, mask: Mask | None) -> Array:
        assert node.default is not None
        return frame.value(node.default, mask)

    def result(self, frame: Frame, node: Reduce, mask: Mask | None) -> Array:
        assert node.default is not None
        assert self.acc is not None
        assert self.found is not None
        if self.found.all():
            return self.acc
        missing = ~self.found
        under = Mask(missing if mask is None else missing & mask.where, mask)
        return np.where(self.found, self.acc, frame.value(node.default, under))


def _plain(node: Reduce) -> _Folder:
    return _Plain(node)


def _extreme(node: Reduce) -> _Folder:
    return _Extreme(node, positional=True)


def _first(node: Reduce) -> _Folder:
    return _First(node)


_FOLDERS: Final[dict[str, Callable[[Reduce], _Folder]]] = {
    **dict.fromkeys(("sum", "prod", "min", "max", "any", "all"), _plain),
    **dict.fromkeys(("argmax", "argmin"), _extreme),
    "first": _first,
}
_COMBINE: Final[dict[str, Any]] = {
    "sum": np.add,
    "prod": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "any": np.logical_or,
    "all": np.logical_and,
}
_IDENTITY: Final[dict[str, Callable[[DType], object]]] = {
    "sum": lambda dtype: 0,
    "prod": lambda dtype: 1,
    "min": lambda dtype: dtype.highest,
    "max": lambda dtype: dtype.lowest,
    "any": lambda dtype: False,
    "all": lambda dtype: True,
    "argmax": lambda dtype: -1,
    "argmin": lambda dtype: -1,
}


def _wide(dtype: DType) -> Any:
    """What sums and products of a dtype are kept in; None for its own."""
    return None if not dtype.is_float else np.longdouble if dtype is FLOAT64 else np.float64
