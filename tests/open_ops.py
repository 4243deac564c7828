"""Single ops over dims that may be open: what the counted work and the fuzzer of open dims are tried on.

A family is an op with its attrs over named dims, any of which may be symbolic while the others have a size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ir, ops

Shape = tuple[int | str, ...]


@dataclass(frozen=True)
class Family:
    """An op over operands whose shapes have ints and named dims; `usual`: sizes of them, the last are the fastest."""

    shapes: tuple[Shape, ...]
    usual: Mapping[str, int]
    make: Callable[..., ir.Expr]


def weight(*shape: int) -> ir.Expr:
    """A constant operand."""
    random = np.random.default_rng(0)
    return ir.const(random.standard_normal(shape).astype(np.float32) / 8)


def program(family: Family, dims: Mapping[str, object]) -> ir.Function:
    """The op where each dim is what `dims` says, an int or a symbolic one.  Raises TypeError where types do."""
    params = tuple(
        ir.Var(
            f"x{number}",
            rt.TensorType(tuple(dims[d] if isinstance(d, str) else d for d in shape), "float32"),
        )
        for number, shape in enumerate(family.shapes)
    )
    return ir.Function(params, family.make(*params))


def arrays(family: Family, sizes: Mapping[str, int], seed: int = 0) -> list[np.ndarray]:
    """Values for the operands at sizes of the dims."""
    random = np.random.default_rng(seed)
    return [
        random.standard_normal([sizes[d] if isinstance(d, str) else d for d in shape]).astype(np.float32)
        for shape in family.shapes
    ]


_IMAGE: Final = (("n", 32, "h", "w"),)
_IMAGES: Final = {"n": 2, "h": 24, "w": 40}


def _of_images(make: Callable[[ir.Expr], ir.Expr]) -> Family:
    return Family(_IMAGE, _IMAGES, make)


def _conv(out: int, own: int, size: int, **attrs: object) -> Family:
    filters = weight(out, own, size, size)
    return _of_images(lambda x: ops.conv2d(x, filters, **attrs))  # type: ignore[arg-type]


CONVOLUTIONS: Final[Mapping[str, Family]] = {
    "conv 1x1": _conv(32, 32, 1),
    "conv 1x1 in steps": _conv(32, 32, 1, strides=(2, 2)),
    "conv 3x3": _conv(32, 32, 3, padding=(1, 1)),
    "conv 3x3 without padding": _conv(32, 32, 3),
    "conv 3x3 in steps": _conv(32, 32, 3, padding=(1, 1), strides=(2, 2)),
    "conv 7x7 in steps": _conv(16, 32, 7, padding=(3, 3), strides=(2, 2)),
    "dilated conv": _conv(32, 32, 3, padding=(2, 2), dilation=(2, 2)),
    "conv in groups": _conv(32, 8, 3, padding=(1, 1), groups=4),
    "depthwise conv": _conv(32, 1, 3, padding=(1, 1), groups=32),
    "depthwise conv 5x5": _conv(32, 1, 5, padding=(2, 2), groups=32),
    "depthwise conv in steps": _conv(32, 1, 3, padding=(1, 1), strides=(2, 2), groups=32),
    "transposed conv": _of_images(lambda x: ops.conv2d_transpose(x, weight(32, 16, 2, 2), strides=(2, 2))),
    "transposed conv 3x3": _of_images(
        lambda x: ops.conv2d_transpose(x, weight(32, 16, 3, 3), strides=(2, 2), padding=(1, 1))
    ),
    "transposed conv of one step": _of_images(
        lambda x: ops.conv2d_transpose(x, weight(32, 16, 3, 3), padding=(1, 1))
    ),
    "conv of a line": Family(
        (("n", 32, "w"),), {"n": 2, "w": 200}, lambda x: ops.conv1d(x, weight(32, 32, 3), padding=(1,))
    ),
    "conv of a line in steps": Family(
        (("n", 32, "w"),),
        {"n": 2, "w": 200},
        lambda x: ops.conv1d(x, weight(32, 32, 5), padding=(2,), strides=(2,)),
    ),
    "depthwise conv of a line": Family(
        (("n", 32, "w"),),
        {"n": 2, "w": 200},
        lambda x: ops.conv1d(x, weight(32, 1, 5), padding=(2,), groups=32),
    ),
    "transposed conv of a line": Family(
        (("n", 32, "w"),),
        {"n": 2, "w": 100},
        lambda x: ops.conv1d_transpose(x, weight(32, 16, 4), strides=(2,), padding=(1,)),
    ),
    "conv of a volume": Family(
        (("n", 8, "d", "h", "w"),),
        {"n": 1, "d": 6, "h": 24, "w": 24},
        lambda x: ops.conv3d(x, weight(16, 8, 3, 3, 3), padding=(1, 1, 1)),
    ),
    "conv of open channels": Family(
        (("n", "c", "h", "w"), ("o", "c", 3, 3)),
        {"n": 1, "c": 32, "o": 32, "h": 24, "w": 40},
        lambda x, w: ops.conv2d(x, w, padding=(1, 1)),
    ),
    "conv of NHWC": Family(
        (("n", "h", "w", 32),),
        _IMAGES,
        lambda x: ops.conv2d(
            x, weight(3, 3, 32, 32), padding=(1, 1), data_layout="NHWC", kernel_layout="HWIO"
        ),
    ),
}

POOLS: Final[Mapping[str, Family]] = {
    "max pool 2x2": _of_images(lambda x: ops.max_pool2d(x, pool_size=(2, 2), strides=(2, 2))),
    "max pool 3x3 in steps": _of_images(
        lambda x: ops.max_pool2d(x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1))
    ),
    "max pool 3x3": _of_images(lambda x: ops.max_pool2d(x, pool_size=(3, 3), padding=(1, 1))),
    "average pool 2x2": _of_images(lambda x: ops.avg_pool2d(x, pool_size=(2, 2), strides=(2, 2))),
    "average pool 3x3": _of_images(lambda x: ops.avg_pool2d(x, pool_size=(3, 3), padding=(1, 1))),
    "average pool 3x3 in steps": _of_images(
        lambda x: ops.avg_pool2d(x, pool_size=(3, 3), strides=(2, 2), padding=(1, 1), count_include_pad=True)
    ),
    "max pool of a line": Family(
        (("n", 32, "w"),),
        {"n": 2, "w": 200},
        lambda x: ops.max_pool1d(x, pool_size=(3,), strides=(2,), padding=(1,)),
    ),
    "average pool of a volume": Family(
        (("n", 8, "d", "h", "w"),),
        {"n": 1, "d": 6, "h": 24, "w": 24},
        lambda x: ops.avg_pool3d(x, pool_size=(2, 2, 2), strides=(2, 2, 2)),
    ),
    "global average pool": _of_images(lambda x: ops.global_avg_pool2d(x)),
    "global max pool": _of_images(lambda x: ops.global_max_pool2d(x)),
    "adaptive average pool": _of_images(lambda x: ops.adaptive_avg_pool2d(x, output_size=(3, 5))),
}

_ROWS: Final = (("n", "m"),)
_PLANE: Final = {"n": 64, "m": 200}

PRODUCTS: Final[Mapping[str, Family]] = {
    "matmul": Family((("n", "k"), ("k", "m")), {"n": 64, "k": 96, "m": 80}, ops.matmul),
    "batched matmul": Family(
        (("b", "n", "k"), ("b", "k", "m")), {"b": 3, "n": 40, "k": 64, "m": 48}, ops.matmul
    ),
    "batch_matmul": Family(
        (("b", "n", "k"), ("b", "m", "k")), {"b": 3, "n": 40, "k": 64, "m": 48}, ops.batch_matmul
    ),
    "batch_matmul of a transpose": Family(
        (("b", "k", "n"), ("b", "k", "m")),
        {"b": 3, "n": 40, "k": 64, "m": 48},
        lambda x, y: ops.batch_matmul(x, y, transpose_a=True, transpose_b=False),
    ),
    "matmul of a constant": Family(
        (("n", "m", 64),), {"n": 2, "m": 77}, lambda x: ops.matmul(x, weight(64, 96))
    ),
    "matmul of a vector": Family((("n", "k"), ("k", 1)), {"n": 200, "k": 300}, ops.matmul),
    "dense": Family((("n", "k"), ("m", "k")), {"n": 64, "k": 96, "m": 80}, ops.dense),
    "dense of a constant": Family((("n", 64),), {"n": 77}, lambda x: ops.dense(x, weight(96, 64))),
    "attention": Family(
        (("b", 4, "s", 32), ("b", 4, "t", 32), ("b", 4, "t", 32)),
        {"b": 2, "s": 40, "t": 64},
        lambda q, k, v: ops.attention(q, k, v),
    ),
    "causal attention": Family(
        (("b", 4, "s", 32), ("b", 4, "s", 32), ("b", 4, "s", 32)),
        {"b": 2, "s": 64},
        lambda q, k, v: ops.attention(q, k, v, causal=True),
    ),
}

NORMS: Final[Mapping[str, Family]] = {
    "softmax": Family(_ROWS, _PLANE, ops.softmax),
    "softmax of columns": Family(_ROWS, _PLANE, lambda x: ops.softmax(x, axis=0)),
    "softmax of channels": _of_images(lambda x: ops.softmax(x, axis=1)),
    "log_softmax": Family(_ROWS, _PLANE, ops.log_softmax),
    "layer_norm": Family((("n", "m"), ("m",), ("m",)), _PLANE, ops.layer_norm),
    "layer_norm of features": Family(
        (("n", "m", 64),), {"n": 2, "m": 77}, lambda x: ops.layer_norm(x, weight(64), weight(64))
    ),
    "rms_norm": Family((("n", "m"), ("m",)), _PLANE, ops.rms_norm),
    "batch_norm": _of_images(
        lambda x: ops.batch_norm(x, weight(32), weight(32), weight(32), ops.abs(weight(32)))
    ),
    "group_norm": _of_images(lambda x: ops.group_norm(x, weight(32), weight(32), num_groups=8)),
    "instance_norm": _of_images(lambda x: ops.instance_norm(x, weight(32), weight(32))),
    "l2_normalize": Family(_ROWS, _PLANE, lambda x: ops.l2_normalize(x, eps=1e-6, axis=(1,))),
    "lrn": _of_images(lambda x: ops.lrn(x)),
    "sum of rows": Family(_ROWS, _PLANE, lambda x: ops.sum(x, axis=1)),
    "sum of columns": Family(_ROWS, _PLANE, lambda x: ops.sum(x, axis=0)),
    "mean of planes": _of_images(lambda x: ops.mean(x, axis=(2, 3))),
    "max of everything": Family(_ROWS, _PLANE, lambda x: ops.max(x)),
    "variance": Family(_ROWS, _PLANE, lambda x: ops.variance(x, axis=1)),
    "argmax": Family(_ROWS, _PLANE, lambda x: ops.argmax(x, axis=1)),
    "cumsum": Family(_ROWS, _PLANE, lambda x: ops.cumsum(x, axis=1)),
    "cumsum of columns": Family(_ROWS, _PLANE, lambda x: ops.cumsum(x, axis=0)),
}

MOVES: Final[Mapping[str, Family]] = {
    "add": Family((("n", "m"), ("n", "m")), _PLANE, ops.add),
    "add of a row": Family((("n", "m"), ("m",)), _PLANE, ops.add),
    "add of a column": Family((("n", "m"), ("n", 1)), _PLANE, ops.add),
    "tanh": Family(_ROWS, _PLANE, ops.tanh),
    "bias of channels": _of_images(lambda x: ops.add(x, weight(32, 1, 1))),
    "transpose": Family(_ROWS, _PLANE, lambda x: ops.transpose(x, axes=(1, 0))),
    "transpose to NHWC": _of_images(lambda x: ops.transpose(x, axes=(0, 2, 3, 1))),
    "transpose of heads": Family(
        (("n", "m", 4, 16),), {"n": 2, "m": 64}, lambda x: ops.transpose(x, axes=(0, 2, 1, 3))
    ),
    "concatenate channels": _of_images(lambda x: ops.concatenate((x, ops.relu(x)), axis=1)),
    "concatenate columns": Family(
        (("n", "m"), ("n", "k")),
        {"n": 64, "m": 100, "k": 60},
        lambda x, y: ops.concatenate((x, y), axis=1),
    ),
    "concatenate rows": Family(
        (("n", "m"), ("k", "m")), {"n": 40, "k": 30, "m": 100}, lambda x, y: ops.concatenate((x, y), axis=0)
    ),
    "pad": _of_images(lambda x: ops.pad(x, pad_width=(0, 0, 0, 0, 1, 2, 3, 4))),
    "pad of edges": _of_images(lambda x: ops.pad(x, pad_width=(0, 0, 0, 0, 1, 2, 3, 4), pad_mode="edge")),
    "pad by reflection": _of_images(
        lambda x: ops.pad(x, pad_width=(0, 0, 0, 0, 1, 2, 3, 4), pad_mode="reflect")
    ),
    "resize to a size": _of_images(lambda x: ops.resize2d(x, size=(20, 30))),
    "nearest resize to a size": _of_images(
        lambda x: ops.resize2d(x, size=(20, 30), method="nearest_neighbor")
    ),
    "depth_to_space": _of_images(lambda x: ops.depth_to_space(x, block_size=2)),
    "slice": Family(
        _ROWS, _PLANE, lambda x: ops.strided_slice(x, begin=(3,), end=(-2,), strides=(2,), axes=(1,))
    ),
    "reverse": Family(_ROWS, _PLANE, lambda x: ops.reverse(x, axis=1)),
    "tile": Family(_ROWS, _PLANE, lambda x: ops.tile(x, reps=(2, 3))),
    "repeat": Family(_ROWS, _PLANE, lambda x: ops.repeat(x, repeats=3, axis=1)),
    "split": Family(
        (("n", "m", 64),), {"n": 2, "m": 77}, lambda x: ops.split(x, indices_or_sections=2, axis=2)
    ),
    "trilu": Family(_ROWS, _PLANE, lambda x: ops.trilu(x, k=1, upper=False)),
    "flatten": _of_images(lambda x: ops.batch_flatten(x)),
}

FAMILIES: Final[Mapping[str, Family]] = {**CONVOLUTIONS, **POOLS, **PRODUCTS, **NORMS, **MOVES}
