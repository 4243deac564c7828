"""The public models at every level: in the repository's root, `python -m benchmarks.models [NAME ...] --levels 0,2`.

For each model and opt level: kernels of a run, seconds of reading and building it with an empty and with a filled
cache, bytes of memory between kernels beside the bytes of all tensors, the most resident memory of a process without
a cache up to its first result, the least milliseconds of a run, and the largest difference from the reference as a
share of the largest magnitude.  The reference is onnxruntime with as many threads, where it is installed (in the
environment of `--python`, if not in this one), else the first level.  Each peer is a process of its own; they take
turns, several rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

ROUNDS: Final = 5
_SECONDS: Final = 0.3  # of a block, of one call at least
_MEGABYTE: Final = 1e6
REFERENCE: Final = "onnxruntime"
PREPARED: Final = "prepared"  # by the front end's `prepare`, which finds models in the cache
WINOGRAD: Final = "winograd"  # so, with Winograd's convolutions allowed
_HEAD: Final = (
    "model",
    "level",
    "kernels",
    "cold s",
    "cached s",
    "arena MB",
    "tensors MB",
    "peak MB",
    "ort MB",
    "ms",
    "ort ms",
    "error",
)


# ------------------------------------------------------------------ a peer's process


def serve(peer: str, folder: Path, threads: int, processor_time: bool) -> None:
    """Build the model of a folder, say what it is, and answer each line with the least seconds of a call in a block.

    What is said has the seconds to the first result, imports apart (`first`), and the most bytes that were resident
    until then (`peak`).
    """
    clock = time.process_time if processor_time else time.perf_counter
    with np.load(folder / "inputs.npz") as held:
        inputs = dict(held)
    with _allowed(peer):
        call, report = _made(peer, folder / "model.onnx", inputs, threads, clock)
        start = clock()
        results = call()
    report["first"] = report["seconds"] + clock() - start
    report["peak"] = _peak()
    np.savez(folder / f"{peer}.npz", *results)
    print(json.dumps(report), flush=True)
    for _ in sys.stdin:
        best, end = float("inf"), time.perf_counter() + _SECONDS
        while time.perf_counter() < end:
            start = clock()
            call()
            best = min(best, clock() - start)
        print(json.dumps(best), flush=True)


def _allowed(peer: str) -> AbstractContextManager[object]:
    """Where a peer's programs are compiled."""
    if peer != WINOGRAD:
        return nullcontext()
    from opgen_runtime.transform import PassContext

    return PassContext(required=["Winograd"])


def _peak() -> int:
    """The most bytes of this process that were resident at once; those of its parent are not among them."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


Call = Callable[[], Sequence[np.ndarray]]
Inputs = dict[str, np.ndarray]
Clock = Callable[[], float]
Made = tuple[Call, dict[str, Any]]


def _made(peer: str, path: Path, inputs: Inputs, threads: int, clock: Clock) -> Made:
    """A model as a call of a peer, and a report with the seconds that this took."""
    if peer == REFERENCE:
        return _onnxruntime(path, inputs, threads, clock)
    return (
        _prepared(path, inputs, clock)
        if peer in (PREPARED, WINOGRAD)
        else _ours(path, inputs, clock, int(peer))
    )


def _prepared(path: Path, inputs: Inputs, clock: Clock) -> Made:
    from opgen_runtime.frontend import onnx as frontend

    start = clock()
    program = frontend.prepare(str(path))
    return lambda: program(inputs), {"seconds": clock() - start}


def _ours(path: Path, inputs: Inputs, clock: Clock, level: int) -> Made:
    import opgen_runtime as rt
    from opgen_runtime.frontend import onnx as frontend

    start = clock()
    shapes = {name: array.shape for name, array in inputs.items()}
    module, weights = frontend.load(str(path), shapes=shapes)
    executable = rt.build(module, weights, opt_level=level)
    seconds = clock() - start
    plan = executable.plan
    report = {
        "seconds": seconds,
        "kernels": len(executable.kernels),
        "arena": None if plan is None else plan.arena,
        "tensors": None if plan is None else plan.tensors,
        "interpreted": executable.why_interpreted,
    }
    return lambda: _flat(executable.run(inputs)), report


def _onnxruntime(path: Path, inputs: Inputs, threads: int, clock: Clock) -> Made:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    start = clock()
    session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    return lambda: list(session.run(None, inputs)), {"seconds": clock() - start}


def _flat(arrays: Any) -> list[np.ndarray]:
    return [each for part in arrays for each in _flat(part)] if isinstance(arrays, tuple) else [arrays]


# ------------------------------------------------------------------ all of them


@dataclass
class Peer:
    """A peer's process, and what it has said."""

    name: str
    process: subprocess.Popen[str]
    report: dict[str, Any]
    best: float = float("inf")

    def block(self) -> None:
        """One more block of calls."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.best = min(self.best, float(_answer(self.process, self.name)))


@contextmanager
def started(name: str, folder: Path, options: argparse.Namespace) -> Iterator[Peer]:
    """A peer with the model of a folder, which also holds a cache for it alone. Raises RuntimeError where it ends."""
    python = options.python if name == REFERENCE else sys.executable
    environment = {
        **os.environ,
        "OPGEN_CACHE_DIR": str(folder / f"cache{name}"),
        "OPGEN_NUM_THREADS": str(options.threads),
    }
    command = [python, __file__, "--threads", str(options.threads), "--serve", name, str(folder)]
    if options.processor_time:
        command.append("--processor-time")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        yield Peer(name, process, json.loads(_answer(process, name)))


def _answer(process: subprocess.Popen[str], name: str) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the process of {name} ended; its own message is above")
    return line


def measure(
    model: str, levels: Sequence[int], folder: Path, options: argparse.Namespace
) -> Iterator[tuple[str, ...]]:
    """A row of the table for each level, of the model in a folder."""
    with ExitStack() as stack:
        peers: list[Peer] = []
        reference = None
        if _has_onnxruntime(options.python):
            reference = stack.enter_context(started(REFERENCE, folder, options))
        cold: dict[str, dict[str, Any]] = {}
        for level in levels:
            with started(str(level), folder, options) as first:
                cold[first.name] = first.report
            peers.append(stack.enter_context(started(str(level), folder, options)))
        for _ in range(ROUNDS):
            for peer in [*peers, *([reference] if reference else [])]:
                peer.block()
        for peer in peers:
            if peer.report["interpreted"]:
                print(
                    f"{model} at level {peer.name} is interpreted: {peer.report['interpreted']}", flush=True
                )
            yield (
                model, peer.name, str(peer.report["kernels"]), f"{cold[peer.name]['seconds']:.2f}",
                f"{peer.report['seconds']:.2f}", _megabytes(peer.report["arena"]),
                _megabytes(peer.report["tensors"]), _megabytes(cold[peer.name]["peak"]),
                _megabytes(reference.report["peak"] if reference else None), f"{peer.best * 1e3:.2f}",
                f"{reference.best * 1e3:.2f}" if reference else "-",
                f"{difference(folder, peer.name, reference.name if reference else peers[0].name):.0e}",
            )  # fmt: skip


def _megabytes(count: int | None) -> str:
    return "-" if count is None else f"{count / _MEGABYTE:.2f}"


def difference(folder: Path, name: str, reference: str) -> float:
    """The largest difference of two peers' results, as a share of the largest magnitude of each; infinity where just
    one of the two is not finite."""
    largest = 0.0
    with np.load(folder / f"{name}.npz") as ours, np.load(folder / f"{reference}.npz") as theirs:
        for key in theirs.files:
            found, expected = ours[key].astype(np.float64), theirs[key].astype(np.float64)
            alike = (found == expected) | (np.isnan(found) & np.isnan(expected))
            if not np.all(alike | (np.isfinite(found) & np.isfinite(expected))):
                return float("inf")
            magnitude = float(np.abs(expected[np.isfinite(expected)]).max(initial=1e-30))
            largest = max(
                largest, float(np.abs(found[~alike] - expected[~alike]).max(initial=0.0)) / magnitude
            )
    return largest


def _has_onnxruntime(python: str) -> bool:
    return (
        subprocess.run([python, "-c", "import onnxruntime"], capture_output=True, check=False).returncode == 0
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="of models; all by default")
    parser.add_argument("--levels", default="0,1,2,3,4", help="comma-separated")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has onnxruntime")
    parser.add_argument(
        "--processor-time", action="store_true", help="seconds of the processor, of all threads"
    )
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve[0], Path(options.serve[1]), options.threads, options.processor_time)
        return
    import onnx

    from tests.conformance.models import MODELS, fetch

    levels = [int(each) for each in options.levels.split(",")]
    print("".join(f"{each:>11}" for each in _HEAD), flush=True)
    for each in MODELS:
        if options.names and each.name not in options.names:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder, model = Path(name), fetch(each)
            onnx.save(model, folder / "model.onnx")
            weights = {tensor.name for tensor in model.graph.initializer}
            (given,) = [value.name for value in model.graph.input if value.name not in weights]
            np.savez(folder / "inputs.npz", **{given: each.inputs(np.random.default_rng(1), each.shapes[0])})
            for row in measure(each.name, levels, folder, options):
                print("".join(f"{cell:>11}" for cell in row), flush=True)


if __name__ == "__main__":
    main()
