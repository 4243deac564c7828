"""Random programs over arrays in chunks, by `rt.stream`, against the same programs over whole arrays.

A program takes some steps, each of which computes another value of one or two of those there are; its results are
some of them, or the gradient of their sum.  Arrays are cut at random: chunks of one element, of uneven lengths, of
none.  Values are equal to the bit where nothing is summed in another order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.run.chunked import WholeAxisError

COUNT: Final = 1000
SECONDS: Final = 240.0  # a program has as many kernels as its chunks differ


@dataclass(frozen=True)
class Value:
    """An array of the program; `is_exact`: chunks give the same bits, so that it may decide something."""

    array: Any
    is_exact: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple([int(n) for n in self.array.shape])


Step = Callable[[random.Random, Value, Sequence[Value]], Value | None]


def case(seed: int) -> None:
    """Raises AssertionError for a program that differs."""
    chance = random.Random(seed)
    dtype = chance.choice(["float64", "float64", "float32", "int64"])
    arrays = [_array(chance, dtype) for _ in range(chance.randint(1, 3))]
    chunks = [tuple([cut(n, chance) for n in each.shape]) for each in arrays]
    steps = chance.randint(1, 5)
    has_gradient = dtype == "float64" and chance.random() < 0.2

    def program(*given: Any) -> Any:
        again = random.Random(seed + 1)
        values = [Value(each, True) for each in given]
        for _ in range(steps):
            found = None
            while found is None:
                found = again.choice(STEPS)(again, again.choice(values[-3:]), values)
            values.append(found)
        made = values[len(given) :]
        if has_gradient:
            return ops.sum(ops.tanh([each.array for each in (*values[:1], *made) if _is_float(each)][-1]))
        return [made[-1].array, *[each.array for each in made[:-1] if again.random() < 0.3]]

    function = rt.grad(program) if has_gradient else program
    wanted = rt.jit(function)(*arrays)
    try:
        found = rt.stream(function, *arrays, chunks=chunks)
    except WholeAxisError:
        found = rt.stream(function, *arrays, chunks=chunks, rechunk="auto")
    for a, b in zip(_listed(found), _listed(wanted), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), (a.shape, a.dtype, b.shape, b.dtype, chunks)
        tolerance = 2e-4 if b.dtype == np.float32 else 1e-9
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"chunks {chunks}")


def cut(extent: int, chance: random.Random) -> Any:
    """Chunks of one element, of several lengths, of none among them, or one."""
    kind = chance.choice(["one", "uneven", "uneven", "uneven", "whole"])
    if kind == "whole" or extent < 2:
        return None
    if kind == "one" and extent < 6:
        return 1
    ends = sorted([chance.randrange(extent + 1) for _ in range(chance.randint(1, 2))])
    return tuple([end - before for before, end in zip([0, *ends], [*ends, extent], strict=True)])


def _array(chance: random.Random, dtype: str) -> np.ndarray:
    shape = tuple([chance.choice([1, 3, 4, 7, 12]) for _ in range(chance.randint(1, 3))])
    drawn = np.random.default_rng(chance.randrange(1 << 30))
    return (
        drawn.integers(-5, 6, shape).astype(dtype)
        if dtype == "int64"
        else drawn.uniform(-1, 1, shape).astype(dtype)
    )


def _listed(found: Any) -> list[np.ndarray]:
    return [np.asarray(each) for each in (found if isinstance(found, list | tuple) else [found])]


# ------------------------------------------------------------------ steps


def _is_float(value: Value) -> bool:
    return str(value.array.dtype).startswith("float")


def element(chance: random.Random, x: Value, values: Sequence[Value]) -> Value | None:
    name = chance.choice(["tanh", "sin", "exp", "negative", "abs", "square"])
    if not _is_float(x) and name not in ("negative", "abs"):
        return None
    bounded = ops.tanh(x.array) if name in ("exp", "square") else x.array
    return Value(getattr(ops, name)(bounded), x.is_exact)


def pair(chance: random.Random, x: Value, values: Sequence[Value]) -> Value | None:
    others = [y for y in values if y.array.dtype == x.array.dtype and _meet(x.shape, y.shape)]
    y = chance.choice(others)
    name = chance.choice(["add", "subtract", "multiply", "maximum", "minimum"])
    return Value(getattr(ops, name)(x.array, y.array), x.is_exact and y.is_exact)


def _meet(a: Sequence[int], b: Sequence[int]) -> bool:
    return all([m == n or 1 in (m, n) for m, n in zip(a[::-1], b[::-1], strict=False)])


def choice(chance: random.Random, x: Value, values: Sequence[Value]) -> Value | None:
    others = [y for y in values if y.is_exact and y.shape == x.shape and y.array.dtype == x.array.dtype]
    if not others:
        return None
    y = chance.choice(others)
    return Value(ops.where(ops.greater(y.array, ops.negative(y.array)), x.array, y.array), x.is_exact)


def reduction(chance: random.Random, x: Value, values: Sequence[Value]) -> Value | None:
    name = chance.choice(["sum", "mean", "max", "min", "variance", "prod", "argmax", "argmin", "logsumexp"])
    floats = ("mean", "variance", "logsumexp")
    if not x.shape or (name in floats and not _is_float(x)) or (name.startswith("arg") and not x.is_exact):
        return None
    axes = tuple(sorted(chance.sample(range(len(x.shape)), chance.randint(1, len(x.shape)))))
    if name.startswith("arg"):
        axes = axes[:1]
    bounded = ops.tanh(x.array) if name == "prod" and _is_float(x) else x.array
    found = getattr(ops, name)(bounded, axis=axes, keepdims=chance.random() < 0.5)
    return Value(found, x.is_exact and name in ("max", "min", "argmax", "argmin"))


def row(chance: random.Random, x: Value, values: Sequence[Value]) -> Value | None:
    name = chance.choice(["softmax", "log_softmax", "cumsum", "cumsum", "sort"])
    if not x.shape or (name.endswith("softmax") and not _is_float(x)) or (name == "sort" and not x.is_exact):
        return None
    found = getattr(ops, name)(x.array, axis=chance.randrange(len(x.shape)))
    return Value(found, x.is_exact and name == "sort")


def form(chance: random.Random, x: Value, values: Sequence[Value]) -> Value | None:
    rank = len(x.shape)
    if not rank or rank > 4 or np.prod(x.shape) > 1000:
        return None
    axis = chance.randrange(rank)
    kind = chance.choice(["transpose", "reshape", "expand", "tile", "roll", "flip", "pad", "slice", "join"])
    if kind == "transpose":
        found = ops.transpose(x.array, axes=tuple(chance.sample(range(rank), rank)))
    elif kind == "reshape":
        found = ops.reshape(x.array, newshape=chance.choice([(-1,), (*x.shape, 1), (x.shape[0], -1)]))
    elif kind == "expand":
        found = ops.expand_dims(x.array, axis=axis)
    elif kind == "tile":
        found = ops.tile(x.array, reps=(2,) * rank)
    elif kind == "roll":
        found = np.roll(x.array, chance.randint(-3, 3), axis=axis)
    elif kind == "flip":
        found = np.flip(x.array, axis=axis)
    elif kind == "pad":
        found = ops.pad(x.array, pad_width=tuple([chance.randint(0, 2) for _ in range(2 * rank)]))
    elif kind == "slice":
        part = slice(chance.randrange(x.shape[axis]), None, chance.choice([1, 2, -1]))
        found = x.array[tuple([part if k == axis else slice(None) for k in range(rank)])]
    else:
        others = [y for y in values if y.shape == x.shape and y.array.dtype == x.array.dtype]
        y = chance.choice(others)
        return Value(ops.concatenate((x.array, y.array, x.array), axis=axis), x.is_exact and y.is_exact)
    return Value(found, x.is_exact)


def product(chance: random.Random, x: Value, values: Sequence[Value]) -> Value | None:
    rank = len(x.shape)
    if rank < 2 or not _is_float(x):
        return None
    swapped = ops.tanh(ops.transpose(x.array, axes=(*range(rank - 2), rank - 1, rank - 2)))
    others = [y.array for y in values if len(y.shape) == 2 and y.shape[0] == x.shape[-1]]
    same = [y for y in others if y.dtype == x.array.dtype]
    return Value(x.array @ chance.choice([swapped, *same]), False)


def window(chance: random.Random, x: Value, values: Sequence[Value]) -> Value | None:
    if len(x.shape) != 2 or not _is_float(x) or min(x.shape) < 4:
        return None
    image = ops.reshape(x.array, newshape=(1, 1, *x.shape))
    stride, dilation = (chance.randint(1, 2),) * 2, (chance.randint(1, 2),) * 2
    if chance.random() < 0.4:
        return Value(ops.max_pool2d(image, pool_size=(3, 3), strides=stride, padding=(1, 1)), x.is_exact)
    drawn = np.random.default_rng(chance.randrange(99)).uniform(-1, 1, (2, 1, 3, 3))
    weight = drawn.astype(str(x.array.dtype))
    return Value(ops.conv2d(image, weight, padding=(1, 1), strides=stride, dilation=dilation), False)


STEPS: Final[tuple[Step, ...]] = (
    element,
    pair,
    choice,
    reduction,
    reduction,
    row,
    form,
    form,
    product,
    window,
)
