"""Functions of arrays as artifacts: saved, loaded, pickled; functions of loop IR."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops, te, tir
from opgen_runtime.base.errors import ExecutorError, LoweringError

N = te.var("n")
A, B = te.placeholder((N,), name="A"), te.placeholder((N,), name="B")
C = te.compute((N,), lambda i: te.exp(A[i]) + B[i], name="C")
K = te.reduce_axis((0, N), name="k")
TOTAL = te.compute((), lambda: te.sum(A[K], axis=K), name="total")


def add() -> rt.executor.TensorFunction:
    schedule = te.create_schedule([C, TOTAL])
    outer, inner = schedule[C].split(C.op.axis[0], 8)
    schedule[C].parallel(outer)
    schedule[C].vectorize(inner)
    return rt.build(schedule, [C, A, TOTAL, B], name="add")


def check(function: rt.executor.TensorFunction) -> None:
    for n in (1, 5, 64):
        a, b = np.random.default_rng(n).uniform(0, 1, (2, n)).astype(np.float32)
        c, total = np.empty(n, np.float32), np.empty((), np.float32)
        function(c, a, total, b)
        np.testing.assert_allclose(c, np.exp(a) + b, rtol=1e-5)
        np.testing.assert_allclose(total, a.sum(), rtol=1e-4, atol=1e-5)
        assert [array.shape for array in function(a, b)] == [(n,), ()]
    assert function(np.empty(0, np.float32), np.empty(0, np.float32))[1] == 0
    with pytest.raises(ExecutorError, match="add: input A must be float32"):
        function(np.zeros(3), np.zeros(3, np.float32))


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    function = add()
    check(function)
    function.save(tmp_path / "add")
    loaded = rt.load_function(tmp_path / "add")
    assert (
        repr(loaded)
        == repr(function)
        == ("add(C: float32[n], A: float32[n], total: float32[], B: float32[n])")
    )
    assert loaded.target == function.target
    check(loaded)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "add").read_bytes()


def test_what_is_pickled_runs_elsewhere() -> None:
    function = pickle.loads(pickle.dumps(add()))
    check(function)
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        a, b = np.ones((2, 3), np.float32)
        c, total = pool.submit(function, a, b).result(timeout=120)
    np.testing.assert_allclose(c, np.exp(a) + b, rtol=1e-6)
    assert total == 3


RUN = """
import sys
import numpy as np
import opgen_runtime
function = opgen_runtime.load_function(sys.argv[1])
assert function(np.ones(3, np.float32), np.ones(3, np.float32))[1] == 3
print([name for name in sys.argv[2:] if f"opgen_runtime.{name}" in sys.modules])
"""


def test_who_loads_a_function_imports_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add().save(tmp_path / "add")
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    compiler = ("transform", "lower.tir", "compute", "declaration", "ir", "run.compile.pipeline")
    command = [sys.executable, "-c", RUN, str(tmp_path / "add"), *compiler]
    assert subprocess.check_output(command, text=True, timeout=120).strip() == "[]"
    assert not (tmp_path / "cache").exists()


def test_what_cannot_be_saved_or_loaded_says_why(tmp_path: Path) -> None:
    x = te.placeholder((4,), name="x")
    ordered = te.extern((4,), [x], np.sort, name="ordered")
    with pytest.raises(ExecutorError, match="ordered calls Python functions, which no artifact can hold"):
        rt.build(te.create_schedule(ordered), [x, ordered]).save(tmp_path / "ordered")
    a = rt.var("a", shape=(3,))
    rt.build(rt.Function((a,), ops.exp(a))).save(tmp_path / "program")
    with pytest.raises(ExecutorError, match=r"program holds a program; rt\.load loads it"):
        rt.load_function(tmp_path / "program")
    add().save(tmp_path / "add")
    with pytest.raises(ExecutorError, match=r"add holds a function of arrays; rt\.load_function loads it"):
        rt.load(tmp_path / "add")
    whole = (tmp_path / "add").read_bytes()
    for place in range(0, len(whole), 97):
        (tmp_path / "add").write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(ExecutorError):
            rt.load_function(tmp_path / "add")


# ------------------------------------------------------------------ loop IR


def test_loop_ir_is_built() -> None:
    schedule = te.create_schedule(C)
    func = rt.lower(schedule, [A, B, C], "sums")
    function = rt.build(func)
    assert repr(function) == "sums(A: float32[n], B: float32[n], C: float32[n])"
    a, b = np.random.default_rng(0).standard_normal((2, 9)).astype(np.float32)
    np.testing.assert_allclose(function(a, b), np.exp(a) + b, rtol=1e-5)
    assert rt.build(func, name="other", target="llvm -num-threads=1").name == "other"


def written(inputs: tuple[tir.Buffer, ...], stmt: tir.Stmt, outputs: tuple[tir.Buffer, ...]) -> tir.PrimFunc:
    return tir.PrimFunc("by_hand", inputs, outputs, stmt)


X, Y = tir.decl_buffer((4, 8), "int32", "x"), tir.decl_buffer((4,), "int32", "y")


def test_loop_ir_by_hand(tmp_path: Path) -> None:
    def row(i: rt.arith.Var) -> tir.Stmt:
        total = tir.loop("k", 8, lambda k: tir.store(Y, (i,), tir.load(Y, i) + tir.load(X, i, k)))
        return tir.block(tir.store(Y, (i,), 0), total)

    function = rt.build(written((X,), tir.loop("i", 4, row), (Y,)))
    x = np.arange(32, dtype=np.int32).reshape(4, 8)
    np.testing.assert_array_equal(function(x), x.sum(axis=1))
    function.save(tmp_path / "rows")
    np.testing.assert_array_equal(rt.load_function(tmp_path / "rows")(x), x.sum(axis=1))


@pytest.mark.parametrize(
    ("stmt", "message"),
    [
        (tir.store(X, (0, 0), 1), "by_hand, after what was given: input x is stored to"),
        (
            tir.store(tir.decl_buffer((4,), "int32", "z"), (0,), 1),
            "buffer z is used where it is not allocated",
        ),
    ],
)
def test_loop_ir_by_hand_is_held_to_the_rules(stmt: tir.Stmt, message: str) -> None:
    with pytest.raises(LoweringError, match=message):
        rt.build(written((X,), stmt, (Y,)))
