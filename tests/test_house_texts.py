"""Texts of kernels: the same in every process, whatever was compiled before; and how two folders are compared."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .house import ROOT
from .house_texts import TARGETS, differences, read_renamed, subject_text, write_texts

CHOSEN = (
    "softmax",
    "conv2d_transpose",
    "argsort",
    "program dense open",
    "program quantised",
    "program dense row",
)


def texts(folder: Path, *chosen: str, seed: str) -> None:
    """Written by a process of its own."""
    command = [
        sys.executable,
        "-m",
        "tests.house",
        "--jobs",
        "1",
        "--ops",
        ",".join(chosen),
        "--texts",
        folder,
    ]
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT / "runtime")}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)


def test_the_same_in_every_process_and_order(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    texts(one, *CHOSEN, seed="1")
    texts(other, *reversed(CHOSEN), seed="2")
    assert list(differences(one, other, {})) == []
    assert len(list(one.rglob("*.txt"))) == len(CHOSEN) * len(TARGETS)


def test_what_a_text_shows() -> None:
    text = subject_text("program dense open", "avx512")
    titles = [line.removeprefix("==== kernel 0: ") for line in text.splitlines() if line.startswith("====")]
    for title in ("trace", "lower", "llvm", "prepare: trace", "prepare: llvm"):
        assert title in titles
    assert "x 64>" not in subject_text("softmax", "avx2")
    assert "<16 x float>" in text


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders of texts: a primitive has another name in the second."""
    before, after = tmp_path / "before", tmp_path / "after"
    for folder, word in ((before, "turn"), (after, "swap")):
        folder.mkdir()
        (folder / "a.txt").write_text(f"c.{word}(turns, i)\nc.vectorize(i)\n")
        (folder / "b.txt").write_text("c.vectorize(i)\n")
    return before, after


def test_renames_are_no_difference(folders: tuple[Path, Path]) -> None:
    before, after = folders
    ((file, lines),) = differences(before, after, {})
    assert file == "a.txt"
    assert lines[3:5] == ["-c.turn(turns, i)", "+c.swap(turns, i)"]
    assert list(differences(before, after, {"turn": "swap"})) == []
    assert list(differences(before, after, {"*.turn(*": "*.swap(*"})) == []
    assert [file for file, _ in differences(before, after, {"*turn*": "*swap*"})] == ["a.txt"]  # `turns`, too
    assert [file for file, _ in differences(before, after, {"turn": "swap", "c": "d"})] == ["a.txt", "b.txt"]


def test_a_file_in_one_folder_only(folders: tuple[Path, Path]) -> None:
    before, after = folders
    (after / "b.txt").unlink()
    assert ("b.txt", [f"only in {before}"]) in list(differences(before, after, {}))


def test_the_command_of_comparison(folders: tuple[Path, Path], tmp_path: Path) -> None:
    renames = tmp_path / "renames"
    renames.write_text("# primitives\nturn swap  # of operands\n\n")
    assert read_renamed(renames) == {"turn": "swap"}
    command = [sys.executable, "-m", "tests.house", "--compare", *folders]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "runtime")}
    for more, status, said in (
        ([], 1, "1 files differ"),
        (["--renamed", renames], 0, "no difference"),
        (["--renamed", folders[0] / "a.txt"], 2, "a.txt:2: expected `old new`, found 'c.vectorize"),
    ):
        done = subprocess.run(
            [*command, *more], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == status, done.stderr
        assert said in (done.stdout if status < 2 else done.stderr)


def test_an_unknown_op_and_a_full_folder_are_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no op or program sofmax"):
        write_texts(tmp_path / "new", 1, ["softmax", "sofmax"])
    with pytest.raises(ValueError, match="before holds something"):
        write_texts(folders[0], 1, ["softmax"])
