"""A type checker over user programs: right calls are accepted, wrong ones are rejected where they are wrong."""

from __future__ import annotations

from pathlib import Path

from mypy import api

RIGHT = """
import opgen_runtime as rt
from opgen_runtime import ops

x = rt.var("x", rt.TensorType((3, 3, 3), "int32"))
y = ops.axis_abs(x, axis=1, indice=1)
z = ops.add(y, y) * 2 + ops.sum(x, axis=0, keepdims=True)
"""
WRONG = """
from opgen_runtime import ops
import opgen_runtime as rt
x = rt.var("x", rt.TensorType((3, 3), "int32"))
ops.axis_abs(x, axis="first")
ops.axis_abs(x, axes=1)
ops.add(x)
"""


def check(tmp_path: Path, text: str) -> tuple[str, int]:
    program = tmp_path / "program.py"
    program.write_text(text)
    found, _, code = api.run(["--no-incremental", "--follow-imports=silent", "--strict", str(program)])
    return found, code


def test_programs_are_type_checked(tmp_path: Path) -> None:
    found, code = check(tmp_path, RIGHT)
    assert code == 0, found
    found, code = check(tmp_path, WRONG)
    assert code == 1
    lines = [line for line in found.splitlines() if ": error:" in line]
    assert [line.split(":")[1] for line in lines] == ["5", "6", "7"], found
    for line, code_name in zip(lines, ("arg-type", "call-arg", "call-arg"), strict=True):
        assert f"[{code_name}]" in line
