"""A schedule that a user wrote goes through the rows of KERNEL: with hooks, instruments, contracts, oracles."""

from __future__ import annotations

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import te
from opgen_runtime.base.errors import CodegenError, LoweringError, PassError
from opgen_runtime.base.target import Target
from opgen_runtime.lower import tir
from opgen_runtime.run.compile.kernel.written import Program, Written
from opgen_runtime.run.compile.pipeline import KERNEL, through_kernel
from opgen_runtime.transform import PassContext, PassInstrument

AFTER = [stage.name for stage in KERNEL][[stage.name for stage in KERNEL].index("lower") :]


def doubled(rows: int | rt.arith.Expr) -> tuple[te.Schedule, list[te.Tensor]]:
    a = te.placeholder((rows, 8), name="a")
    b = te.compute((rows, 8), lambda i, j: a[i, j] * 2.0, name="b")
    return te.create_schedule(b), [a, b]


class Watch(PassInstrument):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def run_before_stage(self, kernel: str, stage: str) -> None:
        self.seen.append(f"{kernel}: {stage}")


def test_every_stage_is_run_hooked_and_watched(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path))
    hooked: list[str] = []

    def hook(func: tir.PrimFunc) -> tir.PrimFunc:
        hooked.append(func.name)
        return func

    watch = Watch()
    with PassContext(instruments=[watch], hooks={"vectorize_loop": hook}):
        schedule, args = doubled(te.var("n"))
        built = rt.build(schedule, args, name="twice")
        for rows in (3, 5):
            given = np.arange(rows * 8, dtype=np.float32).reshape(rows, 8)
            np.testing.assert_array_equal(built(given), given * 2)
    assert hooked == ["twice"]
    assert watch.seen == [f"twice: {name}" for name in AFTER]


def test_what_a_hook_spoils_is_refused() -> None:
    schedule, args = doubled(3)
    with (
        PassContext(hooks={"lower": lambda func: None}),
        pytest.raises(LoweringError, match="lower"),
    ):
        rt.lower(schedule, args)
    with (
        PassContext(hooks={"lowered": lambda func: func}),
        pytest.raises(PassError, match="no stage 'lowered'"),
    ):
        rt.build(schedule, args)


def test_code_of_another_machine_is_not_run() -> None:
    schedule, args = doubled(2)
    built = rt.build(schedule, args, "llvm -mtriple=aarch64-linux-gnu -mcpu=generic")
    with pytest.raises(CodegenError, match="generic on aarch64-linux-gnu cannot run on this machine"):
        built(np.zeros((2, 8), np.float32))


def test_each_loop_ir_computes_what_the_tensors_do() -> None:
    schedule, (a, b) = doubled(2)
    program = Program("twice", Target.host(), (a,), (b,))
    given = np.arange(16, dtype=np.float32).reshape(2, 8)
    stages = [stage for stage in KERNEL if stage.name in AFTER and stage.hooked]
    for stage, record in through_kernel(Written(program, schedule), stages):
        assert stage.oracle is not None
        np.testing.assert_array_equal(stage.oracle(record, [given])[0], given * 2)
