"""Stores past the caches: where they are used, and that they change no result."""

from __future__ import annotations

import random

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime.base.arith import Binary, Var, add, const, evaluate_scalar, floormod, mul, sub
from opgen_runtime.base.vocabulary import INDEX, DType
from opgen_runtime.ir import Function
from opgen_runtime.lower.tir.analysis.nontemporal import is_multiple, nontemporal_outputs
from opgen_runtime.lower.tir.nodes.stmt import Buffer, For, ForKind, Load, PrimFunc, Ramp, Store
from opgen_runtime.lower.tir.nodes.visit import block
from opgen_runtime.run.compile.pipeline import compile_segment
from opgen_runtime.run.compile.stage_texts import kernel_texts

LARGE = 1 << 22  # elements: two float32 operands are beyond the caches
TARGETS = {name: f"llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-{name}" for name in ("v3", "v4")}


def function(*shape: int) -> Function:
    x, y = (rt.var(name, rt.TensorType(shape, "float32")) for name in "xy")
    return Function([x, y], x + y * 2.0)


def llvm(made: Function, target: str) -> str:
    return dict(kernel_texts(made, target))["llvm"]


def test_large_results_are_streamed_where_they_are_aligned() -> None:
    assert llvm(function(LARGE), TARGETS["v4"]).count("!nontemporal") > 0
    assert "!nontemporal" not in llvm(function(LARGE // 8), TARGETS["v4"])  # it fits the caches
    assert (
        llvm(function(LARGE), TARGETS["v3"]).count("!nontemporal") > 0
    )  # one half of a line after the other


@pytest.mark.parametrize("shift", [0, 1])
def test_results_are_the_same_in_memory_of_any_alignment(shift: int) -> None:
    kernel = compile_segment(function(LARGE))
    x, y = (np.random.default_rng(seed).standard_normal(LARGE).astype(np.float32) for seed in (0, 1))
    memory = np.full(LARGE + 32, np.nan, np.float32)
    start = (-memory.ctypes.data // 4) % 16 + shift
    out = memory[start : start + LARGE]
    kernel.run([x, y], [out])
    np.testing.assert_array_equal(out, x + y * np.float32(2))
    assert np.isnan(memory[:start]).all()
    assert np.isnan(memory[start + LARGE :]).all()


@pytest.mark.parametrize(("stride", "base", "reads", "streams"), [
    (1, 16, False, True), (1, 16, True, False), (1, 8, False, False), (2, 32, False, False),
])  # fmt: skip
def test_whole_lines_that_nobody_reads_are_streamed(
    stride: int, base: int, reads: bool, streams: bool
) -> None:
    """out[i*base + 0, stride, ...] = x[...], or x[...] + out[...]."""
    f32 = DType("float32")
    x, out = (Buffer(name, (LARGE,), f32) for name in ("x", "out"))
    i = Var(INDEX, "i")
    places = Ramp(INDEX, mul(i, base), const(stride, INDEX), 16)
    value = Load(f32, x, (places,))
    stored = Binary(f32, "add", value, Load(f32, out, (places,))) if reads else value
    loop = For(i, const(0, INDEX), const(LARGE // 64, INDEX), ForKind.SERIAL, Store(out, (places,), stored))
    assert nontemporal_outputs(PrimFunc("kernel", (x,), (out,), loop)) == (
        frozenset([out]) if streams else frozenset()
    )


@pytest.mark.parametrize(("mib", "kind", "streams"), [
    (23, ForKind.SERIAL, False), (24, ForKind.SERIAL, True),
    (24, ForKind.PARALLEL, False), (31, ForKind.PARALLEL, False), (32, ForKind.PARALLEL, True),
])  # fmt: skip
def test_several_threads_write_to_the_last_cache_while_it_holds_all_operands(
    mib: int, kind: ForKind, streams: bool
) -> None:
    """out[i*16, ...] = x[...], operands of so many MiB together."""
    f32, count = DType("float32"), mib << 17
    x, out = (Buffer(name, (count,), f32) for name in ("x", "out"))
    i = Var(INDEX, "i")
    places = Ramp(INDEX, mul(i, 16), const(1, INDEX), 16)
    loop = For(
        i, const(0, INDEX), const(count // 16, INDEX), kind, Store(out, (places,), Load(f32, x, (places,)))
    )
    assert (out in nontemporal_outputs(PrimFunc("kernel", (x,), (out,), loop))) == streams


@pytest.mark.parametrize(("apart", "stores", "streams"), [
    (8, 1, True), (16, 2, True), (16, 1, False), (1024, 1, False), (1024, 2, False),
])  # fmt: skip
def test_halves_of_lines_are_streamed_one_after_the_other(apart: int, stores: int, streams: bool) -> None:
    """out[i*apart, ...] = x[...]; out[i*apart + 8, ...] = x[...]; ..., eight elements each."""
    f32 = DType("float32")
    x, out = (Buffer(name, (LARGE,), f32) for name in ("x", "out"))
    i = Var(INDEX, "i")
    places = [Ramp(INDEX, add(mul(i, apart), 8 * n), const(1, INDEX), 8) for n in range(stores)]
    body = block(*[Store(out, (place,), Load(f32, x, (place,))) for place in places])
    loop = For(i, const(0, INDEX), const(LARGE // apart, INDEX), ForKind.SERIAL, body)
    assert (out in nontemporal_outputs(PrimFunc("kernel", (x,), (out,), loop))) == streams


def test_multiples_are_multiples_for_all_values() -> None:
    choice = random.Random(3)
    variables = [Var(INDEX, name) for name in "ij"]

    def expression(depth: int) -> object:
        if depth == 0 or choice.random() < 0.2:
            return choice.choice(
                [*variables, const(choice.randrange(-4, 65) * choice.choice([1, 16]), INDEX)]
            )
        make = choice.choice([add, sub, mul, floormod])
        return make(expression(depth - 1), expression(depth - 1))

    found = 0
    for _ in range(3000):
        e = expression(3)
        if not is_multiple(e, 16):
            continue
        found += 1
        for _ in range(4):
            values = {v: choice.randrange(0, 50) for v in variables}
            assert int(evaluate_scalar(e, values)) % 16 == 0, str(e)
    assert found > 100
