"""A sample of `python -m tests.machines`, where compilers and emulators of other machines are installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops

from . import of_ops
from .batch import Exported, results_there
from .emulated import MACHINES, Emulated

_OPS = ("exp", "sin", "erf", "fmod", "matmul", "cumsum", "cast")


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest) -> Emulated:
    found = MACHINES[request.param]
    if found.why_not_here is not None:
        pytest.skip(found.why_not_here)
    return found


def test_ops(machine: Emulated) -> None:
    """Element functions with their fused steps and rare arguments, a product, a scan, narrow floats."""
    tally, count = of_ops.checked(machine, _OPS)
    assert (tally.failures, count) == ([], len(_OPS))


def test_packed_weights_and_threads(machine: Emulated, tmp_path: Path) -> None:
    x = rt.var("x", rt.TensorType((64, 300), "float32"))
    random = np.random.default_rng(0)
    weights = random.normal(size=(70, 300)).astype(np.float32)
    function = rt.Function((x,), ops.softmax(ops.dense(ops.relu(x), rt.const(weights)), axis=1))
    data = random.normal(size=(64, 300)).astype(np.float32)
    expected = rt.build(function).run([data])
    assert isinstance(expected, np.ndarray)
    there = rt.build(function, target=machine.target)
    assert there.precompute_kernels
    (((found,),),) = results_there(machine, [Exported("net", there, ((data,),), ((expected,),))], tmp_path)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_what_goes_wrong_there_is_named(machine: Emulated, tmp_path: Path) -> None:
    """A program that reads where there is no memory ends; the one after it runs."""
    x = rt.var("x", rt.TensorType((3,), "float32"))
    there = rt.build(rt.Function((x,), x + 1.0), target=machine.target)
    data = np.arange(3, dtype=np.float32)
    good = Exported("good", there, ((data,),), ((data,),))
    short = Exported("short", there, ((data,),), ((data[:2],),))  # room for two results of three
    ((first,), (second,)) = results_there(machine, [short, good], tmp_path)
    assert first == "wrote behind a result"
    np.testing.assert_array_equal(second[0], [1, 2, 3])


def test_machines_are_the_samples_of_families() -> None:
    """A family is one row: what emulates and links for its samples follows of it."""
    assert {name: (each.target, each.compiler, each.emulator) for name, each in MACHINES.items()} == {
        "aarch64": (
            "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -num-threads=2",
            "aarch64-linux-gnu-gcc",
            ("qemu-aarch64-static", "-cpu", "cortex-a72"),
        ),
        "riscv64": (
            "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+m,+a,+f,+d,+c -num-threads=2",
            "riscv64-linux-gnu-gcc",
            ("qemu-riscv64-static", "-cpu", "rv64"),
        ),
        "riscv64v": (
            "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+m,+a,+f,+d,+c,+v,+zvl128b -num-threads=2",
            "riscv64-linux-gnu-gcc",
            ("qemu-riscv64-static", "-cpu", "rv64,v=true,vlen=128,vext_spec=v1.0"),
        ),
    }
