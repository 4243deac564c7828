"""What the machine is, how busy it was, and the most that it does: operations a second, bytes a second."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from .workers import PEERS, environment

_VERSIONS: Final = """
import importlib.metadata as m, json
names = m.packages_distributions()
print(json.dumps({n: m.version(names[n][0]) for n in %r if n in names}))
"""
# Products of matrices that caches hold; sums, copies and additions of what no cache holds.
_ROOFS: Final = """
import json, time, numpy as np, opgen_runtime as rt
threads = rt.Target.host().num_threads
clock = time.process_time if threads == 1 else time.perf_counter
def best(call):
    call(); call()
    least = 1e9
    for _ in range(20):
        start = clock(); call(); least = min(least, clock() - start)
    return least
def rates(work, array, *functions):
    return [work / best(lambda: function(array)) for function in functions]
matrix, large = np.ones((768, 768), "float32"), np.ones(1 << 25, "float32")
products = rates(2 * 768 ** 3, matrix, rt.jit(lambda x: rt.ops.matmul(x, x)), lambda x: x @ x)
read = rates(large.nbytes, large, rt.jit(lambda x: rt.ops.sum(x)), np.sum)
copied = rates(2 * large.nbytes, large, rt.jit(lambda x: x + x), rt.jit(lambda x: rt.ops.copy(x)))
print(json.dumps([max(products), max(read + copied)]))
"""


@dataclass(frozen=True, slots=True)
class Roofs:
    """The most that was reached with so many threads, a second."""

    threads: int
    operations: float
    bytes: float


def roofs(threads: int) -> Roofs:
    """The best of this project and numpy on products of matrices, and on sums and copies of 128 MB."""
    cpus = sorted(os.sched_getaffinity(0))[-threads:]
    program = f"import os; os.sched_setaffinity(0, {cpus})\n{_ROOFS}"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment(threads), capture_output=True, text=True, check=True
    )
    operations, moved = json.loads(done.stdout)
    return Roofs(threads, operations, moved)


def describe(python: str) -> list[str]:
    """Date, machine, load and versions, a line each."""
    packages = sorted({package for needed in PEERS.values() for package in needed})
    done = subprocess.run([python, "-c", _VERSIONS % packages], capture_output=True, text=True, check=True)
    versions = ", ".join(f"{name} {version}" for name, version in sorted(json.loads(done.stdout).items()))
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    return [
        f"{datetime.now():%d %B %Y, %H:%M}",
        f"{_processor()}, {os.cpu_count()} processors, {platform.system()} {platform.release()}",
        f"load when this began: {load} (1, 5, 15 minutes), of other work: a quiet machine has less than 0.1",
        f"Python {platform.python_version()}; peers: {versions}",
        f"commit {_commit()}",
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    named = {name.strip(): value.strip() for name, value in fields.items()}
    import llvmlite.binding as llvm

    return f"{named.get('model name', platform.machine())} ({llvm.get_host_cpu_name()})"


def _commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"
