"""Slices, gathers, scatters and sorting."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from opgen_runtime import ops

from .example import Draw, Example, Rows


def _cut(
    draw: Draw, shape: Sequence[int]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[slice, ...]]:
    """Slices of some leading axes, with steps of both signs, none of them empty."""
    begins, ends, strides = [], [], []
    for n in shape[: draw.integer(1, len(shape))]:
        step = draw.one((1, 1, 2, 3, -1, -2))
        low, high = sorted((draw.integer(0, n - 1), draw.integer(0, n - 1)))
        begin, end = (low, high + 1) if step > 0 else (high, low - 1 if low else -n - 1)
        begins.append(begin - n if draw.chance() else begin)
        ends.append(end)
        strides.append(step)
    cut = tuple([slice(b, e, s) for b, e, s in zip(begins, ends, strides, strict=True)])
    return tuple(begins), tuple(ends), tuple(strides), cut


def _places(shape: Sequence[int], cut: Sequence[slice]) -> np.ndarray:
    """The row-major positions of the elements of a slice."""
    return np.arange(math.prod(shape)).reshape(shape)[tuple(cut)]


def slices(t: Any) -> Rows:
    def strided_slice(draw: Draw) -> Example:
        shape = draw.shape(1, 4, 6)
        begin, end, strides, cut = _cut(draw, shape)
        places = t.from_numpy(_places(shape, cut).copy())
        ours = partial(ops.strided_slice, begin=begin, end=end, strides=strides)
        return Example([draw.normal(shape)], ours, lambda x: x.flatten()[places], f"{shape} {cut}")

    yield "strided_slice", strided_slice

    def strided_set(draw: Draw) -> Example:
        shape = draw.shape(1, 4, 6)
        begin, end, strides, cut = _cut(draw, shape)
        found = _places(shape, cut).copy()
        places = t.from_numpy(found)
        ours = partial(ops.strided_set, begin=begin, end=end, strides=strides)

        def theirs(x: Any, v: Any) -> Any:
            return x.flatten().scatter(0, places.flatten(), v.flatten()).reshape(shape)

        return Example([draw.normal(shape), draw.normal(found.shape)], ours, theirs, f"{shape} {cut}")

    yield "strided_set", strided_set

    def slice_like(draw: Draw) -> Example:
        shape = draw.shape()
        like = np.zeros([draw.integer(1, n) for n in shape])
        cut = tuple([slice(0, n) for n in like.shape])
        return Example([draw.normal(shape)], lambda x: ops.slice_like(x, like), lambda x: x[cut])

    yield "slice_like", slice_like

    def batch_blocks(name: str) -> Callable[[Draw], Example]:
        def make(draw: Draw) -> Example:
            block = (draw.integer(1, 3), draw.integer(1, 2))
            n, c = draw.integer(1, 2), draw.integer(1, 2)
            h, w = block[0] * draw.integer(1, 3), block[1] * draw.integer(1, 3)
            zeros = (0, 0, 0, 0)
            if name == "space_to_batch_nd":
                ours = partial(ops.space_to_batch_nd, block_shape=block, paddings=zeros)
                split = (n, h // block[0], block[0], w // block[1], block[1], c)
                x = draw.normal((n, h, w, c))
                last = (n * block[0] * block[1], h // block[0], w // block[1], c)
                return Example([x], ours, lambda x: x.reshape(split).permute(2, 4, 0, 1, 3, 5).reshape(last))
            ours = partial(ops.batch_to_space_nd, block_shape=block, crops=zeros)
            x = draw.normal((n * block[0] * block[1], h, w, c))
            split = (*block, n, h, w, c)
            last = (n, h * block[0], w * block[1], c)
            return Example([x], ours, lambda x: x.reshape(split).permute(2, 3, 0, 4, 1, 5).reshape(last))

        return make

    yield "space_to_batch_nd", batch_blocks("space_to_batch_nd")
    yield "batch_to_space_nd", batch_blocks("batch_to_space_nd")


def gathers(t: Any) -> Rows:
    def take(draw: Draw) -> Example:
        shape = draw.shape()
        axis = draw.axis(len(shape))
        n, mode = shape[axis], draw.one(("clip", "wrap"))
        indices = draw.integers(2 * n, draw.shape(0, 2), -n)
        inside = np.clip(indices, 0, n - 1) if mode == "clip" else indices % n
        at = t.from_numpy(np.asarray(inside))
        theirs = lambda x: x[(*[slice(None)] * (axis % len(shape)), at)]  # noqa: E731
        return Example(
            [draw.normal(shape)],
            lambda x: ops.take(x, indices, axis=axis, mode=mode),
            theirs,
            f"{shape} {axis}",
        )

    yield "take", take

    def gather(draw: Draw) -> Example:
        shape = draw.shape()
        axis = draw.axis(len(shape))
        own = [draw.integer(1, n) for n in shape]
        own[axis] = draw.integer(1, 6)
        indices = draw.integers(shape[axis], own)
        at = t.from_numpy(indices)
        return Example(
            [draw.normal(shape)], lambda x: ops.gather(x, indices, axis=axis), lambda x: x.gather(axis, at)
        )

    yield "gather", gather

    def gather_nd(draw: Draw) -> Example:
        shape = draw.shape()
        depth = draw.integer(1, len(shape))
        count = draw.integer(1, 6)
        columns = [draw.integers(n, (count,), -n) for n in shape[:depth]]
        indices = np.stack(columns, -1)
        at = tuple([t.from_numpy(c) for c in columns])
        return Example([draw.normal(shape)], lambda x: ops.gather_nd(x, indices), lambda x: x[at])

    yield "gather_nd", gather_nd

    def adv_index(draw: Draw) -> Example:
        shape = draw.shape()
        a, b = draw.pair()
        both = [draw.integers(n, s, -n) for n, s in zip(shape, (a, b), strict=False)]
        at = tuple([t.from_numpy(np.asarray(c)) for c in both])
        return Example(
            [draw.normal(shape)], lambda x: ops.adv_index(x, both), lambda x: x[at], f"{shape} {a} {b}"
        )

    yield "adv_index", adv_index
    yield from _scatters(t)


def _scatters(t: Any) -> Rows:
    def scatter_elements(draw: Draw) -> Example:
        shape = draw.shape()
        axis = draw.axis(len(shape))
        own = [draw.integer(1, n) for n in shape]
        how = draw.one(("update", "add"))
        if how == "add":
            own[axis] = draw.integer(1, 6)
        lines = draw.random.random(
            (*own[: axis % len(shape)], *own[axis % len(shape) + 1 :], shape[axis])
        ).argsort(-1)
        once = np.moveaxis(
            lines[..., : own[axis]], -1, axis
        )  # torch says nothing of places that are written twice
        indices = once if how == "update" else draw.integers(shape[axis], own)
        at = t.from_numpy(np.ascontiguousarray(indices))
        ours = lambda x, v: ops.scatter_elements(x, indices, v, axis=axis, reduction=how)  # noqa: E731
        theirs = lambda x, v: x.scatter(axis, at, v) if how == "update" else x.scatter_add(axis, at, v)  # noqa: E731
        return Example([draw.normal(shape), draw.normal(own)], ours, theirs, f"{shape} {own} {axis} {how}")

    yield "scatter_elements", scatter_elements

    def scatter_nd(draw: Draw) -> Example:
        shape = draw.shape()
        depth = draw.integer(1, len(shape))
        how = draw.one(("update", "add"))
        every = np.array(list(itertools.product(*[range(n) for n in shape[:depth]])))
        indices = every[draw.random.permutation(len(every))[: draw.integer(1, len(every))]]
        if how == "add":
            indices = indices[draw.integers(len(indices), (draw.integer(1, 6),))]
        at = tuple([t.from_numpy(indices[:, k].copy()) for k in range(depth)])
        updates = draw.normal((len(indices), *shape[depth:]))
        ours = lambda x, v: ops.scatter_nd(x, indices, v, mode=how)  # noqa: E731
        return Example(
            [draw.normal(shape), updates], ours, lambda x, v: x.index_put(at, v, how == "add"), how
        )

    yield "scatter_nd", scatter_nd
    yield from _chosen(t)


def _chosen(t: Any) -> Rows:
    def masked_select(draw: Draw) -> Example:
        shape = draw.shape(1, 3)
        mask = draw.integers(2, shape).astype(bool)
        mask.flat[0] = True
        at = t.from_numpy(mask)

        def padded(x: Any) -> Any:  # of one size for all masks: its square added up
            return ops.sum(ops.square(ops.masked_select(x, mask)))

        return Example([draw.normal(shape)], padded, lambda x: (x[at] ** 2).sum(), str(shape))

    yield "masked_select", masked_select

    def sort(draw: Draw) -> Example:
        shape = draw.shape()
        axis, up = draw.axis(len(shape)), draw.chance()
        theirs = lambda x: t.sort(x, axis, descending=not up).values  # noqa: E731
        return Example([draw.normal(shape)], partial(ops.sort, axis=axis, is_ascend=up), theirs)

    yield "sort", sort

    def topk(draw: Draw) -> Example:
        shape = draw.shape()
        axis, up = draw.axis(len(shape)), draw.chance()
        k = draw.integer(1, shape[axis])
        ours = lambda x: ops.topk(x, axis=axis, k=k, is_ascend=up)[0]  # noqa: E731
        return Example([draw.normal(shape)], ours, lambda x: t.topk(x, k, axis, largest=not up).values)

    yield "topk", topk

    def bincount(draw: Draw) -> Example:
        data, size = draw.integers(5, (draw.integer(1, 9),)), draw.integer(5, 7)
        at = t.from_numpy(data)
        theirs = lambda w: w.new_zeros(size).index_add(0, at, w)  # noqa: E731
        return Example([draw.normal(data.shape)], lambda w: ops.bincount(data, w, size=size), theirs)

    yield "bincount", bincount

    def one_hot(draw: Draw) -> Example:
        indices = draw.integers(4, draw.shape(1, 2))
        hot = t.nn.functional.one_hot(t.from_numpy(indices), 4).double()
        ours = lambda on, off: ops.one_hot(indices, on, off, depth=4)  # noqa: E731
        return Example([draw.normal(()), draw.normal(())], ours, lambda on, off: hot * on + (1 - hot) * off)

    yield "one_hot", one_hot
    yield from _diagonals_and_sequences(t)


def _diagonals_and_sequences(t: Any) -> Rows:
    def matrix_set_diag(draw: Draw) -> Example:
        shape = (*draw.shape(0, 2), draw.integer(1, 5), draw.integer(1, 5))
        k = draw.integer(-shape[-2] + 1, shape[-1] - 1)
        length = min(shape[-2] + min(k, 0), shape[-1] - max(k, 0))
        diagonal = draw.normal((*shape[:-2], length))
        ours = partial(ops.matrix_set_diag, k=(k,))
        return Example([draw.normal(shape), diagonal], ours, lambda x, d: t.diagonal_scatter(x, d, k, -2, -1))

    yield "matrix_set_diag", matrix_set_diag

    def sequences(name: str) -> Callable[[Draw], Example]:
        def make(draw: Draw) -> Example:
            length, batch, rest = draw.integer(1, 6), draw.integer(1, 4), draw.shape(0, 2)
            lengths = draw.integers(length + 1, (batch,), 1)
            x = draw.normal((length, batch, *rest))
            inside = np.arange(length)[:, None] < lengths[None]
            if name == "sequence_mask":
                at = t.from_numpy(inside.reshape(length, batch, *[1] * len(rest)))
                ours = lambda x: ops.sequence_mask(x, lengths, mask_value=0.25, axis=0)  # noqa: E731
                return Example([x], ours, lambda x: t.where(at, x, 0.25))
            from_ = np.where(
                inside, lengths[None] - 1 - np.arange(length)[:, None], np.arange(length)[:, None]
            )
            at = t.from_numpy(from_)
            column = t.arange(batch)[None]
            ours = lambda x: ops.reverse_sequence(x, lengths, seq_axis=0, batch_axis=1)  # noqa: E731
            return Example([x], ours, lambda x: x[at, column])

        return make

    yield "sequence_mask", sequences("sequence_mask")
    yield "reverse_sequence", sequences("reverse_sequence")
