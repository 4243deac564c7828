"""Loads and stores of sequences of any stride: the right elements, and nothing outside of the buffers."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace

import numpy as np
import pytest

from opgen_runtime.base import arith
from opgen_runtime.base.arith import Binary, Compare, Var
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import BOOL, INDEX, DType
from opgen_runtime.codegen import choose_pipeline, emit, optimise_and_compile
from opgen_runtime.codegen.objects import load as jit
from opgen_runtime.lower.tir.nodes.stmt import (
    Block,
    Buffer,
    For,
    ForKind,
    LetStmt,
    Load,
    PrimFunc,
    Ramp,
    Splat,
    Stmt,
    Store,
)
from tests.codegen.conftest import finished
from tests.fenced import Fenced

STRIDES = [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]
DTYPES = ["bool", "int8", "bfloat16", "float32", "int64"]
TARGETS = {"host": "llvm", "x86-64": "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64"}
_SIGNATURE = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 4)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_sequences(name: str, dtype: str, lanes: int) -> None:
    """out[b + s*lane] = in[b + s*lane] for every stride s, on buffers that end with the last element."""
    target = Target.parse(TARGETS[name])
    if not target.is_host:
        pytest.skip("code of another machine")
    kind = DType(dtype)
    for stride in STRIDES:
        size = abs(stride) * (lanes - 1) + 1
        first = 0 if stride > 0 else size - 1
        source, packed, spread = (
            Buffer(label, (extent,), kind) for label, extent in (("a", size), ("b", lanes), ("c", size))
        )
        places = Ramp(INDEX, arith.const(first, INDEX), arith.const(stride, INDEX), lanes)
        side_by_side = Ramp(INDEX, arith.const(0, INDEX), arith.const(1, INDEX), lanes)
        body = Block((
            Store(packed, (side_by_side,), Load(kind, source, (places,))),
            Store(spread, (places,), Load(kind, packed, (side_by_side,))),
        ))  # fmt: skip
        func = PrimFunc("kernel", (source,), (packed, spread), body)
        compiled = optimise_and_compile(emit(func, target), target, choose_pipeline(func))
        loaded = jit.load(compiled.object_code, func.name)
        values = (np.arange(size) % 97 % (2 if dtype == "bool" else 97)).astype(kind.numpy)
        for at_end in (False, True):
            fenced = [
                Fenced(v, at_end) for v in (values, np.zeros(lanes, kind.numpy), np.zeros(size, kind.numpy))
            ]
            data = (ctypes.c_void_p * 3)(*(each.array.ctypes.data for each in fenced))
            assert _SIGNATURE(loaded.address)(ctypes.addressof(data), 0, 0, 0) == 0
            taken = values[first::stride] if stride > 0 else values[::stride]
            np.testing.assert_array_equal(fenced[1].array, taken)
            expected = np.zeros_like(values)
            expected[:: abs(stride)] = values[:: abs(stride)]
            np.testing.assert_array_equal(fenced[2].array, expected, err_msg=f"stride {stride}")
            for each in fenced:
                each.open()


@pytest.mark.parametrize("inside", [0, 1, 7, 8, 16])
@pytest.mark.parametrize("stride", STRIDES)
def test_guards(build: SimpleNamespace, stride: int, inside: int) -> None:
    """Where the guard fails there is 0, and nothing is read: the buffer has only what the guard admits."""
    kind, lanes = DType("float32"), 16
    size = max(1, abs(stride) * (inside - 1) + 1)
    a, b, most = Buffer("a", (size,), kind), Buffer("b", (lanes,), kind), Buffer("most", (1,), DType("int64"))
    places = Ramp(INDEX, arith.const(0 if stride > 0 else size - 1, INDEX), arith.const(stride, INDEX), lanes)
    side_by_side = Ramp(INDEX, arith.const(0, INDEX), arith.const(1, INDEX), lanes)
    limit = Splat(INDEX, arith.cast(Load(DType("int64"), most, (arith.const(0, INDEX),)), INDEX), lanes)
    mask = Compare(BOOL, "lt", side_by_side, limit)
    func = PrimFunc("kernel", (a, most), (b,), Store(b, (side_by_side,), Load(kind, a, (places,), mask)))
    source = Fenced(np.arange(1, size + 1, dtype=np.float32), at_end=stride > 0)
    (found,) = build.run(func, [source.array, np.array([inside])])
    expected = np.zeros(lanes, np.float32)
    expected[:inside] = (source.array[::stride])[:inside]
    np.testing.assert_array_equal(found, expected)
    source.open()


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_squares_are_transposed(build: SimpleNamespace, name: str, dtype: str, lanes: int) -> None:
    """out[i*lanes + k] = a[i + k*stride], the same again with a read that does not cross, in buffers without an end."""
    target = Target.parse(TARGETS[name])
    if not target.is_host:
        pytest.skip("code of another machine")
    kind = DType(dtype)
    for stride, rows in ((5, lanes), (-7, 2 * lanes), (lanes, 2 * lanes), (4096, lanes), (9, lanes + 1)):
        size = rows + abs(stride) * (lanes - 1)
        first = 0 if stride > 0 else size - rows
        a, b = Buffer("a", (size,), kind), Buffer("b", (rows * lanes,), kind)
        out = Buffer("out", (rows * lanes,), kind)
        i = Var(INDEX, "i")
        crossed = Load(kind, a, (Ramp(INDEX, arith.add(i, first), arith.const(stride, INDEX), lanes),))
        along = Ramp(INDEX, arith.mul(i, lanes), arith.const(1, INDEX), lanes)
        value = Binary(kind, "xor" if not kind.is_float else "sub", crossed, Load(kind, b, (along,)))
        loop = For(
            i, arith.const(0, INDEX), arith.const(rows, INDEX), ForKind.SERIAL, Store(out, (along,), value)
        )
        values = (np.arange(size) % 97 % (2 if dtype == "bool" else 97)).astype(kind.numpy)
        other = np.ones(rows * lanes, kind.numpy)
        source = Fenced(values, at_end=stride > 0)
        func = finished(PrimFunc("kernel", (a, b), (out,), loop), target)
        (found,) = build.run(func, [source.array, other], target)
        taken = values[(first + np.arange(rows)[:, None] + stride * np.arange(lanes)).ravel()]
        expected = taken - other if kind.is_float else taken ^ other
        np.testing.assert_array_equal(found, expected, err_msg=f"stride {stride}")
        assert ("gather" in emit(func, target)) == bool(rows % lanes), stride
        source.open()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("dtype", ["bool", "bfloat16", "float32"])
@pytest.mark.parametrize("lanes", [4, 16])
def test_squares_of_symbolic_extents_are_transposed(name: str, dtype: str, lanes: int, masked: bool) -> None:
    """out[i*lanes + k] = a[i + k*stride] for k < inside, where a dim says each; parts of squares at the ends."""
    target = Target.parse(TARGETS[name])
    if not target.is_host:
        pytest.skip("code of another machine")
    kind = DType(dtype)
    stride, rows, inside, i = arith.dim("s"), arith.dim("r"), arith.dim("k"), Var(INDEX, "i")
    where = Var(BOOL, "lanes") if masked else None
    at = Ramp(INDEX, arith.const(0, INDEX), arith.const(1, INDEX), lanes)
    along = Ramp(INDEX, arith.mul(i, lanes), arith.const(1, INDEX), lanes)
    a, out = Buffer("a", (400,), kind), Buffer("out", (3 * lanes * lanes,), kind)
    value = Load(kind, a, (Ramp(INDEX, i, stride, lanes),), where)
    body: Stmt = Store(out, (along,), value, where)
    if where is not None:
        body = LetStmt(where, Compare(BOOL, "lt", at, Splat(INDEX, inside, lanes)), body)
    loop = For(i, arith.const(0, INDEX), rows, ForKind.SERIAL, body)
    func = finished(PrimFunc("kernel", (a,), (out,), loop, (stride, rows, inside)), target)
    has_masks = 0 < target.vectors.masked_bits <= max(8, kind.bits)
    assert ("gather" in emit(func, target)) == (not has_masks)
    compiled = optimise_and_compile(emit(func, target), target, choose_pipeline(func))
    loaded = jit.load(compiled.object_code, func.name)
    kernel = _SIGNATURE(loaded.address)
    for s, r in ((1, 1), (3, lanes - 1), (lanes, lanes), (9, lanes + 3), (20, 2 * lanes + 1), (5, 0)):
        for k in (1, lanes - 1, lanes) if masked else (lanes,):
            values = (np.arange(max(0, r + s * (k - 1))) % 97 % (2 if dtype == "bool" else 97)).astype(
                kind.numpy
            )
            expected = np.ones((3 * lanes, lanes), kind.numpy)
            expected[:r, :k] = values[np.arange(r)[:, None] + s * np.arange(k)]
            dims = np.array([s, r, k])
            for at_end in (False, True):
                fenced = [Fenced(each, at_end) for each in (values, np.ones_like(expected))]
                data = (ctypes.c_void_p * 2)(*(each.array.ctypes.data for each in fenced))
                assert kernel(ctypes.addressof(data), dims.ctypes.data, 0, 0) == 0
                np.testing.assert_array_equal(fenced[1].array, expected, err_msg=f"{s} {r} {k}")
                for each in fenced:
                    each.open()


def test_strides_up_to_four_need_no_gather() -> None:
    target = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")
    kind = DType("float32")
    for stride in STRIDES:
        a, b = Buffer("a", (100,), kind), Buffer("b", (16,), kind)
        places = Ramp(INDEX, arith.const(20 if stride > 0 else 90, INDEX), arith.const(stride, INDEX), 16)
        side_by_side = Ramp(INDEX, arith.const(0, INDEX), arith.const(1, INDEX), 16)
        func = PrimFunc("kernel", (a,), (b,), Store(b, (side_by_side,), Load(kind, a, (places,))))
        assert ("gather" in emit(func, target)) == (abs(stride) == 5), stride


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("width", [2, 5, 7, 16, 27])
@pytest.mark.parametrize("stride", [1, 2, 3, 4])
def test_rows_that_a_vector_runs_over(build: SimpleNamespace, dtype: str, width: int, stride: int) -> None:
    """out[j] = a[j // w * pitch + j % w * s] under a guard, and stored likewise: w columns of s*w, of a fused loop."""
    kind, lanes, rows = DType(dtype), 16, 6
    pitch = stride * width + 3
    size, count = (rows - 1) * pitch + stride * (width - 1) + 1, -(-rows * width // lanes) * lanes
    a, b, c = (
        Buffer("a", (size,), kind),
        Buffer("b", (count,), kind),
        Buffer("c", (rows * (width + 1),), kind),
    )
    i = Var(INDEX, "i")
    j = Ramp(INDEX, arith.mul(i, lanes), arith.const(1, INDEX), lanes)

    def place(pitch: int, stride: int) -> arith.Expr:
        row, column = (
            Binary(INDEX, op, j, Splat(INDEX, arith.const(width, INDEX), lanes))
            for op in ("floordiv", "floormod")
        )
        down, along = (
            Binary(INDEX, "mul", e, Splat(INDEX, arith.const(n, INDEX), lanes))
            for e, n in ((row, pitch), (column, stride))
        )
        return Binary(INDEX, "add", down, along)

    inside = Compare(BOOL, "lt", j, Splat(INDEX, arith.const(rows * width, INDEX), lanes))
    read = Store(b, (j,), Load(kind, a, (place(pitch, stride),), inside))
    write = Store(c, (place(width + 1, 1),), Load(kind, b, (j,)), inside)
    loop = For(
        i, arith.const(0, INDEX), arith.const(count // lanes, INDEX), ForKind.SERIAL, Block((read, write))
    )
    values = (np.arange(1, size + 1) % 97 % (2 if dtype == "bool" else 97)).astype(kind.numpy)
    for at_end in (False, True):
        source = Fenced(values, at_end)
        func = PrimFunc("kernel", (a,), (b, c), loop)
        found, stored = build.run(func, [source.array])
        expected = np.zeros(count, kind.numpy)
        picked = values[np.arange(rows)[:, None] * pitch + np.arange(width) * stride]
        expected[: rows * width] = picked.ravel()
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(stored.reshape(rows, -1)[:, :width], picked)
        source.open()
    target = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")
    assert ("gather" in emit(func, target)) == (width == 2), "many short rows alone are gathered"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("times", [2, 4, 8])
@pytest.mark.parametrize("guarded", [False, True])
def test_repeated_elements(build: SimpleNamespace, dtype: str, times: int, guarded: bool) -> None:
    """out[k] = a[k // times], where flags[k] holds, on buffers that end with the last element."""
    kind, lanes, steps = DType(dtype), 16, 3
    size, count = lanes * steps, lanes * steps // times
    a, flags, out = Buffer("a", (count,), kind), Buffer("b", (size,), BOOL), Buffer("c", (size,), kind)
    i = Var(INDEX, "i")
    line = Ramp(INDEX, arith.const(0, INDEX), arith.const(1, INDEX), lanes)
    part = Binary(INDEX, "floordiv", line, Splat(INDEX, arith.const(times, INDEX), lanes))
    place = Binary(INDEX, "add", Splat(INDEX, arith.mul(i, lanes // times), lanes), part)
    k = Ramp(INDEX, arith.mul(i, lanes), arith.const(1, INDEX), lanes)
    body = Store(out, (k,), Load(kind, a, (place,), Load(BOOL, flags, (k,)) if guarded else None))
    loop = For(i, arith.const(0, INDEX), arith.const(steps, INDEX), ForKind.SERIAL, body)
    func = PrimFunc("kernel", (a, flags), (out,), loop)
    values = (np.arange(1, count + 1) % 97 % (2 if dtype == "bool" else 97)).astype(kind.numpy)
    chosen = np.random.default_rng(times).random(size) < 0.5
    expected = values[np.arange(size) // times]
    if guarded:
        expected[~chosen] = 0
    for at_end in (False, True):
        source = Fenced(values, at_end)
        (found,) = build.run(func, [source.array, chosen])
        np.testing.assert_array_equal(found, expected)
        source.open()
    target = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")
    assert ("gather" in emit(func, target)) == (times == 8)


@pytest.mark.parametrize("op", ["min", "max"])
def test_what_accumulates_an_extreme_does_not_wait_for_the_check_of_nan(op: str) -> None:
    """One instruction compares with the extreme so far; NaN is looked for in what is read."""
    target = Target.parse("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=x86-64-v4")
    kind, i = DType("float32"), Var(INDEX, "i")
    a, out = Buffer("a", (1024,), kind), Buffer("out", (16,), kind)
    lanes = Ramp(INDEX, arith.const(0, INDEX), arith.const(1, INDEX), 16)
    read = Load(kind, a, (Ramp(INDEX, arith.mul(i, 16), arith.const(1, INDEX), 16),))
    step = Store(out, (lanes,), Binary(kind, op, Load(kind, out, (lanes,)), read))
    func = PrimFunc(
        "kernel", (a,), (out,), For(i, arith.const(0, INDEX), arith.const(64, INDEX), ForKind.SERIAL, step)
    )
    text = optimise_and_compile(emit(func, target), target, choose_pipeline(func)).assembly
    assert f"v{op}ps" in text
    assert "vcmpunordps" in text
    assert "vcmpltps" not in text
