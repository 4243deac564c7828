"""A second machine is a row: tiles and strips are as large as its caches and registers let them be."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from opgen_runtime import ir, ops
from opgen_runtime.base import Target
from opgen_runtime.operator import TensorType
from opgen_runtime.run.compile import pipeline
from opgen_runtime.transform import PassContext

SMALL = Target.parse("llvm -mcpu=x86-64-v3 -num-threads=1 -machine=haswell")  # L2 of 256 KiB, AVX2
LARGE = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1 -machine=sapphirerapids")  # L2 of 2 MiB, AVX-512
CHANNELS, HEIGHT, WIDTH = 48, 230, 56
ROW_BYTES = 4 * CHANNELS * (WIDTH + 2 + WIDTH)  # of what windows read, and of the result, of one line


def trace(function: ir.Function, target: Target, *constant: int) -> str:
    request = pipeline.requested(function, target, PassContext(), constant)
    *_, (_, record) = pipeline.through_kernel(request, pipeline.upto("schedule"))
    return str(record.schedule.trace)


def var(name: str, *shape: int) -> ir.Var:
    return ir.var(name, TensorType(shape, "float32"))


def convolution() -> ir.Function:
    x, w = var("x", 1, CHANNELS, HEIGHT, WIDTH), var("w", CHANNELS, CHANNELS, 3, 3)
    return ir.Function((x, w), ops.conv2d(x, w, padding=(1, 1)), attrs={"Primitive": 1})


def product(rows: int, summed: int, columns: int) -> ir.Function:
    a, b = var("a", rows, summed), var("b", summed, columns)
    return ir.Function((a, b), ops.matmul(a, b), attrs={"Primitive": 1})


def strip(target: Target) -> int:
    """How many lines a strip of the convolution has."""
    found = re.search(r"out\.split\(y, (\d+), overlapping=True\)", trace(convolution(), target, 1))
    assert found is not None
    return int(found[1])


def tile(target: Target) -> tuple[int, int, bool]:
    """The rows and columns of a tile of a product, and whether its columns are packed before the first row."""
    made = trace(product(64, 128, 512), target)
    rows, columns = (re.search(rf"out\.split\({axis}, (\d+)\)", made) for axis in "ij")
    assert rows is not None
    assert columns is not None
    return int(rows[1]), int(columns[1]), ".compute_at(out, j_o)\nout_flat.reorder" not in made


def test_strips_are_as_high_as_the_second_level_cache_lets_them_be() -> None:
    found = {target.machine.name: strip(target) for target in (SMALL, LARGE)}
    print("lines of a strip of a convolution:", found)
    assert found == {"haswell": 2, "sapphirerapids": 23}
    for target in (SMALL, LARGE):
        assert strip(target) * ROW_BYTES <= target.machine.l2_streaming < (strip(target) + 2) * ROW_BYTES


def test_tiles_are_of_as_many_registers_as_there_are_and_panels_stay_near_or_not() -> None:
    found = {target.machine.name: tile(target) for target in (SMALL, LARGE)}
    print("rows and columns of a tile of a product, packed before the first row:", found)
    assert found == {"haswell": (6, 16, False), "sapphirerapids": (8, 32, True)}


def windows() -> ir.Function:
    x, w = var("x", 1, 8, 20, 30), var("w", 8, 1, 3, 3)
    return ir.Function((x, w), ops.conv2d(x, w, strides=(2, 2), groups=8), attrs={"Primitive": 1})


def total() -> ir.Function:
    a = var("a", 1 << 21)
    return ir.Function((a,), ops.sum(a), attrs={"Primitive": 1})


@pytest.mark.parametrize(
    ("entry", "value", "function", "constant"),
    [
        ("l1", 8 << 10, product(200, 1200, 300), ()),
        ("l2", 512 << 10, convolution(), (1,)),
        ("llc", 8 << 20, total(), ()),
        ("lanes", 8, product(64, 128, 512), ()),
        ("registers", 16, product(64, 128, 512), ()),
        ("max_stride", 2, windows(), ()),
    ],
)
def test_values_decide_and_names_do_not(
    entry: str, value: int, function: ir.Function, constant: tuple[int, ...]
) -> None:
    target = Target.parse("llvm -mcpu=x86-64-v4 -num-threads=1")
    renamed = replace(target, machine=replace(target.machine, name="mine"))
    changed = replace(target, machine=replace(target.machine, **{entry: value}))
    plain = trace(function, target, *constant)
    assert trace(function, renamed, *constant) == plain != trace(function, changed, *constant)
