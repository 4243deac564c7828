"""The project in examples/: it generates as it stands, and its suites pass."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
FULL = os.environ.get("OPGEN_TESTS") == "full"  # set by `scripts/test --full`


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project, generated."""
    folder = tmp_path_factory.mktemp("examples") / "recipes"
    folder.mkdir()
    shutil.copy(EXAMPLES / "pyproject.toml", folder)
    for declared in ("opdefs", "rewrites"):
        shutil.copytree(EXAMPLES / declared, folder / declared)
    opgen(folder, "generate")
    return folder


def opgen(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "opgen", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"opgen {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


def declared() -> dict[str, str]:
    """Each op, and the family whose folder it is in."""
    return {path.stem: path.parent.name for path in sorted((EXAMPLES / "opdefs").rglob("*.yaml"))}


def test_suites(project: Path) -> None:
    """The declared tests, compiled; with `scripts/test --full` all that the suites hold."""
    chosen = () if FULL else ("--pytest=-k", "--pytest=test_values and graph")
    printed = opgen(project, "test", *chosen, "--pytest=-q")
    assert re.search(r"\b\d+ passed", printed), printed
    assert "failed" not in printed


def test_decompositions(project: Path) -> None:
    """Each rule is tried when the project is generated, and its suite shows the smallest program that it changes."""
    printed = opgen(project, "test", "--pytest=-k", "--pytest=TestDecompositions", "--pytest=-q")
    assert re.search(r"\b\d+ passed", printed), printed
    assert "failed" not in printed


def test_the_page_lists_the_ops() -> None:
    listed = {}
    for family, ops in re.findall(r"^\| `(\w+)/` \| (.*) \|$", (EXAMPLES / "README.md").read_text(), re.M):
        listed |= dict.fromkeys(ops.split(", "), family)
    assert listed == declared()
