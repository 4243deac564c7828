"""Random programs over two dims: compiled once for all sizes, compiled for each, and interpreted.

All three give the same values, or refuse the sizes.  Sizes are 0, 1, and such as fill vectors and tiles or do not.
Programs hold chains of elementwise ops, broadcasts along dims, reductions, softmax, contractions between and beside
dims, transpositions, concatenations, slices, paddings, and on images convolutions and pools.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

import opgen_runtime as rt
from opgen_runtime import create_executor, ir, ops
from opgen_runtime.base.arith.expr import Dim
from opgen_runtime.base.errors import OpgenError
from opgen_runtime.transform import InferType

COUNT = 300
SIZES = (0, 1, 1, 2, 3, 5, 7, 8, 9, 13, 16, 17, 31, 33, 50)
FEATURES = 8
Step = Callable[[ir.Expr], ir.Expr]


class Maker:
    """One random program over the dims n and m."""

    def __init__(self, seed: int, n: Dim, m: Dim) -> None:
        self.rng = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.is_image = self.rng.random() < 0.4
        shape: tuple[Dim, ...] = (2, 4, n, m) if self.is_image else (n, m, FEATURES)
        self.params = [ir.Var(f"x{k}", rt.TensorType(shape, "float32")) for k in range(2)]

    def result(self) -> ir.Expr:
        x: ir.Expr = self.params[0]
        steps = self.of_images() if self.is_image else self.of_rows()
        for _ in range(self.rng.randrange(1, 6)):
            before = x
            x = self.rng.choice(steps)(x)
            if self.rng.random() < 0.3:
                x = self.rng.choice((ops.relu, ops.tanh, ops.sigmoid))(x)
            if str(x.checked_type) == str(before.checked_type) and self.rng.random() < 0.3:
                x = ops.add(x, before)
        return x

    def of_rows(self) -> list[Step]:
        return [
            self.weighed,
            self.beside,
            self.sums,
            self.centred,
            self.scores,
            self.swapped,
            self.sliced,
            self.doubled,
            lambda x: ops.softmax(x, axis=self.rng.randrange(3)),
            lambda x: ops.multiply(x, self.params[1]) if _is_like(x, self.params[1]) else ops.negative(x),
        ]

    def of_images(self) -> list[Step]:
        return [
            self.convolved,
            self.pooled,
            self.padded,
            self.sliced,
            self.doubled,
            self.centred,
            lambda x: ops.add(x, self.params[1]) if _is_like(x, self.params[1]) else ops.abs(x),
        ]

    def weight(self, *shape: int) -> ir.Expr:
        return ir.const((self.numpy.uniform(-1, 1, shape) / 4).astype(np.float32))

    def weighed(self, x: ir.Expr) -> ir.Expr:
        """Along the last axis, where its extent is known."""
        last = _shape(x)[-1]
        width = self.rng.choice((1, 5, 16, 40))
        return (
            ops.matmul(x, self.weight(last, width))
            if isinstance(last, int) and last
            else ops.exp(ops.tanh(x))
        )

    def beside(self, x: ir.Expr) -> ir.Expr:
        """A row of the other operand, or a constant, along the last axes."""
        y = self.params[1]
        row = ops.sum(y, axis=0, keepdims=self.rng.random() < 0.5)
        return ops.add(x, ops.tanh(row)) if _is_like(x, y) else ops.multiply(x, ir.const(np.float32(0.5)))

    def sums(self, x: ir.Expr) -> ir.Expr:
        return ops.tanh(ops.sum(x, axis=self.rng.randrange(3), keepdims=True))

    def centred(self, x: ir.Expr) -> ir.Expr:
        axis = self.rng.randrange(len(_shape(x)))
        return ops.tanh(ops.subtract(x, ops.mean(x, axis=axis, keepdims=True)))

    def scores(self, x: ir.Expr) -> ir.Expr:
        """Each row of a batch with each other one."""
        made = ops.batch_matmul(x, x, transpose_b=True)
        return ops.tanh(made) if self.rng.random() < 0.5 else ops.softmax(made)

    def swapped(self, x: ir.Expr) -> ir.Expr:
        axes = self.rng.choice([(0, 2, 1), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
        return ops.transpose(ops.abs(x), axes=axes)

    def sliced(self, x: ir.Expr) -> ir.Expr:
        begin, end = self.rng.choice([(0, 5), (1, 1 << 30), (0, -1), (-3, 1 << 30), (2, 9)])
        axis = self.rng.randrange(len(_shape(x)) - 2, len(_shape(x)))
        step = self.rng.choice((1, 1, 2))
        return ops.strided_slice(x, begin=(begin,), end=(end,), strides=(step,), axes=(axis,))

    def doubled(self, x: ir.Expr) -> ir.Expr:
        axis = self.rng.randrange(len(_shape(x)))
        return ops.concatenate([x, ops.negative(x)], axis=axis)

    def convolved(self, x: ir.Expr) -> ir.Expr:
        channels = _shape(x)[1]
        assert isinstance(channels, int)
        size = self.rng.choice((1, 3))
        weight = self.weight(self.rng.choice((3, 4, 16)), channels, size, size)
        made = ops.conv2d(x, weight, padding=(1, 1), strides=(self.rng.choice((1, 2)), 1))
        return ops.relu(made) if self.rng.random() < 0.5 else made

    def pooled(self, x: ir.Expr) -> ir.Expr:
        pool = self.rng.choice((ops.max_pool2d, ops.avg_pool2d))
        return pool(
            x,
            pool_size=(2, 3),
            strides=(2, self.rng.choice((1, 2))),
            padding=(1, 1),
            ceil_mode=self.rng.random() < 0.5,
        )

    def padded(self, x: ir.Expr) -> ir.Expr:
        return ops.pad(x, pad_width=(0, 0, 0, 0, 1, 0, 2, 3))


def _shape(x: ir.Expr) -> tuple[Dim, ...]:
    kind = x.checked_type
    assert isinstance(kind, rt.TensorType)
    return kind.shape


def _is_like(x: ir.Expr, y: ir.Expr) -> bool:
    return str(x.checked_type) == str(y.checked_type)


def program(seed: int) -> ir.Function:
    """The program of a seed."""
    rng = random.Random(f"hints of {seed}")
    maker = Maker(seed, rt.dim("n", hint=rng.choice(SIZES[1:])), rt.dim("m", hint=rng.choice(SIZES[1:])))
    body = maker.result()
    return ir.Function(tuple(maker.params), body)


def fixed(symbolic: ir.Function, arrays: Sequence[np.ndarray]) -> ir.Function:
    """The program for the shapes of these arrays.  Raises what types raise that do not fit."""
    params = [
        ir.Var(param.name_hint, rt.TensorType(array.shape, "float32"))
        for param, array in zip(symbolic.params, arrays, strict=True)
    ]
    body = ir.substitute(symbolic.body, dict(zip(symbolic.params, params, strict=True)))
    made = InferType()(ir.IRModule.from_expr(ir.Function(tuple(params), body)))["main"]
    assert isinstance(made, ir.Function)
    return made


def case(seed: int) -> None:
    """One program at a few sizes."""
    try:
        symbolic = program(seed)
    except OpgenError:
        return  # an op that needs to know a size
    built = rt.build(symbolic)
    rng = random.Random(f"sizes of {seed}")
    for number in range(4):
        sizes = {"n": rng.choice(SIZES), "m": rng.choice(SIZES)}
        shapes = [
            [d if isinstance(d, int) else sizes[str(d)] for d in _shape(param)] for param in symbolic.params
        ]
        arrays = [np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
        where = f"{sizes} of\n{symbolic}"
        try:
            static = fixed(symbolic, arrays)
        except OpgenError as error:
            _refused(built, arrays, f"{where}\n{error}")
            continue
        with np.errstate(all="ignore"):
            wanted = create_executor("debug", ir.IRModule.from_expr(static)).evaluate()(*arrays).numpy()  # type: ignore[operator]
        found = built.run(arrays)
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4, err_msg=where)
        if number == 0:
            np.testing.assert_allclose(
                rt.build(static).run(arrays), found, rtol=1e-3, atol=1e-4, err_msg=where
            )


def _refused(built: rt.Executable, arrays: list[np.ndarray], where: str) -> None:
    try:
        built.run(arrays)
    except OpgenError:
        return
    raise AssertionError(f"sizes that the program of them refuses: {where}")
