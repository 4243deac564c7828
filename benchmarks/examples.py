"""The ops of examples/ beside numpy's best form of each: milliseconds a call, and how many times as fast.

    python -m benchmarks.examples [OP]...  [--rounds 15] [--processor-time] [--check]

The project is generated in a scratch folder.  Each row computes both results and compares them; then the two run in
turn, and of each the least time counts, so that both meet the same machine.  Compilation is not timed.  The forms of
numpy stand in example_rows.py and example_everyday_rows.py.  `--check` ends with 1 if an op is slower.  Processor time
counts threads that wait, too: it goes with OPGEN_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.example_everyday_rows import ROWS
from benchmarks.example_rows import Arrays

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
BLOCK_SECONDS = 0.02  # of calls that are timed together


def generated(folder: Path) -> Any:
    """The namespace of the project's ops on arrays, generated in `folder`."""
    shutil.copy(EXAMPLES / "pyproject.toml", folder)
    shutil.copytree(EXAMPLES / "opdefs", folder / "opdefs")
    subprocess.run(
        [sys.executable, "-m", "opgen", "generate"], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    sys.path.insert(0, str(folder))
    import recipes

    return recipes.eager


def seconds(call: Callable[[], object], count: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count


def measure(
    ours: Callable[[], Any], numpy: Callable[[], Any], rounds: int, clock: Callable[[], float]
) -> tuple[float, float]:
    """The least seconds a call of each, in turn."""
    calls = (ours, numpy)
    counts = [max(1, int(BLOCK_SECONDS / max(seconds(call, 1, clock), 1e-7))) for call in calls]
    times = [
        [seconds(call, count, clock) for call, count in zip(calls, counts, strict=True)]
        for _ in range(rounds)
    ]
    least = [min(column) for column in zip(*times, strict=True)]
    return least[0], least[1]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ops", nargs="*", help="of the rows; all by default")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--processor-time", action="store_true", help="of all threads, which a busy machine disturbs less"
    )
    parser.add_argument("--check", action="store_true", help="exit code 1 if an op is slower than numpy")
    options = parser.parse_args()
    clock = time.process_time if options.processor_time else time.perf_counter
    slower = []
    with tempfile.TemporaryDirectory() as scratch:
        eager = generated(Path(scratch))
        print(f"{'op':20} {'ours ms':>9} {'numpy ms':>9} {'times as fast':>14}")
        for name in options.ops or ROWS:
            operands, attrs, form = ROWS[name](np.random.default_rng(0))
            function = getattr(eager, name)

            def ours(function: Any = function, operands: Arrays = operands, attrs: Any = attrs) -> Any:
                return function(*operands, **attrs)

            def numpy(form: Any = form, operands: Arrays = operands) -> Any:
                return form(*operands)

            found, wanted = ours(), numpy()
            pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
            for one, other in pairs:
                np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-4, err_msg=name)
            own, others = measure(ours, numpy, options.rounds, clock)
            print(f"{name:20} {own * 1e3:9.3f} {others * 1e3:9.3f} {others / own:14.2f}", flush=True)
            if own > others:
                slower.append(name)
    print(f"{len(slower)} slower than numpy{': ' if slower else ''}{', '.join(slower)}")
    return int(bool(slower) and options.check)


if __name__ == "__main__":
    sys.exit(main())
