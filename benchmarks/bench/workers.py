"""The processes of `peers.py`, one a peer: built and timed in turns, a block of calls at a time."""

from __future__ import annotations

import json
import math
import os
import random
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[2]
SCRIPT: Final = ROOT / "benchmarks" / "peers.py"
WORKLOADS: Final = ROOT / "benchmarks" / "workloads.py"
OURS: Final = "ours"
# Each peer with the packages that it needs.
PEERS: Final[Mapping[str, tuple[str, ...]]] = {
    "numpy": ("numpy",), "numexpr": ("numexpr",), "numba": ("numba",), "numba-par": ("numba",), "torch": ("torch",),
    "inductor": ("torch",), "jax": ("jax",), "ort": ("onnxruntime", "onnx"), "tvm": ("tvm", "onnx", "llvmlite"),
    OURS: ("llvmlite", "onnx", "ml_dtypes"),
}  # fmt: skip
_MAX_CALLS: Final = 20_000
_UNMEASURED: Final = 1  # calls that a block makes before the first sample


@dataclass(frozen=True, slots=True)
class Settings:
    """How rows are timed.

    `python`: the interpreter that has the peers.  `processor_time`: seconds of the processor, of all threads of a
    process, the least mean of a block; else seconds of the clock, the least sample.
    """

    python: str
    threads: int
    rounds: int
    block_seconds: float
    quiet_seconds: float
    processor_time: bool


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call: the least and the median of all samples."""

    least: float
    median: float


@dataclass(frozen=True, slots=True)
class Row:
    """The timings of one workload by peer, and what went wrong with the others."""

    name: str
    timings: Mapping[str, Timing]
    problems: Mapping[str, str]

    @property
    def best(self) -> str | None:
        """The fastest of the others."""
        others = {peer: timing.least for peer, timing in self.timings.items() if peer != OURS}
        return min(others, key=lambda peer: others[peer], default=None)

    @property
    def ratio(self) -> float | None:
        """The best peer's time over ours: above 1 is ahead; None where one of the two is missing."""
        best = self.best
        if best is None or OURS not in self.timings:
            return None
        return self.timings[best].least / self.timings[OURS].least


class Worker:
    """One peer's process."""

    def __init__(self, peer: str, settings: Settings, scratch: str) -> None:
        command = [
            settings.python,
            str(SCRIPT),
            "--threads",
            str(settings.threads),
            "--worker",
            peer,
            scratch,
        ]
        self.peer = peer
        self._process = subprocess.Popen(
            command, env=environment(settings.threads), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def ask(self, request: str) -> Any:
        """The answer to one line.  Raises RuntimeError where the process has ended."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(request + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError) as error:
            raise RuntimeError(f"the process of {self.peer} ended with status {process.poll()}") from error

    def processor_seconds(self) -> float:
        """What all its threads have run so far; threads that ended are not among them."""
        total = 0
        for status in Path(f"/proc/{self._process.pid}/task").glob("*/schedstat"):
            try:
                total += int(status.read_text(encoding="ascii").split()[0])
            except OSError:
                continue  # the thread has just ended
        return total / 1e9

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


def environment(threads: int) -> dict[str, str]:
    """Of every process: this checkout, and so many threads."""
    paths = [str(ROOT), str(ROOT / "runtime"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OPGEN_NUM_THREADS": str(threads)}


def installed(python: str, wanted: Sequence[str]) -> list[str]:
    """Those of the peers whose packages an interpreter has."""
    known = {name: PEERS[name] for name in wanted or PEERS}
    text = f"import importlib.util as u; print([n for n, p in {known!r}.items() if all(map(u.find_spec, p))])"
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, check=True)
    found: list[str] = json.loads(done.stdout.replace("'", '"'))
    return found


def workload_names(python: str, only: Sequence[str]) -> list[str]:
    """The workloads whose name holds one of `only`."""
    text = f"import runpy; print(*[w.name for w in runpy.run_path({str(WORKLOADS)!r})['workloads']()])"
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, check=True)
    return [name for name in done.stdout.split() if not only or any(part in name for part in only)]


def rows(names: Sequence[str], peers: Sequence[str], settings: Settings) -> Iterator[Row]:
    """The rows, one after the other as they are measured."""
    with tempfile.TemporaryDirectory() as scratch, _started(peers, settings, scratch) as workers:
        for name in names:
            yield _row(name, workers, settings)


@contextmanager
def _started(peers: Sequence[str], settings: Settings, scratch: str) -> Iterator[dict[str, Worker]]:
    with ExitStack() as stack:
        workers = {}
        for peer in peers:
            workers[peer] = Worker(peer, settings, scratch)
            stack.callback(workers[peer].end)
        yield workers


def _row(name: str, workers: dict[str, Worker], settings: Settings) -> Row:
    calls: dict[str, int] = {}
    samples: dict[str, list[float]] = {}
    problems: dict[str, str] = {}
    for peer, worker in list(workers.items()):
        try:
            answer = worker.ask(f"build {name}")
            if answer == "ok":
                calls[peer], samples[peer] = _calls(worker, settings.block_seconds), []
            elif answer != "unsupported":
                problems[peer] = answer
        except RuntimeError as error:
            problems[peer] = str(error)
            del workers[peer]
    for _ in range(settings.rounds):
        for peer in random.sample(list(calls), len(calls)):
            if not settings.processor_time:
                _wait_for_quiet(settings.quiet_seconds)
            samples[peer] += _block(workers[peer], calls[peer], settings)
    timings = {peer: Timing(min(found), statistics.median(found)) for peer, found in samples.items()}
    return Row(name, timings, problems)


def _calls(worker: Worker, seconds: float) -> int:
    """How many calls fill a block; the first ones, of fresh memory and cold caches, take several times as long."""
    calls, wanted = 0, 2
    while wanted > 2 * calls:
        calls = wanted
        least = min(worker.ask(f"block {calls}"))
        wanted = max(2, min(_MAX_CALLS, int(seconds / max(least, 1e-7))))
    return wanted


def _block(worker: Worker, calls: int, settings: Settings) -> list[float]:
    before = worker.processor_seconds()
    samples: list[float] = worker.ask(f"block {calls}")
    if not settings.processor_time:
        return samples
    made = calls // max(1, calls // 40) * max(1, calls // 40) + _UNMEASURED
    return [(worker.processor_seconds() - before) / made]


def _wait_for_quiet(limit: float) -> None:
    """Sleep until no other process keeps a core busy, for so many seconds at most."""
    end, gap = time.monotonic() + limit, 0.04
    while time.monotonic() < end:
        before = _busy_ticks()
        time.sleep(gap)
        if _busy_ticks() - before <= 1:
            return


def _busy_ticks() -> int:
    with open("/proc/stat", encoding="ascii") as status:
        user, nice, system, *_ = map(int, status.readline().split()[1:])
    return user + nice + system


def geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
