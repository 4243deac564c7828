"""Ends of processes: while workers run, with daemon threads in calls, by exceptions, by interrupts.

Each program must end with its status, in time, and say nothing on its error stream but what it is meant to.
"""

from __future__ import annotations

import subprocess
import sys

from tests.campaign import Tally
from tests.stress._process import repeated

_BEGIN = """
import atexit, os, signal, sys, threading, time
import numpy as np
import opgen_runtime as rt
from opgen_runtime.run.calls import eager
from opgen_runtime.codegen.objects import threads
threads.set_num_threads(3)
x = np.ones((1000, 1000), np.float32)
def use(n=1):
    for _ in range(n):
        eager.exp(x); eager.relu(x[:200])
def always():
    k = 1
    while True:
        k = k % 50 + 1
        eager.exp(np.ones(k * 1000, np.float32)); use()
def daemon():
    threading.Thread(target=always, daemon=True).start()
def child(action):
    number = os.fork()
    if number:
        assert os.waitpid(number, 0)[1] == 0
    else:
        action()
def interrupt(seconds):
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
"""
# (what happens, the program's end, status, the last line on the error stream)
_ENDS = (
    ("falls off the end", "use(3)", 0, ""),
    ("workers awake", "use(50)", 0, ""),
    ("sys.exit in the middle", "use(); sys.exit(7)", 7, ""),
    (
        "os._exit while a thread runs",
        "threading.Thread(target=always).start(); time.sleep(.2); os._exit(5)",
        5,
        "",
    ),
    ("daemon threads in calls", "[daemon() for _ in range(3)]; time.sleep(.3)", 0, ""),
    ("a thread that goes on for a while", "threading.Thread(target=use, args=(100,)).start()", 0, ""),
    ("an exception", "use(); raise KeyError('end')", 1, "KeyError: 'end'"),
    ("an exception with a daemon", "daemon(); use(5); raise KeyError('end')", 1, "KeyError: 'end'"),
    ("calls in atexit, before the pool", "atexit.register(use, 3)", 0, ""),
    ("calls in atexit, after the pool", "use(); atexit.register(use, 3)", 0, ""),
    ("limit set in atexit", "use(); atexit.register(lambda: (threads.set_num_threads(3), use(3)))", 0, ""),
    (
        "sys.exit in a thread",
        "t = threading.Thread(target=lambda: (use(), sys.exit(3))); t.start(); t.join()",
        0,
        "",
    ),
    ("results kept in a global cycle", "a = [eager.exp(x)]; a.append(a)", 0, ""),
    ("a function kept by a module", "import json; json.kept = rt.jit(lambda v: v + 1); json.kept(x)", 0, ""),
    ("a fork that falls off the end", "use(); child(lambda: use(3))", 0, ""),
    ("a fork with os._exit", "use(); child(lambda: (use(3), os._exit(0)))", 0, ""),
    ("sys.exit while a daemon compiles", "daemon(); time.sleep(.05); sys.exit(4)", 4, ""),
    ("a fork while a daemon compiles", "daemon(); time.sleep(.05); child(lambda: use(3))", 0, ""),
    ("an interrupt", "interrupt(.3); always()", -2, "KeyboardInterrupt"),
)
_SECONDS = 90.0


def problems(number: int) -> list[str]:
    """What went wrong with one of the programs."""
    what, code, status, said = _ENDS[number % len(_ENDS)]
    try:
        done = subprocess.run(
            [sys.executable, "-c", _BEGIN + code],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [f"{what}: hangs"]
    last = (done.stderr.strip().splitlines() or [""])[-1]
    if (done.returncode, last) != (status, said):
        return [
            f"{what}: status {done.returncode} and {done.stderr.strip()[-300:]!r}, expected {status} and {said!r}"
        ]
    return []


def run(seconds: float, seed: int) -> Tally:
    """Programs in turn until the time is over."""
    first = seed * 1_000_000
    return repeated(seconds, 0, lambda number: (1, problems(first + number)))
