"""Random kernels, compiled and run, against te's evaluation by numpy: `python -m tests.fuzz kernels`.

Shapes of 1 to 40, every dtype; reads in any order, behind guards and choices, at computed positions; reductions over
fixed and varying ranges, also inside choices; scans; rearranged copies in narrower dtypes, whose lanes are stored apart
and under masks.  A failed assertion of LLVM ends the child process of a case.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from opgen_runtime.base.arith import (
    Expr,
    Var,
    add,
    bit_and,
    bit_not,
    bit_or,
    bit_xor,
    call,
    cast,
    const,
    eq,
    floordiv,
    floormod,
    ge,
    gt,
    le,
    logical_and,
    logical_not,
    logical_or,
    lt,
    maximum,
    minimum,
    mul,
    ne,
    select,
    shift_left,
    shift_right,
    sub,
    truncdiv,
    truncmod,
)
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import BOOL, INDEX, DType
from opgen_runtime.compute import te
from opgen_runtime.compute.te.tensor import IterVar, Scan, State, Tensor
from opgen_runtime.lower import tir
from opgen_runtime.lower.library import schedules
from opgen_runtime.lower.schedule import create_schedule
from tests.codegen.conftest import run
from tests.fuzz._rearrangement import rearrangement

COUNT: Final = 5000

_DTYPES: Final = (
    "float32", "float32", "float64", "float16", "int32", "int64", "int8", "int16", "uint8", "uint16", "uint32",
    "uint64", "bool",
)  # fmt: skip
_WIDE: Final = ("int64", "uint64", "float64", "int32", "float32")
_NARROW: Final = (
    "int32",
    "uint32",
    "int16",
    "uint16",
    "int8",
    "uint8",
    "bool",
    "float16",
    "bfloat16",
    "float32",
)
_EXTENTS: Final = (1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 31, 33, 40)
_TARGETS: Final = ("llvm", "llvm", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64")
_INT: Final = (
    add, sub, mul, floordiv, floormod, truncdiv, truncmod, minimum, maximum, bit_and, bit_or, bit_xor, shift_left,
    shift_right,
)  # fmt: skip
_FLOAT: Final = (add, sub, mul, minimum, maximum)
_COMPARE: Final = (lt, le, gt, ge, eq, ne)
_FUNCTIONS: Final = ("exp", "tanh", "sin", "log", "sqrt", "erf")


def case(seed: int) -> None:
    """One kernel."""
    chance = random.Random(seed)
    make = _Program(chance)
    inputs, outputs, tolerance = make.inputs, make.outputs(), make.tolerance
    target = replace(Target.parse(chance.choice(_TARGETS)), num_threads=chance.choice((1, 3)))
    func = _lowered(chance, inputs, outputs, target)
    arrays = [_array(chance, tensor) for tensor in inputs]
    expected = te.evaluate(outputs, dict(zip(inputs, arrays, strict=True)))
    found = run(func, arrays, target if target.is_host else None)
    for got, want, tensor in zip(found, expected, outputs, strict=True):
        wanted = np.asarray(want).reshape(-1)
        message = f"seed {seed}, {tensor.name}\n{te.to_text(outputs)}\n{tir.to_text(func)}"
        if tolerance:
            np.testing.assert_allclose(
                got.reshape(-1).astype("f8"), wanted.astype("f8"), tolerance, tolerance, err_msg=message
            )
        else:
            # numpy does not know the NaN of bfloat16
            kind = "f8" if tensor.dtype.is_float else wanted.dtype
            np.testing.assert_array_equal(got.reshape(-1).astype(kind), wanted.astype(kind), err_msg=message)


def _lowered(
    chance: random.Random, inputs: Sequence[Tensor], outputs: Sequence[Tensor], target: Target
) -> tir.PrimFunc:
    normal = te.normalize(outputs)
    plain = chance.random() < 0.15
    schedule = create_schedule(normal) if plain else schedules.generic(normal, target)
    func = tir.lower(schedule, inputs, normal, "kernel")
    return tir.run_phases(replace(func, vectors=target.vectors, machine=target.machine))


def _array(chance: random.Random, tensor: Tensor) -> np.ndarray:
    generator = np.random.default_rng(chance.getrandbits(32))
    shape = tuple(int(d) for d in tensor.shape if isinstance(d, int))
    dtype = tensor.dtype
    if dtype is BOOL:
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.is_float:
        values = generator.integers(-9, 10, shape) / generator.choice([1, 2, 8])
        return values.astype(dtype.numpy)
    low, high = (-5 if dtype.is_signed else 0), 10
    if chance.random() < 0.3:
        low, high = int(dtype.lowest), int(dtype.highest)
    return generator.integers(low, high, shape, dtype=dtype.numpy, endpoint=True)


class _Program:
    """Inputs, then a few stages, each over those before it."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.tolerance = 0.0
        self.extents = [chance.choice(_EXTENTS) for _ in range(3)]
        self.inputs: list[Tensor] = []
        for number in range(chance.randint(1, 3)):
            dtype = chance.choice(_DTYPES)
            self.inputs.append(te.placeholder(f"x{number}", self._shape(), dtype))
        self.tensors = list(self.inputs)

    def _shape(self) -> tuple[int, ...]:
        return tuple(self.chance.choice(self.extents) for _ in range(self.chance.randint(1, 3)))

    def outputs(self) -> list[Tensor]:
        made: list[Tensor] = []
        for number in range(self.chance.randint(1, 4)):
            kind = self.chance.random()
            stage = (
                self._scan
                if kind < 0.12
                else self._reduction
                if kind < 0.4
                else self._rearranged
                if kind < 0.55
                else self._elementwise
            )
            made.append(stage(f"t{number}"))
            self.tensors.append(made[-1])
        last = made[-1]
        if last.dtype.is_float and self.chance.random() < 0.1:
            made.append(self._function(last))
        return [made[-1], *([made[0]] if len(made) > 1 and self.chance.random() < 0.3 else [])]

    def _function(self, of: Tensor) -> Tensor:
        """A function of the vector math library, which is not exact, so it comes last."""
        self.tolerance = 2e-2 if of.dtype.is_storage else 2e-5
        name = self.chance.choice(_FUNCTIONS)

        def body(*at: Expr) -> Expr:
            value = maximum(minimum(te.read(of, *at), 6.0), -6.0)
            return call(name, add(call("abs", value), 0.5) if name in ("log", "sqrt") else value)

        return te.compute("f", of.shape, str(of.dtype), body)

    def _elementwise(self, name: str) -> Tensor:
        dtype = self.chance.choice(_DTYPES)
        axes = te.data_axes(self._shape())
        body = _Body(self.chance, self.tensors, axes).value(DType(dtype), self.chance.randint(1, 5))
        return Tensor(name, tuple(a.extent for a in axes), DType(dtype), te.Compute(axes, body))

    def _rearranged(self, name: str) -> Tensor:
        """A wide tensor in a narrower dtype: transposed, repeated, every n-th, flat; some lanes are constants."""
        chance = self.chance
        source = chance.choice(self.tensors)
        if chance.random() < 0.7 or str(source.dtype) not in _WIDE:
            shape = [chance.choice(_EXTENTS) for _ in range(chance.choice((1, 2, 2, 3)))]
            source = te.placeholder(f"{name}_from", tuple(shape), chance.choice(_WIDE))
            self.inputs.append(source)
        order = list(range(len(source.shape)))
        chance.shuffle(order)
        sizes = [size for d in order if isinstance(size := source.shape[d], int)]
        extents, reads = rearrangement(chance, sizes)
        axes = te.data_axes(extents)
        places = reads([axis.var for axis in axes])
        value = te.read(source, *(places[order.index(d)] for d in range(len(order))))
        dtype = DType(chance.choice(_NARROW))
        body = cast(value, dtype)
        if chance.random() < 0.3:
            made = _Body(chance, self.tensors, axes)
            lane = floormod(chance.choice(axes).var, chance.randint(1, 8))
            other = const(chance.randint(0, 1), dtype) if dtype is not BOOL else const(True, BOOL)
            body = select(eq(lane, chance.randint(0, 7)), chance.choice((other, made.value(dtype, 1))), body)
        return Tensor(name, tuple(axis.extent for axis in axes), dtype, te.Compute(axes, body))

    def _reduction(self, name: str) -> Tensor:
        axes = te.data_axes(self._shape()[:2])
        made = _Body(self.chance, self.tensors, axes)
        body = made.reduction()
        if self.chance.random() < 0.3:  # inside an expression, perhaps where a condition holds
            other = made.value(body.dtype, 2)
            body = (
                select(made.condition(1), body, other) if self.chance.random() < 0.5 else maximum(body, other)
            )
        dtype = DType("int64") if body.dtype is INDEX else body.dtype
        return Tensor(name, tuple(a.extent for a in axes), dtype, te.Compute(axes, cast(body, dtype)))

    def _scan(self, name: str) -> Tensor:
        axes = te.data_axes(self._shape()[:2])
        which = self.chance.randrange(len(axes))
        extent, direction = axes[which].extent, self.chance.choice((1, -1))
        dtype = DType(self.chance.choice(("int32", "int64", "uint8", "float32", "float64", "bool")))
        state = State(axes, which)
        tensor = Tensor(name, tuple(a.extent for a in axes), dtype, Scan((state,), extent, direction))
        state.tensor = tensor
        row = axes[which].var
        before = te.read(tensor, *(a.var - direction if a is axes[which] else a.var for a in axes))
        made = _Body(self.chance, self.tensors, axes)
        inside = row > 0 if direction > 0 else row < extent - 1
        value = select(inside, before, made.value(dtype, 1))
        for _ in range(self.chance.randint(1, 4)):
            value = made.step(dtype, value)
        state.body = value
        return tensor


class _Body:
    """Random expressions over some axes."""

    def __init__(self, chance: random.Random, tensors: Sequence[Tensor], axes: Sequence[IterVar]) -> None:
        self.chance, self.tensors = chance, tensors
        self.axes: list[IterVar] = list(axes)
        self.made: list[Expr] = []  # for sharing

    def value(self, dtype: DType, depth: int) -> Expr:
        chance = self.chance
        again = [e for e in self.made if e.dtype is dtype]
        if again and chance.random() < 0.25:
            return chance.choice(again)
        made = self._leaf(dtype) if depth <= 0 else self.step(dtype, self.value(dtype, depth - 1))
        self.made.append(made)
        return made

    def step(self, dtype: DType, value: Expr) -> Expr:
        """An operation on a value and others."""
        chance = self.chance
        other = self.value(dtype, chance.randint(0, 1))
        kind = chance.random()
        if kind < 0.3:
            sides = (value, other) if chance.random() < 0.5 else (other, value)
            return select(self.condition(1, value), *sides)
        if kind < 0.4:
            source = DType(chance.choice(_DTYPES))
            return cast(cast(value, source), dtype)
        if dtype is BOOL:
            return chance.choice((logical_and, logical_or, bit_xor))(value, other)
        if dtype.is_float:
            if kind < 0.5:
                return call(chance.choice(("abs", "floor", "sign")), value)
            return chance.choice(_FLOAT)(value, other)
        if kind < 0.5:
            return bit_not(value) if chance.random() < 0.5 else call("popcount", value)
        return chance.choice(_INT)(value, other)

    def condition(self, depth: int, value: Expr | None = None) -> Expr:
        chance = self.chance
        kind = chance.random()
        if kind < 0.45:
            axis = chance.choice(self.axes) if self.axes else None
            left: Expr = axis.var if axis is not None else const(chance.randint(0, 3), INDEX)
            right = self._position(chance.randint(1, 40))[0] + chance.randint(-3, 3)
            made = chance.choice(_COMPARE)(left, right)
        elif kind < 0.75 and value is not None and value.dtype is not BOOL:
            made = chance.choice(_COMPARE)(value, self._leaf(value.dtype))
        else:
            made = self._leaf(BOOL)
        if depth and chance.random() < 0.3:
            made = chance.choice((logical_and, logical_or))(made, self.condition(depth - 1, value))
        return logical_not(made) if chance.random() < 0.2 else made

    def _leaf(self, dtype: DType) -> Expr:
        chance = self.chance
        kind = chance.random()
        if kind < 0.15:
            if dtype is BOOL:
                return const(chance.random() < 0.5, BOOL)
            if dtype.is_float:
                return const(
                    chance.choice((-2.0, -1.0, 0.0, 0.5, 1.0, 3.0, float("inf"), float("-inf"))), dtype
                )
            return const(chance.choice((0, 1, 2, 3, 7, 8, 100)), dtype)
        if kind < 0.25:
            return cast(self._position(50)[0], dtype)
        return cast(self.read(chance.choice(self.tensors)), dtype)

    def read(self, tensor: Tensor) -> Expr:
        """A read that is inside wherever it is evaluated."""
        indices: list[Expr] = []
        conditions: list[Expr] = []
        for size in tensor.shape:
            assert isinstance(size, int)
            index, condition = self._position(size)
            indices.append(index)
            if condition is not None:
                conditions.append(condition)
        found = te.read(tensor, *indices)
        if not conditions:
            return found
        otherwise = cast(const(self.chance.randint(0, 1), "int32"), tensor.dtype)
        if self.chance.random() < 0.3:
            outside = logical_not(conditions[0])
            for condition in conditions[1:]:
                outside = logical_or(outside, logical_not(condition))
            return select(outside, otherwise, found)
        inside = conditions[0]
        for condition in conditions[1:]:
            inside = logical_and(inside, condition)
        return select(inside, found, otherwise)

    def _position(self, size: int) -> tuple[Expr, Expr | None]:
        """An index, and the condition under which it is at least 0 and below `size` (None: always)."""
        chance = self.chance
        if not self.axes or chance.random() < 0.1:
            return const(chance.randrange(size), INDEX), None
        axis = chance.choice(self.axes)
        var, extent = axis.var, axis.extent
        fits = isinstance(extent, int) and extent <= size
        kind = chance.random()
        if fits and kind < 0.6:
            return (var if kind < 0.4 else size - 1 - var), None
        if kind < 0.7:
            return floormod(var * chance.randint(1, 3) + chance.choice(self.axes).var, size), None
        if kind < 0.8:
            return minimum(floordiv(var, chance.randint(1, 3)), size - 1), None
        if kind < 0.88 and self.tensors:
            tensor = chance.choice(self.tensors)
            at = [floormod(chance.choice(self.axes).var, d) for d in tensor.shape]
            return floormod(cast(cast(te.read(tensor, *at), "int32"), INDEX), size), None
        index = var + chance.randint(-3, 3)
        return index, logical_and(ge(index, 0), lt(index, size))

    def reduction(self) -> Expr:
        """A reduction over one or two axes, of small whole numbers where the order of a sum must not matter."""
        chance = self.chance
        combiner = chance.choice(
            ("sum", "sum", "max", "min", "prod", "any", "all", "argmax", "argmin", "first")
        )
        outer = list(self.axes)
        axes = []
        for number in range(chance.randint(1, 2)):
            extent: int | Expr = chance.choice((1, 2, 3, 8, 16, 21, 40))
            if outer and chance.random() < 0.1:
                extent = outer[0].var + 1
            axes.append(IterVar(Var(INDEX, f"k{number}"), extent, "reduce"))
        inner = _Body(chance, self.tensors, [*outer, *axes])
        dtype = BOOL if combiner in ("any", "all") else DType(chance.choice(_DTYPES[:-1]))
        value = inner.value(dtype, chance.randint(0, 2))
        if dtype.is_float and combiner in ("sum", "prod"):
            low, high = (-4.0, 4.0) if combiner == "sum" else (-1.0, 2.0)
            value = maximum(minimum(call("floor", value), high), low)
        condition = inner.condition(1) if chance.random() < 0.3 or combiner == "first" else None
        default = self.value(dtype, 0) if combiner == "first" else None
        return te.reduce(combiner, axes, value, condition, default)
