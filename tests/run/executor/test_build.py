"""rt.build: one way from a function or a module to an executable; executables in files."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opgen_runtime as rt
from opgen_runtime import eager, ir, ops
from opgen_runtime.base.errors import ExecutorError
from opgen_runtime.run.compile.interpret import run_op_by_op
from opgen_runtime.run.compile.store import artifact
from opgen_runtime.run.compile.store.digests import digest
from tests.run.hand_written import ordered

A = rt.var("a", rt.TensorType((3, 10), "float32"))
B = rt.var("b", rt.TensorType((10,), "float32"))
C = rt.var("c", rt.TensorType((4, 10), "float32"))
CHAIN = ir.Function((A, B), ops.tanh(ops.add(ops.multiply(A, B), A)))
TWO = ir.Function((A, C), ops.softmax(ops.dense(ops.softmax(A, axis=1), C), axis=1))


def arrays(function: ir.Function) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    found = []
    for param in function.params:
        assert isinstance(param.checked_type, rt.TensorType)
        found.append(
            random.integers(-4, 5, param.checked_type.concrete_shape).astype(param.checked_type.dtype.numpy)
        )
    return found


def expected(function: ir.Function) -> Any:
    return run_op_by_op(function.body, dict(zip(function.params, arrays(function), strict=True)))


def compare(found: Any, wanted: Any) -> None:
    found, wanted = ((v if isinstance(v, tuple) else (v,)) for v in (found, wanted))
    for got, want in zip(found, wanted, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got.astype(np.float64), want.astype(np.float64), rtol=1e-5, atol=1e-6)


# ------------------------------------------------------------------ build


def test_a_function_and_a_module_of_it_are_the_same_program() -> None:
    for program in (CHAIN, ir.IRModule.from_expr(CHAIN)):
        executable = rt.build(program, target="llvm -num-threads=1", opt_level=2)
        assert executable.inputs == ("a", "b")
        assert executable.kernels == ("opgen_multiply_add_tanh",)
        compare(executable.run(arrays(CHAIN)), expected(CHAIN))
        a, b = arrays(CHAIN)
        compare(executable.run({"b": b, "a": a}), expected(CHAIN))


def test_levels() -> None:
    assert len(rt.build(CHAIN, opt_level=0).kernels) == 3
    with rt.PassContext(opt_level=0):
        assert len(rt.build(CHAIN).kernels) == 3
        assert len(rt.build(CHAIN, opt_level=1).kernels) == 1


def test_kernels_are_listed_as_they_run() -> None:
    assert rt.build(TWO).kernels == ("opgen_softmax", "opgen_dense", "opgen_softmax")
    twice = ir.Function((A,), ops.softmax(ops.softmax(A, axis=1), axis=1))
    executable = rt.build(twice)
    assert executable.kernels == ("opgen_softmax",) * 2
    assert len(executable.compiled) == 1


@pytest.mark.parametrize("key", ["c", C])
def test_parameters_that_are_given_are_part_of_the_program(key: Any) -> None:
    a, c = arrays(TWO)
    executable = rt.build(TWO, {key: c})
    assert executable.inputs == ("a",)
    compare(executable.run([a]), expected(TWO))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"cc": 1.0}, r"main has no parameter 'cc'; did you mean 'c'\? \(it has a, c\)"),
        (
            {"c": np.zeros((4, 11), np.float32)},
            r"parameter 'c': expected Tensor\[\(4, 10\), float32\], found",
        ),
        ({"c": "text"}, "variable 'c'"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(params: Any, message: str) -> None:
    with pytest.raises(ExecutorError, match=message):
        rt.build(TWO, params)


D = rt.var("d", rt.TensorType((10,), "float32"))


@pytest.mark.parametrize(("function", "message"), [
    (ir.Function((A,), ops.exp(B)), "main reads b, which nothing in it binds; its parameters are: a"),
    (ir.Function((), ops.exp(B)), "main reads b, which nothing in it binds; its parameters are: none"),
    (ir.Function((A, C), ops.add(ops.add(A, B), D)), "main reads b, d, which nothing in it binds; .* are: a, c"),
    (ir.Function((A,), ir.Let(D, ops.exp(B), ops.add(A, D))), "main reads b, which nothing in it binds"),
])  # fmt: skip
@pytest.mark.parametrize("level", [0, 3])
def test_free_variables_are_refused(function: ir.Function, message: str, level: int) -> None:
    with pytest.raises(ExecutorError, match=f"^{message}"):
        rt.build(function, opt_level=level)
    with pytest.raises(ExecutorError, match=f"^{message}"):
        rt.build(ir.IRModule({ir.GlobalVar("main"): function}), opt_level=level)


def test_functions_of_a_module_are_closed_each() -> None:
    called = ir.Function((D,), ops.add(D, B))
    module = ir.IRModule({ir.GlobalVar("main"): ir.Function((A,), ops.exp(A)), ir.GlobalVar("other"): called})
    with pytest.raises(
        ExecutorError, match=r"^other reads b, which nothing in it binds; its parameters are: d$"
    ):
        rt.build(module)


def test_arrays_that_do_not_fit_are_refused() -> None:
    executable = rt.build(TWO)
    with pytest.raises(ExecutorError, match="takes 2 arrays, found 1"):
        executable.run(arrays(TWO)[:1])
    with pytest.raises(ExecutorError, match="takes a, c; found a"):
        executable.run({"a": arrays(TWO)[0]})


MODULE = """
def @main(%x: Tensor[(2, 3), float32]) { @twice(@twice(%x)) }
def @twice(%y: Tensor[(2, 3), float32]) { add(%y, %y) }
"""


@pytest.mark.parametrize("level", [0, 2])
def test_functions_of_a_module_are_inlined_at_every_level(level: int) -> None:
    executable = rt.build(rt.parse_module(MODULE), opt_level=level)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(executable.run([x]), 4 * x)
    assert all("add" in name for name in executable.kernels)


def test_a_module_without_main_and_a_function_that_never_ends_are_refused() -> None:
    with pytest.raises(ExecutorError, match="the module has no main; it has no function"):
        rt.build(ir.IRModule())
    for wrong in (None, 42, "main"):
        with pytest.raises(ExecutorError, match="build takes an IRModule, a Function or a Schedule, found"):
            rt.build(wrong)  # type: ignore[call-overload]
    text = """
    def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { @main(exp(%x)) }
    """
    with pytest.raises(ExecutorError, match="@main calls itself whatever its arguments are"):
        rt.build(rt.parse_module(text))


# ------------------------------------------------------------------ artifacts

WIDE = rt.var("w", rt.TensorType((4, 6), "bfloat16"))
EMPTY = rt.var("e", rt.TensorType((0, 6), "float32"))
SAVED = {
    "one kernel": CHAIN,
    "kernels in a row": TWO,
    "a table": ir.Function((A,), ops.add(A, ir.const(np.arange(10, dtype=np.float32)))),
    "two results": ir.Function((A,), ops.split(A, indices_or_sections=2, axis=1)),
    "an argument and a constant": ir.Function(
        (A, B), ir.Tuple((B, ops.softmax(A, axis=1), ir.const(np.arange(3, dtype=np.int64))))
    ),
    "bfloat16": ir.Function((WIDE,), ops.exp(WIDE)),
    "nothing to compute": ir.Function((EMPTY,), ops.exp(EMPTY)),
    "a length that depends on data": ir.Function((B,), ops.argwhere(B)),
    "a branch": ir.Function((A,), ir.If(ops.any(ops.less(A, 0.0)), ops.exp(A), ops.softmax(A, axis=0))),
}


@pytest.mark.parametrize("name", SAVED)
def test_what_is_saved_is_loaded_and_saved_again(name: str, tmp_path: Path) -> None:
    function = SAVED[name]
    executable = rt.build(function)
    executable.save(tmp_path / "first")
    loaded = rt.load(tmp_path / "first")
    assert (loaded.inputs, loaded.kernels) == (executable.inputs, executable.kernels)
    compare(loaded.run(arrays(function)), expected(function))
    compare(loaded.run(arrays(function)), executable.run(arrays(function)))
    loaded.save(tmp_path / "second")
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


RUN = """
import sys
import llvmlite.binding as llvm
import numpy as np
import opgen_runtime as rt
def refuse(*_):
    raise AssertionError("compiled")
llvm.parse_assembly = refuse
a, c = np.load(sys.argv[2]).values()
program = rt.load(sys.argv[1])
results = [program.run([a, c]) for _ in range(3)]
assert all((result == results[0]).all() for result in results)
np.save(sys.argv[3], results[0])
"""
LARGE = [rt.var(name, rt.TensorType((600, 700), "float32")) for name in "ac"]
PARALLEL = ir.Function(
    tuple(LARGE), ops.softmax(ops.sin(ops.dense(ops.softmax(LARGE[0], axis=1), LARGE[1])), axis=1)
)


def test_another_process_compiles_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = rt.build(PARALLEL)
    program.save(tmp_path / "program")
    np.savez(tmp_path / "arrays.npz", *arrays(PARALLEL))
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    paths = [str(tmp_path / name) for name in ("program", "arrays.npz", "result.npy")]
    subprocess.run([sys.executable, "-c", RUN, *paths], check=True, timeout=120)
    compare(np.load(paths[2]), program.run(arrays(PARALLEL)))
    assert not (tmp_path / "cache").exists()


SPARED = (
    *(
        "transform",
        "lower.tir",
        "lower.schedule",
        "lower.library",
        "compute",
        "declaration",
        "ops.index",
        "operator",
        "ir",
    ),
    *("run.compile.pipeline", "run.executor.driver"),
)
LOAD = """
import sys
import opgen_runtime
program = opgen_runtime.load(sys.argv[1])
program.run([*__import__("numpy").load(sys.argv[2]).values()])
print([name for name in sys.argv[3:] if f"opgen_runtime.{name}" in sys.modules])
"""


def test_who_loads_a_program_imports_no_compiler(tmp_path: Path) -> None:
    """Most of the time that loading takes would be imports."""
    rt.build(PARALLEL).save(tmp_path / "program")
    np.savez(tmp_path / "arrays.npz", *arrays(PARALLEL))
    command = [sys.executable, "-c", LOAD, str(tmp_path / "program"), str(tmp_path / "arrays.npz"), *SPARED]
    assert subprocess.check_output(command, text=True, timeout=120).strip() == "[]"


def test_arrays_are_used_where_they_were_read(tmp_path: Path) -> None:
    weights = ir.const(np.random.default_rng(0).normal(size=(700, 900)).astype(np.float32))
    data = rt.var("x", rt.TensorType((2, 700), "float32"))
    program = rt.build(ir.Function((data,), ops.softmax(ops.exp(ops.matmul(data, weights)), axis=1)))
    program.save(tmp_path / "program")
    loaded = rt.load(tmp_path / "program")
    assert loaded.plan is not None
    for array in loaded.plan.constants.values():
        assert not array.flags.owndata
        assert not array.flags.writeable
        assert array.ctypes.data % 64 == 0
    again = pickle.loads(pickle.dumps(loaded))  # bytes of a pickle lie anywhere
    x = np.random.default_rng(1).normal(size=(2, 700)).astype(np.float32)
    np.testing.assert_array_equal(again.run([x]), program.run([x]))


def test_what_cannot_be_saved_says_why(tmp_path: Path) -> None:
    wanted = r"opgen_ordered_by_hand calls the hand-written function tests\.run\.hand_written:by_hand"
    with ordered() as by_hand, pytest.raises(ExecutorError, match=wanted):
        rt.build(ir.Function((B,), by_hand(B))).save(tmp_path / "program")
    assert list(tmp_path.iterdir()) == []


def test_a_program_is_pickled_as_it_is_saved() -> None:
    executable = rt.build(TWO)
    again = pickle.loads(pickle.dumps(executable))
    compare(again.run(arrays(TWO)), expected(TWO))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        compare(pool.submit(executable.run, arrays(TWO)).result(), expected(TWO))


@rt.jit
def doubled(a: Any) -> Any:
    return ops.exp(a) * 2.0


def test_programs_of_all_kinds_are_pickled() -> None:
    table = ir.Function((A,), ops.add(A, ir.const(np.arange(10, dtype=np.float32))))
    again = pickle.loads(pickle.dumps([table, ir.IRModule.from_expr(table), ops.exp(A)]))
    assert ir.structural_equal(again[0], table)
    assert ir.structural_equal(again[1], ir.IRModule.from_expr(table))
    assert str(again[2]) == str(ops.exp(A))
    deep: ir.Expr = A
    for _ in range(5000):
        deep = ops.exp(deep)
    assert ir.structural_equal(pickle.loads(pickle.dumps(deep)), deep, map_free_vars=True)
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    plain = rt.jit(halved, static_argnames=("times",))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        data = arrays(CHAIN)[0]
        for function, wanted in ((eager.tanh, np.tanh(data)), (doubled, np.exp(data) * 2)):
            compare(pool.submit(function, data).result(), wanted)
        compare(pool.submit(plain, data, times=2).result(), data / 4)


def halved(a: Any, times: int) -> Any:
    for _ in range(times):
        a = a * 0.5
    return a


@pytest.mark.parametrize("name", ["one kernel", "an argument and a constant"])
def test_every_flipped_byte_is_refused(name: str) -> None:
    """One bit of each byte, those that fill up to a multiple of 64 included."""
    whole = artifact.encode(rt.build(SAVED[name], target="llvm -num-threads=1")._contents())
    artifact.decode(whole, "it")
    missed = []
    for position in range(len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 1 << position % 8
        try:
            artifact.decode(bytes(changed), "it")
        except ExecutorError:
            continue
        missed.append(position)
    assert missed == []


@given(st.integers(0, 2**32))
@settings(max_examples=5)
def test_digests_of_many_bytes_see_every_change_of_one_word_and_every_exchange(seed: int) -> None:
    """Of two tables of words: those below another length are hashed as they are."""
    random = np.random.default_rng(seed)
    data = random.integers(0, 256, int(random.integers(1 << 16, 1 << 18)), np.uint8)
    found = digest(data.data)
    assert digest(data.tobytes()) == found
    ends = [0, 8191, 8192, len(data) // 8192 * 8192 - 1, len(data) - 1]
    for position in [*ends, *random.integers(0, len(data), 20)]:
        changed = data.copy()
        changed[position] ^= random.integers(1, 256)
        assert digest(changed.data) != found
    for size in (1, 8, 8192):  # bytes, words, rows
        changed = data[: len(data) // size * size].reshape(-1, size).copy()
        changed[[0, 1]] = changed[[1, 0]]
        whole = np.concatenate([changed.ravel(), data[changed.size :]])
        assert digest(whole.data) != found or (whole == data).all()
    assert digest(data[:-1].data) != found
    assert digest(np.append(data, np.uint8(0)).data) != found


@pytest.mark.parametrize(
    "change", [lambda b: b[:-1], lambda b: b[:40], lambda b: b"", lambda b: b + b"\0", lambda b: b"x" * 99]
)
def test_a_file_of_another_length_is_refused(change: Any, tmp_path: Path) -> None:
    path = tmp_path / "program"
    rt.build(CHAIN).save(path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ExecutorError, match=r"is damaged|is no artifact"):
        rt.load(path)


@pytest.mark.parametrize(("change", "message"), [
    (lambda whole: b"", "is no artifact of opgen"),
    (lambda whole: whole[:16] + bytes(12) + whole[28:], "is an artifact of form 0, expected"),
    (lambda whole: whole[:20] + (7 << 30).to_bytes(8, "little") + whole[28:], "its header is not what was saved"),
    (lambda whole: whole, f"is damaged: it has {8 << 30} bytes, expected"),
], ids=["zeros", "form", "header", "end"])  # fmt: skip
def test_a_large_file_is_refused_before_it_is_read(
    change: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "program"
    rt.build(CHAIN).save(path)
    path.write_bytes(change(path.read_bytes()))
    os.truncate(path, 8 << 30)  # sparse
    monkeypatch.setattr(artifact, "read_whole", None)
    tracemalloc.start()
    try:
        with pytest.raises(ExecutorError, match=message):
            rt.load(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()


def test_a_program_loads_where_the_row_of_its_machine_is_not_known(tmp_path: Path) -> None:
    path = tmp_path / "program"
    host = rt.Target.host()
    built = rt.build(CHAIN, target=replace(host, machine=replace(host.machine, name="mine")))
    built.save(path)
    loaded = rt.load(path)
    compare(loaded.run(arrays(CHAIN)), built.run(arrays(CHAIN)))
    assert loaded.export_c(tmp_path / "c")


def test_another_machine_and_another_version_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "program"
    contents = rt.build(CHAIN)._contents()
    assert isinstance(contents, artifact.Contents)
    artifact.write(path, replace(contents, target="llvm -mtriple=riscv64-linux-gnu -mcpu=generic"))
    with pytest.raises(rt.OpgenError, match="riscv64"):
        rt.load(path)
    artifact.write(path, contents)
    monkeypatch.setattr(artifact, "VERSION", "99")
    with pytest.raises(ExecutorError, match=r"was saved by opgen .*, this is 99; save it again"):
        rt.load(path)


def test_what_a_build_compiles_can_be_looked_at() -> None:
    x, w = rt.var("x", shape=(2, 3)), rt.var("w", shape=(4, 3))
    function = rt.Function((x, w), ops.relu(ops.dense(x, ops.negative(w))))
    module = rt.optimize(function, {"w": -np.ones((4, 3), "float32")})
    assert [param.name_hint for param in module["main"].params] == ["x"]
    assert str(module).count("Primitive=1") == 1
    assert "negative" not in str(module)
    with rt.PassContext(opt_level=0):
        assert str(rt.optimize(function)).count("Primitive=1") == 3
