"""Single ops of random attrs, a random subset of whose dims is open: compiled once, for each size, and by numpy.

All give the same values, or refuse the sizes.  Sizes are 0, 1, primes, such as fill vectors and tiles or do not, and
large ones; hints of the dims are any of them.  What no random attrs are drawn for is in `tests/open_ops.py`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import numpy as np

import opgen_runtime as rt
from opgen_runtime import create_executor, ir, ops
from opgen_runtime.base.errors import OpgenError
from tests.open_ops import FAMILIES, Family, arrays, program

COUNT = 1000
SECONDS = 120.0
_SIZES = (0, 1, 1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 23, 29, 31, 32, 33, 48, 61, 64, 65, 96, 127, 128)
_LARGE = (251, 256, 509, 1021, 1024, 4096)
_MOST = 1 << 19  # elements of all operands: more take the reference too long
_MAX_LARGE = 1 << 22
_DRAWN = 0.8  # how often attrs are drawn


def case(seed: int) -> None:
    """One op at a few sizes."""
    rng = random.Random(seed)
    family = rng.choice(_DRAWS)(rng) if rng.random() < _DRAWN else rng.choice(list(FAMILIES.values()))
    names = list(family.usual)
    opened = set(rng.sample(names, rng.randint(1, len(names))))
    fixed = {name: rng.choice(_SIZES[1:]) for name in names}
    hints = {name: rng.choice((None, *_SIZES[1:], *_LARGE)) for name in names}
    dims = {
        name: fixed[name]
        if name not in opened
        else rt.dim(name, **({} if (h := hints[name]) is None else {"hint": h}))
        for name in names
    }
    try:
        symbolic = program(family, dims)
    except (OpgenError, TypeError):
        return  # an op that needs to know a size, or sizes that do not fit
    built = rt.build(symbolic)
    for number in range(4):
        sizes = _sizes(rng, family, opened, fixed)
        given = arrays(family, sizes, seed)
        where = f"{sizes}, {sorted(opened)} open, of\n{symbolic}"
        try:
            static = program(family, sizes)
        except (OpgenError, TypeError) as error:
            _refused(built, given, f"{where}\n{error}")
            continue
        found = _all(built.run(given))
        if number == 0 or sum(array.size for array in given) > _MOST:
            _same(found, _all(rt.build(static).run(given)), where)
        else:
            with np.errstate(all="ignore"):
                executor = create_executor("debug", ir.IRModule.from_expr(static)).evaluate()
                _same(found, _all(executor(*given)), where)  # type: ignore[operator]


def _sizes(rng: random.Random, family: Family, opened: set[str], fixed: Mapping[str, int]) -> dict[str, int]:
    """Sizes of all dims, of few elements in all; at times one of them is large."""
    large = rng.choice(sorted(opened)) if rng.random() < 0.2 else ""
    while True:
        sizes = {name: rng.choice(_SIZES) if name in opened else fixed[name] for name in family.usual}
        if large:
            sizes[large] = rng.choice(_LARGE)
        elements = [int(np.prod([sizes[d] if isinstance(d, str) else d for d in s])) for s in family.shapes]
        if sum(elements) <= (_MAX_LARGE if large else _MOST):
            return sizes
        if rng.random() < 0.1:  # the fixed ones may be too large for any
            return {name: 1 if name in opened else fixed[name] for name in family.usual}


def _all(found: object) -> list[np.ndarray]:
    results = found if isinstance(found, tuple | list) else (found,)
    return [np.asarray(each.numpy() if hasattr(each, "numpy") else each) for each in results]


def _same(found: list[np.ndarray], wanted: list[np.ndarray], where: str) -> None:
    assert len(found) == len(wanted), where
    for ours, theirs in zip(found, wanted, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), (
            f"{ours.shape}, {theirs.shape}: {where}"
        )
        finite = np.abs(theirs[np.isfinite(theirs)]) if theirs.dtype.kind == "f" else theirs
        scale = float(finite.max(initial=1)) if theirs.dtype.kind == "f" else 0.0
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5 * scale, err_msg=where)


def _refused(built: rt.Executable, given: list[np.ndarray], where: str) -> None:
    try:
        built.run(given)
    except OpgenError:
        return
    raise AssertionError(f"sizes that the program of them refuses: {where}")


# ---- ops of random attrs

Draw = Callable[[random.Random], Family]


def _weight(*shape: int) -> ir.Expr:
    random_ = np.random.default_rng(sum(shape))
    return ir.const(random_.standard_normal(shape).astype(np.float32) / 8)


def _plane(count: int, channels: int) -> tuple[tuple[int | str, ...], dict[str, int]]:
    """The shape of a batch of lines, planes or volumes, and its dims."""
    along = ("d", "h", "w")[3 - count :]
    return ("n", channels, *along), dict.fromkeys(("n", *along), 8)


def _conv(rng: random.Random) -> Family:
    count = rng.choice((1, 2, 2, 2, 3))
    groups = rng.choice((1, 1, 1, 2, 8))
    channels = groups * rng.choice((1, 1, 3, 4)) if groups > 1 else rng.choice((1, 3, 4, 8, 16, 32))
    out = groups * rng.choice((1, 2, 5, 8)) if groups > 1 else rng.choice((1, 4, 7, 8, 16, 40))
    kernel = [rng.choice((1, 1, 2, 3, 3, 5)) for _ in range(count)]
    shape, dims = _plane(count, channels)
    attrs = {
        "strides": tuple(rng.choice((1, 1, 2, 3)) for _ in range(count)),
        "dilation": tuple(rng.choice((1, 1, 1, 2)) for _ in range(count)),
        "padding": tuple(rng.choice((0, 1, 1, 2)) for _ in range(rng.choice((1, 2)) * count)),
        "groups": groups,
    }
    op = (ops.conv1d, ops.conv2d, ops.conv3d)[count - 1]
    if rng.random() < 0.2 and groups == 1:
        shapes: tuple[tuple[int | str, ...], ...] = (
            tuple("c" if d == channels and k == 1 else d for k, d in enumerate(shape)),
            ("o", "c", *kernel),
        )
        return Family(shapes, {**dims, "c": 8, "o": 8}, lambda x, w: op(x, w, **attrs))
    w = _weight(out, channels // groups, *kernel)
    return Family((shape,), dims, _activated(rng, lambda x: op(x, w, **attrs)))


def _tanh(x: ir.Expr) -> ir.Expr:
    """Of a share of sums, so that what they are rounded by is not compared with 1 instead of with their magnitude."""
    return ops.tanh(ops.multiply(x, ir.const(1 / 64, "float32")))


def _activated(rng: random.Random, make: Callable[..., ir.Expr]) -> Callable[..., ir.Expr]:
    after = rng.choice((None, None, ops.relu, _tanh))
    return make if after is None else lambda *xs: after(make(*xs))


def _transposed_conv(rng: random.Random) -> Family:
    count = rng.choice((1, 2, 2, 3))
    channels, out = rng.choice((1, 4, 8, 16)), rng.choice((1, 4, 8))
    kernel = [rng.choice((1, 2, 3, 4)) for _ in range(count)]
    strides = [rng.choice((1, 2, 2, 3)) for _ in range(count)]
    shape, dims = _plane(count, channels)
    attrs = {
        "strides": tuple(strides),
        "padding": tuple(rng.choice((0, 0, 1)) for _ in range(count)),
        "output_padding": tuple(rng.choice((0, s - 1)) for s in strides),
    }
    op = (ops.conv1d_transpose, ops.conv2d_transpose, ops.conv3d_transpose)[count - 1]
    w = _weight(channels, out, *kernel)
    return Family((shape,), dims, lambda x: op(x, w, **attrs))


def _pool(rng: random.Random) -> Family:
    count = rng.choice((1, 2, 2, 2, 3))
    shape, dims = _plane(count, rng.choice((1, 3, 8)))
    kernel = [rng.choice((1, 2, 3, 3, 5)) for _ in range(count)]
    attrs: dict[str, object] = {
        "pool_size": tuple(kernel),
        "strides": tuple(rng.choice((1, 2, 2, 3)) for _ in range(count)),
        "padding": tuple(rng.choice((0, k // 2)) for k in kernel),
        "ceil_mode": rng.random() < 0.3,
    }
    if rng.random() < 0.5:
        op = (ops.max_pool1d, ops.max_pool2d, ops.max_pool3d)[count - 1]
        attrs["dilation"] = tuple(rng.choice((1, 1, 2)) for _ in range(count))
    else:
        op = (ops.avg_pool1d, ops.avg_pool2d, ops.avg_pool3d)[count - 1]
        attrs["count_include_pad"] = rng.random() < 0.5
    return Family((shape,), dims, lambda x: op(x, **attrs))


def _global_pool(rng: random.Random) -> Family:
    shape, dims = _plane(2, rng.choice((1, 3, 8)))
    sizes = tuple(rng.choice((1, 2, 3, 7)) for _ in range(2))
    return Family(
        (shape,),
        dims,
        rng.choice(
            (
                ops.global_avg_pool2d,
                ops.global_max_pool2d,
                lambda x: ops.adaptive_avg_pool2d(x, output_size=sizes),
                lambda x: ops.adaptive_max_pool2d(x, output_size=sizes),
            )
        ),
    )


def _product(rng: random.Random) -> Family:
    batch = rng.choice(((), ("b",), ("b", 3), ("b", "c")))
    names = {"n": 8, "k": 8, "m": 8, **{d: 2 for d in batch if isinstance(d, str)}}
    if rng.random() < 0.4 and len(batch) == 1:
        a, b = rng.random() < 0.5, rng.random() < 0.5
        shapes = ((*batch, *(("k", "n") if a else ("n", "k"))), (*batch, *(("m", "k") if b else ("k", "m"))))
        return Family(
            shapes, names, _activated(rng, lambda x, y: ops.batch_matmul(x, y, transpose_a=a, transpose_b=b))
        )
    kind = rng.randrange(4)
    if kind == 0:
        k, m = rng.choice((1, 5, 16, 64, 100)), rng.choice((1, 3, 16, 40, 64))
        names = {d: 8 for d in names if d not in ("k", "m")}
        return Family(((*batch, "n", k),), names, _activated(rng, lambda x: ops.matmul(x, _weight(k, m))))
    if kind == 1:
        return Family(((*batch, "n", "k"), ("m", "k")), names, _activated(rng, ops.dense))
    right = batch if kind == 2 else ()
    return Family(((*batch, "n", "k"), (*right, "k", "m")), names, _activated(rng, ops.matmul))


def _attention(rng: random.Random) -> Family:
    heads, width = rng.choice((1, 2, 4)), rng.choice((4, 16, 32, 64))
    causal = rng.random() < 0.4
    t = "s" if causal else "t"
    shapes = (("b", heads, "s", width), ("b", heads, t, width), ("b", heads, t, width))
    return Family(
        shapes,
        {"b": 2, "s": 8, **({} if causal else {"t": 8})},
        lambda q, k, v: ops.attention(q, k, v, causal=causal),
    )


def _rows(rng: random.Random) -> tuple[tuple[int | str, ...], dict[str, int]]:
    shape = rng.choice((("n", "m"), ("n", "m", 8), ("n", 5, "m"), ("n", "m", "k"), (3, "n", "m"), ("m",)))
    return shape, {d: 8 for d in shape if isinstance(d, str)}


def _norm(rng: random.Random) -> Family:
    shape, dims = _rows(rng)
    last = shape[-1]
    axis = rng.randrange(len(shape))
    kinds: list[Family] = [
        Family((shape,), dims, lambda x: ops.softmax(x, axis=axis)),
        Family((shape,), dims, lambda x: ops.log_softmax(x, axis=axis)),
        Family((shape, (last,), (last,)), dims, ops.layer_norm),
        Family((shape, (last,)), dims, ops.rms_norm),
        Family((shape,), dims, lambda x: ops.l2_normalize(x, eps=1e-6, axis=(axis,))),
    ]
    image, sides = _plane(rng.choice((1, 2)), 8)
    w, b = _weight(8), _weight(8)
    groups = rng.choice((1, 2, 4))
    kinds += [
        Family((image,), sides, lambda x: ops.batch_norm(x, w, b, w, ops.abs(b))),
        Family((image,), sides, lambda x: ops.group_norm(x, w, b, num_groups=groups)),
        Family((image,), sides, lambda x: ops.instance_norm(x, w, b)),
        Family((image,), sides, lambda x: ops.lrn(x, size=3)),
    ]
    return rng.choice(kinds)


def _reduction(rng: random.Random) -> Family:
    shape, dims = _rows(rng)
    axes = tuple(sorted(rng.sample(range(len(shape)), rng.randint(1, len(shape)))))
    keepdims, one = rng.random() < 0.5, rng.randrange(len(shape))
    place = rng.choice((ops.argmax, ops.argmin))
    op = rng.choice((ops.sum, ops.mean, ops.max, ops.min, ops.prod, ops.variance, ops.logsumexp))
    return rng.choice(
        (
            Family((shape,), dims, lambda x: op(x, axis=axes, keepdims=keepdims)),
            Family((shape,), dims, lambda x: op(x, axis=axes, keepdims=keepdims)),
            Family((shape,), dims, lambda x: place(x, axis=one)),
            Family(
                (shape,), dims, lambda x: ops.cumsum(x, axis=one, exclusive=keepdims, reverse=len(axes) > 1)
            ),
        )
    )


def _pad(rng: random.Random) -> Family:
    shape, dims = _rows(rng)
    mode = rng.choice(("constant", "edge", "reflect"))
    width = tuple(rng.choice((0, 0, 1, 2, 5)) for _ in range(2 * len(shape)))
    return rng.choice(
        (
            Family((shape,), dims, lambda x: ops.pad(x, pad_width=width, pad_mode=mode)),
            Family((shape,), dims, lambda x: ops.mirror_pad(x, pad_width=width, mode="SYMMETRIC")),
        )
    )


def _joined(rng: random.Random) -> Family:
    shape, _ = _rows(rng)
    axis = rng.randrange(len(shape))
    other = (*shape[:axis], rng.choice(("j", 1, 7)), *shape[axis + 1 :])
    shapes = (shape, other, shape)[: rng.choice((2, 3))]
    found = {d: 8 for s in shapes for d in s if isinstance(d, str)}
    return Family(shapes, found, _activated(rng, lambda *xs: ops.concatenate(xs, axis=axis)))


def _moved(rng: random.Random) -> Family:
    shape, dims = _rows(rng)
    axes = tuple(rng.sample(range(len(shape)), len(shape)))
    axis = rng.randrange(len(shape))
    begin, end = rng.choice(((0, 5), (1, 1 << 30), (0, -1), (-3, 1 << 30), (2, 9)))
    step = rng.choice((1, 1, 2, 3))
    reps = tuple(rng.choice((1, 2, 3)) for _ in shape)
    image, sides = _plane(2, 4)
    return rng.choice(
        (
            Family((shape,), dims, lambda x: ops.transpose(x, axes=axes)),
            Family((shape,), dims, lambda x: ops.transpose(ops.tanh(x), axes=axes)),
            Family(
                (shape,),
                dims,
                lambda x: ops.strided_slice(x, begin=(begin,), end=(end,), strides=(step,), axes=(axis,)),
            ),
            Family((shape,), dims, lambda x: ops.reverse(x, axis=axis)),
            Family((shape,), dims, lambda x: ops.tile(x, reps=reps)),
            Family((shape,), dims, lambda x: ops.repeat(x, repeats=3, axis=axis)),
            Family((shape,), dims, lambda x: ops.stack((x, ops.negative(x)), axis=axis)),
            Family((shape,), dims, lambda x: ops.reshape(x, newshape=(-1,))),
            Family((image,), sides, lambda x: ops.depth_to_space(x, block_size=2)),
            Family((image,), sides, lambda x: ops.space_to_depth(x, block_size=2)),
        )
    )


def _resize(rng: random.Random) -> Family:
    image, sides = _plane(2, rng.choice((1, 3, 8)))
    size = tuple(rng.choice((1, 2, 7, 16, 33)) for _ in range(2))
    method = rng.choice(("linear", "nearest_neighbor", "cubic"))
    where = rng.choice(("half_pixel", "asymmetric", "align_corners"))
    return Family(
        (image,),
        sides,
        lambda x: ops.resize2d(x, size=size, method=method, coordinate_transformation_mode=where),
    )


def _broadcast(rng: random.Random) -> Family:
    shape, dims = _rows(rng)
    other = tuple(1 if rng.random() < 0.3 else d for d in shape)[rng.randrange(len(shape)) :]
    op = rng.choice((ops.add, ops.multiply, ops.maximum, lambda x, y: ops.where(ops.greater(x, y), x, y)))
    return Family((shape, other), dims, op)


_DRAWS: tuple[Draw, ...] = (
    _conv,
    _conv,
    _conv,
    _transposed_conv,
    _pool,
    _global_pool,
    _product,
    _product,
    _attention,
    _norm,
    _norm,
    _reduction,
    _pad,
    _joined,
    _moved,
    _resize,
    _broadcast,
)
