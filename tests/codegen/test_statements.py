"""Loops, branches, masks, storage and parallel loops of hand-written loop IR."""

from __future__ import annotations

import numpy as np
import pytest

from opgen_runtime.base import arith
from opgen_runtime.base.arith import Const, Expr, Select, Var, const
from opgen_runtime.base.errors import CodegenError
from opgen_runtime.base.target import Target
from opgen_runtime.base.vocabulary import BOOL, FLOAT32, INDEX, INT32, DType
from opgen_runtime.codegen import emit, optimise_and_compile
from opgen_runtime.compute import te
from opgen_runtime.lower import tir
from opgen_runtime.lower.library import schedules
from opgen_runtime.lower.schedule import create_schedule
from opgen_runtime.lower.tir.nodes.stmt import (
    Allocate,
    Block,
    Buffer,
    For,
    ForKind,
    HorizontalReduce,
    If,
    LetStmt,
    Load,
    Prefetch,
    PrimFunc,
    Ramp,
    Shuffle,
    Splat,
    Store,
)
from tests.codegen.conftest import finished
from tests.codegen.conftest import run as run_kernel

ZERO, ONE = const(0, INDEX), const(1, INDEX)


def index(name: str) -> Var:
    return Var(INDEX, name)


def ramp(base, lanes, stride=1):
    return Ramp(
        INDEX, base if isinstance(base, arith.Expr) else const(base, INDEX), const(stride, INDEX), lanes
    )


def loop(var, extent, body, kind=ForKind.SERIAL, minimum=ZERO):
    extent = extent if isinstance(extent, arith.Expr) else const(extent, INDEX)
    return For(var, minimum, extent, kind, body)


def copy_kernel(size_in, size_out, body):
    """A kernel from one float32 buffer to another; `body(source, result)` is its statement."""
    source, result = Buffer("source", (size_in,), FLOAT32), Buffer("result", (size_out,), FLOAT32)
    return PrimFunc("kernel", (source,), (result,), body(source, result))


def floats(n):
    return np.arange(1, n + 1, dtype=np.float32)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 40])
def test_masked_tail(build, size):
    """The last vector reads and writes only what exists; the masks cut both ends of the arrays."""
    i = index("i")

    def body(source, result):
        at = ramp(arith.mul(i, 16), 16)
        mask = arith.Compare(BOOL, "lt", at, Splat(INDEX, const(size, INDEX), 16))
        value = arith.Binary(
            FLOAT32, "add", Load(FLOAT32, source, (at,), mask), Splat(FLOAT32, const(1, FLOAT32), 16)
        )
        return loop(i, -(-size // 16), Store(result, (at,), value, mask))

    guarded = np.full(size + 64, 7, np.float32)
    guarded[:size] = floats(size)
    func = copy_kernel(size, size + 64, body)
    (out,) = build.run(func, [guarded[:size]])
    np.testing.assert_array_equal(out[:size], floats(size) + 1)
    np.testing.assert_array_equal(out[size:], 1)  # as it was before


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge"])
@pytest.mark.parametrize("bound", [-3, 0, 5, 15, 16, 40])
@pytest.mark.parametrize("mirrored", [False, True])
def test_comparison_of_an_index_sequence_with_a_bound(build, op, bound, mirrored):
    result = Buffer("result", (16,), BOOL)
    at, limit = ramp(0, 16), Splat(INDEX, const(bound, INDEX), 16)
    condition = arith.Compare(BOOL, op, limit, at) if mirrored else arith.Compare(BOOL, op, at, limit)
    (out,) = build.run(PrimFunc("kernel", (), (result,), Store(result, (at,), condition)), [])
    lanes = np.arange(16)
    compare = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}[op]
    np.testing.assert_array_equal(out, compare(bound, lanes) if mirrored else compare(lanes, bound))


def test_reversed_and_strided_vectors(build):
    def body(source, result):
        backwards = Load(FLOAT32, source, (ramp(15, 16, -1),))
        strided = Load(FLOAT32, source, (ramp(1, 16, 3),))
        uniform = Load(FLOAT32, source, (ramp(5, 16, 0),))
        return Block(
            (
                Store(result, (ramp(0, 16),), backwards),
                Store(result, (ramp(16, 16),), strided),
                Store(result, (ramp(32, 16),), uniform),
                Store(result, (ramp(49, 16, 2),), backwards),
            )
        )

    (out,) = build.run(copy_kernel(50, 80, body), [floats(50)])
    np.testing.assert_array_equal(out[:16], np.arange(16, 0, -1))
    np.testing.assert_array_equal(out[16:32], np.arange(2, 50, 3))
    np.testing.assert_array_equal(out[32:48], 6)
    np.testing.assert_array_equal(out[49:80:2], np.arange(16, 0, -1))
    np.testing.assert_array_equal(out[48:80:2], 1)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int8", "bool", "float64"])
@pytest.mark.parametrize(("stride", "lanes"), [(2, 16), (3, 8), (4, 4)])
def test_stores_between_each_others_lanes(build, dtype, stride, lanes, masked):
    d, size = DType(dtype), stride * lanes
    source, result = Buffer("source", (size,), d), Buffer("result", (size + 2,), d)

    def store(k):
        at = ramp(k, lanes, stride)
        mask = arith.lt(at, Splat(INDEX, const(size - stride - 1, INDEX), lanes)) if masked else None
        at = ramp(k + 1, lanes, stride)
        return Store(result, (at,), Load(d, source, (ramp(k * lanes, lanes),)), mask)

    values = (np.arange(size) % 3 + 2).astype(d.numpy)
    body = Block(tuple(store(k) for k in range(stride)))
    func = finished(PrimFunc("kernel", (source,), (result,), body))
    if not masked:
        assert isinstance(func.body, Store)
    (out,) = build.run(func, [values])
    wanted = np.ones(size + 2, d.numpy)
    interleaved = values.reshape(stride, lanes).T.reshape(-1)
    count = size - stride - 1 if masked else size
    wanted[1 : count + 1] = interleaved[:count]
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["float32", "bool"])
def test_lanes_of_several_vectors(build, dtype, count):
    """A shuffle that is used in an operation, and one whose lanes fill no whole vectors."""
    d, random = DType(dtype), np.random.default_rng(count)
    source, result = Buffer("source", (8 * count,), d), Buffer("result", (16,), d)
    vectors = tuple(Load(d, source, (ramp(8 * k, 8),)) for k in range(count))
    order = tuple(int(k) for k in random.integers(0, 8 * count, 16))
    values = (np.arange(8 * count) % 3).astype(d.numpy)
    shuffled = Shuffle(d, vectors, order)
    added = arith.Binary(d, "add", shuffled, Splat(d, const(True if d is BOOL else 1, d), 16))
    (out,) = build.run(
        PrimFunc("kernel", (source,), (result,), Store(result, (ramp(0, 16),), added)), [values]
    )
    np.testing.assert_array_equal(out, values[list(order)] + d.numpy.type(1))
    few = Buffer("few", (5,), d)
    part = Store(few, (ramp(0, 5),), Shuffle(d, vectors, order[:5]))
    (out,) = build.run(PrimFunc("kernel", (source,), (few,), part), [values])
    np.testing.assert_array_equal(out, values[list(order[:5])])


def test_a_store_that_reads_what_the_one_before_stored_is_not_interleaved(build):
    def body(source, result):
        first = Store(result, (ramp(0, 8, 2),), Load(FLOAT32, source, (ramp(0, 8),)))
        return Block((first, Store(result, (ramp(1, 8, 2),), Load(FLOAT32, result, (ramp(0, 8, 2),)))))

    (out,) = build.run(finished(copy_kernel(8, 16, body)), [floats(8)])
    np.testing.assert_array_equal(out, np.repeat(floats(8), 2))


@pytest.mark.parametrize("dtype", ["float32", "int8", "int64", "bool", "float64"])
def test_gather_and_scatter_with_masks(build, dtype):
    d = DType(dtype)
    source, where = Buffer("source", (32,), d), Buffer("where", (16,), INT32)
    result = Buffer("result", (40,), d)
    indices = Load(INT32, where, (ramp(0, 16),))
    inside = arith.Compare(BOOL, "ge", indices, Splat(INT32, const(0, INT32), 16))
    gathered = Load(d, source, (indices,), inside)
    first = Store(result, (ramp(0, 16),), gathered)
    second = Store(result, (arith.cast(indices, INDEX),), gathered, inside)
    func = PrimFunc("kernel", (source, where), (result,), Block((first, second)))
    values = (np.arange(32) % 2 if dtype == "bool" else np.arange(32) + 50).astype(dtype)
    at = np.array([31, -1, 17, 16, 20, -(2**31), 18, 19, 30, 29, 28, 27, 26, 25, 24, 23], np.int32)
    (out,) = build.run(func, [values, at])
    expected = np.ones(40, dtype)
    expected[:16] = np.where(at >= 0, values[np.maximum(at, 0)], 0)
    expected[at[at >= 0]] = values[at[at >= 0]]
    np.testing.assert_array_equal(out, expected)


def test_a_named_vector(build):
    name = Var(FLOAT32, "name")

    def body(source, result):
        doubled = arith.Binary(FLOAT32, "add", name, name)
        return LetStmt(name, Load(FLOAT32, source, (ramp(4, 16),)), Store(result, (ramp(0, 16),), doubled))

    (out,) = build.run(copy_kernel(20, 16, body), [floats(20)])
    np.testing.assert_array_equal(out, 2 * floats(20)[4:])


def test_a_masked_scalar_read_and_write(build):
    i = index("i")
    far = const(1 << 40, INDEX)

    def body(source, result):
        even = arith.eq(arith.floormod(i, 2), 0)
        where = Select(INDEX, even, i, far)
        return loop(i, 8, Store(result, (where,), Load(FLOAT32, source, (where,), even), even))

    (out,) = build.run(copy_kernel(8, 8, body), [floats(8)])
    np.testing.assert_array_equal(out, [1, 1, 3, 1, 5, 1, 7, 1])


def test_a_uniform_read_under_a_vector_mask(build):
    """Nothing is read where no lane needs it."""

    def body(source, result):
        def part(position, first, address):
            mask = arith.Compare(BOOL, "lt", ramp(first, 16), Splat(INDEX, const(4, INDEX), 16))
            where = Splat(INDEX, const(address, INDEX), 16)
            return Store(result, (ramp(position, 16),), Load(FLOAT32, source, (where,), mask))

        return Block((part(0, 0, 2), part(16, 4, 1 << 40)))

    (out,) = build.run(copy_kernel(4, 32, body), [floats(4)])
    np.testing.assert_array_equal(out, [3] * 4 + [0] * 28)


@pytest.mark.parametrize("combiner", ["sum", "prod", "min", "max"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_horizontal_reductions(build, combiner, dtype):
    d = DType(dtype)
    source, result = Buffer("source", (16,), d), Buffer("result", (1,), d)
    value = HorizontalReduce(d, combiner, Load(d, source, (ramp(0, 16),)))
    func = PrimFunc("kernel", (source,), (result,), Store(result, (ZERO,), value))
    values = (np.arange(16) % 3 + 1).astype(dtype)
    (out,) = build.run(func, [values])
    keep = {"dtype": dtype} if combiner in ("sum", "prod") else {}
    np.testing.assert_array_equal(out[0], getattr(np, combiner)(values, **keep))
    if dtype == "float32" and combiner in ("min", "max"):
        values[5] = np.nan
        assert np.isnan(build.run(func, [values])[0][0])


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize(
    ("dtype", "op"), [("float32", "max"), ("float64", "min"), ("float16", "max"), ("int32", "min")]
)
def test_extremes_of_the_lanes_of_several_vectors(build, dtype, op, count):
    """Whichever lane of whichever vector holds it, and NaN wherever it stands."""
    d = DType(dtype)
    source, result = Buffer("source", (8 * count,), d), Buffer("result", (1,), d)
    value = Load(d, source, (ramp(0, 8),))
    for n in range(1, count):
        value = arith.Binary(d, op, value, Load(d, source, (ramp(8 * n, 8),)))
    func = PrimFunc("kernel", (source,), (result,), Store(result, (ZERO,), HorizontalReduce(d, op, value)))
    for at in range(0, 8 * count, 3):
        values = (np.arange(8 * count) % 5 - 2).astype(dtype)
        values[at] = 9 if op == "max" else -9
        assert build.run(func, [values])[0][0] == values[at]
        if d.is_float:
            values[at] = np.nan
            assert np.isnan(build.run(func, [values])[0][0])


def test_a_sum_uses_fused_multiply_add_and_a_formula_does_not(build):
    i = index("i")
    target = Target.parse("llvm -mcpu=x86-64-v3")
    a, b, total = Buffer("a", (64,), FLOAT32), Buffer("b", (64,), FLOAT32), Buffer("total", (64,), FLOAT32)
    product = arith.Binary(FLOAT32, "mul", Load(FLOAT32, a, (ramp(i, 8),)), Load(FLOAT32, b, (ramp(i, 8),)))
    step = Store(
        total, (ramp(0, 8),), arith.Binary(FLOAT32, "add", Load(FLOAT32, total, (ramp(0, 8),)), product)
    )
    formula = Store(
        total, (ramp(0, 8),), arith.Binary(FLOAT32, "add", Load(FLOAT32, a, (ramp(0, 8),)), product)
    )
    text = emit(PrimFunc("kernel", (a, b), (total,), loop(i, 56, step)), target)
    assert text.count("fmul contract") == text.count("fadd reassoc contract") == 1
    text = emit(PrimFunc("kernel", (a, b), (total,), loop(i, 56, formula)), target)
    assert "contract" not in text


@pytest.mark.parametrize("op", ["min", "max"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_extreme_of_as_many_elements_as_the_data_say_runs_in_vectors(build, op, dtype):
    """A loop that accumulates by itself: LLVM knows `maximum` for a reduction, and NaN stays NaN wherever it stands."""
    kind, i = DType(dtype), index("i")
    source, count, result = (
        Buffer("source", (200,), kind),
        Buffer("count", (1,), INT32),
        Buffer("result", (1,), kind),
    )
    least = Const(kind, -np.inf if op == "max" else np.inf)
    step = arith.Binary(kind, op, Load(kind, result, (ZERO,)), Load(kind, source, (i,)))
    extent = arith.cast(Load(INT32, count, (ZERO,)), INDEX)
    body = Block((Store(result, (ZERO,), least), loop(i, extent, Store(result, (ZERO,), step))))
    func = PrimFunc("kernel", (source, count), (result,), body)
    target = Target.parse("llvm -mcpu=x86-64-v3")
    assert f"@llvm.vector.reduce.f{op}imum.v" in optimise_and_compile(emit(func, target), target).ir
    values = np.random.default_rng(0).standard_normal(200).astype(dtype)
    for length in (0, 1, 7, 64, 199):
        expected = getattr(np, op)(values[:length], initial=least.value)
        assert build.run(func, [values, np.array([length], np.int32)])[0][0] == expected
    for at in (0, 1, 31, 64, 187):
        wrong = values.copy()
        wrong[at] = np.nan
        assert np.isnan(build.run(func, [wrong, np.array([188], np.int32)])[0][0])


@pytest.mark.parametrize("extent", [0, 1, 2, 7])
def test_nested_loops_with_minimum_let_and_if(build, extent):
    i, j, k = index("i"), index("j"), index("k")

    def body(source, result):
        store = Store(
            result, (k,), arith.Binary(FLOAT32, "mul", Load(FLOAT32, source, (k,)), Const(FLOAT32, 2.0))
        )
        zero = Store(result, (k,), Const(FLOAT32, 0.0))
        choose = If(arith.lt(j, i), store, zero)
        inner = LetStmt(k, arith.add(arith.mul(i, 8), j), choose)
        return loop(i, extent, loop(j, arith.sub(5, 2), inner, minimum=const(2, INDEX)), minimum=ONE)

    (out,) = build.run(copy_kernel(80, 80, body), [floats(80)])
    expected = np.ones(80, np.float32)
    for row in range(1, 1 + extent):
        for column in range(2, 5):
            at = row * 8 + column
            expected[at] = 2 * (at + 1) if column < row else 0
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("scope_size", [16, 100_000])
@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.PARALLEL])
def test_temporaries_on_stack_and_heap(build, scope_size, kind):
    i, j = index("i"), index("j")
    temporary = Buffer("temporary", (scope_size,), FLOAT32, "local")

    def body(source, result):
        at = arith.add(arith.mul(i, 16), j)
        fill = loop(j, 16, Store(temporary, (j,), Load(FLOAT32, source, (at,))))
        drain = loop(j, 16, Store(result, (at,), Load(FLOAT32, temporary, (arith.sub(15, j),))))
        return loop(i, 40, Allocate(temporary, Block((fill, drain))), kind)

    (out,) = build.run(copy_kernel(640, 640, body), [floats(640)])
    np.testing.assert_array_equal(out.reshape(40, 16), floats(640).reshape(40, 16)[:, ::-1])


def test_a_temporary_of_symbolic_size(build):
    n, i = arith.dim("n"), index("i")
    source, result = Buffer("source", (n,), FLOAT32), Buffer("result", (640,), FLOAT32)
    temporary = Buffer("temporary", (arith.mul(n, 2),), FLOAT32)
    fill = loop(i, n, Store(temporary, (arith.mul(i, 2),), Load(FLOAT32, source, (i,))))
    drain = loop(i, n, Store(result, (i,), Load(FLOAT32, temporary, (arith.mul(i, 2),))))
    func = PrimFunc("kernel", (source,), (result,), Allocate(temporary, Block((fill, drain))), (n,))
    (out,) = build.run(func, [floats(640)])
    np.testing.assert_array_equal(out, floats(640))


def test_a_parallel_loop_takes_scalars_and_a_minimum_along(build):
    i, scale, start = index("i"), Var(FLOAT32, "scale"), index("start")

    def body(source, result):
        value = arith.Binary(FLOAT32, "mul", Load(FLOAT32, source, (i,)), scale)
        inner = For(i, start, arith.sub(900, start), ForKind.PARALLEL, Store(result, (i,), value))
        named = LetStmt(start, arith.cast(Load(FLOAT32, source, (ONE,)), INDEX), inner)
        return LetStmt(scale, Load(FLOAT32, source, (const(2, INDEX),)), named)

    (out,) = build.run(copy_kernel(900, 900, body), [floats(900)])
    np.testing.assert_array_equal(out[2:], floats(900)[2:] * 3)
    np.testing.assert_array_equal(out[:2], 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda s, r: Store(r, (ZERO, ZERO), Const(FLOAT32, 0.0)),
            "buffer result is accessed with 2 indices",
        ),
        (
            lambda s, r: Store(r, (index("q"),), Const(FLOAT32, 0.0)),
            "variable q is used outside the statement",
        ),
        (
            lambda s, r: Store(r, (ZERO,), Load(FLOAT32, Buffer("lost", (3,), FLOAT32), (ZERO,))),
            "buffer lost is used but never allocated",
        ),
        (lambda s, r: loop(index("v"), 4, Block(()), ForKind.VECTORIZED), "loop v is still vectorized"),
        (
            lambda s, r: Store(r, (ZERO,), Load(FLOAT32, s, (ramp(0, 8),))),
            "a vector of 8 lanes is stored to one element of result",
        ),
    ],
)
def test_what_cannot_be_compiled_is_named(make, message):
    with pytest.raises(CodegenError) as caught:
        emit(copy_kernel(32, 32, make), Target.host())
    assert message in str(caught.value)


def test_a_long_chain_does_not_exhaust_the_stack(build):
    i = index("i")

    def body(source, result):
        value = Load(FLOAT32, source, (i,))
        for _ in range(3000):
            value = arith.Binary(FLOAT32, "add", value, Const(FLOAT32, 1.0))
        return loop(i, 4, Store(result, (i,), value))

    (out,) = build.run(copy_kernel(4, 4, body), [floats(4)])
    np.testing.assert_array_equal(out, floats(4) + 3000)


def test_a_hint_becomes_a_prefetch() -> None:
    source, result = Buffer("source", (8,), FLOAT32), Buffer("result", (8,), FLOAT32)
    i = index("i")
    body = Block((Prefetch(source, (i + 4,), (1,)), Store(result, (i,), Load(FLOAT32, source, (i,)))))
    text = emit(PrimFunc("kernel", (source,), (result,), loop(i, 8, body)), Target.host())
    assert text.count("call void @llvm.prefetch.p0(ptr %") == 1


@pytest.mark.parametrize("combiner", ["sum", "max", "min"])
@pytest.mark.parametrize("length", [1, 8, 37])
def test_products_that_are_accumulated_are_computed_as_they_are_written(combiner: str, length: int) -> None:
    """Sums have any order; what is summed has one: the square of `a` alone is infinite."""
    a, b = te.placeholder("a", (3, length), "float32"), te.placeholder("b", (3, length), "float32")
    k = te.reduce_axis(length, "k")

    def body(i: Expr) -> Expr:
        x, y = te.read(a, i, k.var), te.read(b, i, k.var)
        return te.reduce(combiner, k, x * (y * x))

    out = te.compute("out", (3,), "float32", body)
    for schedule in (
        create_schedule((out,)),
        schedules.generic((out,), Target.host()),
    ):
        func = tir.run_phases(tir.lower(schedule, (a, b), (out,), "kernel"))
        large, small = np.full((3, length), 1e30, np.float32), np.full((3, length), 1e-30, np.float32)
        (found,) = run_kernel(func, [large, small])
        np.testing.assert_allclose(found, (length if combiner == "sum" else 1) * 1e30, rtol=1e-5)
