"""What loops pick is stored one after the other, counted in a register, in vectors where the machine packs them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base import Target, Vectors
from opgen_runtime.base.arith import Expr, Var, cast, const, dim, gt, ne, select
from opgen_runtime.base.arith import eq as equal
from opgen_runtime.base.vocabulary import BOOL, INDEX, DType
from opgen_runtime.lower import tir
from opgen_runtime.lower.tir.nodes.stmt import Stmt
from opgen_runtime.lower.tir.nodes.text import stmt_text
from opgen_runtime.lower.tir.phases.compaction import compaction

I32, I64 = DType("int32"), DType("int64")
PACKING = Vectors(128, 16, packed_bits=32)
SEEN = (tir.Seen(0, 1, 1),)
Values = Callable[[tir.Buffer, Var], Expr]


def nonzero(x: tir.Buffer, i: Expr) -> Expr:
    return ne(tir.load(x, i), const(0, I32))


def starts(x: tir.Buffer, i: Expr) -> Expr:
    return select(equal(i, 0), const(True, BOOL), ne(tir.load(x, i), tir.load(x, i - 1)))


def picking(
    n: int,
    hit: Callable[[tir.Buffer, Expr], Expr] = nonzero,
    last: bool = False,
    fill: Expr | None = None,
    step: int = 1,
    seen: tuple[tir.Seen, ...] = SEEN,
    vectors: Vectors | None = None,
) -> tir.PrimFunc:
    """The elements of x at which `hit` holds; `last`: each is the last one that is stored at its place."""
    x, out, many, c = (
        tir.Buffer(name, (size,), dtype)
        for name, size, dtype in (("x", n, I32), ("out", n, I32), ("many", 1, I64), ("c", n, I64))
    )

    def body(f: Var) -> Stmt:
        before = select(gt(f, 0), tir.load(c, f - 1), const(0, I64))
        one = hit(x, f)
        counts = tir.store(c, (f,), before + select(one, const(step, I64), const(0, I64)))
        place = cast(tir.load(c, f) - const(1, I64), INDEX)
        picks = tir.store(out, (place,), tir.load(x, f))
        return tir.block(counts, picks if last else tir.If(one, picks))

    start = tir.loop("i", n, lambda i: tir.store(out, (i,), const(7, I32) if fill is None else fill))
    total = tir.store(many, (0,), tir.load(c, n - 1))
    inner = tir.Allocate(c, tir.block(tir.loop("f", n, body), total))
    return tir.PrimFunc("f", (x,), (out, many), tir.block(start, inner), seen=seen, vectors=vectors)


def text(func: tir.PrimFunc) -> str:
    return stmt_text(compaction(func).body)


def test_the_count_stays_in_a_register() -> None:
    assert text(picking(9)) == (
        "for i in range(9):\n"
        "    pass\n"
        "allocate c: int64[1] local\n"
        "c[0] = int64(0)\n"
        "for step in range(9):\n"
        "    row = cast(c[0], index):\n"
        "        out[row] = x[step]\n"
        "    c[0] = c[0] + (int64(1) if x[step] != int32(0) else int64(0))\n"
        "many[0] = c[0]\n"
    )


def test_the_last_of_equal_places_stays() -> None:
    assert text(picking(9, starts, last=True)) == (
        "for i in range(9):\n"
        "    pass\n"
        "allocate c: int64[1] local\n"
        "c[0] = int64(0)\n"
        "c[0] = int64(1)\n"
        "for step in range(8):\n"
        "    row = cast(c[0], index):\n"
        "        out[row - 1] = x[step]\n"
        "    c[0] = c[0] + (int64(1) if x[step + 1] != x[step] else int64(0))\n"
        "out[cast(c[0], index) - 1] = x[8]\n"
        "many[0] = c[0]\n"
    )


def test_vectors_are_packed() -> None:
    assert text(picking(18, vectors=PACKING)) == (
        "for i in range(18):\n"
        "    pass\n"
        "allocate c: int64[1] local\n"
        "c[0] = int64(0)\n"
        "for part in range(4):\n"
        "    hits = x[ramp(part * 4, 1, 4)] != splat(int32(0), 4)\n"
        "    row = cast(c[0], index)\n"
        "    out[ramp(row, 1, 4)] = packed(x[ramp(part * 4, 1, 4)]; hits)\n"
        "    c[0] = c[0] + reduce_sum(splat(int64(1), 4) if hits else splat(int64(0), 4))\n"
        "for step in range(2):\n"
        "    row = cast(c[0], index):\n"
        "        out[row] = x[step + 16]\n"
        "    c[0] = c[0] + (int64(1) if x[step + 16] != int32(0) else int64(0))\n"
        "many[0] = c[0]\n"
    )


def test_what_callers_see_behind_the_last_is_filled() -> None:
    assert text(picking(9, seen=())).endswith(
        "first = cast(c[0], index):\n"
        "    for place in range(9 - cast(c[0], index)):\n"
        "        out[first + place] = int32(7)\n"
        "many[0] = c[0]\n"
    )


@pytest.mark.parametrize(
    "func",
    [
        pytest.param(partial(picking, 9, last=True), id="the first element may have no place"),
        pytest.param(partial(picking, 9, step=2), id="counts by two"),
        pytest.param(partial(picking, 9, fill=cast(Var(INDEX, "i"), I32)), id="rows that differ before"),
    ],
)
def test_other_loops_stay(func: Callable[[], tir.PrimFunc]) -> None:
    made = func()
    assert compaction(made) is made


@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize("summed", [False, True])
def test_rows_of_what_was_picked_are_made_as_far_as_they_are_seen(ahead: int, summed: bool) -> None:
    """Not where a row reads one behind it, nor where something else reads the rows."""
    n = 8
    base = picking(n)
    x, (picked, many) = base.inputs[0], base.outputs
    double, total = tir.Buffer("double", (n,), I32), tir.Buffer("total", (1,), I32)
    rows = tir.loop(
        "v",
        n,
        lambda v: tir.store(
            double, (v,), select(gt(n - ahead, v), tir.load(picked, v + ahead), const(0, I32))
        ),
        "vectorized",
    )
    end = tir.store(total, (0,), tir.load(double, n - 1) if summed else const(0, I32))
    assert isinstance(base.body, tir.Block)
    start, inner = base.body.body
    assert isinstance(inner, tir.Allocate)
    body = tir.block(start, tir.Allocate(inner.buffer, tir.block(inner.body, rows, end)))
    func = tir.PrimFunc(
        "f", (x,), (picked, many, double, total), body, seen=(tir.Seen(0, 1, 1), tir.Seen(2, 1, 1))
    )
    limited = not summed
    made = text(func)
    assert ("if v < seen:\n" in made) == limited
    assert ("out[first + place] = int32(7)" in made) == (not limited or ahead == 1)
    data = np.array([0, 3, 0, 0, 5, 0, 0, 0], np.int32)
    for each in (func, tir.run_phases(func)):
        results = tir.interpret(each, [data])
        assert results[2][:2].tolist() == ([3, 5] if ahead == 0 else [5, 7])
        assert results[3].tolist() == [7 if summed and ahead == 0 else 0]


@settings(max_examples=60, deadline=None)
@given(
    x=st.lists(st.integers(0, 2), min_size=1, max_size=40),
    last=st.booleans(),
    seen=st.booleans(),
    vectors=st.sampled_from([None, PACKING, Vectors(64, 16, packed_bits=8)]),
)
def test_any_elements(x: list[int], last: bool, seen: bool, vectors: Vectors | None) -> None:
    """All phases keep what is picked, and what was there behind it where somebody sees it."""
    n, data = len(x), np.array(x, np.int32)
    func = picking(n, starts if last else nonzero, last, seen=SEEN if seen else (), vectors=vectors)
    picked = data[np.append(data[1:] != data[:-1], True)] if last else data[data != 0]
    made = tir.run_phases(func)
    assert "c[step - 1" not in tir.to_text(made)
    for each in (func, made):
        out, many = tir.interpret(each, [data])
        assert many.tolist() == [len(picked)]
        wanted = [*picked, *[7] * (n - len(picked))]
        shown = len(picked) if seen else n
        assert out[:shown].tolist() == wanted[:shown]


def _masked_select(dtype: str) -> ir.Function:
    shape = (dim("n", hint=64),)
    data, mask = ir.Var("data", rt.TensorType(shape, dtype)), ir.Var("mask", rt.TensorType(shape, "bool"))
    return ir.Function((data, mask), ops.masked_select(data, mask))


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "int64"])
@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v3", "x86-64-v4", "native"])
def test_on_every_machine(cpu: str, dtype: str) -> None:
    target = Target.parse(f"llvm -mcpu={cpu} -num-threads=2")
    if not target.is_host:
        pytest.skip(f"this machine does not run {cpu}")
    random = np.random.default_rng(5)
    built = rt.build(_masked_select(dtype), target=target)
    for n in (0, 1, 15, 64, 65, 300):
        data = random.integers(0, 2, n).astype(dtype)
        if dtype.startswith("float") and n:
            data[n // 2] = np.nan
        for mask in (random.random(n) < 0.5, np.zeros(n, bool), np.ones(n, bool)):
            assert built.run([data, mask]).tobytes() == data[mask].tobytes()


def test_a_loop_of_nothing_picks_nothing() -> None:
    """As one over an axis without steps, whose sums are simplified away."""
    x, c = tir.Buffer("x", (4,), I32), tir.Buffer("c", (4,), I64)
    count = tir.store(c, (0,), const(0, I64))
    empty = tir.loop("f", 4, lambda f: tir.block())
    func = tir.PrimFunc("f", (x,), (), tir.Allocate(c, tir.block(count, empty)))
    assert text(func) == stmt_text(func.body)
