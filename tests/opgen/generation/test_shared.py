"""Jobs shared among processes: what one does not give is done all the same, and none outlives the first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from opgen.project import Project

# A process of one thread, so that the others are its forks and have the `do` that stands here.
SCRIPT = """
import os, signal, sys, time
from opgen.generation import work
from opgen.generation.shared import Helpers

first = os.getpid()
DONE

def do(job):
    os.write(1, f"do {job}\\n".encode())  # in one piece, beside the others
    return done(job)

work.do = do
helpers = Helpers(2)
try:
    found = helpers.do(list(range(40)), list(range(40))[::-1])
finally:
    helpers.close()
print("found", found == [job * job for job in range(40)])
"""
ALL_WELL = """
def done(job):
    return job * job
"""
KILLED = """
def done(job):
    if os.getpid() != first:
        os.kill(os.getpid(), signal.SIGKILL)
    for process in helpers._processes:  # each is killed at its first job
        process.join()
    return job * job
"""
FAILING = """
def done(job):
    if job == 7:
        raise ValueError("the seventh")
    return job * job
"""
FIRST_KILLED = """
def done(job):
    if os.getpid() == first:
        os.kill(first, signal.SIGKILL)
    time.sleep(0.05)
"""


def run(done: str) -> subprocess.CompletedProcess[str]:
    """The script to its end, which is that of all its processes: they hold its output open."""
    return subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("DONE", done)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def begun(done: subprocess.CompletedProcess[str]) -> list[int]:
    return [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("do ")]


@pytest.mark.skipif(
    sys.platform != "linux", reason="elsewhere the processes are new ones, with the real jobs"
)
class TestForked:
    def test_each_job_is_done_once_and_given_in_its_place(self) -> None:
        done = run(ALL_WELL)
        assert done.stderr == ""
        assert done.stdout.endswith("found True\n")
        assert sorted(begun(done)) == list(range(40))

    def test_what_a_killed_process_had_taken_is_done_by_the_first(self) -> None:
        done = run(KILLED)
        assert done.stdout.endswith("found True\n")
        assert len(begun(done)) == 42

    def test_an_error_is_told_once_and_by_the_first(self) -> None:
        done = run(FAILING)
        assert done.stderr.count("Traceback") == 1
        assert done.stderr.endswith("ValueError: the seventh\n")

    def test_the_others_end_with_the_first(self) -> None:
        done = run(FIRST_KILLED)
        assert done.returncode == -signal.SIGKILL
        assert len(begun(done)) < 10


SHARING = """
import sys
from opgen.generation import shared

begin = shared.Helpers.__init__

def told(self, count):
    print("begins", shared.is_single(), "numpy" in sys.modules, "opgen.generation.work" in sys.modules, flush=True)
    begin(self, count)

shared.Helpers.__init__ = told
from opgen.commands import main
main(["generate", "--jobs", "2"], standalone_mode=False)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the processes are new ones")
def test_forks_share_what_the_work_imports(project: Project, tmp_path: Path) -> None:
    given = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "OPGEN_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", SHARING],
        cwd=project.root,
        env={**given, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "begins True True True" in done.stdout
