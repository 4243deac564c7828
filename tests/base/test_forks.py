"""A fork finds the runtime whole, whatever other threads are doing; `tests/stress/fork.py` has the long run."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

import opgen_runtime
from opgen_runtime.base import forks
from tests.stress.fork import driven

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")


def test_children_of_a_busy_process_compile_and_run() -> None:
    assert driven(8, 1) == []


def test_the_lock_of_llvmlite_is_where_it_is_looked_for() -> None:
    assert llvm.ffi.lib._lock in forks._locks


def test_no_lock_of_the_runtime_is_unknown_to_forks() -> None:
    """Every lock that any module of the runtime keeps for itself is one of `forks`."""
    program = """
import importlib, pkgutil, threading, _thread, opgen_runtime
from opgen_runtime.base import forks
skipped = ("opgen_runtime.ops.", "opgen_runtime.testing", "opgen_runtime.frontend", "opgen_runtime.bridges.")
for info in pkgutil.walk_packages(opgen_runtime.__path__, "opgen_runtime."):
    if not info.name.startswith(skipped):
        importlib.import_module(info.name)
import sys
kinds = (type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Event, threading.Semaphore)
for name, module in list(sys.modules.items()):
    if name.startswith("opgen_runtime") and name != "opgen_runtime.base.forks":
        for key, value in vars(module).items():
            held = [] if value is forks.importing else [value, *getattr(value, "__dict__", {}).values()]
            unknown = [h for h in held if isinstance(h, kinds) and h not in forks._locks]
            if unknown:
                print(name, key)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout == ""


def _forked(child: str, seconds: float = 30) -> int:
    """The exit code of a process that runs `child`; -SIGALRM if it hangs."""
    program = f"import signal\nsignal.alarm({seconds:.0f})\nimport os, threading, time, warnings\n"
    program += "warnings.simplefilter('ignore')\n" + child
    return subprocess.run([sys.executable, "-c", program], timeout=seconds + 30, check=False).returncode


def test_no_module_of_numpy_is_imported_behind_the_back_of_forks() -> None:
    """`np.random` and its like import on first use, which a fork cannot wait for."""
    import_lazily = set(dir(np)) - set(vars(np)) | {"ma", "random", "testing", "fft"}
    runtime = Path(opgen_runtime.__file__).parent
    found = [
        f"{path.relative_to(runtime)}:{node.lineno}: np.{node.attr}"
        for path in runtime.rglob("*.py")
        if not {"ops", "testing"} & set(path.relative_to(runtime).parts)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id == "np" and node.attr in import_lazily
    ]
    assert found == []


@pytest.mark.parametrize(
    "held",
    [
        "from opgen_runtime.base.forks import lock; held = lock()",
        "from opgen_runtime import codegen; from llvmlite.binding import ffi; held = ffi.lib._lock",
        "from opgen_runtime.base.forks import importing as held",
    ],
)
def test_what_another_thread_holds_is_free_in_the_child(held: str) -> None:
    """The thread lets go after a while; the fork waits for it, and the child, whose thread is gone, can take it."""
    code = f"""
{held}
inside = threading.Event()
def hold():
    with held:
        inside.set()
        time.sleep(0.3)
threading.Thread(target=hold).start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(10)
    from opgen_runtime.base.forks import _before
    with held:
        _before()
        os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
with held:
    pass
"""
    assert _forked(code) == 0


def test_an_import_that_waits_for_the_forking_thread_does_not_hang_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(forks, "_PATIENCE", 0.1)
    inside, over = threading.Event(), threading.Event()

    def hold() -> None:
        with forks.importing:
            inside.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    start = time.monotonic()
    forks._before()
    forks._after_in_parent()
    over.set()
    thread.join()
    assert 0.05 < time.monotonic() - start < 10


def test_locks_are_taken_in_the_order_in_which_forks_take_them() -> None:
    """While a lock is held, only those made before it are taken, and nothing is imported with its first use: forks wait
    for imports first, then take the last lock first."""
    program = """
import sys, threading
import numpy as np
from opgen_runtime.base import forks

mine, wrong = threading.local(), set()

class Lock:
    def __init__(self, number, where):
        self.inner, self.number, self.where = threading.RLock(), number, where

    def acquire(self, blocking=True):
        held = mine.__dict__.setdefault("held", [])
        if self not in held and blocking:
            wrong.update((other.where, self.where) for other in held if other.number < self.number)
        taken = self.inner.acquire(blocking)
        held.extend([self] * taken)
        return taken

    def release(self, *error):
        mine.held.remove(self)
        self.inner.release()

    __enter__, __exit__ = acquire, release

def lock():
    forks._locks.append(Lock(len(forks._locks), sys._getframe(1).f_globals["__name__"]))
    return forks._locks[-1]

forks.lock = lock
importing = type(forks.importing)
enter = importing.__enter__

def imported(self):
    wrong.update((other.where, "an import") for other in mine.__dict__.get("held", ()))
    return enter(self)

importing.__enter__ = imported
import opgen_runtime as rt
from opgen_runtime import eager, ops

x = np.ones((300, 300), np.float32)
def use():
    eager.softmax(x), eager.matmul(x, x), eager.sin(x * 1e9), eager.fmod(x, x), eager.unique(np.arange(5))
users = [threading.Thread(target=use) for _ in range(3)]
for user in users:
    user.start()
for user in users:
    user.join()
rt.jit(lambda a, b: ops.softmax(a @ b).sum())(x, x)
eager.tanh(np.ones((2000, 2000), np.float32))
print(wrong or len(forks._locks) > 6)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout == "True\n"
