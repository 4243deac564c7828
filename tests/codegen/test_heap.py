"""What compiling and loading leave behind in the C heap, and in the maps of the process: nearly nothing."""

from __future__ import annotations

import ctypes

import pytest

from opgen_runtime.base import Target
from opgen_runtime.codegen import Pipeline, load, optimise_and_compile
from opgen_runtime.codegen.objects import support
from tests.stress.memory import measured

TEXT = """
define i32 @f(ptr %at) {{
  %x = load <8 x float>, ptr %at, align 4
  %y = fmul <8 x float> %x, splat (float {factor})
  store <8 x float> %y, ptr %at, align 4
  ret i32 {factor:.0f}
}}
"""
LEFT = 1024  # bytes that one more may leave
ROUNDS = 96

pytestmark = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="this C library does not tell what its heap holds"
)


@pytest.mark.parametrize("pipeline", [Pipeline.DIRECT, Pipeline.LOOPS, Pipeline.AUTOMATIC])
def test_compiling(pipeline: Pipeline) -> None:
    def compile_some(first: int) -> None:
        for number in range(first, first + ROUNDS):
            optimise_and_compile(TEXT.format(factor=float(number)), Target.host(), pipeline)

    compile_some(0)
    before = measured(0).heap
    compile_some(1000)
    assert measured(0).heap - before < LEFT * ROUNDS


def test_loading_and_unloading() -> None:
    code = optimise_and_compile(TEXT.format(factor=2.0), Target.host(), Pipeline.DIRECT).object_code
    held = [load(code, "f") for _ in range(3 * support._LIBRARIES)]
    addresses = {each.address for each in held}
    assert len(addresses) == len(held)
    del held
    before = measured(0)
    for _ in range(ROUNDS):
        assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(load(code, "f").address) is not None
    after = measured(0)
    assert after.heap - before.heap < LEFT * ROUNDS
    assert after.maps <= before.maps + 4


def test_code_of_an_old_instance_runs() -> None:
    data = (ctypes.c_float * 8)(*range(8))
    texts = [TEXT.format(factor=float(number)) for number in range(3)]
    loaded = []
    for text in texts:
        loaded.append(load(optimise_and_compile(text, Target.host(), Pipeline.DIRECT).object_code, "f"))
        for _ in range(support._LIBRARIES):  # instances come and go
            load(optimise_and_compile(text, Target.host(), Pipeline.DIRECT).object_code, "f")
    signature = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)
    assert [signature(each.address)(ctypes.addressof(data)) for each in loaded] == [0, 1, 2]
