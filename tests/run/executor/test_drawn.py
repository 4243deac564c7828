"""Pictures of what was built: a node for each kernel of a run, wherever its program came from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops

X = rt.var("x", rt.TensorType((2, 4), "float32"))
W = rt.var("w", rt.TensorType((3, 4), "float32"))
CLASSIFY = ir.Function((X, W), ops.softmax(ops.relu(ops.dense(X, W)), axis=1))
LOOP = """
def @main(%n: Tensor[(), int64], %x: Tensor[(5,), float32]) -> Tensor[(5,), float32] {
  if (greater(%n, 0i64)) { @main(subtract(%n, 1i64), softmax(cumsum(%x))) } else { %x }
}
"""
BRANCH = """
def @main(%n: Tensor[(), bool], %x: Tensor[(5,), float32]) -> Tensor[(5,), float32] {
  let %y = if (%n) { cumsum(%x) } else { softmax(%x) };
  cumsum(%y)
}
"""
RECURSION = """
def @main(%n: Tensor[(), int64], %x: Tensor[(5,), float32]) -> Tensor[(5,), float32] {
  if (greater(%n, 0i64)) { cumsum(@main(subtract(%n, 1i64), %x)) } else { %x }
}
"""


def arrows(dot: str) -> list[str]:
    """The edges of a graph in DOT as `first line of label -> first line of label`."""
    names = dict(re.findall(r'(n\d+) \[label="(.*?)(?:\\n.*?)?", ', dot))
    return [f"{names[a]} -> {names[b]}" for a, b in re.findall(r"(n\d+) -> (n\d+)", dot)]


CASES: Sequence[tuple[ir.IRModule | ir.Function, list[str]]] = [
    (
        CLASSIFY,
        [
            "%x -> opgen_dense_relu",
            "%w -> opgen_dense_relu",
            "opgen_dense_relu -> opgen_softmax",
            "opgen_softmax -> output",
        ],
    ),
    (ir.Function((X,), ops.exp(X)), ["%x -> opgen_exp", "opgen_exp -> output"]),
    (
        rt.parse_module(LOOP),
        [
            "%n -> opgen_greater",
            "opgen_greater -> if",
            "%n -> opgen_subtract",
            "%x -> opgen_cumsum",
            "opgen_cumsum -> opgen_softmax",
            "opgen_subtract -> again",
            "opgen_softmax -> again",
            "%x -> output",
        ],
    ),
    (
        rt.parse_module(BRANCH),
        [
            "%n -> if",
            "%x -> opgen_cumsum",
            "%x -> opgen_softmax",
            "opgen_cumsum -> opgen_cumsum",
            "opgen_softmax -> opgen_cumsum",
            "opgen_cumsum -> output",
        ],
    ),
]


@pytest.mark.parametrize(("program", "expected"), CASES, ids=["plan", "one kernel", "loop", "branch"])
def test_kernels_and_what_they_read(
    program: ir.IRModule | ir.Function, expected: list[str], tmp_path: Path
) -> None:
    executable = rt.build(program)
    assert sorted(arrows(executable.to_dot())) == sorted(expected)
    executable.save(tmp_path / "program.opgen")
    assert rt.load(tmp_path / "program.opgen").to_svg() == executable.to_svg() == executable._repr_svg_()


def test_constants_are_drawn_and_interpreted_programs_are_their_modules() -> None:
    with_weights = rt.build(CLASSIFY, {"w": np.ones((3, 4), np.float32)})
    assert "constant -> opgen_dense_relu" in arrows(with_weights.to_dot())
    interpreted = rt.build(rt.parse_module(RECURSION))
    assert interpreted.why_interpreted
    assert "@main -> cumsum" in arrows(interpreted.to_dot())
