"""What the shell is told when it asks for completions, and that all of it may be written there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner

from opgen.commands import main


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project with an op of its own, whose folder is the current one."""
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["init", "shell_lab"]).exit_code == 0
    monkeypatch.chdir(tmp_path / "shell_lab")
    assert CliRunner().invoke(main, ["add-op", "own_abs"]).exit_code == 0


def completed(line: str) -> list[str]:
    """What is offered for the last word of a line."""
    *words, last = line.split(" ")[1:]
    asked = BashComplete(main, {}, "opgen", "_OPGEN_COMPLETE")
    return [item.value for item in asked.get_completions(words, last)]


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("opgen expl", ["explain", "explain-error"]),
        ("opgen show own_a", ["own_abs"]),
        ("opgen test axis_ab", []),  # its suite is not in this project
        ("opgen explain axis_ab", ["axis_abs"]),
        ("opgen explain axis_abs --attr ", ["axis=", "indice="]),
        ("opgen explain axis_abs --attr axis=1 --attr i", ["indice="]),
        ("opgen run axis_abs --attr i", ["indice="]),
        ("opgen explain axis_abs --stage llvm", ["llvm", "llvm optimised"]),
        ("opgen explain-error unbound", ["unbound-dim", "unbounded"]),
        ("opgen generate --fo", ["--format"]),
    ],
)
def test_offered(line: str, offered: list[str]) -> None:
    assert completed(line) == offered


def test_a_project_of_its_own_is_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert completed("opgen show own_") == []
    assert completed("opgen show axis_ab") == ["axis_abs"]


def test_every_stage_is_offered() -> None:
    shown = CliRunner().invoke(main, ["explain", "tanh", "--stages"]).output.split("\n")
    stages = {name.partition(" (")[0] for name in shown if name}
    assert stages
    assert stages <= set(completed("opgen explain tanh --stage "))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell(shell: str) -> None:
    """What docs/ says to source."""
    done = CliRunner().invoke(main, [], env={"_OPGEN_COMPLETE": f"{shell}_source"}, prog_name="opgen")
    assert done.exit_code == 0
    assert "_OPGEN_COMPLETE" in done.output


ASKED: Final = {
    "bash": """
eval "$(_OPGEN_COMPLETE=bash_source opgen)"
ask() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    "$(complete -p opgen | sed 's/.*-F \\([^ ]*\\).*/\\1/')" opgen 2> /dev/null
    printf '%s\\n' "${COMPREPLY[@]}"
}
ask opgen explain axis_abs --attr axis=1 --attr i
ask opgen explain-error unbound-
ask opgen explain axis_abs --stage 'llvm\\ opt'
ask opgen explain axis_abs --stage '"llvm opt'
""",
    "fish": """
_OPGEN_COMPLETE=fish_source opgen | source
complete -C "opgen explain axis_abs --attr axis=1 --attr i"
complete -C "opgen explain-error unbound-"
""",
}
QUOTED: Final = {"bash": ["llvm\\ optimised", "llvm optimised"], "fish": []}


@pytest.mark.parametrize("shell", ASKED)
def test_a_shell_that_has_sourced_it(shell: str, tmp_path: Path) -> None:
    """The shell itself asks `opgen`, as after a press of the tabulator key."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed here")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [found], input=ASKED[shell], env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["indice=", "unbound-dim", *QUOTED[shell]], done.stderr
