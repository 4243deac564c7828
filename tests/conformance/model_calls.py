"""Real ONNX models called over and over: no hang, every result equal to the first bit for bit.

`python tests/conformance/model_calls.py [NAME ...] --calls 2000 --threads 2 3 --callers 3 [--minutes N]`: each model at
its first shape, with each number of threads in the pool; half of the calls come from one Python thread, half from
`callers` of them at once.  With `--minutes` the models share that time, and the calls that were made are printed.
Nothing for `--patience` seconds is a hang: all stacks are printed and the process ends with status 1.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from models import MODELS, RealModel, fetch

from opgen_runtime.codegen.objects import threads
from opgen_runtime.frontend import onnx as frontend

Run = Callable[[dict[str, np.ndarray]], Sequence[np.ndarray]]


class Calls:
    """Calls of one model on one input, counted, each compared with the first."""

    def __init__(self, run: Run, inputs: dict[str, np.ndarray], patience: float) -> None:
        self._run, self._inputs, self._patience = run, inputs, patience
        self._first = [array.tobytes() for array in run(inputs)]
        self.made = 0
        self.different = 0
        self._lock = threading.Lock()

    def call(self, tickets: Iterable[int], end: float) -> None:
        """Calls from this thread until the tickets, which several threads may share, or the time are used up."""
        inputs = {name: array.copy() for name, array in self._inputs.items()}
        for _ in tickets:
            if time.monotonic() > end:
                break
            same = [array.tobytes() for array in self._run(inputs)] == self._first
            with self._lock:
                self.made += 1
                self.different += not same
                faulthandler.dump_traceback_later(self._patience, exit=True)


def many(model: RealModel, options: argparse.Namespace, count: int, seconds: float) -> bool:
    """All calls of a model with `count` threads in the pool; whether all were equal."""
    faulthandler.dump_traceback_later(10 * options.patience, exit=True)  # it is compiled first
    threads.set_num_threads(count)
    prepared = frontend.prepare(fetch(model))
    inputs = {prepared.signature.names[0]: model.inputs(np.random.default_rng(1), model.shapes[0])}
    calls = Calls(prepared, inputs, options.patience)
    start = time.monotonic()
    half = options.calls // 2
    calls.call(range(half), start + seconds / 2)
    alone = calls.made
    rest = itertools.islice(itertools.count(), options.calls - half)
    callers = [
        threading.Thread(target=calls.call, args=(rest, start + seconds), daemon=True)
        for _ in range(options.callers)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    faulthandler.cancel_dump_traceback_later()
    took = time.monotonic() - start
    print(
        f"{model.name:11} {count} threads: {alone} calls from one thread, {calls.made - alone} from "
        f"{options.callers} at once, {calls.different} differ ({took:.0f} s)",
        flush=True,
    )
    return calls.different == 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(m.name for m in MODELS))
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--callers", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--patience", type=float, default=120.0)
    options = parser.parse_args()
    chosen = [model for model in MODELS if not options.names or model.name in options.names]
    seconds = options.minutes * 60 / (len(chosen) * len(options.threads))
    good = [many(model, options, count, seconds) for model in chosen for count in options.threads]
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
