"""Several `opgen generate` at once on one project, with edits and kills in between.

After each round one more run must leave the project right and complete: every file as its declaration says, none too
many, nothing unfinished.  All the while, each generated file that is read is whole.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final

from opgen.commands.generated import plan_of
from opgen.emit import read_header
from opgen.project import find_project
from tests.campaign import Tally

_ROOT: Final = Path(__file__).resolve().parents[2]
_PROCESSES: Final = 4
_OPS: Final = 8
_GENERATED: Final = ("myops/*.py", "myops/*.pyi", "tests/generated/*.py")
_WAIT: Final = 120.0  # seconds for all runs of a round; more is a hang
# A run that is killed while it puts its n-th file in place, so that what it has written stays unfinished.
_DYING: Final = """\
import os, signal, sys
import opgen.emit.write as write
left, real = int(sys.argv.pop()), os.replace
def replace(*paths):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    real(*paths)
write.os.replace = replace
sys.argv.append("generate")
from opgen.commands import main
main()
"""
_DECLARATION: Final = """\
op: op{number}
inputs: {{data: {{dtype: float}}}}
outputs: {{out: {{shape: data.shape, dtype: data.dtype}}}}
compute: out[*i] = data[*i] * {factor}
reference: out = data * {factor}
tests: [{{data: "float32[2, 3]"}}]
"""


def run(seconds: float, seed: int) -> Tally:
    """Rounds for about so many seconds; `tried` counts the runs of `opgen generate`."""
    chooser, tally = random.Random(seed), Tally()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "pyproject.toml").write_text('[tool.opgen]\npackage = "myops"\n')
        (folder / "opdefs").mkdir()
        for number in range(_OPS):
            _declare(folder, number, chooser)
        end = time.monotonic() + seconds
        number = 0
        while time.monotonic() < end:
            number += 1
            tally.failures += [f"round {number}: {problem}" for problem in _round(folder, chooser, tally)]
    return tally


def _declare(folder: Path, number: int, chooser: random.Random) -> None:
    text = _DECLARATION.format(number=number, factor=chooser.randrange(2, 1000))
    new = folder / "opdefs" / f".op{number}.new"
    new.write_text(text)
    new.replace(folder / "opdefs" / f"op{number}.yaml")  # whole, as editors save


def _round(folder: Path, chooser: random.Random, tally: Tally) -> list[str]:
    reader = _Reader(folder)
    reader.start()
    running = []
    for number in range(_PROCESSES):
        running.append(_generate(folder, dies_at=chooser.randrange(4) if number % 2 else None))
        tally.tried += 1
        time.sleep(chooser.random())
        _edit(folder, chooser)
    time.sleep(chooser.random())
    chooser.choice(running).kill()
    problems = [problem for process in running if (problem := _ended(process))]
    tally.tried += 1
    problems += [problem] if (problem := _ended(_generate(folder))) else []
    reader.stop()
    return [*problems, *reader.problems, *_wrong(folder)]


def _edit(folder: Path, chooser: random.Random) -> None:
    number = chooser.randrange(_OPS)
    path = folder / "opdefs" / f"op{number}.yaml"
    if path.exists() and chooser.random() < 0.2:
        path.unlink()
    else:
        _declare(folder, number, chooser)


def _generate(folder: Path, dies_at: int | None = None) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "runtime")])}
    how = ["-m", "opgen", "generate"] if dies_at is None else ["-c", _DYING, str(dies_at)]
    return subprocess.Popen(
        [sys.executable, *how],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _ended(process: subprocess.Popen[str]) -> str | None:
    """What is wrong with how a run ended; one that was killed is right."""
    try:
        _, errors = process.communicate(timeout=_WAIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"a run of generate did not end in {_WAIT:.0f} s"
    return (
        None if process.returncode in (0, -9) else f"a run ended with {process.returncode}: {errors[-500:]}"
    )


def _wrong(folder: Path) -> list[str]:
    """What is not as the declarations say."""
    plan = plan_of(find_project(folder))
    wrong = [f"{step.path.relative_to(folder)} is {step.change.value}" for step in plan.steps]
    return [*wrong, *(f"{path.relative_to(folder)} is left" for path in folder.rglob("*.part"))]


class _Reader(threading.Thread):
    """Reads the generated files over and over."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.problems: list[str] = []
        self._end = threading.Event()

    def run(self) -> None:
        while not self._end.wait(0.01):
            for path in [path for pattern in _GENERATED for path in self.folder.glob(pattern)]:
                try:
                    header = read_header(path)
                except FileNotFoundError:
                    continue  # removed with its declaration
                if header is None or not header.intact:
                    self.problems.append(f"{path.relative_to(self.folder)} was seen half written")

    def stop(self) -> None:
        self._end.set()
        self.join()
