"""What packs constants is compiled once, whichever kernels take them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import codegen, ir, ops
from opgen_runtime.codegen import Pipeline
from opgen_runtime.run.compile.kernel import precompute_cache
from opgen_runtime.transform import PassContext, PassTiming

W = np.random.default_rng(0).standard_normal((48, 64)).astype(np.float32)
PRECOMPUTE = "opgen_dense_precompute"
MAIN = "opgen_dense"


def dense(rows: object, weights: np.ndarray = W) -> ir.Function:
    x = ir.Var("x", rt.TensorType((rows, weights.shape[1]), "float32"))
    return ir.Function((x,), ops.dense(x, ir.const(weights)))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that are handed to LLVM."""
    found: list[str] = []
    compile_it: Callable[..., Any] = codegen.optimise_and_compile

    def watched(text: str, target: rt.Target, pipeline: Pipeline) -> Any:
        found.extend([name for name in (PRECOMPUTE, MAIN) if f"@{name}(" in text][:1])
        return compile_it(text, target, pipeline)

    monkeypatch.setattr(codegen, "optimise_and_compile", watched)
    return found


def test_open_and_closed_dims_pack_alike(compiled: list[str]) -> None:
    x = np.random.default_rng(1).standard_normal((24, 64)).astype(np.float32)
    closed = rt.build(dense(24))
    assert sorted(compiled) == [MAIN, PRECOMPUTE]
    compiled.clear()
    opened = rt.build(dense(rt.dim("n", hint=24)))
    assert compiled == [MAIN]
    np.testing.assert_array_equal(opened.run([x]), closed.run([x]))


def test_other_weights_pack_otherwise(compiled: list[str]) -> None:
    rt.build(dense(24))
    compiled.clear()
    rt.build(dense(24, W[:, :60]))
    assert sorted(compiled) == [MAIN, PRECOMPUTE]


def test_stages_that_are_watched_all_run(compiled: list[str]) -> None:
    rt.build(dense(24))
    compiled.clear()
    with PassContext(instruments=[PassTiming()]):
        rt.build(dense(rt.dim("n", hint=24)))
    assert sorted(compiled) == [MAIN, PRECOMPUTE]


def test_forgotten_code_is_compiled_again(compiled: list[str]) -> None:
    rt.build(dense(24))
    compiled.clear()
    precompute_cache.forget_precomputes()
    rt.build(dense(rt.dim("n", hint=24)))
    assert sorted(compiled) == [MAIN, PRECOMPUTE]
