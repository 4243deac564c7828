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
import selectors
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opgen.commands.failure import Failure
from opgen.commands.scheduler import Pool, cluster, threads

ROOT = Path(__file__).resolve().parents[1]
CASE_SECONDS = 60.0  # of its own; a case that takes longer hangs; a campaign may say otherwise with `SECONDS`
_SHARES = 2  # of each worker: a process takes seconds to begin
_IDLE = 10  # a case that waits hangs after so many times as long: other work may have the processor


@dataclass
class Tally:
    """What a campaign tried, and one text for each failure."""

    tried: int = 0
    failures: list[str] = field(default_factory=list)


os.environ.setdefault("OPGEN_DEFECTS", "raise")  # of child processes, too


@dataclass(frozen=True)
class Share:
    """Some of the cases of a campaign, which one child process tries."""

    module: str
    seeds: Sequence[int]
    seconds: float


def isolated(module: str, seeds: Sequence[int], seconds: float, pool: Pool) -> Tally:
    """`module.case(seed)` for each seed in child processes, shared out to a pool; failures are in order of seeds."""
    count = max(len(seeds) // (_SHARES * pool.count), 1)
    shares = [Share(module, seeds[k : k + count], seconds) for k in range(0, len(seeds), count)]
    found = dict(pool.each(tried, shares))
    tally = Tally()
    for number in range(len(shares)):
        tally.tried += found[number].tried
        tally.failures += found[number].failures
    return tally


def tried(share: Share) -> Tally:
    """The cases in a child process; one that dies or hangs is replaced by a new one."""
    tally = Tally()
    child: _Child | None = None
    for seed in share.seeds:
        child = child or _Child(share.module)
        problem, alive = child.ask(seed, share.seconds)
        tally.tried += 1
        if problem:
            tally.failures.append(f"seed {seed}: {problem}")
        if not alive:
            child = None
    if child:
        child.end()
    return tally


class _Child:
    """A process that answers a seed a line with `ok` or the text of what went wrong."""

    def __init__(self, module: str) -> None:
        command = [sys.executable, "-m", "tests.campaign", module]
        self._process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
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
        parser.add_argument(
            "--scheduler", metavar="ADDRESS", help="of a Dask cluster whose workers try the cases"
        )
    options = parser.parse_args()
    if unknown := set(options.only) - set(names):
        parser.error(f"there is no campaign {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    chosen = options.only or names
    options.parts = len(chosen)
    scheduler = getattr(options, "scheduler", None)
    try:
        with cluster(scheduler, [str(ROOT)]) if scheduler else threads(options.jobs) as pool:
            tallies = [
                _run(importlib.import_module(f"{package}.{name}"), name, options, pool) for name in chosen
            ]
    except Failure as failure:
        parser.exit(failure.exit_code, f"{parser.prog}: {failure.message}\n")
    return int(any(tally is not None and (tally.failures or not tally.tried) for tally in tallies))


def _run(module: Any, name: str, options: argparse.Namespace, pool: Pool) -> Tally | None:
    """A campaign, told; None for one that is not run, or of which one case was."""
    if getattr(options, "case", None) is not None:
        module.case(options.case)
        return None
    needs = getattr(module, "NEEDS", "")
    if needs and importlib.util.find_spec(needs) is None:
        print(f"{name}: not run, the package {needs} is not installed", flush=True)
        return None
    start = time.monotonic()
    if hasattr(options, "minutes"):
        counted = {"count": options.count} if options.count and hasattr(module, "COUNT") else {}
        tally: Tally = module.run(options.minutes * 60 / options.parts, options.seed, **counted)
    else:
        first = options.seed * 1_000_000
        seeds = range(first, first + (options.count or module.COUNT))
        tally = isolated(module.__name__, seeds, getattr(module, "SECONDS", CASE_SECONDS), pool)
    for failure in tally.failures[:20]:
        print(failure, flush=True)
    seconds = time.monotonic() - start
    print(f"{name}: {tally.tried} tried, {len(tally.failures)} failures ({seconds:.0f} s)", flush=True)
    return tally


if __name__ == "__main__":
    _serve(sys.argv[1])
