"""Campaigns: long runs of many generated cases, `python -m tests.fuzz` and `python -m tests.stress`.

A campaign is a module of one of these packages.  Of `tests.fuzz`, it has `COUNT`, how many cases the full suite tries,
and `case(seed)`, which raises AssertionError, or anything else, where the product fails; each case is run in a child
process, so that an abort, a crash or a hang is a failure with its seed like any other.  `NEEDS` names a package
without which it is not run.  Of `tests.stress`, it has
`run(seconds, seed)`, which makes load for about that long and gives a `Tally`; where it counts what it makes, `COUNT`,
and `run` takes another count, too.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import pkgutil
import queue
import selectors
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

CASE_SECONDS = 60.0  # of its own; a case that takes longer hangs; a campaign may say otherwise with `SECONDS`
_IDLE = 10  # a case that waits hangs after so many times as long: other work may have the processor


@dataclass
class Tally:
    """What a campaign tried, and one text for each failure."""

    tried: int = 0
    failures: list[str] = field(default_factory=list)


os.environ.setdefault("OPGEN_DEFECTS", "raise")  # of child processes, too


def isolated(module: str, seeds: Sequence[int], seconds: float, workers: int) -> Tally:
    """`module.case(seed)` for each seed in child processes; one that dies or hangs is replaced by a new one."""
    waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
    for seed in seeds:
        waiting.put(seed)
    tally, lock = Tally(), threading.Lock()

    def work() -> None:
        child: _Child | None = None
        while True:
            try:
                seed = waiting.get_nowait()
            except queue.Empty:
                break
            child = child or _Child(module)
            problem, alive = child.ask(seed, seconds)
            with lock:
                tally.tried += 1
                if problem:
                    tally.failures.append(f"seed {seed}: {problem}")
            if not alive:
                child = None
        if child:
            child.end()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally


class _Child:
    """A process that answers a seed a line with `ok` or the text of what went wrong."""

    def __init__(self, module: str) -> None:
        command = [sys.executable, "-m", "tests.campaign", module]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._ready = selectors.DefaultSelector()
        assert self._process.stdout is not None
        self._ready.register(self._process.stdout, selectors.EVENT_READ)

    def ask(self, seed: int, seconds: float) -> tuple[str, bool]:
        """What went wrong, or nothing, and whether the process can go on."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"%d\n" % seed)
        process.stdin.flush()
        start, spent = time.monotonic(), _own_seconds(process.pid)
        while not self._ready.select(min(seconds, 5.0)):
            own, passed = _own_seconds(process.pid) - spent, time.monotonic() - start
            if own > seconds or passed > _IDLE * seconds:
                self.end()
                return f"hangs: no answer in {passed:.0f} s, {own:.0f} s of its own", False
        answer = process.stdout.readline().decode(errors="replace").strip()
        if not answer:
            self.end()
            return f"the process ended with status {process.wait()}", False
        return ("" if answer == "ok" else answer.replace("\\n", "\n")), True

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
        self._ready.close()


def _own_seconds(pid: int) -> float:
    """The processor's time of a process and of the children that it waited for; wall time where the system keeps
    none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return time.monotonic()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _serve(module: str) -> None:
    """The child: what cases print goes to the error stream, so that the answers stand alone."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    case = importlib.import_module(module).case
    for line in sys.stdin:
        try:
            case(int(line))
            answer = "ok"
        except Exception:  # whatever a case raises is a failure to be told
            answer = traceback.format_exc().strip().replace("\n", "\\n")
        print(answer, file=answers, flush=True)


def main(package: str, doc: str | None) -> int:
    """The command line of a package of campaigns; 1 if anything failed."""
    folder = importlib.import_module(package).__path__
    names = sorted(info.name for info in pkgutil.iter_modules(folder) if not info.name.startswith("_"))
    stress = package.endswith("stress")
    parser = argparse.ArgumentParser(prog=f"python -m {package}", description=doc)
    parser.add_argument("only", nargs="*", help=f"of: {', '.join(names)}; all by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    if stress:
        parser.add_argument("--minutes", type=float, default=10.0, help="for all campaigns together")
        parser.add_argument("--count", type=int, help="what `memory` makes, by default 2000 of each kind")
    else:
        parser.add_argument("--count", type=int, help="cases a campaign; by default that of the full suite")
        parser.add_argument("--case", type=int, help="run this one seed here, in this process")
    options = parser.parse_args()
    if unknown := set(options.only) - set(names):
        parser.error(f"there is no campaign {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    chosen = options.only or names
    failed = False
    for name in chosen:
        module = importlib.import_module(f"{package}.{name}")
        if not stress and options.case is not None:
            module.case(options.case)
            continue
        needs = getattr(module, "NEEDS", "")
        if needs and importlib.util.find_spec(needs) is None:
            print(f"{name}: not run, the package {needs} is not installed", flush=True)
            continue
        start = time.monotonic()
        if stress:
            counted = {"count": options.count} if options.count and hasattr(module, "COUNT") else {}
            tally = module.run(options.minutes * 60 / len(chosen), options.seed, **counted)
        else:
            first = options.seed * 1_000_000
            seeds = range(first, first + (options.count or module.COUNT))
            tally = isolated(module.__name__, seeds, getattr(module, "SECONDS", CASE_SECONDS), options.jobs)
        for failure in tally.failures[:20]:
            print(failure, flush=True)
        print(
            f"{name}: {tally.tried} tried, {len(tally.failures)} failures ({time.monotonic() - start:.0f} s)",
            flush=True,
        )
        failed |= bool(tally.failures) or not tally.tried
    return int(failed)


if __name__ == "__main__":
    _serve(sys.argv[1])
