"""The project in examples/block: it generates, its suites pass, and it trains as torch's own ops do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the extra `torch`: scripts/test --bridges")

EXAMPLE = Path(__file__).parents[3] / "examples" / "block"
STEPS = 200


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, generated."""
    folder = tmp_path_factory.mktemp("examples") / "block"
    folder.mkdir()
    for name in ("pyproject.toml", "train.py"):
        shutil.copy(EXAMPLE / name, folder)
    shutil.copytree(EXAMPLE / "opdefs", folder / "opdefs")
    run(folder, "-m", "opgen", "generate")
    return folder


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([".", *sys.path])},
    )
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def test_its_suites_pass(project: Path) -> None:
    printed = run(
        project, "-m", "opgen", "test", "--pytest=-k", "--pytest=test_values and graph", "--pytest=-q"
    )
    assert re.search(r"\b10 passed", printed), printed


def test_it_trains_as_torchs_own_ops_do(project: Path) -> None:
    printed = run(project, "train.py", "--steps", str(STEPS))
    apart = re.search(r"at most (\S+) apart", printed)
    assert apart is not None, printed
    assert float(apart[1]) < 1e-3


def test_the_stub_names_the_ops(project: Path) -> None:
    stub = (project / "block" / "torch.pyi").read_text(encoding="utf-8")
    assert stub.splitlines()[-5:] == [
        f"{name}: _TorchFunction" for name in ("gated", "mix", "norm", "scores", "weights")
    ]
