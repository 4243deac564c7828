"""te as it is written by hand: every form equals numpy under random legal schedules; what is wrong is named."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opgen_runtime.errors import (
    AccessError,
    CallError,
    DTypeError,
    ExecutorError,
    LanguageError,
    OpgenError,
    RegistryError,
    ScheduleError,
    ShapeError,
)

import opgen_runtime as rt
from opgen_runtime import te
from tests.lower.tir.programs import scramble

Draw = Callable[[st.SearchStrategy[Any]], Any]


@dataclass(frozen=True)
class Program:
    """Inputs, results, and what numpy makes of the inputs' arrays."""

    inputs: Sequence[te.Tensor]
    outputs: Sequence[te.Tensor]
    expected: Callable[..., Any]


def elementwise(draw: Draw) -> Program:
    n, m = draw(st.integers(0, 9)), draw(st.integers(1, 9))
    a, b = te.placeholder((n, m), name="a"), te.placeholder((m,), name="b")
    double = te.compute((n, m), lambda i, j: a[i, j] * 2.0, name="double")
    c = te.compute(
        (n, m),
        lambda i, j: te.if_then_else(te.any(a[i, j] < b[j], j < 1), double[i, j], te.tanh(b[m - 1 - j])),
        name="c",
    )
    return Program(
        [a, b], [c], lambda x, y: np.where((x < y) | (np.arange(m) < 1), x * 2, np.tanh(y[::-1])[None])
    )


def matmul(draw: Draw) -> Program:
    n, m, k = (draw(st.integers(1, 9)) for _ in range(3))
    a, b = te.placeholder((n, k), name="a"), te.placeholder((k, m), name="b")
    axis = te.reduce_axis((0, k), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, axis] * b[axis, j], axis=axis), name="c")
    return Program([a, b], [c], np.matmul)


REDUCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sum": (te.sum, np.sum),
    "prod": (te.prod, np.prod),
    "min": (te.min, np.min),
    "max": (te.max, np.max),
    "argmax": (te.argmax, lambda x, axis: np.argmax(x.reshape(len(x), -1), axis=1)),
    "argmin": (te.argmin, lambda x, axis: np.argmin(x.reshape(len(x), -1), axis=1)),
    "all": (lambda x, axis: te.all(x > 0.0, axis=axis), lambda x, axis: np.all(x > 0, axis=axis)),
    "any": (lambda x, axis: te.any(x > 0.5, axis=axis), lambda x, axis: np.any(x > 0.5, axis=axis)),
    "own sum": (
        te.comm_reducer(lambda a, b: a + b, lambda dtype: te.const(0, dtype), name="own"),
        np.sum,
    ),
    "last": (te.comm_reducer(lambda a, b: b, lambda dtype: te.const(7, dtype)), lambda x, axis: x[:, -1, -1]),
}


def reduction(draw: Draw) -> Program:
    n, m, k = (draw(st.integers(1, 6)) for _ in range(3))
    reducer, expected = REDUCTIONS[draw(st.sampled_from(sorted(REDUCTIONS)))]
    a = te.placeholder((n, m, k), name="a")
    axes = [te.reduce_axis((0, m), name="r"), te.reduce_axis((0, k), name="s")]
    b = te.compute((n,), lambda i: reducer(a[i, axes[0], axes[1]], axis=axes), name="b")
    return Program([a], [b], lambda x: expected(x, axis=(1, 2)))


def pairs(draw: Draw) -> Program:
    n, m = draw(st.integers(1, 6)), draw(st.integers(0, 6))
    greatest = te.comm_reducer(
        lambda a, b: (te.if_then_else(b[1] > a[1], b[0], a[0]), te.maximum(a[1], b[1])),
        lambda index, value: (te.const(-1, index), te.const(0, value)),
    )
    a, k = te.placeholder((n, m), name="a"), te.reduce_axis((0, m), name="k")
    where = draw(st.booleans())
    at, best = te.compute(
        (n,), lambda i: greatest((te.cast(k, "int32"), a[i, k]), axis=k, where=k % 2 < 1 if where else None)
    )

    def expected(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x = np.where((np.arange(m) % 2 < 1) | (not where), x, -np.inf)
        value = np.maximum(x.max(axis=1, initial=-np.inf), 0).astype(np.float32)
        found = np.argmax(x, axis=1) if m else np.zeros(n, int)
        return np.where((x > 0).any(axis=1), found, -1).astype(np.int32), value

    return Program([a], [at, best], expected)


def recurrence(draw: Draw) -> Program:
    rows, m, start = draw(st.integers(2, 7)), draw(st.integers(1, 6)), draw(st.integers(1, 2))
    x = te.placeholder((rows, m), name="x")
    h, g = te.placeholder((rows, m), name="h"), te.placeholder((rows, m), name="g")
    first = te.compute((start, m), lambda t, i: x[t, i], name="first")
    zero = te.compute((start, m), lambda t, i: 0.0, name="zero")
    k = te.reduce_axis((0, m), name="k")
    mixed = te.compute((rows, m), lambda t, i: te.sum(h[t - 1, k] * 0.5, axis=k), name="mixed")
    new_h = te.compute((rows, m), lambda t, i: mixed[t, i] + x[t, i] - g[t - 1, i], name="new_h")
    new_g = te.compute((rows, m), lambda t, i: te.tanh(mixed[t, i]) * g[t - 1, m - 1 - i] + 1.0, name="new_g")
    states = te.scan([first, zero], [new_h, new_g], [h, g], inputs=[x], name="state")

    def expected(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a, b = x.astype(np.float64), np.zeros(x.shape)
        for t in range(start, rows):
            mix = np.full(m, a[t - 1].sum() * 0.5)
            a[t], b[t] = mix + x[t] - b[t - 1], np.tanh(mix) * b[t - 1][::-1] + 1
        return a, b

    return Program([x], states, expected)


FORMS = (elementwise, matmul, reduction, pairs, recurrence)


@settings(max_examples=60)
@given(st.data())
def test_programs_equal_numpy_under_random_schedules(data: st.DataObject) -> None:
    program = data.draw(st.sampled_from(FORMS))(data.draw)
    schedule = te.create_schedule(program.outputs)
    scans = [stage.op for stage in schedule.stages if isinstance(stage.op, te.Scan)]
    for stage in schedule.stages:
        if stage.body is None or not stage.leaves:
            continue
        free = not stage.is_output and not any(stage.tensor in each.inputs() for each in scans)
        if free and not isinstance(stage.body, te.Reduce) and data.draw(st.booleans()):
            stage.compute_inline()
        else:
            scramble(data.draw, stage)
    random = np.random.default_rng(0)
    arrays = [random.standard_normal(t.shape).astype(np.float32) for t in program.inputs]
    expected = program.expected(*arrays)
    expected = expected if isinstance(expected, tuple) else (expected,)
    with np.errstate(all="ignore"):
        function = rt.build(schedule, [*program.inputs, *program.outputs])
    into = [np.full(t.shape, 99, t.dtype.numpy) for t in program.outputs]
    function(*arrays, *into)
    for found, wanted in zip(into, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


def test_dims_are_those_of_the_arrays() -> None:
    n = te.var("n")
    a, b = te.placeholder((n, 2), name="a"), te.placeholder((n,), "int32", name="b")
    c = te.compute((n, 2), lambda i, j: a[i, j] + te.cast(b[i], "float32"), name="c")
    schedule = te.create_schedule(c)
    outer, _ = schedule[c].split(c.op.axis[0], factor=4)
    schedule[c].parallel(outer)
    f = rt.build(schedule, [c, b, a])
    assert repr(f) == "c(c: float32[n, 2], b: int32[n], a: float32[n, 2])"
    for size in (0, 1, 5, 64):
        x, y = np.ones((size, 2), np.float32), np.arange(size, dtype=np.int32)
        out = np.empty((size, 2), np.float32)
        assert f(out, y, x) is out
        np.testing.assert_array_equal(out, x + y[:, None])
        np.testing.assert_array_equal(f(y, x), out)
    with pytest.raises(ExecutorError, match="input a must be float32\\[3, 2\\], found float32\\[4, 2\\]"):
        f(np.zeros(3, np.int32), np.zeros((4, 2), np.float32))


def test_a_dim_that_only_the_result_has() -> None:
    n = te.var("n")
    c = te.compute((n,), lambda i: i * i, name="squares")
    f = rt.build(te.create_schedule(c), [c])
    out = np.empty(5, np.int64)
    f(out)
    np.testing.assert_array_equal(out, [0, 1, 4, 9, 16])
    with pytest.raises(ExecutorError, match="no array binds the dim n; give the result, too"):
        f()


def test_extern_is_a_function_or_a_name_of_one() -> None:
    a = te.placeholder((3, 4), name="a")
    half = te.compute((3, 4), lambda i, j: a[i, j] / 2.0, name="half")
    low, high = te.extern(
        [(3,), (3,)], [half], lambda x, by: (x.min(axis=1) * by, x.max(axis=1)), name="ends", attrs={"by": 2}
    )
    named = te.extern((3,), [low, high], "tests.compute.te.difference", name="named", dtype="float32")
    out = te.compute((3,), lambda i: -named[i], name="out")
    f = rt.build(te.create_schedule(out), [a, out])
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    with pytest.raises(RegistryError, match=r"no global function 'tests\.compute\.te\.difference'"):
        f(x)
    rt.register_func("tests.compute.te.difference", lambda a, b: b - a, override=True)
    np.testing.assert_allclose(f(x), x.min(axis=1) - x.max(axis=1) / 2, rtol=1e-6)
    assert te.compute((3,), lambda i: low[i], name="c").op.inputs() == (low,)


def test_operators_of_elements_and_axes() -> None:
    a, b = te.placeholder((8,), "int32", name="a"), te.placeholder((8,), "float32", name="b")
    k = te.reduce_axis((0, 4), name="k")
    outputs = [
        te.compute((8,), lambda i: ((a[i] & 6) | 1) ^ (a[i] << 2) >> 1, name="bits"),
        te.compute((8,), lambda i: ~a[i] + abs(a[i] - 3), name="inverted"),
        te.compute((8,), lambda i: b[i] ** 2.0 + 2.0 ** b[i], name="powers"),
        te.compute((8,), lambda i: a[i].astype("float32") / 2.0, name="halves"),
        te.compute((4,), lambda i: te.sum(b[2 * k - k - 0 + i % 2], axis=k, where=k + 1 <= i), name="axes"),
        te.compute((8,), lambda i: te.equal(a[i], a[7 - i]), name="same"),
    ]
    x, y = np.arange(8, dtype=np.int32), np.linspace(0, 2, 8, dtype=np.float32)
    found = rt.build(te.create_schedule(outputs), [a, b, *outputs])(x, y)
    axes = [sum(y[k + i % 2] for k in range(4) if k + 1 <= i) for i in range(4)]
    expected = [(x & 6 | 1) ^ (x << 2 >> 1), ~x + abs(x - 3), y**2 + 2**y, x / 2, axes, x == x[::-1]]
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-5)


def test_several_threads_run_one_function() -> None:
    n = te.var("n")
    a = te.placeholder((n,), name="a")
    c = te.compute((n,), lambda i: a[i] + 1.0, name="c")
    f = rt.build(te.create_schedule(c), [a, c])
    wrong: list[int] = []

    def work(size: int) -> None:
        for _ in range(50):
            x = np.full(size, size, np.float32)
            if not np.array_equal(f(x), x + 1):
                wrong.append(size)

    threads = [threading.Thread(target=work, args=(size,)) for size in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


A = te.placeholder((4, 5), name="A")
V = te.placeholder((4,), name="V")
K = te.reduce_axis((0, 5), name="k")
ROW = te.compute((4,), lambda i: te.sum(A[i, K], axis=K), name="row")


def built(*args: te.Tensor) -> Any:
    return rt.build(te.create_schedule(ROW), list(args))


WRONG: list[tuple[Callable[[], object], type[OpgenError], str]] = [
    (lambda: A[1], ShapeError, "A has 2 dims, found 1 indices"),
    (lambda: A[1, 2, 3], ShapeError, "A has 2 dims, found 3 indices"),
    (lambda: A[4, 0], AccessError, r"A: index 0 is 4, the dim is 4 \(0\.\.3\)"),
    (lambda: A[0, -1], AccessError, r"A: index 1 is -1, the dim is 5 \(0\.\.4\)"),
    (lambda: A[0, 1.5], AccessError, "A: index 1 is 1.5; expected an integer, an axis or an expression"),
    (lambda: A[0, V[0]], DTypeError, "A: index 1 is float32; expected an integer"),
    (
        lambda: te.sum(V[0], axis=ROW.op.axis[0]),
        CallError,
        "sum over the data axis i; expected an axis of te",
    ),
    (lambda: te.sum(V[0], axis=3), CallError, "sum over 3; expected an axis of te.reduce_axis"),
    (lambda: te.max(V[0]), CallError, "max: an axis is missing"),
    (
        lambda: te.reduce_axis((1, 5)),
        ShapeError,
        r"rv: a reduce axis has the domain \(1, 5\), expected \(0, extent\)",
    ),
    (
        lambda: te.compute((2, 3), lambda i: 1.0),
        ShapeError,
        "the shape has 2 dims, the function takes 1 indices",
    ),
    (lambda: te.compute((-1,), lambda i: 1.0), ShapeError, "compute: axis 0 has the extent -1"),
    (lambda: te.compute((3,), lambda i: "x"), DTypeError, "'x' is no number"),
    (
        lambda: te.create_schedule(te.compute((9,), lambda i: V[i], name="far")),
        AccessError,
        r"tensor far reads V\[i\]: cannot prove that index 0 of V is in bounds: i ranges over 0\.\.8",
    ),
    (
        lambda: te.create_schedule(te.compute((4,), lambda i: V[i] + A[i, K], name="free")),
        LanguageError,
        "tensor free uses the variable k, which no axis of it binds",
    ),
    (lambda: te.create_schedule(3), ScheduleError, "te.create_schedule of 3; expected tensors"),
    (
        lambda: te.create_schedule(ROW)[ROW].split(te.reduce_axis((0, 5), "other"), 2),
        ScheduleError,
        "split on stage row: axis other is not a loop of it",
    ),
    (lambda: built(ROW), ScheduleError, "the program needs A, which is not among its arguments"),
    (lambda: built(A), ScheduleError, "the program needs row, which is not among its arguments"),
    (lambda: built(A, A, ROW), ScheduleError, "the tensor A is an argument twice"),
    (lambda: built(A, ROW)("x"), CallError, "row: A must be an array or a number, found str"),
    (lambda: built(A, ROW)(), ExecutorError, "expected 2 arrays, or the 1 inputs, found 0"),
    (
        lambda: te.scan(V, te.compute((4, 5), lambda t, i: A[t, i]), A),
        ShapeError,
        r"scan: the initial state V is float32\[4\], expected the first rows of A, float32\[4, 5\]",
    ),
    (lambda: te.extern((3,), [V], 4), CallError, "extern: 4 is neither a function nor the name of one"),
    (
        lambda: te.comm_reducer(lambda a, b: a > b, lambda d: 0)(V[0], axis=K),
        DTypeError,
        "its function gives bool",
    ),
]


@pytest.mark.parametrize(("make", "kind", "message"), WRONG, ids=[message[:30] for _, _, message in WRONG])
def test_what_is_wrong_is_named(make: Callable[[], object], kind: type[OpgenError], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()
