"""Segments of symbolic dims that differ in numbers alone: which share a kernel, and that it serves them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base import Target
from opgen_runtime.run.compile.kernel.shared_kernels import share_kernels

TARGET = Target.parse("llvm -mcpu=x86-64-v3 -num-threads=1")
N, H, W = (rt.dim(name, hint=hint) for name, hint in (("n", 2), ("h", 8), ("w", 16)))
A, B = rt.dim("a", hint=4), rt.dim("b", hint=24)


def var(name: str, *shape: object) -> ir.Var:
    return ir.Var(name, rt.TensorType(shape, "float32"))


def function(body: ir.Expr) -> ir.Function:
    return ir.Function(tuple(ir.free_vars(body)), body)


def depthwise(channels: int, height: object = H, width: object = W, size: int = 3) -> ir.Expr:
    x, filters = var("x", N, channels, height, width), var("w", channels, 1, size, size)
    return ops.relu(ops.conv2d(x, filters, padding=(size // 2,) * 4, groups=channels))


def shared(*bodies: ir.Expr) -> tuple[list[str], tuple[int, ...]]:
    segments = [function(body) for body in bodies]
    found = share_kernels(segments, [()] * len(segments), TARGET)
    return [str(each).splitlines()[0] for each in found.functions], found.numbers


def test_a_number_that_counts_parts_becomes_a_dim():
    found = share_kernels([function(depthwise(88)), function(depthwise(40))], [(), ()], TARGET)
    assert found.numbers == (0, 0)
    assert str(found.functions[0]) == (
        "fn (%x: Tensor[(n, c1, h, w), float32], %w: Tensor[(c1, 1, 3, 3), float32]) {\n"
        "  %0 = conv2d(%x, %w, padding=[1, 1, 1, 1], groups=c1);\n"
        "  relu(%0)\n"
        "}"
    )


def test_hints_are_those_of_the_largest():
    found = share_kernels([function(depthwise(8)), function(depthwise(16, A, B))], [(), ()], TARGET)
    kind = found.functions[0].params[0].checked_type
    assert [dim.hint for dim in kind.shape] == [2, 16, 4, 24]


def test_numbers_that_are_equal_stay():
    assert shared(depthwise(8), depthwise(8, A, B)) == (
        ["fn (%x: Tensor[(n, 8, h, w), float32], %w: Tensor[(8, 1, 3, 3), float32]) {"],
        (0, 0),
    )


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda c: ops.softmax(var("x", N, c, H, W), axis=1), "summed over"),
        (lambda c: ops.conv2d(var("x", N, 16, H, W), var("w", c, 16, 1, 1)), "not of all operands"),
        (lambda c: ops.relu(var("x", N, c, H)), "among the last two"),
        (lambda c: depthwise(c, size=c - 1), "another number with it"),
        (lambda c: ops.add(var("x", 2, c, 3, 4), var("y", c, 3, 4)), "of static shapes"),
    ],
)
def test_other_numbers_stay(make: Callable[[int], ir.Expr], why: str):
    assert shared(make(4), make(6))[1] == (0, 1), why


def test_constants_in_other_places_are_other_kernels():
    segments = [function(depthwise(8)), function(depthwise(16))]
    assert share_kernels(segments, [(), (1,)], TARGET).numbers == (0, 1)


def program(n: object, h: object, w: object) -> ir.Function:
    """Three times a convolution of pixels, one of planes, and its planes scaled by what they are in the mean."""
    random = np.random.default_rng(0)
    value: ir.Expr = var("x", n, 3, h, w)
    for inputs, channels in ((3, 4), (4, 6), (6, 5)):
        value = ops.conv2d(value, weight(random, channels, inputs, 1, 1))
        taps = weight(random, channels, 1, 3, 3)
        value = ops.conv2d(value, taps, strides=(2, 1), padding=(1, 1, 1, 1), groups=channels)
        value = ops.multiply(value, ops.sigmoid(ops.mean(value, axis=(2, 3), keepdims=True)))
    return function(value)


def weight(random: np.random.Generator, *shape: int) -> ir.Expr:
    return ir.const(random.standard_normal(shape).astype(np.float32))


def test_shared_kernels_compute_what_static_ones_do():
    symbolic = rt.build(program(N, H, W), target=TARGET)
    for n, h, w in ((1, 1, 1), (2, 9, 17), (3, 16, 33)):
        static = rt.build(program(n, h, w), target=TARGET)
        given = np.random.default_rng(1).standard_normal((n, 3, h, w)).astype(np.float32)
        np.testing.assert_allclose(symbolic.run([given]), static.run([given]), rtol=1e-4, atol=1e-5)
