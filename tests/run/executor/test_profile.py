"""What a program is, and what its kernels cost."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import ExecutorError

X = rt.var("x", rt.TensorType((8, 16), "float32"))
DATA = np.ones((8, 16), np.float32)
WEIGHTS = ir.const(np.ones((16, 16), np.float32))  # vectors of any width hold these rows whole
PROGRAM = ir.Function((X,), ops.softmax(ops.dense(ops.cumsum(X, axis=1), WEIGHTS), axis=1))

LOOP = """
def @main(%n: Tensor[(), int64], %x: Tensor[(3,), float32]) -> Tensor[(3,), float32] {
  if (greater(%n, 0i64)) { @main(subtract(%n, 1i64), cumsum(%x)) } else { %x }
}
"""


def test_a_program_explained() -> None:
    executable = rt.build(PROGRAM)
    lines = executable.explain().splitlines()
    assert lines[0] == "input x: float32[8, 16]"
    assert lines[-1] == (
        f"{executable.plan.arena:,} bytes of memory between kernels, "  # type: ignore[union-attr]
        f"for tensors of {executable.plan.tensors:,} bytes"  # type: ignore[union-attr]
    )
    assert [line.split(" = ")[1].split("(")[0] for line in lines if " = " in line] == list(executable.kernels)
    assert rt.build(ir.Function((X,), ops.exp(X))).explain().endswith("one kernel: opgen_exp")


def test_a_loop_explained() -> None:
    text = rt.build(rt.parse_module(LOOP)).explain()
    for part in ("loop %", "if %", "  else:\n", "again %", "leave", "end"):
        assert part in text


def test_why_a_program_is_interpreted() -> None:
    recursive = """
    def @main(%n: Tensor[(), int64]) -> Tensor[(), int64] {
      if (less(%n, 1i64)) { 0i64 } else { add(@main(subtract(%n, 1i64)), 2i64) }
    }"""
    executable = rt.build(rt.parse_module(recursive))
    assert "interpreted: @main calls itself elsewhere than at its end" in executable.explain()
    with pytest.raises(ExecutorError, match="cannot be profiled: @main calls itself"):
        executable.profile([np.array(3)])


def test_costs() -> None:
    found = rt.build(PROGRAM).profile([DATA], runs=3)
    assert sorted(each.kernel for each in found.kernels) == sorted(rt.build(PROGRAM).kernels)
    assert all(each.calls == 3 for each in found.kernels)
    assert sum(each.share for each in found.kernels) == pytest.approx(1)
    dense = next(each for each in found.kernels if "dense" in each.kernel)
    assert dense.operations == 2 * 8 * 16 * 16
    assert dense.nbytes == 4 * (8 * 16 + 16 * 16 + 8 * 16)
    assert [each["calls"] for each in json.loads(found.json())["kernels"]] == [3] * len(found.kernels)
    trace = json.loads(found.chrome_trace())["traceEvents"]
    assert len(trace) == 3 * len(found.kernels)
    assert all(event["dur"] >= 0 for event in trace)
    assert str(found).splitlines()[0].split() == [
        "kernel",
        "calls",
        "ms",
        "a",
        "run",
        "MB",
        "GB/s",
        "GFLOP/s",
        "share",
    ]


def test_loops_run_more_kernels_than_there_is_room_for_at_first() -> None:
    executable = rt.build(rt.parse_module(LOOP))
    found = executable.profile([np.array(200), np.ones(3, np.float32)], runs=1)
    assert max(each.calls for each in found.kernels) >= 200


def test_a_traced_function() -> None:
    @rt.jit
    def function(a: Any, scale: float) -> Any:
        return ops.softmax(a * scale, axis=1)

    assert "opgen_" in function.explain(DATA, 2.0)
    found = function.profile(DATA, 2.0)
    assert found.kernels[0].calls == 10
