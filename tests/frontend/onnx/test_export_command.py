"""`opgen export`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

onnx = pytest.importorskip("onnx")

from opgen.commands import main  # noqa: E402
from opgen_runtime import save_params  # noqa: E402
from opgen_runtime.frontend import onnx as frontend  # noqa: E402

BLOCK = """
def @main(%x: Tensor[(n, 2), float32], %w: Tensor[(2, 2), float32]) {
  axis_abs(matmul(%x, %w), axis=1)
}
"""


@pytest.fixture
def block(tmp_path: Path) -> Path:
    path = tmp_path / "block.relay"
    path.write_text(BLOCK, encoding="utf-8")
    save_params({"w": np.array([[-1, 0], [0, 1]], np.float32)}, tmp_path / "block.safetensors")
    return path


def run(*arguments: object) -> tuple[int, list[str]]:
    found = CliRunner().invoke(main, ["export", *map(str, arguments)])
    return found.exit_code, (found.stdout + found.stderr).splitlines()


def test_a_text_and_its_weights(block: Path, tmp_path: Path) -> None:
    made = tmp_path / "block.onnx"
    code, lines = run(block, "--params", tmp_path / "block.safetensors", "-o", made)
    assert (code, lines) == (0, [f"{made}: {made.stat().st_size:,} bytes, 2 nodes", "1 of the domain opgen"])
    found = frontend.run(made, [np.array([[1, 2], [-3, 4]], np.float32)])
    assert found[0].tolist() == [[1, 2], [3, 4]]


def test_a_model(block: Path, tmp_path: Path) -> None:
    """With `--own` every op is a node of its own domain."""
    first, second = tmp_path / "first.onnx", tmp_path / "second.onnx"
    run(block, "-o", first)
    code, lines = run(first, "--own", "--dim", "n=3", "-o", second)
    assert (code, lines[1:]) == (0, ["2 of the domain opgen"])
    assert [node.op_type for node in onnx.load(second).graph.node] == ["matmul", "axis_abs"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["BLOCK", "-o", "none/m.onnx"], 1, "none/m.onnx: No such file or directory"),
        (["BLOCK", "-o", "m.onnx", "--opset", "3"], 1, "opset 3; expected 18 to"),
        (["BLOCK", "-o", "m.onnx", "--dim", "n=1"], 2, "--dim is of a model; a module's text says its dims"),
        (["no.relay", "-o", "m.onnx"], 2, "no file 'no.relay'"),
    ],
)
def test_what_cannot_be(
    block: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, message: str
) -> None:
    monkeypatch.chdir(block.parent)
    found, lines = run(*[str(block) if each == "BLOCK" else each for each in arguments])
    assert found == code
    assert lines[0].startswith(f"opgen: {message}")
    assert not Path("m.onnx").exists()
