"""What a type checker says of user programs over the generated functions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")

RIGHT = """
import opgen_runtime as rt
from opgen_runtime import ops

x = rt.var("x", rt.TensorType((3, 3, 3), "float32"))
y = ops.axis_abs(x, axis=1, indice=1)
z = ops.sum(y + 1.0, axis=[0, 1], keepdims=True)
w = ops.sum(z, axis=1)
v = ops.cast(ops.transpose(w, axes=None), dtype="int32")
"""
WRONG = {
    "attr of the wrong type": (
        "ops.axis_abs(x, axis='1')",
        r'Argument "axis" .* has incompatible type "str"',
    ),
    "unknown attr": ("ops.axis_abs(x, axes=1)", r'Unexpected keyword argument "axes"'),
    "missing input": ("ops.add(x)", r'Missing positional argument "rhs"'),
    "missing attr": ("ops.cast(x)", r'Missing positional argument "dtype"'),
    "unknown op": ("ops.axis_ab(x)", r'Module has no attribute "axis_ab"'),
}


def test_right_program_is_accepted_and_wrong_ones_are_not(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    head = RIGHT.count("\n")
    program.write_text(RIGHT + "".join(f"{line}\n" for line, _ in WRONG.values()))
    out, err, _ = api.run(["--strict", "--no-error-summary", "--show-error-codes", str(program)])
    assert not err
    found = {int(match[1]): match[2] for match in re.finditer(r"program\.py:(\d+): error: (.*)", out)}
    assert sorted(found) == [head + 1 + number for number in range(len(WRONG))], out
    for number, (_, message) in enumerate(WRONG.values()):
        assert re.search(message, found[head + 1 + number])
