"""Builds loop IR by hand, compiles it and runs it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from opgen_runtime.base import arith
from opgen_runtime.base.arith import Expr, Var
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import INDEX, DType
from opgen_runtime.codegen import choose_pipeline, emit, optimise_and_compile
from opgen_runtime.codegen.objects import load as jit
from opgen_runtime.lower import tir
from opgen_runtime.lower.tir.nodes.stmt import Buffer, For, ForKind, Load, PrimFunc, Ramp, Store

_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)


def run(func: PrimFunc, inputs: Sequence[np.ndarray], target: Target | None = None) -> list[np.ndarray]:
    """The outputs of a compiled kernel, each filled with ones beforehand."""
    target = target or Target.host()
    compiled = optimise_and_compile(emit(func, target), target, choose_pipeline(func))
    loaded = jit.load(compiled.object_code, func.name)
    outputs = [np.ones([int(d) for d in b.shape], b.dtype.numpy) for b in func.outputs]
    arrays = [*inputs, *outputs]
    data = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
    dims = np.array([d for a in arrays for d in a.shape], np.int64)
    strides = np.array([s // a.itemsize for a in arrays for s in a.strides], np.int64)
    assert _SIGNATURE(loaded.address)(ctypes.addressof(data), dims.ctypes.data, strides.ctypes.data, 0) == 0
    return outputs


def finished(func: PrimFunc, target: Target | None = None) -> PrimFunc:
    """Flat loop IR after the last phases: those that make what code generation does not decide."""
    target = target or Target.host()
    func = replace(func, vectors=target.vectors, machine=target.machine)
    names = [row.name for row in tir.PHASES]
    for row in tir.PHASES[names.index("parallel_work") :]:
        func = row.run(func)
        tir.check(tir.FINAL, func, row.name, own=False)
    return func


def element_kernel(
    function: Callable[..., Expr],
    dtypes: Sequence[str],
    size: int,
    lanes: int = 1,
    kind: ForKind = ForKind.SERIAL,
) -> PrimFunc:
    """out[i] = function(in0[i], in1[i], ...) over `size` elements, `lanes` at a time."""
    inputs = tuple(Buffer(f"in{k}", (size,), DType(d)) for k, d in enumerate(dtypes))
    i = Var(INDEX, "i")
    index = i if lanes == 1 else Ramp(INDEX, arith.mul(i, lanes), arith.const(1, INDEX), lanes)
    value = function(*(Load(b.dtype, b, (index,)) for b in inputs))
    out = Buffer("out", (size,), value.dtype)
    loop = For(i, arith.const(0, INDEX), arith.const(size // lanes, INDEX), kind, Store(out, (index,), value))
    return PrimFunc("kernel", inputs, (out,), loop)


def elementwise(
    function: Callable[..., Expr],
    *arrays: np.ndarray,
    lanes: int = 1,
    kind: ForKind = ForKind.SERIAL,
    target: Target | None = None,
) -> np.ndarray:
    """`function` applied to each element of the arrays by a compiled kernel; sizes are filled up to lanes."""
    size = -(-len(arrays[0]) // lanes) * lanes
    padded = [np.resize(a, size) for a in arrays]
    func = element_kernel(function, [a.dtype.name for a in arrays], size, lanes, kind)
    return run(func, padded, target)[0][: len(arrays[0])]


@pytest.fixture
def build() -> SimpleNamespace:
    """run(func, inputs), element_kernel(...), elementwise(function, *arrays, lanes=...)."""
    return SimpleNamespace(run=run, element_kernel=element_kernel, elementwise=elementwise)
