"""Along which axes a call may be made of parts of all operands."""

from __future__ import annotations

import pytest

import opgen_runtime as rt
from opgen_runtime.run.op_programs.batched import batched_program
from opgen_runtime.run.op_programs.leading_axes import leading_axes
from opgen_runtime.run.op_programs.programs import OperandType, Program, Values, program_of


def f32(*shape: int) -> rt.TensorType:
    return rt.TensorType(shape, "float32")


SOFTMAX = program_of("softmax")


@pytest.mark.parametrize(
    ("program", "types", "values", "expected"),
    [
        (program_of("add"), [f32(4, 6), f32(4, 6)], {}, 2),
        (program_of("add"), [f32(4, 6), f32(6)], {}, 0),  # the second operand is needed whole
        (SOFTMAX, [f32(4, 6, 8)], {"axis": -1}, 2),
        (SOFTMAX, [f32(4, 6, 8)], {"axis": 0}, 0),
        (program_of("matmul"), [f32(4, 6), f32(6, 8)], {}, 0),
        (SOFTMAX.vjp, [f32(4, 6), f32(4, 6), f32(4, 6)], {"axis": -1, "wrt": (0,)}, 1),
        (batched_program(SOFTMAX), [f32(3, 4, 6)], {"axis": -1, "batched": (0,)}, 2),
        (batched_program(program_of("add")), [f32(3, 4), f32(4)], {"batched": (0,)}, 0),
    ],
)
def test_leading_axes(program: Program, types: list[OperandType], values: Values, expected: int) -> None:
    assert leading_axes(program, types, program.normalised(values)) == expected
