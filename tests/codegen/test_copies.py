"""Copies that loops beside them read are functions of their own."""

from __future__ import annotations

import cProfile
import pstats

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.arith import Var, const
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import FLOAT32, INDEX
from opgen_runtime.codegen import emit
from opgen_runtime.ir import Function
from opgen_runtime.lower.tir.nodes.stmt import Block, Buffer, For, ForKind, Load, PrimFunc, Ramp, Stmt, Store
from opgen_runtime.run.compile.interpret import run_op_by_op
from opgen_runtime.run.compile.pipeline import compile_segment
from opgen_runtime.run.compile.stage_texts import kernel_texts
from tests.codegen.conftest import finished
from tests.codegen.test_targets import TARGETS


def convolution(filters: int, channels: int) -> Function:
    """Each panel of windows is packed inside the loop over panels, with gaps and edges."""
    x = rt.var("x", rt.TensorType((1, channels, 59, 59), "float32"))
    w = rt.var("w", rt.TensorType((filters, channels, 3, 3), "float32"))
    return Function((x, w), ops.conv2d(x, w, strides=(3, 3), padding=(3, 3), dilation=(2, 2)))


@pytest.mark.parametrize(
    ("kind", "channels", "apart"), [("AVX2", 24, True), ("AVX-512", 24, True), ("AVX2", 1, False)]
)
def test_windows_are_packed_by_a_function(kind: str, channels: int, apart: bool) -> None:
    """Beside a large panel a call is nothing."""
    text = dict(kernel_texts(convolution(50, channels), f"{TARGETS[kind]} -num-threads=1"))["llvm"]
    assert (".loop0(" in text) == apart


def test_results_are_written_where_they_are_made() -> None:
    """A row of a result beside hints for later ones, which nothing reads."""
    x = rt.var("x", rt.TensorType((100_000, 256), "float32"))
    i = rt.var("i", rt.TensorType((50_000,), "int64"))
    text = dict(
        kernel_texts(Function((x, i), ops.take(x, i, axis=0)), f"{TARGETS['AVX-512']} -num-threads=1")
    )
    assert "prefetch" in text["llvm"]
    assert ".loop0(" not in text["llvm"]


def test_what_is_packed_so_is_the_same() -> None:
    target = Target.parse(f"{TARGETS['AVX2']} -num-threads=1")
    if not target.is_host:
        pytest.skip("this machine does not run it")
    function = convolution(50, 24)
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(shape).astype(np.float32) for shape in ((1, 24, 59, 59), (50, 24, 3, 3))]
    (found,) = compile_segment(function, target).run(arrays)
    expected = np.asarray(run_op_by_op(function.body, dict(zip(function.params, arrays, strict=True))))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def beside_one_another(count: int) -> PrimFunc:
    """for i in range(4): `count` loops that copy vectors, each worth a function if any read what it makes."""
    x, out = (Buffer(name, (4 * count * 2048,), FLOAT32) for name in ("x", "out"))
    zero, one, i = const(0, INDEX), const(1, INDEX), Var(INDEX, "i")

    def loop(number: int) -> Stmt:
        j = Var(INDEX, "j")
        at = Ramp(INDEX, ((i * count + number) * 256 + j) * 8, one, 8)
        return For(j, zero, const(256, INDEX), ForKind.SERIAL, Store(out, (at,), Load(FLOAT32, x, (at,))))

    body = Block(tuple([loop(number) for number in range(count)]))
    return PrimFunc("kernel", (x,), (out,), For(i, zero, const(4, INDEX), ForKind.SERIAL, body))


def test_work_is_linear_in_the_loops_of_a_block() -> None:
    """The calls of functions tell the work."""
    target = Target.parse(f"{TARGETS['AVX2']} -num-threads=1")

    def work(count: int) -> int:
        function, profile = beside_one_another(count), cProfile.Profile()
        profile.enable()
        emit(finished(function, target), target)
        profile.disable()
        return int(pstats.Stats(profile).total_calls)

    work(20)
    few, more, most = work(40), work(80), work(160)
    assert most - more < 2.1 * (more - few)
