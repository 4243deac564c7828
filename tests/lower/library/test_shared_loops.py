"""How many loops of an elementwise stage are one loop for all threads."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import te
from opgen_runtime.base.target import Target
from opgen_runtime.lower.library.schedules import generic
from opgen_runtime.lower.tir import For, ForKind, PrimFunc, lower, run_phases
from opgen_runtime.lower.tir.nodes.visit import statements


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((32, 128, 12, 64), [("parallel", 384), ("serial", 128)]),  # two loops are enough to share
        ((256, 128, 12, 64), [("parallel", 256), ("serial", 12), ("serial", 128)]),
        ((2, 128, 12, 64), [("parallel", 3072)]),
    ],
)
def test_no_more_are_fused_than_threads_share(
    shape: tuple[int, ...], expected: list[tuple[str, int]]
) -> None:
    batch, rows, heads, depth = shape
    x = te.placeholder(shape, name="X")
    y = te.compute((batch, heads, rows, depth), lambda b, h, s, d: x[b, s, h, d], name="Y")
    target = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=2")
    after: dict[str, PrimFunc] = {}  # each phase; the last ones may write the body twice
    run_phases(lower(generic([y], target), [x], [y], "kernel"), after.__setitem__)
    loops = [stmt for stmt in statements(after["rewrite_unsafe_select"].body) if isinstance(stmt, For)]
    assert [
        (("parallel" if e.kind is ForKind.PARALLEL else "serial"), int(str(e.extent))) for e in loops
    ] == expected


@pytest.mark.parametrize("hint", [0, 1, 3])
def test_open_extents_that_are_expected_to_have_no_elements(hint: int) -> None:
    n, m = rt.dim("n", hint=hint), rt.dim("m", hint=hint)
    x = rt.var("x", rt.TensorType((n, m), "float32"))
    target = "llvm -mcpu=native -num-threads=2"
    built = rt.build(rt.Function((x,), rt.ops.strided_slice(x, begin=[3, 1], end=[9, 9])), target=target)
    array = np.arange(60, dtype="float32").reshape(6, 10)
    np.testing.assert_array_equal(built.run([array]), array[3:9, 1:9])
