"""Stages that a row needs are computed for that row alone, whatever the rank."""

from __future__ import annotations

import re
from typing import Final

import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.target import Target
from opgen_runtime.run.compile import stage_texts

_ROW: Final = 128
_CACHED: Final = 1 << 13  # bytes that stay in the nearest cache


@pytest.mark.parametrize("shape", [(1536, _ROW), (12, 128, _ROW), (2, 6, 128, _ROW)])
def test_softmax_keeps_few_rows(shape: tuple[int, ...]) -> None:
    """As many as are computed at once, of every stage, whatever the rank: nothing is kept for a whole head."""
    x = rt.var("x", rt.TensorType(shape, "float32"))
    stages = dict(stage_texts.kernel_texts(ir.Function((x,), ops.softmax(x)), Target.host()))
    kept = dict(re.findall(r"allocate (m|e|s): float32\[(\d+)\] local", stages["storage_flatten"]))
    rows = int(kept["m"])
    assert kept == {"m": str(rows), "e": str(rows * _ROW), "s": str(rows)}
    assert rows * _ROW * 4 <= _CACHED
