"""Stages that a row needs are computed for that row alone, whatever the rank."""

from __future__ import annotations

import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.target import Target
from opgen_runtime.run.compile import pipeline


@pytest.mark.parametrize("shape", [(1536, 128), (12, 128, 128), (2, 6, 128, 128)])
def test_softmax_keeps_one_row(shape: tuple[int, ...]) -> None:
    x = rt.var("x", rt.TensorType(shape, "float32"))
    stages = dict(pipeline.kernel_texts(ir.Function((x,), ops.softmax(x)), Target.host()))
    lowered = stages["storage_flatten"]
    for allocation in ("allocate m: float32[1] local", "allocate e: float32[128] local"):
        assert allocation in lowered, lowered
