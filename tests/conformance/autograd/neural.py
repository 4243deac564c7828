"""Products, convolutions, pools, images, normalisations, losses and recurrences."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from opgen_runtime import ops

from .example import Draw, Example, Make, Rows


def products(t: Any) -> Rows:
    def matmul(draw: Draw) -> Example:
        n, k, m = draw.integer(1, 5), draw.integer(1, 5), draw.integer(1, 5)
        a, b = draw.pair()
        left, right = (*a, n, k), (*b, k, m)
        return Example([draw.normal(left), draw.normal(right)], ops.matmul, t.matmul, f"{left} {right}")

    yield "matmul", matmul

    def batch_matmul(draw: Draw) -> Example:
        b, n, k, m = (draw.integer(1, 5) for _ in range(4))
        ta, tb = draw.chance(), draw.chance()
        left, right = (b, k, n) if ta else (b, n, k), (b, m, k) if tb else (b, k, m)
        theirs = lambda x, y: (x.mT if ta else x) @ (y.mT if tb else y)  # noqa: E731
        ours = partial(ops.batch_matmul, transpose_a=ta, transpose_b=tb)
        return Example([draw.normal(left), draw.normal(right)], ours, theirs, f"{left} {right} {ta} {tb}")

    yield "batch_matmul", batch_matmul

    def dense(draw: Draw) -> Example:
        lead, k, m = draw.shape(1, 3), draw.integer(1, 6), draw.integer(1, 6)
        return Example([draw.normal((*lead, k)), draw.normal((m, k))], ops.dense, t.nn.functional.linear)

    yield "dense", dense

    def einsum(draw: Draw) -> Example:
        equation = draw.one(("ij,jk->ik", "bij,bkj->bik", "ij,ij->", "i,j->ij", "ii->i", "bij->bji", "ijk,kl,jm->ilm",
                             "bhqd,bhkd->bhqk", "ij->j", "iij->ij"))  # fmt: skip
        extents = {letter: draw.integer(1, 4) for letter in "bdhijklmq"}
        parts = [draw.normal([extents[c] for c in term]) for term in equation.split("->")[0].split(",")]
        ours = lambda *xs: ops.einsum(list(xs), equation=equation)  # noqa: E731
        return Example(parts, ours, lambda *xs: t.einsum(equation, *xs), equation)

    yield "einsum", einsum

    def attention(draw: Draw) -> Example:
        n, g, hk, q, s, e, w = (draw.integer(1, 4) for _ in range(7))
        arrays = [draw.normal((n, g * hk, q, e)), draw.normal((n, hk, s, e)), draw.normal((n, hk, s, w))]
        causal = draw.chance()
        theirs = partial(t.nn.functional.scaled_dot_product_attention, is_causal=causal, enable_gqa=True)
        if not causal and draw.chance():
            arrays.append(draw.normal((q, s)))
        return Example(
            arrays, partial(ops.attention, causal=causal), theirs, f"{[a.shape for a in arrays]} {causal}"
        )

    yield "attention", attention

    def bias_add(draw: Draw) -> Example:
        shape = draw.shape()
        axis = draw.axis(len(shape))
        own = [1] * len(shape)
        own[axis] = -1
        arrays = [draw.normal(shape), draw.normal((shape[axis],))]
        return Example(arrays, partial(ops.bias_add, axis=axis), lambda x, b: x + b.reshape(own))

    yield "bias_add", bias_add


def _each(draw: Draw, rank: int, low: int, high: int) -> tuple[int, ...]:
    return tuple([draw.integer(low, high) for _ in range(rank)])


def windows(t: Any) -> Rows:
    f = t.nn.functional
    for rank in (1, 2, 3):
        yield f"conv{rank}d", _conv(rank, getattr(f, f"conv{rank}d"))
        yield f"conv{rank}d_transpose", _transposed(rank, getattr(f, f"conv_transpose{rank}d"))
        yield f"max_pool{rank}d", _pool(rank, "max", getattr(f, f"max_pool{rank}d"))
        yield f"avg_pool{rank}d", _pool(rank, "avg", getattr(f, f"avg_pool{rank}d"))
        for kind in ("avg", "max"):
            yield (
                f"adaptive_{kind}_pool{rank}d",
                _adaptive(rank, kind, getattr(f, f"adaptive_{kind}_pool{rank}d")),
            )
        axes = tuple(range(2, 2 + rank))
        yield f"global_avg_pool{rank}d", _global(rank, "avg", partial(t.mean, dim=axes, keepdim=True))
        yield f"global_max_pool{rank}d", _global(rank, "max", partial(t.amax, dim=axes, keepdim=True))


def _conv(rank: int, theirs: Callable[..., Any]) -> Make:
    def make(draw: Draw) -> Example:
        groups = draw.integer(1, 2)
        attrs: dict[str, Any] = {
            "strides": _each(draw, rank, 1, 3), "padding": _each(draw, rank, 0, 2),
            "dilation": _each(draw, rank, 1, 2), "groups": groups,
        }  # fmt: skip
        channels, filters = groups * draw.integer(1, 2), groups * draw.integer(1, 2)
        x = draw.normal((draw.integer(1, 2), channels, *_each(draw, rank, 5, 6)))
        w = draw.normal((filters, channels // groups, *_each(draw, rank, 1, 3)))
        given = {**{k: attrs[k] for k in ("padding", "dilation", "groups")}, "stride": attrs["strides"]}
        ours = partial(getattr(ops, f"conv{rank}d"), **attrs)
        return Example([x, w], ours, partial(theirs, **given), f"{x.shape} {w.shape} {attrs}")

    return make


def _transposed(rank: int, theirs: Callable[..., Any]) -> Make:
    def make(draw: Draw) -> Example:
        groups = draw.integer(1, 2)
        strides = _each(draw, rank, 1, 3)
        attrs: dict[str, Any] = {
            "strides": strides, "padding": _each(draw, rank, 0, 1), "dilation": _each(draw, rank, 1, 2),
            "groups": groups, "output_padding": tuple([draw.integer(0, s - 1) for s in strides]),
        }  # fmt: skip
        channels, filters = groups * draw.integer(1, 2), draw.integer(1, 2)
        x = draw.normal((1, channels, *_each(draw, rank, 3, 4)))
        w = draw.normal((channels, filters, *_each(draw, rank, 1, 3)))
        given = {k: v for k, v in attrs.items() if k != "strides"} | {"stride": strides}
        ours = partial(getattr(ops, f"conv{rank}d_transpose"), **attrs)
        return Example([x, w], ours, partial(theirs, **given), f"{x.shape} {w.shape} {attrs}")

    return make


def _pool(rank: int, kind: str, theirs: Callable[..., Any]) -> Make:
    def make(draw: Draw) -> Example:
        size = _each(draw, rank, 2, 3)
        attrs: dict[str, Any] = {
            "pool_size": size, "strides": _each(draw, rank, 1, 3), "padding": _each(draw, rank, 0, 1),
            "ceil_mode": draw.chance(),
        }  # fmt: skip
        given = {"kernel_size": size, "stride": attrs["strides"], "padding": attrs["padding"]}
        given["ceil_mode"] = attrs["ceil_mode"]
        if kind == "max":
            attrs["dilation"] = given["dilation"] = _each(draw, rank, 1, 2)
        else:
            attrs["count_include_pad"] = given["count_include_pad"] = draw.chance()
            attrs["ceil_mode"] = given["ceil_mode"] = False  # what windows beyond the end count differs
        x = draw.normal((draw.integer(1, 2), draw.integer(1, 2), *_each(draw, rank, 5, 7)))
        ours = partial(getattr(ops, f"{kind}_pool{rank}d"), **attrs)
        return Example([x], ours, partial(theirs, **given), f"{x.shape} {attrs}")

    return make


def _adaptive(rank: int, kind: str, theirs: Callable[..., Any]) -> Make:
    def make(draw: Draw) -> Example:
        size = _each(draw, rank, 1, 4)
        x = draw.normal((1, draw.integer(1, 3), *_each(draw, rank, 4, 7)))
        ours = partial(getattr(ops, f"adaptive_{kind}_pool{rank}d"), output_size=size)
        return Example([x], ours, lambda x: theirs(x, size), f"{x.shape} {size}")

    return make


def _global(rank: int, kind: str, theirs: Callable[..., Any]) -> Make:
    def make(draw: Draw) -> Example:
        x = draw.normal((2, draw.integer(1, 3), *_each(draw, rank, 1, 5)))
        return Example([x], getattr(ops, f"global_{kind}_pool{rank}d"), theirs, f"{x.shape}")

    return make


def images(t: Any) -> Rows:
    f = t.nn.functional
    modes = {1: "linear", 2: "bilinear", 3: "trilinear"}

    def resize(rank: int) -> Make:
        def make(draw: Draw) -> Example:
            x = draw.normal((1, draw.integer(1, 2), *_each(draw, rank, 2, 5)))
            size = _each(draw, rank, 2, 7)
            kind = draw.one(("nearest", "linear", *(["cubic"] if rank == 2 else [])))
            attrs: dict[str, Any] = {
                "size": size,
                "method": kind,
                "coordinate_transformation_mode": "half_pixel",
            }
            given: dict[str, Any] = {"size": size, "mode": modes[rank]}
            if kind == "nearest":
                attrs |= {"method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric"}
                given["mode"] = "nearest"
            else:
                if kind == "cubic":
                    attrs["cubic_alpha"], given["mode"] = -0.75, "bicubic"
                given["align_corners"] = draw.chance()
                if given["align_corners"]:
                    attrs["coordinate_transformation_mode"] = "align_corners"
            ours = partial(getattr(ops, f"resize{rank}d"), **attrs)
            return Example([x], ours, lambda x: f.interpolate(x, **given), f"{x.shape} {attrs}", 1e-6)

        return make

    for rank in (1, 2, 3):
        yield f"resize{rank}d", resize(rank)

    def upsampling(draw: Draw) -> Example:
        x = draw.normal((1, draw.integer(1, 2), *_each(draw, 2, 2, 4)))
        h, w = draw.integer(1, 3), draw.integer(1, 3)
        ours = partial(ops.upsampling, scale_h=float(h), scale_w=float(w))
        return Example(
            [x], ours, lambda x: x.repeat_interleave(h, 2).repeat_interleave(w, 3), f"{x.shape} {h} {w}"
        )

    yield "upsampling", upsampling

    def affine_grid(draw: Draw) -> Example:
        size, corners = _each(draw, 2, 2, 4), draw.chance()
        ours = partial(ops.affine_grid, target_shape=size, align_corners=corners)
        theirs = lambda x: f.affine_grid(x, [x.shape[0], 1, *size], corners).permute(0, 3, 1, 2)  # noqa: E731
        return Example([draw.normal((2, 2, 3))], ours, theirs, f"{size} {corners}")

    yield "affine_grid", affine_grid

    def grid_sample(draw: Draw) -> Example:
        x = draw.normal((2, draw.integer(1, 2), *_each(draw, 2, 2, 5)))
        grid = draw.uniform(-1.3, 1.3, (2, 2, *_each(draw, 2, 1, 4)))
        corners = draw.chance()
        mode = draw.one(("zeros", "border"))
        ours = partial(ops.grid_sample, padding_mode=mode, align_corners=corners)
        theirs = lambda x, g: f.grid_sample(  # noqa: E731
            x, g.permute(0, 2, 3, 1), padding_mode=mode, align_corners=corners
        )
        return Example([x, grid], ours, theirs, f"{x.shape} {grid.shape} {mode} {corners}")

    yield "grid_sample", grid_sample


def layers(t: Any) -> Rows:
    f = t.nn.functional

    def layer_norm(draw: Draw) -> Example:
        shape = [*draw.shape(1, 3), draw.integer(2, 6)]
        arrays = [draw.normal(shape), draw.normal(shape[-1:]), draw.normal(shape[-1:])]
        return Example(arrays, ops.layer_norm, lambda x, g, b: f.layer_norm(x, shape[-1:], g, b), f"{shape}")

    yield "layer_norm", layer_norm

    def rms_norm(draw: Draw) -> Example:
        shape = [*draw.shape(1, 3), draw.integer(2, 6)]
        ours = partial(ops.rms_norm, epsilon=1e-5)
        return Example(
            [draw.normal(shape), draw.normal(shape[-1:])],
            ours,
            lambda x, g: f.rms_norm(x, shape[-1:], g, 1e-5),
        )

    yield "rms_norm", rms_norm

    def group_norm(draw: Draw) -> Example:
        groups = draw.integer(1, 3)
        c = groups * draw.integer(1, 3)
        arrays = [
            draw.normal((2, c, *_each(draw, draw.integer(1, 2), 2, 4))),
            draw.normal((c,)),
            draw.normal((c,)),
        ]
        return Example(
            arrays, partial(ops.group_norm, num_groups=groups), lambda x, g, b: f.group_norm(x, groups, g, b)
        )

    yield "group_norm", group_norm

    def instance_norm(draw: Draw) -> Example:
        c = draw.integer(1, 4)
        arrays = [draw.normal((2, c, *_each(draw, 2, 2, 4))), draw.normal((c,)), draw.normal((c,))]
        return Example(arrays, ops.instance_norm, lambda x, g, b: f.instance_norm(x, weight=g, bias=b))

    yield "instance_norm", instance_norm

    def batch_norm(draw: Draw) -> Example:
        c = draw.integer(1, 4)
        arrays = [draw.normal((2, c, *draw.shape(0, 2))), *[draw.normal((c,)) for _ in range(3)]]
        arrays.append(draw.uniform(0.3, 2.0, (c,)))

        def theirs(x: Any, g: Any, b: Any, m: Any, v: Any) -> Any:
            own = [1, c, *[1] * (x.ndim - 2)]
            return (x - m.reshape(own)) * (t.rsqrt(v + 1e-5) * g).reshape(own) + b.reshape(own)

        return Example(arrays, lambda *xs: ops.batch_norm(*xs)[0], theirs)

    yield "batch_norm", batch_norm

    def lrn(draw: Draw) -> Example:
        size = draw.one((1, 3, 5))
        attrs = {"alpha": 0.3, "beta": 0.75}
        x = draw.normal((2, draw.integer(1, 6), 3, 2))
        ours = partial(ops.lrn, size=size, bias=1.5, **attrs)
        return Example(
            [x], ours, lambda x: f.local_response_norm(x, size, k=1.5, **attrs), f"{x.shape} {size}"
        )

    yield "lrn", lrn

    def prelu(draw: Draw) -> Example:
        c = draw.integer(1, 4)
        return Example([draw.normal((2, c, *draw.shape(0, 2))), draw.normal((c,))], ops.prelu, f.prelu)

    yield "prelu", prelu

    def cross_entropy(draw: Draw) -> Example:
        n, c = draw.integer(1, 5), draw.integer(1, 5)
        arrays = [draw.uniform(0.1, 1.0, (n, c)), draw.uniform(0.0, 1.0, (n, c))]
        return Example(arrays, ops.cross_entropy, lambda p, y: -(y * p.log()).sum() / n)

    yield "cross_entropy", cross_entropy

    def with_logits(draw: Draw) -> Example:
        n, c = draw.integer(1, 5), draw.integer(1, 5)
        arrays = [draw.normal((n, c)), draw.uniform(0.0, 1.0, (n, c))]
        return Example(arrays, ops.cross_entropy_with_logits, lambda p, y: -(y * p).sum() / n)

    yield "cross_entropy_with_logits", with_logits

    def nll_loss(draw: Draw) -> Example:
        n, c, rest = draw.integer(1, 4), draw.integer(2, 4), draw.shape(0, 2)
        targets = draw.integers(c, (n, *rest))
        targets.flat[0], ignored = 1, 0
        how = draw.one(("mean", "sum", "none"))
        weights = draw.uniform(0.2, 1.0, (c,))  # torch has no gradient for them
        at, own = t.from_numpy(targets), t.from_numpy(weights)
        ours = lambda p: ops.nll_loss(p, targets, weights, reduction=how, ignore_index=ignored)  # noqa: E731
        theirs = lambda p: f.nll_loss(p, at, own, ignore_index=ignored, reduction=how)  # noqa: E731
        return Example([draw.normal((n, c, *rest))], ours, theirs, f"{how} {rest}")

    yield "nll_loss", nll_loss
    yield "gru", _recurrent(t, "gru")
    yield "lstm", _recurrent(t, "lstm")
    yield "rnn", _recurrent(t, "rnn")


def _recurrent(t: Any, name: str) -> Make:
    """Beside torch's module: its gates are reset, update, new and input, forget, cell, output."""
    order = {"gru": (1, 0, 2), "lstm": (0, 2, 3, 1), "rnn": (0,)}[name]

    def make(draw: Draw) -> Example:
        steps, batch, inputs, size = (draw.integer(1, 4) for _ in range(4))
        gates = len(order)
        arrays = [draw.normal((steps, batch, inputs)), draw.normal((gates * size, inputs)) * 0.5,
                  draw.normal((gates * size, size)) * 0.5, draw.normal((2 * gates * size,)) * 0.5]  # fmt: skip

        def ours(x: Any, w: Any, r: Any, b: Any) -> Any:
            if name == "gru":
                return ops.gru(x, w, r, b, linear_before_reset=True)[0]
            if name == "lstm":
                return ops.lstm(x, w[None], r[None], b[None])[0][:, 0]
            return ops.rnn(x, w, r, b)[0]

        def theirs(x: Any, w: Any, r: Any, b: Any) -> Any:
            def ordered(weights: Any) -> Any:
                parts = weights.split(size)
                return t.cat([parts[k] for k in order])

            half = gates * size
            flat = [ordered(w), ordered(r), ordered(b[:half]), ordered(b[half:])]
            start = x.new_zeros((1, batch, size))
            if name == "lstm":
                return t.lstm(x, [start, start], flat, True, 1, 0.0, False, False, False)[0]
            run = t.gru if name == "gru" else t.rnn_tanh
            return run(x, start, flat, True, 1, 0.0, False, False, False)[0]

        return Example(arrays, ours, theirs, f"{steps} {batch} {inputs} {size}")

    return make
