"""Two checkouts side by side: import, first calls and later calls, interleaved.

    python benchmarks/against.py OLD NEW [--rounds 15]

OLD and NEW are roots of checkouts; both run with this Python and its packages.  Each measurement is a process with
an empty cache, OLD and NEW in turn.  Printed are processor seconds, which other work on the machine disturbs least: the
least of all rounds, the median, and the ratio of the least ones.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_PROLOGUE: Final = "import time; begun = time.process_time()\n"
_ARRAYS: Final = """
import numpy as np
from opgen_runtime import eager
x = np.linspace(-1, 1, 8000, dtype=np.float32).reshape(8, 1000)
w = np.linspace(-1, 1, 64000, dtype=np.float32).reshape(64, 1000)
def calls():
    eager.softmax(x); eager.dense(x, w); eager.sum(x, axis=(1,)); eager.tanh(x); eager.transpose(x)
"""
# What is timed: Python that ends with the seconds in `seconds`.
MEASURED: Final[dict[str, str]] = {
    "import": f"{_PROLOGUE}import opgen_runtime\nseconds = time.process_time() - begun",
    "import and ops": f"{_PROLOGUE}from opgen_runtime import eager, ops\nseconds = time.process_time() - begun",
    "first calls": f"{_PROLOGUE}{_ARRAYS}calls()\nseconds = time.process_time() - begun",
    "later calls, 200 each": (
        f"import time\n{_ARRAYS}calls(); calls()\nbegun = time.process_time()\n"
        "for _ in range(200): calls()\nseconds = time.process_time() - begun"
    ),
}


def seconds(root: Path, code: str, bytecode: Path) -> float:
    """What a process says that uses the checkout at `root`; compiled modules are kept in `bytecode`."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "OPGEN_CACHE_DIR": cache,
            "PYTHONPATH": os.pathsep.join([str(root / "runtime"), str(root)]),
            "PYTHONPYCACHEPREFIX": str(bytecode),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        made = subprocess.run(
            [sys.executable, "-c", f"{code}\nprint(seconds)"],
            env=environment,
            cwd=cache,
            capture_output=True,
            text=True,
            check=True,
        )
    return float(made.stdout)


def compared(old: Path, new: Path, code: str, rounds: int) -> tuple[list[float], list[float]]:
    """The seconds of both, in turn; the first of each, which compiles bytecode, does not count."""
    found: tuple[list[float], list[float]] = ([], [])
    with tempfile.TemporaryDirectory() as bytecode:
        for turn in range(rounds + 1):
            for times, root in zip(found, (old, new), strict=True):
                taken = seconds(root, code, Path(bytecode))
                if turn:
                    times.append(taken)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=MEASURED, action="append")
    given = parser.parse_args(arguments)
    print(
        f"{'processor seconds':24}{'old least':>11}{'median':>9}{'new least':>11}{'median':>9}{'new/old':>9}"
    )
    for name in given.only or MEASURED:
        times = compared(given.old.resolve(), given.new.resolve(), MEASURED[name], given.rounds)
        cells = "".join(f"{min(each):11.4f}{statistics.median(each):9.4f}" for each in times)
        print(f"{name:24}{cells}{min(times[1]) / min(times[0]):9.3f}", flush=True)


if __name__ == "__main__":
    main()
