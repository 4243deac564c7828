"""Programs that are compiled for calls: which sizes share one."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from opgen_runtime.bridges.entries import FEW, FEW_BATCHES, native_call
from opgen_runtime.operator import TensorType
from opgen_runtime.run.op_programs.batched import batched_program
from opgen_runtime.run.op_programs.programs import Program, program_of


def codes(program: Program, shapes: list[tuple[tuple[int, ...], ...]], **attrs: object) -> list[int]:
    """Of the machine code of each call, which one of those before it is: its number in the order of their making."""
    values = program.normalised(attrs)
    found = [
        native_call(program, [TensorType(shape, "float32") for shape in each], values).code for each in shapes
    ]
    numbers = {code: number for number, code in enumerate(dict.fromkeys(found))}
    return [numbers[code] for code in found]


def test_sizes_share_a_program_after_a_few():
    shapes = [((n, 3),) for n in range(2, 2 + FEW + 3)]
    assert codes(program_of("atanh"), shapes) == [*range(FEW), FEW, FEW, FEW]


def test_batches_of_any_number_share_a_program_from_the_third_on():
    batch = batched_program(program_of("atanh"))
    assert FEW_BATCHES == 2
    shapes = [((n, 3),) for n in (2, 3, 4, 5, 1, 2)]
    assert codes(batch, shapes, batched=[0]) == [0, 1, 2, 2, 2, 0]


def test_batches_of_other_rows_have_programs_of_their_own():
    batch = batched_program(program_of("asinh"))
    shapes = [((2, 3),), ((3, 4),), ((4, 3),), ((5, 3),), ((6, 4),), ((7, 4),), ((8, 3),)]
    assert codes(batch, shapes, batched=[0]) == [0, 1, 2, 3, 4, 5, 3]


def test_derivatives_of_batches_share_one_too():
    vjp = batched_program(program_of("atanh")).vjp
    shapes = [((n, 3), (n, 3), (n, 3)) for n in (2, 3, 4, 5)]
    assert codes(vjp, shapes, batched=[0], wrt=[0]) == [0, 1, 2, 2]


def test_threads_that_need_a_program_of_dims_at_once_make_one():
    program = program_of("acosh")
    codes(program, [((n, 5),) for n in range(2, 2 + FEW)])
    started = threading.Barrier(8)

    def code_of(size: int) -> int:
        started.wait()
        return native_call(program, [TensorType((size, 5), "float32")], program.normalised({})).code

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(code_of, range(100, 108)))) == 1
