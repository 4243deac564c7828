"""Heavy commands on a real cluster of two processes: what they give is what they give here."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from opgen.commands import main, scheduler
from opgen.commands.failure import Failure
from opgen.commands.scheduler import cluster, threads
from opgen_runtime.run.compile.tuning.records import read_records

distributed = pytest.importorskip("distributed", reason="needs the extra dask")

ROOT = str(Path(__file__).parents[2])
OPS = """
op: twice
doc: Twice the value.
inputs: {x: {shape: "*S", dtype: float}}
outputs: {out: {shape: "*S", dtype: x.dtype}}
compute: out[*i] = x[*i] + x[*i]
tests: [{x: "float32[3, 4]"}]
---
op: thrice
doc: Thrice the value.
inputs: {x: {shape: "*S", dtype: float}}
outputs: {out: {shape: "*S", dtype: x.dtype}}
compute: out[*i] = x[*i] * 3
tests: [{x: "float32[3, 4]"}]
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local:
        yield local.scheduler_address


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "opdefs").mkdir()
    (tmp_path / "opdefs/ops.yaml").write_text(OPS)
    (tmp_path / "pyproject.toml").write_text('[tool.opgen]\npackage = "someops"\n')
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def files(root: Path) -> dict[str, bytes]:
    found = [path for folder in ("someops", "tests") for path in (root / folder).rglob("*") if path.is_file()]
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def test_generated_files_are_equal(root: Path, address: str) -> None:
    assert run("generate", "--scheduler", address).exit_code == 0
    found = files(root)
    assert len(found) > 4
    for name in found:
        (root / name).unlink()
    (root / "cache").rename(root / "other")
    assert run("generate").exit_code == 0
    assert files(root) == found


def test_suites_are_reported_as_if_run_here(root: Path, address: str) -> None:
    assert run("generate").exit_code == 0
    (root / "tests/generated/test_wrong.py").write_text(
        "def test_it():\n    print('said')\n    assert 1 == 2\n"
    )

    options = [f"--pytest={each}" for each in ("-v", "-pno:xdist", "-k=interface or it")]

    def report(*more: str) -> str:
        command = [sys.executable, "-m", "opgen", "test", *options, *more]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1, done.stdout + done.stderr
        return re.sub(r"=+$|^=+|in \d+\.\d+s", "", done.stdout, flags=re.MULTILINE)

    here = report()
    assert "1 failed" in here
    assert report("--scheduler", address) == here


def test_records_of_tuning(root: Path, address: str) -> None:
    file = root / "records.json"
    run("generate")
    options = [
        "--shape",
        "64,640",
        "--target",
        "llvm -num-threads=1",
        "--records",
        str(file),
        "--seconds",
        "6",
    ]
    result = run("tune", "twice", *options, "--scheduler", address)
    assert result.exit_code == 0, result.output
    assert re.search(r"  \d+ schedules tried", result.output), result.output
    assert f"{file}: {len(read_records(file)) if file.exists() else 0} records" in result.output


def test_fuzzers_tell_the_same(address: str) -> None:
    def told(*more: str) -> str:
        command = [sys.executable, "-m", "tests.fuzz", "mutated_texts", "--count", "8", *more]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return done.stdout.partition(" (")[0]

    assert told("--scheduler", address) == told() == "mutated_texts: 8 tried, 0 failures"


def process_of(seconds: float) -> int:
    time.sleep(seconds)
    return os.getppid()


def test_units_of_a_worker_that_dies_are_done(address: str) -> None:
    with cluster(address, [ROOT]) as pool:
        assert pool.count == 2
        ((_, victim),) = pool.each(process_of, [0.0])
        threading.Timer(0.5, os.kill, (victim, signal.SIGKILL)).start()
        found = dict(pool.each(process_of, [1.0] * 3))
    assert sorted(found) == [0, 1, 2]
    assert victim not in found.values()


def raises(unit: int) -> None:
    raise ValueError(f"unit {unit}")


def test_what_goes_wrong_is_told(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "_SECONDS", 2.0)
    with pytest.raises(Failure, match=r"ValueError: unit 7$"), cluster(address, [ROOT]) as pool:
        list(pool.each(raises, [7]))
    for none in ("tcp://127.0.0.1:9", "nowhere://1"):
        with pytest.raises(Failure, match=rf"^--scheduler {none}: no scheduler answers: "):
            cluster(none).__enter__()


def ended(local: Any) -> None:
    with cluster(local.scheduler_address, [ROOT]) as pool:
        for _ in pool.each(process_of, [0.0, 60.0]):
            threading.Thread(target=local.close).start()


def test_a_cluster_that_goes_away() -> None:
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as local,
        pytest.raises(Failure, match=r"the cluster went away before all was done$"),
    ):
        ended(local)


def test_a_pool_of_this_machine_maps_likewise() -> None:
    with threads(2) as pool:
        assert sorted(pool.each(abs, [-1, 2, -3], [2, 1, 0])) == [(0, 1), (1, 2), (2, 3)]
