"""Every feature of code generation for each kind of target; what this machine can run gives the same results."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.arith import INTRINSICS
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import DType
from opgen_runtime.codegen import optimise_and_compile
from opgen_runtime.codegen.objects.elf import is_elf
from opgen_runtime.codegen.objects.threads.pool_text import SYMBOLS, pool_text
from opgen_runtime.ir import Function, Tuple
from opgen_runtime.run.compile.pipeline import Request, compile_segment, through_kernel, upto

TARGETS = {
    "aarch64": "llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=generic",
    "x86-64": "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64",
    "AVX2": "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v3",
    "AVX-512": "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4",
}
MACHINES = {"aarch64": 183, "x86_64": 62}  # e_machine of ELF
WIDTHS = {"aarch64": (128, 32), "x86-64": (128, 16), "AVX2": (256, 16), "AVX-512": (512, 32)}
FUNCTIONS = [
    name
    for name, row in INTRINSICS.items()
    if name in ops.__all__ and row.arity == 1 and row.takes == "float"
]


def var(*shape: int, dtype: str = "float32", name: str = "x") -> rt.Var:
    return rt.var(name, rt.TensorType(shape, dtype))


def programs() -> dict[str, Function]:
    """One function a feature."""
    x, y, whole = var(5, 37), var(5, 37, name="y"), var(5, 37, dtype="int32")
    found = {
        "choices and masks": ops.where(ops.less(x, y), ops.clip(x, a_min=-1.0, a_max=1.0), ops.maximum(x, y)),
        "row sums": Tuple((ops.sum(x, axis=1), ops.max(x, axis=1), ops.argmax(x, axis=1))),
        "column sums": Tuple((ops.sum(x, axis=0), ops.min(x, axis=0), ops.argmin(x, axis=0))),
        "softmax": ops.softmax(x, axis=1),
        "a scan": ops.cumsum(x, axis=1),
        "a product": ops.matmul(x, ops.transpose(y)),
        "strides": ops.strided_slice(x, begin=(0, 1), end=(5, 37), strides=(1, 3)),
        "indices": ops.take(x, ops.clip(whole, a_min=0, a_max=4), axis=0),
        "integers": Tuple((
            ops.floor_divide(whole, 7), ops.floor_mod(whole, whole + 3), ops.left_shift(whole, 3), ops.abs(whole),
        )),
    }  # fmt: skip
    for name in FUNCTIONS:
        found[f"{name} of float32"] = getattr(ops, name)(var(67))
    for name in ("exp", "log", "sin", "cbrt", "isnan"):  # one of each form
        found[f"{name} of float64"] = getattr(ops, name)(var(67, dtype="float64"))
    for dtype in ("float16", "bfloat16", "float8_e4m3fn"):
        stored = var(67, dtype=dtype)
        found[f"arithmetic of {dtype}"] = stored * stored + 0.25
        for wide in ("float64", "int64"):
            found[f"{wide} to {dtype}"] = ops.cast(var(67, dtype=wide), dtype=dtype)
    return {name: Function(rt.ir.free_vars(body), body) for name, body in found.items()}


PROGRAMS = programs()
SUMS = ("row sums", "column sums", "a product")  # in another order on other targets


def machine_of(object_code: bytes) -> int:
    assert is_elf(object_code)
    return int(struct.unpack_from("<H", object_code, 18)[0])


def operands(function: Function, whole: bool) -> list[np.ndarray]:
    """Arrays of random numbers; `whole` eighths, whose products have sums that no order of steps rounds."""
    random = np.random.default_rng(5)
    found = []
    for param in function.params:
        dtype = DType(str(param.checked_type.dtype)).numpy
        drawn = random.uniform(-9, 9, param.checked_type.shape)
        found.append(np.asarray(np.round(drawn * 8) / 8 if whole else drawn).astype(dtype))
    return found


@pytest.mark.parametrize("name", TARGETS)
def test_vectors_are_rows_of_the_target(name: str) -> None:
    target = Target.parse(TARGETS[name])
    assert (target.vectors.bits, target.vectors.registers) == WIDTHS[name]


@pytest.mark.parametrize("name", TARGETS)
def test_the_pool_assembles(name: str) -> None:
    target = Target.parse(TARGETS[name])
    compiled = optimise_and_compile(pool_text(target.triple), target)
    assert machine_of(compiled.object_code) == MACHINES[target.triple.split("-")[0]]
    assert all(symbol.encode() in compiled.object_code for symbol in SYMBOLS)


@pytest.mark.parametrize("name", TARGETS)
def test_every_feature_compiles_and_means_the_same(name: str) -> None:
    target = Target.parse(TARGETS[name])
    for what, function in PROGRAMS.items():
        request = Request(function, target, {})
        compiled = [record for _, record in through_kernel(request, upto("compile"))][-1]
        assert machine_of(compiled.code.object_code) == MACHINES[target.triple.split("-")[0]], what
        if target.is_host:
            given = operands(function, what in SUMS)
            results = [compile_segment(function, to).run(given) for to in (target, None)]
            for found, expected in zip(*results, strict=True):
                assert found.dtype == expected.dtype
                a, b = found.astype(np.float64), expected.astype(np.float64)
                near = 1e-14 if found.dtype == np.float64 else 2e-6
                np.testing.assert_allclose(a, b, rtol=near, atol=near, err_msg=what)
