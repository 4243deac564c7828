"""Programs as C headers and objects: linked by the system's compiler, called without Python's runtime in between."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import ExecutorError
from opgen_runtime.codegen.objects.elf import data_object, renamed, undefined_symbols
from tests.run.hand_written import ordered

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler")

X = rt.var("x", rt.TensorType((64, 48), "float32"))
N = rt.var("n", rt.TensorType((), "int64"))
WEIGHTS = np.random.default_rng(0).normal(size=(16, 48)).astype(np.float32)
BODY = ops.softmax(ops.dense(ops.sin(ops.softmax(X, axis=1)), ir.const(WEIGHTS)), axis=1)

MAIN = r"""
#include <stdio.h>
#include <math.h>
#include "net.h"
static float input[64 * 48], output[64 * 16];
int main(void) {
  opgen_pool_limit(2);
  for (int k = 0; k < 64 * 48; k++) input[k] = (float)(k % 7) - 3.0f;
  for (int turn = 0; turn < 3; turn++)
    if (net(input, output)) return 1;
  for (int k = 0; k < 64 * 16; k++) printf("%.9g\n", output[k]);
  net_release();
  opgen_pool_stop();
  return 0;
}
"""


def linked(folder: Path, paths: list[Path], *options: str) -> None:
    assert CC is not None
    objects = [str(path) for path in paths if path.suffix == ".o"]
    subprocess.run([CC, *options, *objects, "-lm", "-lpthread"], check=True, cwd=folder, timeout=60)


@needs_cc
def test_a_program_of_c(tmp_path: Path) -> None:
    executable = rt.build(ir.Function((X,), BODY))
    paths = executable.export_c(tmp_path, "net")
    assert paths[0].name == "net.h"
    assert "int32_t net(const float *input0, float *output0);" in paths[0].read_text()
    (tmp_path / "main.c").write_text(MAIN)
    linked(tmp_path, paths, "-Wall", "-Werror", "-o", "program", "main.c")
    found = subprocess.run([tmp_path / "program"], check=True, capture_output=True, text=True, timeout=60)
    data = (np.arange(64 * 48) % 7 - 3).astype(np.float32).reshape(64, 48)
    np.testing.assert_allclose(
        np.array(found.stdout.split(), np.float32).reshape(64, 16), executable.run([data]), rtol=1e-6
    )
    needed = subprocess.run(["nm", "-u", tmp_path / "program"], capture_output=True, text=True, check=False)
    assert "Py" not in needed.stdout


LOOP = """
def @main(%n: Tensor[(), int64], %x: Tensor[(3,), float32]) -> (Tensor[(3,), float32], Tensor[(), int64]) {
  if (greater(%n, 0i64)) { @main(subtract(%n, 1i64), cumsum(%x)) } else { (%x, %n) }
}
"""


@needs_cc
def test_a_library_of_any_size(tmp_path: Path) -> None:
    n, m = rt.dim("n"), rt.dim("m 2")
    x, y = (rt.var(name, rt.TensorType((n, m), "float32")) for name in "xy")
    paths = rt.build(ir.Function((x, y), ops.matmul(ops.softmax(x), ops.transpose(ops.exp(y))))).export_c(
        tmp_path, "net"
    )
    header = paths[0].read_text()
    assert (
        "const float *input0, const float *input1, float *output0, int64_t dim0_n, int64_t dim1_m_2)"
        in header
    )
    assert "output0: float32[n, n]" in header
    linked(tmp_path, paths, "-shared", "-o", "libnet.so")
    net = ctypes.CDLL(str(tmp_path / "libnet.so")).net
    for rows, columns in ((2, 3), (40, 70), (5, 1)):
        a = np.random.default_rng(rows).normal(size=(rows, columns)).astype(np.float32)
        out = np.zeros((rows, rows), np.float32)
        pointers = [ctypes.c_void_p(array.ctypes.data) for array in (a, a, out)]
        assert net(*pointers, ctypes.c_int64(rows), ctypes.c_int64(columns)) == 0
        exp = np.exp(a)
        np.testing.assert_allclose(out, exp / exp.sum(axis=1, keepdims=True) @ exp.T, rtol=2e-5)


@needs_cc
def test_libraries_of_two_programs_in_one_process(tmp_path: Path) -> None:
    loop = rt.build(rt.parse_module(LOOP))
    one = rt.build(ir.Function((X,), ops.argwhere(X)))
    linked(tmp_path, loop.export_c(tmp_path / "a", "loop"), "-shared", "-o", "libloop.so")
    linked(tmp_path, one.export_c(tmp_path / "b", "places"), "-shared", "-o", "libplaces.so")
    assert "length0: how long axis 0 of output0 came out" in (tmp_path / "b" / "places.h").read_text()
    x, total, left = np.array([1, 2, 3], np.float32), np.zeros(3, np.float32), np.zeros((), np.int64)
    count = np.array(2)
    library = ctypes.CDLL(str(tmp_path / "libloop.so"))
    assert library.loop(*[ctypes.c_void_p(a.ctypes.data) for a in (count, x, total, left)]) == 0
    np.testing.assert_array_equal(total, np.cumsum(np.cumsum(x)))
    library.loop_release()
    data = (np.arange(64 * 48) % 7 == 0).astype(np.float32).reshape(64, 48)
    places, length = np.zeros((64 * 48, 2), np.int64), np.zeros((), np.int64)
    library = ctypes.CDLL(str(tmp_path / "libplaces.so"))
    assert library.places(*[ctypes.c_void_p(a.ctypes.data) for a in (data, places, length)]) == 0
    np.testing.assert_array_equal(places[:length], np.argwhere(data))


def test_what_cannot_be_exported_says_why(tmp_path: Path) -> None:
    b = rt.var("b", rt.TensorType((10,), "float32"))
    wanted = r"opgen_ordered_by_hand calls the hand-written function tests\.run\.hand_written:by_hand"
    with ordered() as by_hand, pytest.raises(ExecutorError, match=wanted):
        rt.build(ir.Function((b,), by_hand(b))).export_c(tmp_path)
    with pytest.raises(ExecutorError, match="'a b' is no name of C"):
        rt.build(ir.Function((b,), ops.exp(b))).export_c(tmp_path, "a b")
    recursive = """
    def @main(%n: Tensor[(), int64]) -> Tensor[(), int64] {
      if (less(%n, 1i64)) { 0i64 } else { add(@main(subtract(%n, 1i64)), 2i64) }
    }"""
    with pytest.raises(ExecutorError, match="exported: @main calls itself elsewhere"):
        rt.build(rt.parse_module(recursive)).export_c(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_objects_with_other_names_and_objects_of_data(tmp_path: Path) -> None:
    paths = rt.build(ir.Function((X,), BODY)).export_c(tmp_path)
    code = (tmp_path / "model_driver.o").read_bytes()
    assert len(paths) == len(set(paths))
    before = undefined_symbols(code)
    after = undefined_symbols(renamed(code, {"model_kernel_0": "other", "absent": "nothing"}))
    assert after == tuple("other" if name == "model_kernel_0" else name for name in before)
    assert undefined_symbols(data_object(code, {"a": b"1234", "b": b""})) == ()
