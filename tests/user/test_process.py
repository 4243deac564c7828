"""What happens around a call: imports, forks, threads, odd arrays."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.run.calls import eager

CHAIN = """
import sys
import numpy as np
import opgen_runtime as rt
from opgen_runtime.run.calls import eager
eager.axis_abs(np.ones((3, 3), "float32"), axis=1, indice=1)
print(sorted({"jinja2", "yaml", "pydantic", "opgen", "click", "rich", "pytest"} & set(sys.modules)))
"""


def test_calling_an_op_imports_no_generator_library() -> None:
    done = subprocess.run([sys.executable, "-c", CHAIN], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def chain(a: np.ndarray) -> np.ndarray:
    return np.tanh(a * a + a)


@pytest.fixture(scope="module")
def compiled() -> object:
    return rt.jit(lambda a: ops.tanh(a * a + a))


def test_four_threads_at_once(compiled: object) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(200_000 + k, dtype="float32") for k in range(4)]
    results: dict[tuple[int, int], np.ndarray] = {}

    def work(k: int) -> None:
        for turn in range(5):
            results[k, turn] = compiled(arrays[k])  # type: ignore[operator]  # an rt.jit function

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20
    for (k, _), value in results.items():
        np.testing.assert_allclose(value, chain(arrays[k]), rtol=1e-5, atol=1e-6)


FORK = """
import os, sys
import numpy as np
import opgen_runtime as rt
from opgen_runtime import ops
f = rt.jit(lambda a: ops.tanh(a * a + a))
a = np.linspace(-3, 3, 1_000_000, dtype="float32")
expected = np.tanh(a * a + a)
assert np.allclose(f(a), expected, rtol=1e-5, atol=1e-6)
child = os.fork()
good = all(np.allclose(f(a), expected, rtol=1e-5, atol=1e-6) for _ in range(3))
if child == 0:
    os._exit(0 if good else 1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 0, status
assert good
print("both right")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_computes() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "both right\n"), done.stderr


def test_strided_reversed_and_misaligned_inputs() -> None:
    base = np.arange(48, dtype="float32").reshape(6, 8)
    misaligned = np.frombuffer(bytearray(4 * 12 + 1), dtype="uint8")[1:].view("float32")
    misaligned[:] = np.arange(12) - 6
    assert not misaligned.flags.aligned
    for array in (base[::2, 1::3], base[::-1, ::-1], base.T, np.asfortranarray(base), misaligned):
        np.testing.assert_array_equal(eager.negative(array), -array)
        np.testing.assert_array_equal(eager.add(array, array), array + array)


def test_out_is_filled_and_returned() -> None:
    data = np.array([[-1, 2], [3, -4]], "int32")
    out = np.zeros_like(data)
    result = eager.axis_abs(data, axis=0, indice=1, out=out)
    assert result is out
    np.testing.assert_array_equal(out, [[-1, 2], [3, 4]])


CALLS = """
import sys, threading
import numpy as np
import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.run.calls import eager
x = np.linspace(-1, 1, 5000, dtype="float32").reshape(50, 100)
def calls():
    result = eager.softmax(x)
    np.testing.assert_allclose(result.sum(axis=1), np.ones(50), rtol=1e-5)
    matched = rt.jit(lambda a, b: (ops.tanh(a @ b) + 1).sum())(x, x.T.copy())
    np.testing.assert_allclose(matched, (np.tanh(x @ x.T) + 1).sum(), rtol=1e-4)
    slope = rt.grad(lambda a: (ops.exp(a) * a).sum())(x)
    np.testing.assert_allclose(slope, np.exp(x) * (x + 1), rtol=1e-4, atol=1e-5)
"""
DEEP = """
refused = 0
for limit in range(30, 121, 10):
    sys.setrecursionlimit(limit)
    try:
        calls()
    except RecursionError:
        refused += 1
    finally:
        sys.setrecursionlimit(1000)
calls()
sys.setrecursionlimit(200)
calls()
assert refused > 5, refused
"""
SMALL = """
failures = []
def work():
    try:
        calls()
    except BaseException as error:
        failures.append(error)
threading.stack_size(256 << 10)
beside = threading.Thread(target=work)
beside.start()
beside.join()
assert failures == []
"""


@pytest.mark.parametrize("program", [DEEP, SMALL], ids=["frames", "stack"])
def test_little_room_on_the_stack(program: str) -> None:
    """Where Python's limit of frames is too low, a call is refused, and the next works; 256 KiB of stack will do."""
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", CALLS + program],
            env={**os.environ, "OPGEN_CACHE_DIR": cache},
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")
