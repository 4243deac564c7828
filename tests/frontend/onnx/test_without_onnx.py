"""What users are told where the extra `onnx` is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from opgen.commands import main

HINT = "ONNX models need the package onnx; install it with: pip install 'opgen[onnx]'"


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "model.onnx"
    model.touch()
    monkeypatch.setattr("opgen.commands.onnx_models.find_spec", lambda name: None)
    for command in (["run", str(model), "--random", "0"], ["inspect", str(model)]):
        result = CliRunner().invoke(main, command)
        assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"opgen: {HINT}\n")


def test_import() -> None:
    program = "import sys; sys.modules['onnx'] = None; import opgen_runtime.frontend.onnx"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.stderr.splitlines()[-1] == f"ImportError: {HINT}"
