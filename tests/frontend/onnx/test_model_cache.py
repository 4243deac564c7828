"""Prepared models that another process has compiled: found again, and only where nothing differs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")

from onnx import numpy_helper  # noqa: E402

import opgen_runtime  # noqa: E402
from opgen_runtime import PassContext, register_op_attr  # noqa: E402
from opgen_runtime.base import altered  # noqa: E402
from opgen_runtime.frontend.onnx import Limits, ModelError, prepare  # noqa: E402
from opgen_runtime.frontend.onnx.direct import Loaded  # noqa: E402
from tests.frontend.onnx.text import model  # noqa: E402

RANDOM = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that is empty, and a process that has altered nothing."""
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(altered, "_ops", set())
    return tmp_path / "cache"


def f32(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


WEIGHTS = f32(20, 7)
DENSE = model(
    "g (float[4, 20] x) => (float[4, 7] y) { z = MatMul (x, w)  y = Softmax <axis = 1> (z) }", ("w", WEIGHTS)
)
OPEN = model(
    "g (float[batch, 20] x) => (float[batch, 7] y) { z = MatMul (x, w)  y = Softmax <axis = 1> (z) }",
    ("w", WEIGHTS),
)
X = f32(4, 20)


def found(program: Any) -> bool:
    """Whether all that a program has run was taken from the cache."""
    made = [each for known in map(program._compiled.get, program._compiled) for each in known or ()]
    assert made
    return all([isinstance(each, Loaded) for each in made])


def entries(cache: Path) -> list[Path]:
    return sorted((cache / "programs").glob("*"))


def called(given: Any, inputs: Any, **options: Any) -> tuple[list[Any], bool]:
    """The outputs of a model, and whether its program was found."""
    program = prepare(given, **options)
    outputs = program(inputs)
    return outputs, found(program)


@pytest.mark.parametrize(("text", "inputs"), [
    ("(float[4] a, float[4] b) => (float[4] y, float[4] z) { y = Sub (b, a)  z = Exp (a) }", [f32(4), f32(4)]),
    ("(float[4] a, float[4] b) => (float[4] y) { y = Neg (b) }", [f32(4), f32(4)]),
    ("(float[3, 4] a) => (float[3] y, float[4] z) { y = ReduceSum <keepdims = 0> (a, one) z = ReduceMax <keepdims = 0>"
     " (a, zero) }", [f32(3, 4)]),
    ("(float a) => (float y) { y = Tanh (a) }", [np.array(0.5, np.float32)]),
    ("(float[0, 3] a) => (float[0, 3] y) { z = Softmax (a)  y = Exp (z) }", [f32(0, 3)]),
    ("(int64[5] a) => (bool[5] y) { z = Add (a, a)  y = Equal (z, a) }", [np.array([0, 1, -1, 2**62, -(2**63)])]),
    ("(float16[9] a) => (float16[9] y) { z = Mul (a, a)  y = CumSum (z, zero0) }", [f32(9).astype(np.float16)]),
    ("(float[2, 3] a) => (float[6] y) { s = Shape (a)  p = ReduceProd (s)  z = Reshape (a, p)  y = CumSum (z, zero0) }",
     [f32(2, 3)]),
])  # fmt: skip
def test_the_same_bits(text: str, inputs: list[Any]) -> None:
    given = model(
        f"g {text}", ("one", np.array([1])), ("zero", np.array([0])), ("zero0", np.array(0, np.int64))
    )
    made, was_found = called(given, inputs)
    assert not was_found
    again, was_found = called(given, inputs)
    assert was_found
    for one, other in zip(made, again, strict=True):
        assert (one.dtype, one.shape, one.tobytes()) == (other.dtype, other.shape, other.tobytes())


def test_files_bytes_and_messages_of_one_content_are_one_model(tmp_path: Path) -> None:
    path = tmp_path / "dense.onnx"
    onnx.save(DENSE, path)
    outcomes = [called(each, [X]) for each in (path.read_bytes(), path, str(path))]
    assert [was_found for _, was_found in outcomes] == [False, True, True]
    assert called(onnx.load(path), [X])[1]


def test_what_is_found_imports_neither_onnx_nor_the_compiler(tmp_path: Path) -> None:
    path, result = tmp_path / "dense.onnx", tmp_path / "y.npy"
    onnx.save(DENSE, path)
    np.save(tmp_path / "x.npy", X)
    program = f"""
import sys
import numpy as np
from opgen_runtime.frontend.onnx import prepare
(y,) = prepare({str(path)!r})([np.load({str(tmp_path / "x.npy")!r})])
np.save({str(result)!r}, y)
print([n for n in ("onnx", "opgen_runtime.ir", "opgen_runtime.transform", "opgen_runtime.ops") if n in sys.modules])
"""
    for expected in (["onnx", "opgen_runtime.ir", "opgen_runtime.transform", "opgen_runtime.ops"], []):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == str(expected)
        first = np.load(result)
        np.testing.assert_array_equal(first, called(DENSE, [X])[0][0])


def touched(change: Callable[[Any], Any]) -> Any:
    copy = onnx.ModelProto()
    copy.CopyFrom(DENSE)
    change(copy)
    return copy


@pytest.mark.parametrize(("given", "options", "threads"), [
    (touched(lambda m: m.graph.initializer[0].CopyFrom(numpy_helper.from_array(-WEIGHTS, "w"))), {}, "2"),
    (touched(lambda m: setattr(m, "producer_name", "other")), {}, "2"),
    (DENSE, {"limits": Limits(memory=1 << 30)}, "2"),
    (DENSE, {"target": "llvm -mcpu=x86-64"}, "2"),
    (DENSE, {}, "1"),
])  # fmt: skip
def test_whatever_differs_is_another_program(
    given: Any, options: Any, threads: str, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setenv("OPGEN_NUM_THREADS", "2")
    called(DENSE, [X])
    monkeypatch.setenv("OPGEN_NUM_THREADS", threads)
    fresh, was_found = called(given, [X], **options)
    assert not was_found
    assert len(entries(cache)) == 2
    again, was_found = called(given, [X], **options)
    assert was_found
    assert fresh[0].tobytes() == again[0].tobytes()


def test_each_changed_byte_of_a_file_misses_or_is_refused(tmp_path: Path) -> None:
    whole = DENSE.SerializeToString()
    called(whole, [X])
    assert prepare(whole)._cache.facts is not None
    for position in range(0, len(whole), 7):
        other = bytearray(whole)
        other[position] ^= 4
        path = tmp_path / "other.onnx"
        path.write_bytes(other)
        assert prepare_facts(path) is None


def prepare_facts(path: Path) -> Any:
    from opgen_runtime.frontend.onnx.model_cache import CompiledModels

    return CompiledModels(path, None, Limits()).facts


def test_a_damaged_entry_is_remade(cache: Path) -> None:
    fresh, _ = called(DENSE, [X])
    (entry,) = entries(cache)
    whole = entry.read_bytes()
    damaged = [whole[:n] for n in (0, 10, 200, len(whole) // 2, len(whole) - 1)] + [whole + b"\0"]
    for position in (3, 17, 25, 100, len(whole) // 2, len(whole) - 70):
        other = bytearray(whole)
        other[position] ^= 1
        damaged.append(bytes(other))
    for content in damaged:
        entry.write_bytes(content)
        outputs, was_found = called(DENSE, [X])
        assert not was_found
        assert outputs[0].tobytes() == fresh[0].tobytes()
        assert entry.read_bytes() == whole
        assert called(DENSE, [X])[1]


def test_an_entry_under_the_key_of_another_is_refused(cache: Path) -> None:
    other = model(
        "g (float[4, 20] x) => (float[4, 20] y) { z = CumSum (x, k)  y = Exp (z) }", ("k", np.array(1))
    )
    fresh, _ = called(DENSE, [X])
    (first,) = entries(cache)
    called(other, [X])
    (second,) = set(entries(cache)) - {first}
    shutil.copyfile(second, first)
    outputs, was_found = called(DENSE, [X])
    assert not was_found
    assert outputs[0].tobytes() == fresh[0].tobytes()


def test_the_cache_may_be_removed_at_any_point(cache: Path) -> None:
    program = prepare(OPEN)
    first = program([X])[0]
    shutil.rmtree(cache)
    again = prepare(OPEN)
    assert again([X])[0].tobytes() == first.tobytes()
    shutil.rmtree(cache, ignore_errors=True)
    assert again([f32(3, 20)])[0].shape == (3, 7)
    assert again([X])[0].tobytes() == first.tobytes()


def test_programs_for_all_sizes() -> None:
    shapes = [4, 9, 1, 30]
    inputs = [f32(n, 20) for n in shapes]
    program = prepare(OPEN)
    fresh = [program([x])[0] for x in inputs]
    other = prepare(OPEN)
    again = [other([x])[0] for x in inputs]
    assert found(other)
    assert [type(each) for each in other._open] == [Loaded]
    assert [y.tobytes() for y in fresh] == [y.tobytes() for y in again]
    assert other.explain() == program.explain()
    with pytest.raises(ModelError, match="is given an array of shape"):
        other([f32(4, 21)])


def test_what_is_not_in_the_cache_is_compiled_later() -> None:
    inputs = [f32(n, 20) for n in (4, 9, 30)]
    prepare(OPEN)([inputs[0]])
    program = prepare(OPEN)
    for x in inputs:
        reference = np.exp(x @ WEIGHTS - (x @ WEIGHTS).max(1, keepdims=True))
        np.testing.assert_allclose(
            program([x])[0], reference / reference.sum(1, keepdims=True), rtol=1e-5, atol=1e-6
        )
    (made,) = program._open
    assert not isinstance(made, Loaded)


def test_why_there_is_no_program_for_all_sizes_is_known_again() -> None:
    given = model("g (float[n, 6] x) => (float[n, 6] y) { z = Squeeze (x)  y = Softmax (z) }")
    program, other = prepare(given), prepare(given)
    for each in (program, other):
        for n in (2, 3):
            each([f32(n, 6)])
    assert found(other)
    assert other.explain() == program.explain()
    assert "compiled for each combination of shapes: " in other.explain()


def test_programs_that_values_decide_are_not_kept(cache: Path) -> None:
    given = model("g (float[2, 6] x, int64[2] s) => (float[a, b] y) { y = Reshape (x, s) }")
    x = f32(2, 6)
    for shape in ((3, 4), (4, 3)):
        outputs, was_found = called(given, [x, np.array(shape)])
        assert not was_found
        np.testing.assert_array_equal(outputs[0], x.reshape(shape))
    assert entries(cache) == []


def test_a_message_that_changes_is_compiled_as_it_is_and_not_kept(cache: Path) -> None:
    given = touched(lambda m: None)
    program = prepare(given)
    given.graph.initializer[0].CopyFrom(numpy_helper.from_array(2 * WEIGHTS, "w"))
    program([X])
    assert entries(cache) == []
    fresh, was_found = called(DENSE, [X])
    assert not was_found
    later = touched(lambda m: None)
    known = prepare(later)
    later.graph.Clear()
    assert known([X])[0].tobytes() == fresh[0].tobytes()
    assert known.signature.names == ("x",)


def test_data_beside_the_model_is_part_of_it(tmp_path: Path) -> None:
    path = tmp_path / "dense.onnx"
    beside = {"save_as_external_data": True, "location": "w.bin", "size_threshold": 0}
    onnx.save(touched(lambda m: None), path, **beside)
    first, was_found = called(path, [X])
    assert not was_found
    again, was_found = called(path, [X])
    assert was_found
    assert again[0].tobytes() == first[0].tobytes()
    data = bytearray((tmp_path / "w.bin").read_bytes())
    data[3] ^= 128
    (tmp_path / "w.bin").write_bytes(data)
    other, was_found = called(path, [X])
    assert not was_found
    assert other[0].tobytes() != first[0].tobytes()
    (tmp_path / "w.bin").unlink()
    with pytest.raises(ModelError, match="external data"):
        prepare(path)


def test_nothing_is_taken_while_ops_or_passes_are_others(cache: Path) -> None:
    called(DENSE, [X])
    with PassContext(opt_level=0):
        assert not called(DENSE, [X])[1]
    assert called(DENSE, [X])[1]
    register_op_attr("softmax", "of_a_test", 1)
    assert not called(DENSE, [X])[1]
    assert len(entries(cache)) == 1


def test_another_source_of_the_runtime_is_another_program(tmp_path: Path, cache: Path) -> None:
    source = Path(opgen_runtime.__file__).parent
    root = tmp_path / "runtime"
    shutil.copytree(source, root / source.name, ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "dense.onnx"
    onnx.save(DENSE, path)
    program = f"""
import numpy as np
from opgen_runtime.frontend.onnx import prepare
prepare({str(path)!r})([np.zeros((4, 20), np.float32)])
"""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    counts = []
    for file in (None, None, "transform/fuse_ops.py", "frontend/onnx/mappings/linalg.py", "ops/_softmax.py"):
        if file is not None:
            with open(root / source.name / file, "a", encoding="utf-8") as text:
                text.write("\n")
        subprocess.run([sys.executable, "-c", program], env=environment, check=True)
        counts.append(len(entries(cache)))
    assert counts == [1, 1, 2, 3, 4]


def test_processes_at_once(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "dense.onnx"
    onnx.save(OPEN, path)
    program = f"""
import numpy as np
from opgen_runtime.frontend.onnx import prepare
call = prepare({str(path)!r})
print([float(np.float64(call([np.full((n, 20), 0.25, np.float32)])[0]).sum()) for n in (4, 9, 2)])
"""
    children = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    outputs = {child.communicate()[0] for child in children}
    assert [child.returncode for child in children] == [0, 0, 0]
    assert len(outputs) == 1
    assert [each.suffix for each in entries(cache)] == [".opgen", ".opgen"]


def test_what_was_used_longest_ago_goes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs, more = [f32(n, 20) for n in (1, 2, 3)], f32(5, 20)
    called(OPEN, [more])
    (first,) = entries(cache)
    size = first.stat().st_size
    first.unlink()
    for age, x in enumerate(inputs):
        before = set(entries(cache))
        called(OPEN, [x])
        (made,) = set(entries(cache)) - before
        os.utime(made, (1000 + age, 1000 + age))
    assert called(OPEN, inputs[:1])[1]  # it is the one used last now
    room = size + sum(each.stat().st_size for each in entries(cache)) - 1  # one has to go
    monkeypatch.setenv("OPGEN_CACHE_PROGRAMS", str(room))
    called(OPEN, [more])
    assert len(entries(cache)) == 3
    assert [called(OPEN, [x])[1] for x in (inputs[0], inputs[2], inputs[1])] == [True, True, False]
    monkeypatch.setenv("OPGEN_CACHE_PROGRAMS", "0")
    left = entries(cache)
    assert not called(OPEN, inputs[:1])[1]
    assert entries(cache) == left


def test_a_found_program_is_profiled_drawn_and_saved(tmp_path: Path) -> None:
    program, other = prepare(DENSE), prepare(DENSE)
    program([X])
    other([X])
    ((fresh,),), ((again,),) = (map(each._compiled.get, each._compiled) for each in (program, other))
    assert isinstance(again, Loaded)
    assert fresh.executable is not None
    assert again.executable.explain() == fresh.executable.explain()
    assert again.executable.to_dot() == fresh.executable.to_dot()
    profiles = [
        each.executable.profile([X], runs=1).kernels for each in (again, fresh)
    ]  # in order of their times
    first, second = ({k.kernel for k in kernels} for kernels in profiles)
    assert first == second
    again.executable.save(tmp_path / "dense.opgen")
    loaded = opgen_runtime.load(tmp_path / "dense.opgen")
    np.testing.assert_array_equal(loaded.run([X]), program([X])[0])
    assert other.explain() == program.explain()
    assert other.signature == program.signature
