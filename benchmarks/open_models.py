"""Whole models with open dims: `python -m benchmarks.symbolic --models [NAME ...]`.

Each model in a process of its own with an empty cache is called at ten sizes in random order.  Then the program for all
sizes, the program of each size and onnxruntime take turns, one thread each; figures are the least processor time.

    open     kernels and drivers compiled from the third size on, which are none where one program serves all sizes
    2nd s    processor seconds of the first call at the second size: the program for all sizes is made then
    static   times of the program for all sizes as shares of those of our own for one size: geometric mean, greatest
    ort      the same as shares of onnxruntime's

The first size has a program of its own, and no part in these shares.
    error    the largest difference from onnxruntime, as a share of the largest magnitude
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

TARGET: Final = "llvm -num-threads=1"
GOALS: Final = (
    "goals: open 0; 2nd s below 2, but for models as large as ResNet-50; static 1.15, 1.40 at worst; "
    "ort 1.00, 1.30 at worst"
)
_BLOCK: Final = 0.02  # seconds
_COLUMNS: Final = (
    ("open", 6),
    ("1st s", 8),
    ("2nd s", 8),
    ("static", 8),
    ("worst", 7),
    ("ort", 8),
    ("worst", 7),
)
_HEAD: Final = "".join([f"{'model':16}", *[f"{name:>{width}}" for name, width in _COLUMNS], f"{'error':>9}"])


@dataclass
class Measured:
    """What one model gave: seconds of a call at each size, and what was compiled."""

    name: str
    first: float = 0.0
    second: float = 0.0
    compiled: list[int] = field(default_factory=list)  # at each size
    sizes: list[str] = field(default_factory=list)
    open: list[float] = field(default_factory=list)
    static: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)
    error: float = 0.0
    is_right: bool = True
    why_closed: str = ""

    def shares(self, others: Sequence[float]) -> list[float]:
        """The times at all sizes but the first as shares of others at these sizes."""
        return [a / b for a, b in zip(self.open[1:], others[1:], strict=True)]

    def row(self) -> str:
        compiled = sum(self.compiled[2:])
        ours, theirs = self.shares(self.static), self.shares(self.reference)
        return (
            f"{self.name:16}{compiled:6}{self.first:8.2f}{self.second:8.2f}{mean(ours):8.2f}{max(ours):7.2f}"
            f"{mean(theirs):8.2f}{max(theirs):7.2f}{self.error:9.0e}{'' if self.is_right else '  WRONG'}"
        )


def mean(values: Sequence[float]) -> float:
    """Their geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


# ------------------------------------------------------------------ one model, in a process of its own


def measure(name: str, count: int, repeats: int, seed: int) -> Measured:
    """Calls of a model at so many sizes: as they come, then in turns with its peers."""
    from opgen_runtime.frontend import onnx as frontend
    from tests.conformance.models import error
    from tests.conformance.open_models import OPEN_MODELS

    (model,) = [each for each in OPEN_MODELS if each.name == name]
    loaded, random = model.load(), np.random.default_rng(seed)
    given = [(sizes, model.inputs(random, sizes)) for sizes in model.some(count, seed)]
    reference = session(loaded)
    emitted = counted()
    program = frontend.prepare(loaded, target=TARGET)
    found = Measured(name)
    results = []
    for sizes, inputs in given:
        before, began = len(emitted), time.process_time()
        results.append(program(inputs))
        seconds = time.process_time() - began
        found.compiled.append(len(emitted) - before)
        found.sizes.append(" ".join(f"{key}={value}" for key, value in sizes.items()))
        if len(results) == 1:
            found.first = seconds
        elif len(results) == 2:
            found.second = seconds
    opening = "compiled for each combination of shapes: "
    found.why_closed = next(
        (line.removeprefix(opening) for line in program.explain().splitlines() if line.startswith(opening)),
        "",
    )
    for (_, inputs), result in zip(given, results, strict=True):
        expected = reference.run(None, inputs)
        largest, is_right = error(result, expected)
        found.error, found.is_right = max(found.error, largest), found.is_right and is_right
        static = frontend.prepare(loaded, target=TARGET)
        static(inputs)
        program(inputs)
        runs: list[Callable[[], object]] = [
            lambda given=inputs: program(given),
            lambda given=inputs, run=static: run(given),
            lambda given=inputs: reference.run(None, given),
        ]
        times = least(runs, repeats)
        for kept, seconds in zip((found.open, found.static, found.reference), times, strict=True):
            kept.append(seconds)
    return found


def session(model: Any) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def counted() -> list[int]:
    """The bytes of each object that LLVM makes from now on, in a list that grows."""
    from opgen_runtime.codegen.objects import compile as objects

    found: list[int] = []
    emit = objects.emit_object

    def counted(*given: Any) -> bytes:
        code = emit(*given)
        found.append(len(code))
        return code

    objects.emit_object = counted
    return found


def least(runs: Sequence[Callable[[], object]], repeats: int, block: float = _BLOCK) -> list[float]:
    """Processor seconds of one call of each; blocks of calls, of so many seconds, take turns."""
    counts = []
    for run in runs:
        run()
        began = time.process_time()
        run()
        counts.append(max(1, int(block / max(time.process_time() - began, 1e-6))))
    found = [math.inf] * len(runs)
    for _ in range(repeats):
        for k, (run, count) in enumerate(zip(runs, counts, strict=True)):
            began = time.process_time()
            for _ in range(count):
                run()
            found[k] = min(found[k], (time.process_time() - began) / count)
    return found


# ------------------------------------------------------------------ all of them


def measured(names: Sequence[str], count: int, repeats: int, seed: int) -> Iterator[Measured]:
    """What each model gave, in its own process with an empty cache. Raises RuntimeError where a process fails."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", __spec__.name, name, str(count), str(repeats), str(seed)]
            environment = {**os.environ, "OPGEN_CACHE_DIR": folder, "OPGEN_NUM_THREADS": "1"}
            ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, check=False)
        if ended.returncode:
            raise RuntimeError(f"the process of {name} ended; its own message is above")
        yield Measured(**json.loads(ended.stdout.splitlines()[-1]))


def table(names: Sequence[str], count: int, repeats: int, seed: int, details: bool, file: Path | None) -> int:
    """Prints a row for each model, all models without names; 1 where values differ from onnxruntime's."""
    from tests.conformance.open_models import OPEN_MODELS

    known = [each.name for each in OPEN_MODELS]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise SystemExit(f"there is no model {unknown[0]!r}; there are {', '.join(known)}")
    print(GOALS, _HEAD, sep="\n", flush=True)
    found = []
    for each in measured(names or known, count, repeats, seed):
        found.append(each)
        print(each.row(), flush=True)
        if each.why_closed:
            print(f"    compiled for each combination of shapes: {each.why_closed}", flush=True)
        if details:
            rows = zip(each.sizes, each.compiled, each.open, each.static, each.reference, strict=True)
            for sizes, compiled, ours, static, theirs in rows:
                print(
                    f"    {sizes:34} {compiled:4} compiled {ours * 1e3:9.3f} ms  / static {ours / static:5.2f}"
                    f"  / onnxruntime {ours / theirs:5.2f}",
                    flush=True,
                )
    shares = [share for each in found for share in each.shares(each.static)]
    theirs = [share for each in found for share in each.shares(each.reference)]
    print(
        f"{'all':16}{'':22}{mean(shares):8.2f}{max(shares):7.2f}{mean(theirs):8.2f}{max(theirs):7.2f}",
        flush=True,
    )
    if file is not None:
        file.write_text(json.dumps([asdict(each) for each in found], indent=1))
    return int(not all(each.is_right for each in found))


if __name__ == "__main__":
    print(json.dumps(asdict(measure(sys.argv[1], *map(int, sys.argv[2:])))))
