"""Programs for other machines: compiled, saved and exported here, where none of their code is loaded."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import CodegenError, ExecutorError, OpgenError, StrategyError
from opgen_runtime.codegen.objects.elf import undefined_symbols
from opgen_runtime.run.compile import pipeline

ARM = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-threads=2"
X = rt.var("x", rt.TensorType((64, 48), "float32"))
WEIGHTS = np.random.default_rng(0).normal(size=(16, 48)).astype(np.float32)
FOLDED = ops.exp(ir.const(WEIGHTS)) + 1.0  # of constants alone
BODY = ops.softmax(ops.dense(ops.fmod(X, ir.const(np.float32(3))), FOLDED), axis=1)


@pytest.fixture(scope="module")
def crossed() -> rt.Executable:
    return rt.build(ir.Function((X,), BODY), target=ARM)


def machine_of(code: bytes) -> int:
    """`e_machine` of an ELF object."""
    found: int = struct.unpack_from("<H", code, 18)[0]
    return found


def test_it_is_explained_and_does_not_run(crossed: rt.Executable) -> None:
    assert isinstance(crossed, rt.Crossed)
    assert crossed.explain().splitlines()[:2] == [
        "input x: float32[64, 48]",
        "precomputed by opgen_dense_precompute",
    ]
    with pytest.raises(
        ExecutorError,
        match=r"^the program is compiled for cortex-a72 on aarch64-linux-gnu, which this machine is not: "
        "save it and load it there, or export it as a C library$",
    ):
        crossed.run([np.zeros((64, 48), np.float32)])
    first = crossed.compiled[0]
    with pytest.raises(
        CodegenError, match=r"is compiled for cortex-a72 on aarch64-linux-gnu and cannot run on this machine"
    ):
        first.run([np.zeros(slot.shape, slot.dtype) for slot in first.inputs])


def test_constants_are_computed_here_and_packed_for_there(crossed: rt.Executable) -> None:
    """What the plan holds are the elements of the folded weights, as the kernels of the other machine read them."""
    assert crossed.plan is not None
    (packed,) = [array for array in crossed.plan.constants.values() if array.size == WEIGHTS.size]
    host = rt.build(ir.Function((), FOLDED)).run([])
    np.testing.assert_array_equal(np.sort(packed, axis=None), np.sort(np.asarray(host), axis=None))


def test_all_objects_are_of_the_other_machine(crossed: rt.Executable, tmp_path: Path) -> None:
    paths = crossed.export_c(tmp_path, "net")
    codes = {path.name: path.read_bytes() for path in paths if path.suffix == ".o"}
    assert {machine_of(code) for code in codes.values()} == {183}  # EM_AARCH64
    parts = {"net.o", "net_driver.o", "net_constants.o", "opgen_thread_pool.o", "opgen_fmod_long_f32.o"}
    assert parts <= codes.keys()
    assert all("Py" not in name for code in codes.values() for name in undefined_symbols(code))


def test_what_is_saved_is_for_the_other_machine(crossed: rt.Executable, tmp_path: Path) -> None:
    crossed.save(tmp_path / "program")
    with pytest.raises(
        ExecutorError,
        match=r"was compiled for llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 .*which this machine is not",
    ):
        rt.load(tmp_path / "program")


def test_kernels_from_disk_are_for_the_other_machine_too(crossed: rt.Executable) -> None:
    pipeline.forget_kernels()
    again = rt.build(ir.Function((X,), BODY), target=ARM)
    assert isinstance(again, rt.Crossed)
    assert again.explain() == crossed.explain()
    with pytest.raises(CodegenError, match="cannot run on this machine"):
        _ = again.compiled[0].code_address


def test_a_program_of_open_dims(tmp_path: Path) -> None:
    n = rt.dim("n")
    x = rt.var("x", rt.TensorType((n, 48), "float32"))
    crossed = rt.build(ir.Function((x,), ops.softmax(ops.dense(x, ir.const(WEIGHTS)), axis=1)), target=ARM)
    assert isinstance(crossed, rt.Crossed)
    assert "dim n: any size" in crossed.explain()
    header = crossed.export_c(tmp_path, "net")[0].read_text()
    assert "int32_t net(const float *input0, float *output0, int64_t dim0_n);" in header
    with pytest.raises(ExecutorError, match="which this machine is not"):
        crossed.run([np.zeros((3, 48), np.float32)])


@pytest.mark.parametrize(
    ("target", "error", "message"),
    [
        ("-mtriple=foo-linux-gnu", StrategyError, r"=foo-linux-gnu: LLVM has no such architecture.*; it has aarch64, "),
        ("-mtriple=aarch65-linux-gnu", StrategyError, r"no such architecture; did you mean 'aarch64'"),
        (
            "-mtriple=aarch64-linux-gnu -mcpu=cortex-a7000",
            StrategyError,
            r"-mcpu=cortex-a7000: LLVM has no such CPU; did you mean .*; for aarch64 it has a64fx, .* and \d+ more",
        ),
        ("-mtriple=wasm32-unknown-unknown", StrategyError, r"64 bits, little-endian, in the ELF format; .*p:32:32"),
        ("-mtriple=s390x-linux-gnu", StrategyError, r"64 bits, little-endian, in the ELF format; .* is E-m:e"),
    ],
)  # fmt: skip
def test_machines_that_there_are_not(target: str, error: type[OpgenError], message: str) -> None:
    with pytest.raises(error, match=message):
        rt.build(ir.Function((X,), ops.relu(X)), target=f"llvm {target}")


def test_a_program_that_python_would_have_to_run() -> None:
    with pytest.raises(
        ExecutorError,
        match=r"cannot be compiled for cortex-a72 on aarch64-linux-gnu, where Python would have to",
    ):
        rt.build(rt.parse_module(RECURSION), target=ARM)


RECURSION = """
def @main(%n: Tensor[(), int64]) -> Tensor[(), int64] {
  if (greater(%n, 0i64)) { add(@main(subtract(%n, 1i64)), @main(subtract(%n, 2i64))) } else { %n }
}
"""
