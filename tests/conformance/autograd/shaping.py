"""What moves elements: shapes, blocks, windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from opgen_runtime import ops

from .example import Draw, Example, Rows


def shapes(t: Any) -> Rows:
    def reshape(draw: Draw) -> Example:
        shape = draw.shape(1, 4, 6)
        flat = list(draw.random.permutation(shape))
        made = [int(flat[0]) * int(math.prod(flat[2:])), *map(int, flat[1:2])]
        if draw.chance():
            made[draw.integer(0, len(made) - 1)] = -1
        return Example(
            [draw.normal(shape)], partial(ops.reshape, newshape=tuple(made)), lambda x: x.reshape(made)
        )

    yield "reshape", reshape

    def transpose(draw: Draw) -> Example:
        shape = draw.shape()
        order = [int(a) for a in draw.random.permutation(len(shape))]
        given = tuple([a - len(shape) if draw.chance() else a for a in order])
        return Example(
            [draw.normal(shape)], partial(ops.transpose, axes=given), lambda x: x.permute(order), str(given)
        )

    yield "transpose", transpose

    def squeeze(draw: Draw) -> Example:
        shape = [*draw.shape(1, 3), 1]
        at = draw.integer(0, len(shape) - 1)
        shape.insert(at, 1)
        axis = at - len(shape) if draw.chance() else at
        return Example([draw.normal(shape)], partial(ops.squeeze, axis=(axis,)), lambda x: x.squeeze(at))

    yield "squeeze", squeeze

    def expand_dims(draw: Draw) -> Example:
        shape = draw.shape()
        at = draw.integer(-len(shape) - 1, len(shape))
        return Example([draw.normal(shape)], partial(ops.expand_dims, axis=at), lambda x: x.unsqueeze(at))

    yield "expand_dims", expand_dims
    yield from _stretches(t)


def _stretches(t: Any) -> Rows:
    def stretched(how: str) -> Callable[[Draw], Example]:
        def make(draw: Draw) -> Example:
            shape = draw.shape()
            below = draw.below(shape)
            x, like = draw.normal(below), np.zeros(shape)
            if how == "broadcast_to":
                return Example([x], partial(ops.broadcast_to, shape=shape), lambda x: x.broadcast_to(shape))
            if how == "broadcast_to_like":
                return Example([x], lambda x: ops.broadcast_to_like(x, like), lambda x: x.broadcast_to(shape))
            whole = draw.normal(shape)
            if how == "collapse_sum_to":
                return Example(
                    [whole], partial(ops.collapse_sum_to, shape=below), lambda y: y.sum_to_size(below)
                )
            return Example([whole], lambda y: ops.collapse_sum_like(y, x), lambda y: y.sum_to_size(below))

        return make

    for name in ("broadcast_to", "broadcast_to_like", "collapse_sum_to", "collapse_sum_like"):
        yield name, stretched(name)

    def reshape_like(draw: Draw) -> Example:
        shape = draw.shape(2, 3)
        like = np.zeros(shape[::-1])
        return Example(
            [draw.normal(shape)], lambda x: ops.reshape_like(x, like), lambda x: x.reshape(shape[::-1])
        )

    yield "reshape_like", reshape_like
    yield from _joins(t)


def _joins(t: Any) -> Rows:
    def several(name: str, theirs: Callable[..., Any]) -> Callable[[Draw], Example]:
        def make(draw: Draw) -> Example:
            shape = draw.shape()
            axis = draw.axis(len(shape))
            parts = []
            for _ in range(draw.integer(1, 4)):
                own = list(shape)
                if name == "concatenate":
                    own[axis] = draw.integer(1, 4)
                parts.append(draw.normal(own))
            return Example(
                parts,
                lambda *xs: getattr(ops, name)(list(xs), axis=axis),
                lambda *xs: theirs(xs, axis),
                str(axis),
            )

        return make

    yield "concatenate", several("concatenate", t.cat)
    yield "stack", several("stack", t.stack)

    def split(draw: Draw) -> Example:
        shape = list(draw.shape())
        axis, count = draw.axis(len(shape)), draw.integer(1, 4)
        shape[axis] *= count
        size = shape[axis] // count
        ours = partial(ops.split, indices_or_sections=count, axis=axis)
        return Example(
            [draw.normal(shape)], lambda x: tuple(ours(x)), lambda x: x.split(size, axis), f"{shape} {axis}"
        )

    yield "split", split

    def meshgrid(draw: Draw) -> Example:
        xs = [draw.normal((draw.integer(1, 4),)) for _ in range(draw.integer(2, 3))]
        how = draw.one(("ij", "xy"))
        ours = partial(ops.meshgrid, indexing=how)
        return Example(xs, lambda *xs: tuple(ours(list(xs))), lambda *xs: t.meshgrid(*xs, indexing=how), how)

    yield "meshgrid", meshgrid
    yield from _repetitions(t)


def _repetitions(t: Any) -> Rows:
    def tile(draw: Draw) -> Example:
        shape = draw.shape(1, 3)
        reps = tuple([draw.integer(1, 3) for _ in range(draw.integer(1, 4))])
        return Example(
            [draw.normal(shape)], partial(ops.tile, reps=reps), lambda x: x.tile(reps), f"{shape} {reps}"
        )

    yield "tile", tile

    def repeat(draw: Draw) -> Example:
        shape = draw.shape()
        axis, count = draw.axis(len(shape)), draw.integer(1, 4)
        return Example(
            [draw.normal(shape)],
            partial(ops.repeat, repeats=count, axis=axis),
            lambda x: x.repeat_interleave(count, axis),
        )

    yield "repeat", repeat

    def reverse(draw: Draw) -> Example:
        shape = draw.shape()
        axis = draw.axis(len(shape))
        return Example([draw.normal(shape)], partial(ops.reverse, axis=axis), lambda x: x.flip(axis))

    yield "reverse", reverse

    def batch_flatten(draw: Draw) -> Example:
        return Example([draw.normal(draw.shape(2, 4))], ops.batch_flatten, lambda x: x.flatten(1))

    yield "batch_flatten", batch_flatten

    def cast(draw: Draw) -> Example:
        return Example(
            [draw.normal(draw.shape())], partial(ops.cast, dtype="float32"), lambda x: x.float(), "", 1e-6
        )

    yield "cast", cast
    yield "copy", lambda draw: Example([draw.normal(draw.shape())], ops.copy, t.clone)

    def full(draw: Draw) -> Example:
        shape = draw.shape()
        return Example([draw.normal(())], partial(ops.full, shape=shape), lambda x: x.expand(shape))

    yield "full", full

    def full_like(draw: Draw) -> Example:
        shape = draw.shape()
        like = np.zeros(shape)
        return Example([draw.normal(())], lambda x: ops.full_like(like, x), lambda x: x.expand(shape))

    yield "full_like", full_like
    yield from _blocks(t)


def _blocks(t: Any) -> Rows:
    f = t.nn.functional

    def depth_to_space(draw: Draw) -> Example:
        b = draw.integer(1, 3)
        x = draw.normal((2, b * b * draw.integer(1, 3), draw.integer(1, 3), draw.integer(1, 3)))
        ours = partial(ops.depth_to_space, block_size=b, mode="CRD")
        return Example([x], ours, lambda x: f.pixel_shuffle(x, b))

    yield "depth_to_space", depth_to_space

    def space_to_depth(draw: Draw) -> Example:
        b = draw.integer(1, 3)
        n, c, h, w = 2, draw.integer(1, 3), b * draw.integer(1, 3), b * draw.integer(1, 3)

        def theirs(x: Any) -> Any:
            return (
                x.reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, -1, h // b, w // b)
            )

        return Example([draw.normal((n, c, h, w))], partial(ops.space_to_depth, block_size=b), theirs)

    yield "space_to_depth", space_to_depth

    def trilu(draw: Draw) -> Example:
        k, upper = draw.integer(-3, 3), draw.chance()
        x = draw.normal(draw.shape(2, 4))
        return Example(
            [x], partial(ops.trilu, k=k, upper=upper), lambda x: t.triu(x, k) if upper else t.tril(x, k)
        )

    yield "trilu", trilu

    def sliding_window(draw: Draw) -> Example:
        shape = [*draw.shape(1, 2), draw.integer(4, 7), draw.integer(4, 7)]
        window = (draw.integer(1, 4), draw.integer(1, 4))
        strides = (draw.integer(1, 3), draw.integer(1, 3))
        axis = len(shape) - 2
        ours = partial(ops.sliding_window, axis=axis, window_shape=window, strides=strides)

        def theirs(x: Any) -> Any:
            return x.unfold(axis, window[0], strides[0]).unfold(axis + 1, window[1], strides[1])

        return Example([draw.normal(shape)], ours, theirs, f"{shape} {window} {strides}")

    yield "sliding_window", sliding_window

    def unfold(draw: Draw) -> tuple[dict[str, Any], dict[str, Any], tuple[int, int]]:
        block, dilation = (draw.integer(1, 3), draw.integer(1, 3)), (draw.integer(1, 2), draw.integer(1, 2))
        stride, pad = (draw.integer(1, 3), draw.integer(1, 3)), (draw.integer(0, 2), draw.integer(0, 2))
        attrs = {"block_shape": block, "dilations": dilation, "pads": (*pad, *pad), "strides": stride}
        theirs = {"kernel_size": block, "dilation": dilation, "padding": pad, "stride": stride}
        return attrs, theirs, (draw.integer(5, 8), draw.integer(5, 8))

    def im2col(draw: Draw) -> Example:
        attrs, theirs, size = unfold(draw)
        x = draw.normal((2, draw.integer(1, 3), *size))
        return Example([x], partial(ops.im2col, **attrs), partial(f.unfold, **theirs), str(attrs))

    yield "im2col", im2col

    def col2im(draw: Draw) -> Example:
        attrs, theirs, size = unfold(draw)
        columns = f.unfold(t.zeros((2, 2, *size)), **theirs).shape
        ours = partial(ops.col2im, image_shape=size, **attrs)
        return Example([draw.normal(columns)], ours, partial(f.fold, output_size=size, **theirs), str(attrs))

    yield "col2im", col2im

    def dilate(draw: Draw) -> Example:
        shape = draw.shape()
        strides = tuple([draw.integer(1, 3) for _ in shape])

        def theirs(x: Any) -> Any:
            made = x.new_zeros([(n - 1) * s + 1 for n, s in zip(shape, strides, strict=True)])
            made[tuple([slice(None, None, s) for s in strides])] = x
            return made

        return Example(
            [draw.normal(shape)], partial(ops.dilate, strides=strides), theirs, f"{shape} {strides}"
        )

    yield "dilate", dilate

    def pads(name: str) -> Callable[[Draw], Example]:
        def make(draw: Draw) -> Example:
            shape = (draw.integer(1, 2), draw.integer(1, 2), draw.integer(4, 6), draw.integer(4, 6))
            kind = draw.one(("constant", "edge", "reflect", "wrap")) if name == "pad" else "reflect"
            widths = [draw.integer(0, 3) for _ in range(4)]
            flat = (0, 0, 0, 0, *widths)
            ours = (
                partial(ops.pad, pad_width=flat, pad_mode=kind, pad_value=0.5)
                if name == "pad"
                else partial(ops.mirror_pad, pad_width=flat, mode="REFLECT")
            )
            mode = {"edge": "replicate", "wrap": "circular"}.get(kind, kind)
            given = {"value": 0.5} if kind == "constant" else {}
            return Example(
                [draw.normal(shape)],
                ours,
                lambda x: f.pad(x, (*widths[2:], *widths[:2]), mode, **given),
                f"{kind} {flat}",
            )

        return make

    yield "pad", pads("pad")
    yield "mirror_pad", pads("mirror_pad")
