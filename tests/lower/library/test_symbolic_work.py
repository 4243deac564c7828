"""Programs of open dims do about the work of those compiled for each size, whichever of their dims are open.

Counted in stores and branches of the loop IR, elements that are gathered and positions that are divided, so that a
region that becomes the whole tensor, computed in each step, fails, and so does a vector whose elements are no longer
seen to lie side by side, or a loop that decides in each step what it does.
"""

from __future__ import annotations

from typing import Final

import pytest

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base import arith
from opgen_runtime.base.vocabulary import FLOAT32, INT64
from opgen_runtime.lower import tir
from tests.open_ops import CONVOLUTIONS, FAMILIES, NORMS, POOLS, PRODUCTS, Family, program, weight
from tests.work import Work, stores

TARGET: Final = "llvm -num-threads=1 -mcpu=x86-64-v3"
WIDE: Final = "llvm -num-threads=1 -mcpu=x86-64-v4"
MOST: Final = 1.3  # times the work of the static program
# Vectors at the edges gather, some in each open row where a static one has single elements; moments of planes with an
# open width are stored twice as often; tiles of contractions have last rows and columns under guards.
MAX_OF: Final = {
    "pad of edges": 3.0,
    "pad by reflection": 3.0,
    **dict.fromkeys((*NORMS, *POOLS, *PRODUCTS, "attention by hand"), 2.5),
    **dict.fromkeys(CONVOLUTIONS, 1.7),
}


JOINED: Final[dict[str, Family]] = {
    "attention by hand": Family(
        (("n", "m", 32),),
        {"n": 2, "m": 40},
        lambda x: ops.batch_matmul(
            ops.softmax(ops.batch_matmul(x, x, transpose_b=True)), x, transpose_b=False
        ),
    ),
    "conv of few positions": Family(
        (("n", 128, 4),),
        {"n": 11},
        lambda x: ops.relu(ops.conv1d(x, weight(64, 128, 3), strides=(2,), padding=(1, 1))),
    ),
    "scale and shift": Family(
        (("n", 32, "h", "w"),),
        {"n": 2, "h": 24, "w": 40},
        lambda x: ops.relu(ops.add(ops.multiply(x, weight(32, 1, 1)), weight(32, 1, 1))),
    ),
}
CASES: Final = {**FAMILIES, **JOINED}


def opened(name: str, open_dims: tuple[str, ...], target: str = TARGET) -> Work:
    family = CASES[name]
    dims = {d: rt.dim(d) if d in open_dims else size for d, size in family.usual.items()}
    return Work(program(family, dims), target)


def static(name: str, sizes: dict[str, int], target: str = TARGET) -> int:
    return Work(program(CASES[name], sizes), target).at({})


@pytest.mark.parametrize("name", CASES)
def test_open_dims_take_about_the_work_of_static_ones(name: str) -> None:
    """All dims open at two sizes, and each alone at the larger: what grows faster than the static work is found."""
    usual = dict(CASES[name].usual)
    whole = tuple(usual)
    for open_dims in {whole: None, **{(d,): None for d in whole}}:
        made = opened(name, open_dims)
        larger = {**usual, open_dims[-1]: 2 * usual[open_dims[-1]] + 1}
        for sizes in (usual, larger) if open_dims == whole else (larger,):
            found, least = made.at(sizes), static(name, sizes)
            assert found <= MAX_OF.get(name, MOST) * least, (
                f"{open_dims} open, {sizes}: {found} stores, not {least}"
            )


@pytest.mark.parametrize("width", [40, 10])
@pytest.mark.parametrize("name", ["conv in groups", "transposed conv 3x3"])
def test_planes_as_one_line_at_widths_above_and_below_a_vector(name: str, width: int) -> None:
    """Few rows of products, and vectors of positions that cross the lines of a plane."""
    sizes = {**CASES[name].usual, "w": width}
    found, least = opened(name, ("w",), WIDE).at(sizes), static(name, sizes, WIDE)
    assert found <= MOST * least, f"{found} stores, not {least}"


def test_loops_count_as_their_extents_and_conditions_say() -> None:
    """n rows: a branch, two stores in the first three, else one in each element up to the diagonal; 12 // 0 is 0."""
    n, i, j, size = (arith.Var(INT64, name) for name in ("n", "i", "j", "size"))
    x = tir.Buffer("x", (size,), FLOAT32)
    store = tir.Store(x, (i,), arith.const(1.0, FLOAT32))
    inner = tir.For(j, arith.const(0, INT64), i + 1, tir.ForKind.SERIAL, store)
    row = tir.If(i < 3, tir.block(store, store), inner)
    extent = tir.LetStmt(
        size, arith.floordiv(12, n) + n, tir.For(i, arith.const(0, INT64), size, tir.ForKind.SERIAL, row)
    )
    func = tir.PrimFunc("f", (), (x,), extent, dims=(n,))
    assert [stores(func, {n: value}) for value in (0, 1, 4)] == [
        0,
        13 + 6 + sum(range(4, 14)),
        7 + 6 + sum(range(4, 8)),
    ]


def test_gathered_elements_count() -> None:
    x = ir.Var("x", rt.TensorType((64, 64), "float32"))
    i = ir.Var("i", rt.TensorType((64,), "int64"))
    copied = Work(ir.Function((x,), ops.negative(x)), TARGET).at({})
    gathered = Work(ir.Function((x, i), ops.take(x, i, axis=1)), TARGET).at({})
    assert gathered >= 64 * 64 > copied
