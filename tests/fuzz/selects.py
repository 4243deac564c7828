"""Choices that share values and reductions, nested ever deeper: lowering and compiling stay linear.

A case repeats a random step `v = f(v, v)` 8, 16 and 32 times, in a compute or a scan, and counts the Python calls that
every part of the compiler makes: twice the depth may take about twice as many.  The form of a kernel may change with
the depth, so that a part that had nothing to do has something then: a walk over the kernel.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Final

import numpy as np

from opgen_runtime.base.arith import (
    Expr,
    bit_and,
    bit_xor,
    cast,
    const,
    logical_and,
    maximum,
    minimum,
    ne,
    select,
)
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import INDEX, DType
from opgen_runtime.codegen import choose_pipeline, emit, optimise_and_compile
from opgen_runtime.compute import te
from opgen_runtime.compute.te.tensor import Scan, State, Tensor
from opgen_runtime.lower import tir
from opgen_runtime.lower.library import schedules
from tests.codegen.conftest import run

COUNT: Final = 60
SECONDS: Final = 300.0
_DEPTHS: Final = (8, 16, 32)
_GROWTH: Final = 2.6  # of the calls when the depth doubles: linear is 2, quadratic 4
_WALK: Final = 4000  # calls that a part may make of the deepest kernel, whatever it made of others
_SIZE: Final = 24
Step = Callable[[Expr, Expr], Expr]  # of the value and the position


def case(seed: int) -> None:
    """One step at every depth: calls counted, the result of the deepest compared."""
    calls = [counted(_program(random.Random(seed), depth)) for depth in _DEPTHS]
    doublings = len(_DEPTHS) - 1
    for part, count in calls[-1].items():
        assert count < _WALK + _GROWTH**doublings * calls[0][part], f"{part}: {calls}"


def _program(chance: random.Random, depth: int) -> tuple[list[Tensor], Tensor]:
    x = te.placeholder("x", (_SIZE,), "int32")
    y = te.placeholder("y", (_SIZE,), "int32")
    scans = chance.random() < 0.5
    reduces = scans and chance.random() < 0.7
    steps = [_step(chance, (x, y), reduces) for _ in range(chance.randint(1, 2))]

    def repeated(value: Expr, at: Expr) -> Expr:
        shared = _reduction(chance, x, value, at) if reduces and chance.random() < 0.3 else None
        for number in range(depth):
            made = steps[number % len(steps)](value, at)
            value = made if shared is None else select(made > number, bit_xor(made, shared), made)
        return value

    if not scans:
        return [x, y], te.compute("out", (_SIZE,), "int32", lambda i: repeated(te.read(x, i), i))
    axes = te.data_axes((_SIZE,))
    state = State(axes, 0)
    tensor = Tensor("out", (_SIZE,), DType("int32"), Scan((state,), _SIZE, 1))
    state.tensor = tensor
    at = axes[0].var
    start = select(at > 0, te.read(tensor, at - 1), const(0, "int32"))
    state.body = repeated(bit_xor(start, te.read(x, at)), at)
    return [x, y], tensor


def _step(chance: random.Random, tensors: tuple[Tensor, Tensor], reduces: bool) -> Step:
    """One nested choice, each part of which may use the value again, and a reduction of it."""
    shape = chance.getrandbits(32)

    def made(value: Expr, at: Expr) -> Expr:
        same = random.Random(shape)
        if reduces:
            reduced = _reduction(same, same.choice(tensors), value, at)
            value = (
                select(_condition(same, tensors, value, at), reduced, value)
                if same.random() < 0.5
                else reduced
            )
        return select(
            _condition(same, tensors, value, at), *(_use(same, tensors, value, at, 2) for _ in "ab")
        )

    return made


def _reduction(chance: random.Random, tensor: Tensor, value: Expr, at: Expr) -> Expr:
    """A reduction that uses the value for every element, or for its extent."""
    if chance.random() < 0.2:
        k = te.reduce_axis(minimum(maximum(cast(value, INDEX), 0), _SIZE), "k")
        return te.reduce("max", k, te.read(tensor, k.var) + cast(at, "int32"))
    k = te.reduce_axis(3, "k")
    element = te.read(tensor, k.var)
    kind = chance.randrange(4)
    if kind == 0:
        return te.reduce("sum", k, bit_xor(element, value))
    if kind == 1:
        return te.reduce("max", k, element, element > value)
    if kind == 2:
        return te.reduce("first", k, element, element > value, value)
    return te.reduce("min", k, select(bit_and(value, 127) > element, element, cast(at, "int32")))


def _condition(chance: random.Random, tensors: tuple[Tensor, Tensor], value: Expr, at: Expr) -> Expr:
    kind = chance.randrange(5)
    if kind == 0:
        return ne(bit_and(value, 128), 0)
    if kind == 1:
        return value > chance.randint(-2, 9)
    if kind == 2:
        return at >= chance.randint(0, _SIZE)
    if kind == 3:
        return logical_and(at > 0, te.read(chance.choice(tensors), maximum(at - 1, 0)) > value)
    return (
        select(value > 3, at > 2, value < at) if value.dtype is INDEX else select(value > 3, at > 2, at > 5)
    )


def _use(chance: random.Random, tensors: tuple[Tensor, Tensor], value: Expr, at: Expr, depth: int) -> Expr:
    kind = chance.randrange(7)
    tensor = chance.choice(tensors)
    if kind == 0 or depth == 0:
        return value + chance.randint(-3, 3)
    if kind == 1:
        return bit_xor(value + value, 7)
    if kind == 2:
        index = cast(value, INDEX)
        return select(logical_and(index >= 0, index < _SIZE), te.read(tensor, index), value)
    if kind == 3:
        step = chance.randint(1, 3)
        return select(at >= step, te.read(tensor, at - step) + value, value)
    if kind == 4:
        return te.read(tensor, minimum(maximum(cast(value, INDEX), 0), _SIZE - 1))
    first, second = (_use(chance, tensors, value, at, depth - 1) for _ in "ab")
    return select(_condition(chance, tensors, value, at), first, second)


def counted(program: tuple[list[Tensor], Tensor]) -> dict[str, int]:
    """The calls of Python functions in each part of the compiler; the kernel's result is compared, too."""
    inputs, tensor = program
    target = Target.host()
    counts: dict[str, int] = {}

    def count(part: str, work: Callable[[], object]) -> object:
        calls = 0

        def seen(frame: FrameType, event: str, argument: object) -> None:
            nonlocal calls
            calls += event == "call"

        sys.setprofile(seen)
        try:
            return work()
        finally:
            sys.setprofile(None)
            counts[part] = calls

    (output,) = outputs = count("normalize", lambda: te.normalize((tensor,)))  # type: ignore[misc]
    count("pattern", lambda: te.derive_pattern(outputs, inputs))  # type: ignore[misc]
    count("text", lambda: te.to_text(outputs))
    schedule = count("schedule", lambda: schedules.generic(outputs, target))
    func = count("lower", lambda: tir.lower(schedule, inputs, outputs, "kernel"))
    for name, phase in [(row.name, row.run) for row in tir.PHASES]:
        func = count(name, lambda phase=phase, func=func: phase(func))
    count("printing", lambda: tir.to_text(func))
    text = count("emit", lambda: emit(func, target))
    count("pipeline", lambda: optimise_and_compile(text, target, choose_pipeline(func)))
    generator = np.random.default_rng(0)
    arrays = [generator.integers(-9, 200, _SIZE, dtype=np.int32) for _ in inputs]
    expected = te.evaluate([output], dict(zip(inputs, arrays, strict=True)))
    np.testing.assert_array_equal(run(func, arrays)[0], expected[0])
    return counts
