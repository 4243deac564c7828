"""Six processes over one cold cache folder, some killed in the middle, entries cut and altered meanwhile.

`python -m tests.stress.cache SEED` is one of the processes: it compiles and checks what it computes.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import opgen_runtime as rt
from tests.campaign import Tally
from tests.stress._process import repeated

_PROCESSES = 6
_SECONDS = 120.0
_OPS = ("exp", "negative", "floor", "sqrt", "abs", "sin")


def problems(seed: int) -> list[str]:
    """What is wrong with the results of kernels that other processes have written to the cache, or have not yet."""
    choose = random.Random(seed)
    found = []
    for name, rows in choose.sample([(name, rows) for name in _OPS for rows in (3, 5, 8)], 6):
        data = np.linspace(0.1, 2, rows * 40, dtype=np.float32).reshape(rows, 40)
        result = rt.eager.op(name)(data)
        if not np.allclose(result, getattr(np, name)(data), rtol=1e-5, atol=1e-6):
            found.append(f"{name} of {rows} rows is wrong")
    return found


def _damage(folder: Path, choose: random.Random) -> None:
    """Cut, change, empty or replace an entry, as a full disk or a careless program would."""
    entries = sorted(folder.glob("*.o"))
    if not entries:
        return
    path = choose.choice(entries)
    try:
        content = bytearray(path.read_bytes())
        kind = choose.randrange(5)
        if kind == 0:
            content = content[: choose.randrange(len(content) + 1)]
        elif kind == 1 and content:
            content[choose.randrange(len(content))] ^= 1 << choose.randrange(8)
        elif kind == 2:
            content = bytearray()
        elif kind == 3:
            content = bytearray(choose.choice(entries).read_bytes())  # whole, but another kernel's
        else:
            path.unlink()
            return
        path.write_bytes(content)
    except OSError:  # removed by a process meanwhile
        return


def round_of(number: int) -> tuple[int, list[str]]:
    """One folder and its processes: how many they were, and what went wrong."""
    choose = random.Random(number)
    failures: list[str] = []
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "cache"
        command = [sys.executable, "-m", "tests.stress.cache"]
        env = {**os.environ, "OPGEN_CACHE_DIR": str(folder)}
        running = [
            subprocess.Popen(
                [*command, str(number * _PROCESSES + k)], stdout=subprocess.PIPE, text=True, env=env
            )
            for k in range(_PROCESSES)
        ]
        killed = set(choose.sample(range(_PROCESSES), 2))
        end = time.monotonic() + _SECONDS
        while any(process.poll() is None for process in running) and time.monotonic() < end:
            time.sleep(choose.random() * 0.05)
            _damage(folder, choose)
            if folder.exists() and choose.random() < 0.05:
                for k in killed:
                    if running[k].poll() is None:
                        running[k].kill()
        for k, process in enumerate(running):
            hangs = process.poll() is None
            if hangs:
                process.kill()
            said = process.communicate()[0].splitlines()
            failures += [f"round {number}, process {k}: {line}" for line in said]
            expected = (0, -signal.SIGKILL) if k in killed else (0,)
            if hangs:
                failures.append(f"round {number}, process {k}: hangs")
            elif process.returncode not in expected:
                failures.append(f"round {number}, process {k}: ended with status {process.returncode}")
        last = subprocess.run(  # what is left serves, and is whole or ignored
            [*command, str(number)], stdout=subprocess.PIPE, text=True, env=env, timeout=_SECONDS, check=False
        )
        if last.returncode or last.stdout:
            failures.append(f"round {number}, afterwards: status {last.returncode}, {last.stdout}")
    return _PROCESSES + 1, failures


def run(seconds: float, seed: int) -> Tally:
    """Rounds until the time is over; `tried` counts processes."""
    return repeated(seconds, seed, round_of)


if __name__ == "__main__":
    for problem in problems(int(sys.argv[1])):
        print(problem, flush=True)
