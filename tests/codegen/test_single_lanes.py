"""A masked store of one lane of converted integers writes one element, and nothing beside it."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.target import Target
from opgen_runtime.codegen import Pipeline, optimise_and_compile
from opgen_runtime.codegen.objects import load as jit

FILL = 77


def converted(source: int, element: int, lanes: int, flags: list[bool]) -> str:
    mask = ", ".join(f"i1 {str(flag).lower()}" for flag in flags)
    return f"""
declare void @llvm.masked.store.v{lanes}i{element}.p0(<{lanes} x i{element}>, ptr, <{lanes} x i1>)
define void @kernel(ptr %a, ptr %b) {{
  %v = load <{lanes} x i{source}>, ptr %a, align 4
  %t = trunc <{lanes} x i{source}> %v to <{lanes} x i{element}>
  call void @llvm.masked.store.v{lanes}i{element}.p0(<{lanes} x i{element}> %t, ptr align 1 %b, <{lanes} x i1> <{mask}>)
  ret void
}}
"""


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
@pytest.mark.parametrize(("source", "element"), [(64, 32), (64, 16), (64, 8), (32, 16), (32, 8), (16, 8)])
def test_one_lane_is_one_element(source: int, element: int, lanes: int) -> None:
    given = np.arange(1, lanes + 1, dtype=f"int{source}")
    for chosen in ([0], [lanes - 1], [lanes // 2], [0, lanes - 1]):
        flags = [lane in chosen for lane in range(lanes)]
        compiled = optimise_and_compile(
            converted(source, element, lanes, flags), Target.host(), Pipeline.DIRECT
        )
        stored = np.full(lanes + 8, FILL, dtype=f"int{element}")
        loaded = jit.load(compiled.object_code, "kernel")
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(loaded.address)
        function(given.ctypes.data, stored.ctypes.data)
        expected = np.full(lanes + 8, FILL, dtype=f"int{element}")
        expected[:lanes][flags] = given[flags].astype(expected.dtype)
        np.testing.assert_array_equal(stored, expected)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "bfloat16"])
@pytest.mark.parametrize("shape", [(4, 9), (4, 11), (4, 13), (3, 5), (6, 7)])
def test_lines_at_a_distance_with_a_tail(dtype: str, shape: tuple[int, int]) -> None:
    given = np.arange(np.prod(shape)).reshape(shape).astype("int64")
    turned = rt.jit(lambda x: ops.reshape(ops.cast(x.T, dtype=dtype), newshape=(-1,)))
    repeated = rt.jit(lambda x: ops.repeat(ops.cast(x, dtype=dtype), repeats=7, axis=-1))
    for array in (given, given.astype("float32")):
        np.testing.assert_array_equal(turned(array).astype("int64"), given.T.reshape(-1))
        np.testing.assert_array_equal(repeated(array).astype("int64"), np.repeat(given, 7, -1))
