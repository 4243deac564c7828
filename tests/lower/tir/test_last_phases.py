"""The phases that make what code generation does not decide: whole texts, the same values, and what stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from opgen_runtime.base import Vectors
from opgen_runtime.base.arith import Binary, Compare, Expr, Var, add, const, dim, eq, floormod, lt, mul
from opgen_runtime.base.errors import LoweringError
from opgen_runtime.base.target import GENERIC
from opgen_runtime.base.vocabulary import BOOL, FLOAT32, INDEX, INT32, DType
from opgen_runtime.lower import tir
from opgen_runtime.lower.tir.nodes.stmt import (
    Allocate,
    Block,
    Buffer,
    For,
    ForKind,
    If,
    LetStmt,
    Load,
    Outlined,
    PrimFunc,
    Ramp,
    Repetition,
    Shuffle,
    Splat,
    Stmt,
    Store,
    TransposedLoad,
)
from opgen_runtime.lower.tir.nodes.visit import statements
from opgen_runtime.lower.tir.phases.early_exit import early_exit
from opgen_runtime.lower.tir.phases.group_repetitions import group_repetitions
from opgen_runtime.lower.tir.phases.interleave_stores import interleave_stores
from opgen_runtime.lower.tir.phases.nontemporal_stores import nontemporal_stores
from opgen_runtime.lower.tir.phases.outline_loops import outline_loops
from opgen_runtime.lower.tir.phases.parallel_work import parallel_work
from opgen_runtime.lower.tir.phases.transpose_loads import transpose_loads

ZERO = const(0, INDEX)
STEP, J = Var(INDEX, "i"), Var(INDEX, "j")
MASKS = Vectors(256, 16, masked_bits=8)  # elements of any width


def ramp(base: Expr | int, lanes: int, stride: Expr | int = 1) -> Ramp:
    at, step = (e if isinstance(e, Expr) else const(e, INDEX) for e in (base, stride))
    return Ramp(INDEX, at, step, lanes)


def loop(var: Var, extent: Expr | int, body: Stmt, kind: ForKind = ForKind.SERIAL) -> For:
    return For(var, ZERO, extent if isinstance(extent, Expr) else const(extent, INDEX), kind, body)


def load(buffer: Buffer, at: Expr, mask: Expr | None = None) -> Load:
    return Load(buffer.dtype, buffer, (at,), mask)


def body(func: PrimFunc) -> str:
    return tir.to_text(func).partition("\n")[2]


def check_same(func: PrimFunc, made: PrimFunc, sizes: dict[Var, int] | None = None) -> None:
    """Valid loop IR that computes what `func` does."""
    tir.check(tir.FINAL, made, "the phase", own=False)
    random = np.random.default_rng(0)
    arrays = [random.integers(0, 9, b.shape).astype(b.dtype.numpy) for b in func.inputs]
    for eager in (False, True):
        wanted, found = (tir.interpret(each, arrays, sizes, eager) for each in (func, made))
        for want, got in zip(wanted, found, strict=True):
            np.testing.assert_array_equal(got, want, err_msg=tir.to_text(made))


# ------------------------------------------------------------------ interleave_stores


def interleaved(
    stride: int, lanes: int, mask: bool = False, last: int | None = None, dtype: DType = FLOAT32
) -> PrimFunc:
    """out[k + stride*lane] = x[k*lanes + lane] for k in turn; `last`: where the last of them begins."""
    x, out = (Buffer(name, (stride * lanes,), dtype) for name in ("x", "out"))
    starts = [*range(stride - 1), stride - 1 if last is None else last]
    bound = Splat(INDEX, const(stride * lanes - 1, INDEX), lanes)

    def store(k: int, start: int) -> Store:
        at = ramp(start, lanes, stride)
        return Store(
            out, (at,), load(x, ramp(k * lanes, lanes)), Compare(BOOL, "lt", at, bound) if mask else None
        )

    first = (
        [loop(STEP, stride * lanes, Store(out, (STEP,), const(0, dtype)))] if mask or last is not None else []
    )
    stores = [store(k, start) for k, start in enumerate(starts)]
    return PrimFunc("kernel", (x,), (out,), Block((*first, *stores)), vectors=MASKS)


def test_interleave_stores() -> None:
    func = interleaved(2, 4)
    assert (
        body(func) == "    out[ramp(0, 2, 4)] = x[ramp(0, 1, 4)]\n    out[ramp(1, 2, 4)] = x[ramp(4, 1, 4)]\n"
    )
    made = interleave_stores(func)
    assert body(made) == (
        "    out[ramp(0, 1, 8)] = shuffle(x[ramp(0, 1, 4)], x[ramp(4, 1, 4)]; 0, 4, 1, 5, 2, 6, 3, 7)\n"
    )
    check_same(func, made)


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize(("stride", "lanes"), [(2, 8), (3, 4), (4, 4)])
def test_interleaved_stores_store_the_same(stride: int, lanes: int, mask: bool) -> None:
    func = interleaved(stride, lanes, mask)
    made = interleave_stores(func)
    assert sum(isinstance(s, Store) for s in statements(made.body)) == 1 + mask
    check_same(func, made)


@pytest.mark.parametrize(
    "func",
    [
        interleaved(5, 4),  # gathers are as good
        interleaved(2, 2),  # too few lanes
        interleaved(2, 3),
        interleaved(2, 4, last=0),  # the same places twice
        replace(interleaved(2, 4, mask=True), vectors=None),  # no masks
    ],
)
def test_what_is_not_interleaved(func: PrimFunc) -> None:
    assert interleave_stores(func) is func or body(interleave_stores(func)) == body(func)


def test_a_store_that_reads_what_another_stores_is_not_interleaved() -> None:
    x, out = Buffer("x", (4,), FLOAT32), Buffer("out", (8,), FLOAT32)
    first = Store(out, (ramp(0, 4, 2),), load(x, ramp(0, 4)))
    second = Store(out, (ramp(1, 4, 2),), load(out, ramp(0, 4, 2)))
    func = PrimFunc("kernel", (x,), (out,), Block((first, second)))
    assert interleave_stores(func) is func


def test_values_that_are_named_are_interleaved() -> None:
    """A vector that a let binds has lanes, and a scalar beside it is repeated."""
    x, out = Buffer("x", (4,), FLOAT32), Buffer("out", (8,), FLOAT32)
    named = Var(FLOAT32, "v")
    stores = (Store(out, (ramp(0, 4, 2),), named), Store(out, (ramp(1, 4, 2),), const(3.0, FLOAT32)))
    func = PrimFunc("kernel", (x,), (out,), LetStmt(named, load(x, ramp(0, 4)), Block(stores)))
    made = interleave_stores(func)
    assert body(made) == (
        "    v = x[ramp(0, 1, 4)]\n"
        "    out[ramp(0, 1, 8)] = shuffle(v, splat(3.0, 4); 0, 4, 1, 5, 2, 6, 3, 7)\n"
    )
    check_same(func, made)


# ------------------------------------------------------------------ transpose_loads


def crossed(
    extent: Expr | int,
    stride: Expr | int,
    mask: Expr | None = None,
    beside: bool = False,
    base: Expr = STEP,
    dims: Sequence[Var] = (),
) -> PrimFunc:
    """out[i*4 + lane] = x[base + stride*lane], of 8 iterations at most; `beside`: plus y[i*4 + lane]."""
    x, y, out = (Buffer(name, (128,), INT32) for name in ("x", "y", "out"))
    at = ramp(mul(STEP, 4), 4)
    value: Expr = load(x, ramp(base, 4, stride), mask)
    value = Binary(INT32, "add", value, load(y, at)) if beside else value
    begin = loop(J, 128, Store(out, (J,), const(-1, INT32)))
    main = loop(STEP, extent, Store(out, (at,), value, mask))
    return PrimFunc("kernel", (x, y), (out,), Block((begin, main)), tuple(dims), vectors=MASKS)


def test_transpose_loads() -> None:
    func = crossed(8, 9)
    made = transpose_loads(func)
    assert body(made) == (
        "    for j in range(128):\n"
        "        out[j] = int32(-1)\n"
        "    for i in range(0, 8, 4):\n"
        "        x_0, x_1, x_2, x_3 = transpose(x[ramp(i, 9, 4)])\n"
        "        out[ramp(i * 4, 1, 4)] = x_0\n"
        "        out[ramp((i + 1) * 4, 1, 4)] = x_1\n"
        "        out[ramp((i + 2) * 4, 1, 4)] = x_2\n"
        "        out[ramp((i + 3) * 4, 1, 4)] = x_3\n"
    )
    check_same(func, made)


def test_parts_of_squares_are_read_under_masks() -> None:
    n, s = dim("n"), dim("s")
    func = crossed(n, s, dims=(n, s))
    made = transpose_loads(func)
    assert body(made) == (
        "    dims n, s\n"
        "    for j in range(128):\n"
        "        out[j] = int32(-1)\n"
        "    i_count = n\n"
        "    i_whole = max(i_count - i_count % 4, 0)\n"
        "    for i in range(0, i_whole, 4):\n"
        "        x_0, x_1, x_2, x_3 = transpose(x[ramp(i, s, 4)])\n"
        "        out[ramp(i * 4, 1, 4)] = x_0\n"
        "        out[ramp((i + 1) * 4, 1, 4)] = x_1\n"
        "        out[ramp((i + 2) * 4, 1, 4)] = x_2\n"
        "        out[ramp((i + 3) * 4, 1, 4)] = x_3\n"
        "    if i_whole < i_count:\n"
        "        i = i_whole\n"
        "        x_0, x_1, x_2, x_3 = transpose(x[ramp(i, s, 4)], i_count - i_whole)\n"
        "        out[ramp(i * 4, 1, 4); splat(0 < i_count - i_whole, 4)] = x_0\n"
        "        out[ramp((i + 1) * 4, 1, 4); splat(1 < i_count - i_whole, 4)] = x_1\n"
        "        out[ramp((i + 2) * 4, 1, 4); splat(2 < i_count - i_whole, 4)] = x_2\n"
        "        out[ramp((i + 3) * 4, 1, 4); splat(3 < i_count - i_whole, 4)] = x_3\n"
    )
    for count in (0, 1, 3, 4, 7, 8):
        for stride in (1, 5, 20):
            check_same(func, made, {n: count, s: stride})


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize("beside", [False, True])
def test_what_is_left_is_the_same(masks: bool, beside: bool) -> None:
    """Without masks, and beside other reads, the last iterations are done one by one."""
    n, s = dim("n"), dim("s")
    func = crossed(n, s, beside=beside, dims=(n, s))
    func = func if masks else replace(func, vectors=None)
    made = transpose_loads(func)
    squares = [s for s in statements(made.body) if isinstance(s, TransposedLoad)]
    assert len(squares) == (2 if masks and not beside else 1)
    for count in (0, 1, 6, 8):
        check_same(func, made, {n: count, s: 7})


@pytest.mark.parametrize("extent", [8, dim("n")])
def test_squares_under_a_mask(extent: Expr | int) -> None:
    where = Compare(BOOL, "lt", ramp(0, 4), Splat(INDEX, const(3, INDEX), 4))
    dims = [extent] if isinstance(extent, Var) else []
    func = crossed(extent, 9, where, dims=dims)
    made = transpose_loads(func)
    assert any(isinstance(s, TransposedLoad) for s in statements(made.body))
    check_same(func, made, dict.fromkeys(dims, 6))
    plain = replace(func, vectors=None)
    assert transpose_loads(plain) is plain


@pytest.mark.parametrize(
    "func",
    [
        crossed(8, 4),  # contiguous vectors serve it
        crossed(8, 1),
        crossed(6, 9),  # no whole squares
        crossed(8, 9, base=mul(STEP, 2)),  # rows that are not side by side
        crossed(8, 9, base=ZERO),
        crossed(8, 9, mask=Compare(BOOL, "lt", ramp(STEP, 4), Splat(INDEX, const(9, INDEX), 4))),
    ],
)
def test_what_is_not_transposed(func: PrimFunc) -> None:
    assert transpose_loads(func) is func


def test_what_reads_its_own_result_is_not_transposed() -> None:
    out = Buffer("out", (128,), INT32)
    store = Store(out, (ramp(mul(STEP, 4), 4),), load(out, ramp(STEP, 4, 9)))
    func = PrimFunc("kernel", (), (out,), loop(STEP, 8, store))
    assert transpose_loads(func) is func


# ------------------------------------------------------------------ early_exit


def counting(condition: Expr, count: Buffer) -> PrimFunc:
    """count[0] = 0; for i in range(20): if condition: count[0] += 1"""
    now = load(count, ZERO)
    more = If(condition, Store(count, (ZERO,), add(now, const(1, INT32))))
    start = Store(count, (ZERO,), const(0, INT32))
    return PrimFunc("kernel", (), (count,), Block((start, loop(STEP, 20, more))))


def test_early_exit() -> None:
    count = Buffer("count", (1,), INT32)
    func = counting(lt(load(count, ZERO), const(9, INT32)), count)
    made = early_exit(func)
    assert body(made) == (
        "    count[0] = int32(0)\n"
        "    for i in range(20) while count[0] < int32(9):\n"
        "        count[0] = count[0] + int32(1)\n"
    )
    check_same(func, made)


def test_a_condition_that_counts_stays() -> None:
    func = counting(eq(floormod(STEP, 2), ZERO), Buffer("count", (1,), INT32))
    assert early_exit(func) is func


# ------------------------------------------------------------------ nontemporal_stores


def copied(count: int, reads: bool = False) -> PrimFunc:
    """out[i*16 + lane] = x[i*16 + lane], and what out holds besides."""
    x, out = (Buffer(name, (count,), FLOAT32) for name in ("x", "out"))
    at = ramp(mul(STEP, 16), 16)
    value: Expr = load(x, at)
    stored = Binary(FLOAT32, "add", value, load(out, at)) if reads else value
    return PrimFunc("kernel", (x,), (out,), loop(STEP, count // 16, Store(out, (at,), stored)))


def test_nontemporal_stores() -> None:
    made = nontemporal_stores(copied(1 << 22))
    assert body(made) == (
        "    if aligned(out; 64):\n"
        "        for i in range(262144):\n"
        "            nontemporal out[ramp(i * 16, 1, 16)] = x[ramp(i * 16, 1, 16)]\n"
        "    else:\n"
        "        for i in range(262144):\n"
        "            out[ramp(i * 16, 1, 16)] = x[ramp(i * 16, 1, 16)]\n"
    )


def test_nontemporal_stores_store_the_same() -> None:
    small = replace(copied(1024), machine=replace(GENERIC, l1=4096, l2=4096, llc=8192))
    made = nontemporal_stores(small)
    assert isinstance(made.body, If)
    check_same(small, made)


def test_small_results_and_those_that_are_read_stay_in_the_caches() -> None:
    for func in (copied(4096), copied(1 << 22, reads=True)):
        assert nontemporal_stores(func) is func


# ------------------------------------------------------------------ outline_loops


def packed(columns: int, reads: bool = True, rows: int = 2) -> PrimFunc:
    """for i: panel = x[i] in vectors; out[i] = panel, or x[i]."""
    x, out = (Buffer(name, (rows * columns * 8,), FLOAT32) for name in ("x", "out"))
    panel = Buffer("panel", (columns * 8,), FLOAT32, "local")
    inner = ramp(mul(J, 8), 8)
    there = ramp(add(mul(STEP, columns * 8), mul(J, 8)), 8)
    fill = loop(J, columns, Store(panel, (inner,), load(x, there)))
    use = loop(J, columns, Store(out, (there,), load(panel, inner) if reads else load(x, there)))
    main = loop(STEP, rows, Allocate(panel, Block((fill, use))))
    return PrimFunc("kernel", (x,), (out,), main)


def test_outline_loops() -> None:
    func = packed(128)
    made = outline_loops(func)
    assert body(made) == (
        "    for i in range(2):\n"
        "        allocate panel: float32[1024] local\n"
        "        outlined:\n"
        "            for j in range(128):\n"
        "                panel[ramp(j * 8, 1, 8)] = x[ramp(i * 1024 + j * 8, 1, 8)]\n"
        "        for j in range(128):\n"
        "            out[ramp(i * 1024 + j * 8, 1, 8)] = panel[ramp(j * 8, 1, 8)]\n"
    )
    check_same(func, made)


def test_what_nobody_reads_what_is_small_and_what_is_in_no_loop_is_not_outlined() -> None:
    once = packed(128, rows=1)
    for func in (packed(128, reads=False), packed(4), once):
        assert outline_loops(func) is func


@pytest.mark.parametrize(("lanes", "kind", "outlined"), [
    (8, ForKind.SERIAL, False), (1, ForKind.SERIAL, True), (8, ForKind.PARALLEL, True),
])  # fmt: skip
def test_a_loop_behind_a_vector_of_its_function_is_not_outlined(
    lanes: int, kind: ForKind, outlined: bool
) -> None:
    """for k: v = splat; out[...] = v; then a loop of packed panels; a parallel one is a function of its own."""
    func = packed(128)
    k, named = Var(INDEX, "k"), Var(FLOAT32, "v")
    (out,) = func.outputs
    value = Splat(FLOAT32, const(1.0, FLOAT32), 8) if lanes > 1 else const(1.0, FLOAT32)
    first = LetStmt(named, value, Store(out, (ramp(0, 8) if lanes > 1 else ZERO,), named))
    assert isinstance(func.body, For)
    made = outline_loops(func.with_body(loop(k, 2, Block((first, replace(func.body, kind=kind))))))
    assert any(isinstance(s, Outlined) for s in statements(made.body)) == outlined


# ------------------------------------------------------------------ parallel_work


def test_parallel_work() -> None:
    func = copied(64)
    assert parallel_work(func) is func
    n = dim("n")
    x, out = (Buffer(name, (64,), FLOAT32) for name in ("x", "out"))
    inner = loop(J, n, Store(out, (J,), load(x, J)))
    made = parallel_work(PrimFunc("kernel", (x,), (out,), loop(STEP, 8, inner, ForKind.PARALLEL), (n,)))
    assert body(made) == (
        "    dims n\n"
        "    parallel for i in range(8) of n * 2 operations:\n"
        "        for j in range(n):\n"
        "            out[j] = x[j]\n"
    )
    tir.check(tir.FINAL, made, "the phase", own=False)


# ------------------------------------------------------------------ group_repetitions


def joined(count: int, sizes: Sequence[int]) -> PrimFunc:
    """out = 0 ++ x0 ++ x1 ++ ..., of these sizes in turn."""
    inputs = [Buffer(f"x{k}", (sizes[k % len(sizes)],), FLOAT32) for k in range(count)]
    total = 1 + sum(sizes[k % len(sizes)] for k in range(count))
    out = Buffer("out", (total,), FLOAT32)
    parts: list[Stmt] = []
    start = 1
    for k, x in enumerate(inputs):
        size = sizes[k % len(sizes)]
        j = Var(INDEX, "j")
        parts.append(loop(j, size, Store(out, (add(j, start),), load(x, j))))
        start += size
    parts.append(Store(out, (ZERO,), const(0.0, FLOAT32)))
    return PrimFunc("kernel", tuple(inputs), (out,), Block(tuple(parts)))


def test_group_repetitions() -> None:
    func = joined(16, [2, 3])
    made = group_repetitions(func)
    rows = [(2 + k % 2, 1 + k // 2 * 5 + k % 2 * 2, f"x{k}") for k in range(16)]
    assert body(made) == (
        "    kind 0(number0, number1, operand2: float32[2]):\n"
        "        for j in range(number0):\n"
        "            out[j + number1] = operand2[j]\n"
        + "".join(f"    do 0({size}, {start}, {name})\n" for size, start, name in rows)
        + "    out[0] = 0.0\n"
    )
    check_same(func, made)


def test_reads_of_rows_are_inside_their_buffers_by_the_numbers_of_each_row() -> None:
    """What a masked store reads at a number of the row is certainly inside, or it is refused."""
    where = Compare(BOOL, "lt", ramp(0, 4), Splat(INDEX, const(4, INDEX), 4))

    def split(first: int) -> PrimFunc:
        x = Buffer("x", (128,), FLOAT32)
        outs = [Buffer(f"out{k}", (8,), FLOAT32) for k in range(16)]
        parts: list[Stmt] = []
        for k, out in enumerate(outs):
            j = Var(INDEX, "j")
            value = load(x, ramp(add(mul(j, 4), first + 8 * k), 4))
            parts.append(loop(j, 2, Store(out, (ramp(mul(j, 4), 4),), value, where)))
        return PrimFunc("kernel", (x,), tuple(outs), Block(tuple(parts)))

    func = split(0)
    made = group_repetitions(func)
    assert any(isinstance(s, Repetition) for s in statements(made.body))
    check_same(func, made)
    with pytest.raises(
        LoweringError, match=r"x\[ramp\(j \* 4 \+ 124, 1, 4\)\] may be read outside of its buffer"
    ):
        tir.check(tir.FINAL, group_repetitions(split(4)), "all phases", own=False)


def test_few_operands_and_few_statements_are_written() -> None:
    func = joined(14, [2])  # and a result
    assert group_repetitions(func) is func
    short = joined(20, [2])
    assert isinstance(short.body, Block)
    few = replace(short, body=Block(short.body.body[6:]))
    assert group_repetitions(few) is few


def test_a_repetition_keeps_to_the_parameters_of_a_kernel_that_is_taken_in() -> None:
    """A variant of a kernel is written over the parameters of another, and two that differ in names are alike."""
    func = group_repetitions(joined(16, [2]))
    other = group_repetitions(joined(16, [2]))
    assert any(isinstance(s, Repetition) for s in statements(other.body))
    n = dim("n")
    both = tir.chosen(func, [(lt(n, 3), {}, other)])
    tir.check(tir.FINAL, both, "all phases", own=False)
    assert tir.alike(func, other)
    arrays = [np.full(2, k, np.float32) for k in range(16)]
    for size in (2, 5):
        (found,) = tir.interpret(both, arrays, {n: size})
        np.testing.assert_array_equal(found, [0, *np.repeat(np.arange(16), 2)])


# ------------------------------------------------------------------ the rules that go with their nodes

OUT, X = Buffer("out", (16,), FLOAT32), Buffer("x", (64,), FLOAT32)
SQUARE = tuple(Var(FLOAT32, f"c{k}") for k in range(4))


def stored(value: Expr) -> Stmt:
    return Store(OUT, (ramp(0, 4),), value)


WRONG: dict[str, tuple[Stmt, str]] = {
    "a lane that is not there": (
        stored(Shuffle(FLOAT32, (load(X, ramp(0, 4)),), (0, 1, 2, 4))),
        "takes a lane outside 0 <= lane < 4 .rule: lanes agree",
    ),
    "vectors of two widths": (
        stored(Shuffle(FLOAT32, (load(X, ramp(0, 4)), load(X, ramp(0, 8))), (0, 1, 2, 3))),
        "joins vectors of 4 and 8 lanes",
    ),
    "a shuffle of another width": (
        stored(Binary(FLOAT32, "add", Shuffle(FLOAT32, (load(X, ramp(0, 4)),), (0, 1)), load(X, ramp(0, 4)))),
        "joins vectors of 2 and 4 lanes",
    ),
    "columns that are no square": (
        TransposedLoad(SQUARE[:2], load(X, ramp(0, 4, 9)), None, stored(SQUARE[0])),
        "of 4 lanes is transposed to 2 columns .rule: transposed loads are squares",
    ),
    "three columns": (
        TransposedLoad(SQUARE[:3], load(X, ramp(0, 3, 9)), None, stored(SQUARE[0])),
        "of 3 lanes is transposed to 3 columns",
    ),
    "positions in no sequence": (
        TransposedLoad(SQUARE, load(X, ZERO), None, stored(SQUARE[0])),
        "is transposed, and no sequence of positions",
    ),
    "columns of another dtype": (
        TransposedLoad(tuple(Var(INT32, "c") for _ in range(4)), load(X, ramp(0, 4, 9)), None, Block(())),
        "of float32 is transposed to c of int32",
    ),
    "a column outside": (
        Block((TransposedLoad(SQUARE, load(X, ramp(0, 4, 9)), None, Block(())), stored(SQUARE[1]))),
        "variable c1 is used where it is not bound",
    ),
    "a loop that stays": (
        For(STEP, ZERO, const(4, INDEX), ForKind.SERIAL, Block(()), step=0),
        "the loop over i goes on by 0 .rule: loops go on",
    ),
    "a condition that is a number": (
        For(STEP, ZERO, const(4, INDEX), ForKind.SERIAL, Block(()), condition=ZERO),
        "the loop over i goes on while 0, which is no bool",
    ),
    "a kind that is not there": (
        Repetition((), ((0, ()),)),
        "a row is of kind 0, of 0 .rule: rows fit their kinds",
    ),
    "too few values": (
        Repetition((tir.Kind((STEP,), Block(())),), ((0, ()),)),
        "a row of 0 values is of kind 0, which has 1 columns",
    ),
    "a number for a buffer": (
        Repetition((tir.Kind((Buffer("o", (4,), FLOAT32),), Block(())),), ((0, (3,)),)),
        "column o of kind 0 is 3",
    ),
    "a buffer of another dtype": (
        Repetition((tir.Kind((Buffer("o", (4,), INT32),), Block(())),), ((0, (OUT,)),)),
        "column o of int32 is out of float32",
    ),
    "a buffer that is no parameter": (
        Repetition(
            (tir.Kind((Buffer("o", (4,), FLOAT32),), Block(())),), ((0, (Buffer("q", (4,), FLOAT32),)),)
        ),
        "buffer q stands in a row of a table, and is no parameter",
    ),
    "an input that is stored to by a column": (
        Repetition(
            (tir.Kind((o := Buffer("o", (4,), FLOAT32),), Store(o, (ZERO,), const(1.0, FLOAT32))),),
            ((0, (X,)),),
        ),
        "input o is stored to",
    ),
    "alignment of what is not there": (
        If(tir.Aligned(BOOL, (Buffer("q", (4,), FLOAT32),), 64), Block(())),
        "buffer q is used where it is not allocated",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_breaks_a_rule_is_refused(name: str) -> None:
    statement, message = WRONG[name]
    func = PrimFunc("kernel", (X,), (OUT,), statement)
    with pytest.raises(LoweringError, match=f"kernel, after all phases: .*{message}"):
        tir.check(tir.FINAL, func, "all phases", own=False)


LAST: dict[str, Stmt] = {
    "found TransposedLoad": TransposedLoad(SQUARE, load(X, ramp(0, 4, 9)), None, stored(SQUARE[0])),
    "found Outlined": Outlined(stored(load(X, ramp(0, 4)))),
    "found Repetition": Repetition((tir.Kind((), Block(())),), ((0, ()),)),
    "the loop over i has a step, a condition or its work": For(
        STEP, ZERO, const(4, INDEX), ForKind.SERIAL, Block(()), 2
    ),
    "out is stored to past the caches": Store(OUT, (ramp(0, 4),), load(X, ramp(0, 4)), None, True),
    "found Shuffle": stored(Shuffle(FLOAT32, (load(X, ramp(0, 4)),), (0, 1, 2, 3))),
    "found Aligned": If(tir.Aligned(BOOL, (OUT,), 64), Block(())),
}


@pytest.mark.parametrize("message", LAST)
def test_nodes_of_the_last_phases_come_after_all_others(message: str) -> None:
    func = PrimFunc("kernel", (X,), (OUT,), LAST[message])
    tir.check(tir.FINAL, func, "all phases", own=False)
    (before,) = [row.contract for row in tir.PHASES if row.name == "rewrite_unsafe_select"]
    with pytest.raises(LoweringError, match=f"{message}.*nodes that every phase knows"):
        tir.check(before, func, "rewrite_unsafe_select", own=False)
