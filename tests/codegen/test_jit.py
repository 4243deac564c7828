"""Loading, linking, undefined symbols, assembly counts, and the modes of compilation."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import numpy as np
import pytest

from opgen_runtime.base.arith import Binary, Call
from opgen_runtime.base.errors import CodegenError
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import FLOAT32
from opgen_runtime.codegen import Pipeline, choose_pipeline, emit, optimise_and_compile
from opgen_runtime.codegen.objects import load as jit
from opgen_runtime.codegen.objects.assembly import count
from opgen_runtime.codegen.objects.elf import undefined_symbols

TARGET = Target.host()
CALLS_LIBM = """
declare float @cosf(float)
define float @kernel(float %x) {
  %y = call float @cosf(float %x)
  ret float %y
}
"""


def test_a_function_of_libm_is_found():
    compiled = optimise_and_compile(CALLS_LIBM, TARGET)
    assert undefined_symbols(compiled.object_code) == ("cosf",)
    loaded = jit.load(compiled.object_code, "kernel")
    function = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_float)(loaded.address)
    assert function(0.5) == pytest.approx(np.cos(0.5))


def test_an_unresolved_symbol_is_an_error_before_anything_runs():
    compiled = optimise_and_compile(CALLS_LIBM.replace("cosf", "opgen_no_such_function"), TARGET)
    with pytest.raises(CodegenError) as caught:
        jit.load(compiled.object_code, "kernel")
    assert str(caught.value) == (
        "kernel kernel needs opgen_no_such_function, which neither the runtime nor the C library has"
    )


def test_the_same_object_loads_twice():
    compiled = optimise_and_compile(CALLS_LIBM, TARGET)
    first, second = (jit.load(compiled.object_code, "kernel") for _ in range(2))
    assert first.address != second.address


@pytest.mark.parametrize("code", [b"", b"\x7fELF\x02\x01" + b"\xff" * 80, b"MZ" + b"\0" * 100])
def test_what_is_not_an_object_is_refused(code):
    with pytest.raises(CodegenError):
        jit.load(code, "kernel")


def test_invalid_ir_is_refused_with_the_place():
    with pytest.raises(CodegenError) as caught:
        optimise_and_compile("define i32 @f() {\n  ret float 1.0\n}\n", TARGET)
    assert "LLVM refuses the module" in str(caught.value)
    assert "2:" in str(caught.value)


def test_scalar_loops_are_left_to_llvm_and_vectors_are_not(build):
    def double(x):
        return Binary(FLOAT32, "add", x, x)

    scalar = build.element_kernel(double, ["float32"], 256, 1)
    vector = build.element_kernel(double, ["float32"], 256, 16)
    assert choose_pipeline(scalar) is Pipeline.AUTOMATIC
    assert choose_pipeline(vector) is Pipeline.DIRECT


def test_assembly_is_counted(build):
    target = Target.parse("llvm -mcpu=x86-64-v4 -mtriple=x86_64-unknown-linux-gnu")
    root = build.element_kernel(lambda x: Call(FLOAT32, "sqrt", (x,)), ["float32"], 256, 16)
    compiled = optimise_and_compile(emit(root, target), target, choose_pipeline(root))
    counts = count(compiled.assembly)
    assert counts.math_calls == {}
    assert counts.zmm >= 2
    called = count(optimise_and_compile(CALLS_LIBM, target).assembly)
    assert called.math_calls == {"cosf": 1}
    assert called.zmm == 0


def test_objects_hold_no_addresses(build):
    """The same kernel gives the same bytes; nothing of this process is in it."""
    func = build.element_kernel(lambda x: Binary(FLOAT32, "add", x, x), ["float32"], 64, 16)
    first, second = (optimise_and_compile(emit(func, TARGET), TARGET).object_code for _ in range(2))
    assert first == second


def test_all_code_of_a_process_is_linked_by_one_instance() -> None:
    program = (
        "import llvmlite.binding as llvm\n"
        "made, create = [], llvm.create_lljit_compiler\n"
        "llvm.create_lljit_compiler = lambda **options: made.append(0) or create(**options)\n"
        "import numpy as np\nimport opgen_runtime as rt\n"
        "double = rt.jit(lambda a: a + a)\n"
        "for _ in range(3): double(np.ones((512, 512), np.float32))\n"  # a kernel, the pool, an entry
        "assert made == [0]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
