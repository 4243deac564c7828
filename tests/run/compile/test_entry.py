"""Calls of kernels without Python in between: what fits runs, all else is left alone, nothing leaks."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime.ir import Constant, Function, Tuple, var
from opgen_runtime.operator.types import TensorType
from opgen_runtime.ops import add, cumsum, multiply, softmax, split
from opgen_runtime.run.calls import eager
from opgen_runtime.run.compile.native import entry as entry_module
from opgen_runtime.run.compile.native.buffers import MAX_FREE_LIST_BYTES, MIN_POOLED_BYTES, POOL
from opgen_runtime.run.compile.pipeline import compile_segment, forget_kernels
from opgen_runtime.run.executor import Entry, build

A = np.arange(6, dtype=np.float32).reshape(2, 3)
B = np.array([[10, 20, 30], [40, 50, 60]], np.float32)
ROW = np.array([1, 2, 3], np.float32)


@pytest.fixture
def entry() -> Entry:
    return entry_of(lambda a, b: add(multiply(a, b), a), (2, 3))


def entry_of(
    body: Callable[..., Any], shape: tuple[int, ...], count: int = 2, dtype: str = "float32"
) -> Entry:
    params = tuple(var(f"p{k}", TensorType(shape, dtype)) for k in range(count))
    found = build(Function(params, body(*params))).entry()
    assert found is not None, "this Python and numpy have the layouts that are expected"
    return found


def with_constants() -> Callable[..., Any]:
    """`a * ROW + B` as one kernel."""
    a = var("a", TensorType((2, 3), "float32"))
    function = Function((a,), add(multiply(a, Constant(ROW.copy())), Constant(B.copy())))
    entry = compile_segment(function).entry()
    assert entry is not None
    return entry.new


def test_values(entry: Entry) -> None:
    found = entry.new(A, B)
    assert type(found) is np.ndarray
    assert found.dtype == np.float32
    assert found.flags.owndata
    np.testing.assert_array_equal(found, A * B + A)
    out = np.empty_like(A)
    assert entry.into(A, B, out) is out
    np.testing.assert_array_equal(out, A * B + A)


def test_the_same_array_twice_and_constants() -> None:
    np.testing.assert_array_equal(entry_of(add, (2, 3)).new(A, A), 2 * A)
    new = with_constants()
    np.testing.assert_array_equal(new(A), A * ROW + B)


@pytest.mark.parametrize("shape", [(), (1,), (7,), (2, 3, 1, 4, 1, 2)])
def test_ranks(shape: tuple[int, ...]) -> None:
    a = np.asarray(np.random.default_rng(0).normal(size=shape))
    np.testing.assert_array_equal(entry_of(add, shape, dtype="float64").new(a, a), a + a)


def misfits() -> Iterator[tuple[str, tuple[object, ...]]]:
    yield "no argument", ()
    yield "too few", (A,)
    yield "too many", (A, B, A)
    yield "a number", (A, 1.0)
    yield "None", (None, B)
    yield "a list", (A, [[1.0] * 3] * 2)
    yield "a text", ("a", B)
    yield "a class", (np.ndarray, B)
    yield "a numpy scalar", (np.float32(1), B)
    yield "another dtype", (A.astype(np.float64), B)
    yield "an integer dtype of the same width", (A, B.astype(np.int32))
    yield "another byte order", (A.astype(A.dtype.newbyteorder()), B)
    yield "another shape", (A, B[:1])
    yield "another rank", (A, B.reshape(6))
    yield "more axes", (A.reshape(1, 2, 3), B)
    yield "a transposed view", (np.asfortranarray(A), B)
    yield "a view with steps", (np.zeros((2, 6), np.float32)[:, ::2], B)
    yield "a subclass", (A.view(np.recarray), B)
    raw = np.zeros(A.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(2, 3)
    yield "an array that is not aligned", (raw, B)


@pytest.mark.parametrize(
    ("what", "arguments"), list(misfits()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_does_not_fit_is_left_alone(entry: Entry, what: str, arguments: tuple[object, ...]) -> None:
    assert entry.new(*arguments) is NotImplemented
    out = np.full((2, 3), 7, np.float32)
    assert entry.into(*arguments, out) is NotImplemented
    assert (out == 7).all()


def test_outputs_that_do_not_fit_are_left_alone(entry: Entry) -> None:
    locked = np.full((2, 3), 7, np.float32)
    locked.flags.writeable = False
    both = np.zeros((2, 2, 3), np.float32)
    shifted = np.zeros(9, np.float32)
    for inputs, out in [
        ((A, B), locked), ((A, B), np.zeros((3, 2), np.float32)), ((A, B), np.zeros((2, 3))), ((A, B), None),
        ((A, B), np.zeros((2, 6), np.float32)[:, ::2]), ((both[0], B), both[0]), ((B, both[1]), both[1]),
        ((shifted[:6].reshape(2, 3), B), shifted[3:].reshape(2, 3)),
    ]:  # fmt: skip
        before = None if out is None else out.copy()
        assert entry.into(*inputs, out) is NotImplemented
        assert out is None or np.array_equal(out, before)
    apart = entry.into(both[0], B, both[1])
    assert np.shares_memory(apart, both)
    assert not both[1].any()


def test_keywords_are_refused_by_python(entry: Entry) -> None:
    with pytest.raises(TypeError):
        entry.new(A, b=B)


def test_nothing_leaks(entry: Entry) -> None:
    out, locked = np.empty_like(A), A.copy()
    locked.flags.writeable = False
    watched = [A, B, out, A.dtype, NotImplemented, None, entry.new, entry.into]
    entry.new(A, B)
    before = [sys.getrefcount(each) for each in watched]
    for _ in range(500):
        entry.new(A, B)
        entry.into(A, B, out)
        entry.new(A, None)
        entry.into(A, B, locked)
    after = [sys.getrefcount(each) for each in watched]
    assert all(abs(one - other) < 50 for one, other in zip(before, after, strict=True)), (before, after)


def test_functions_outlive_the_executable() -> None:
    new = with_constants()
    forget_kernels()
    gc.collect()
    junk = [np.random.default_rng(k).normal(size=64) for k in range(200)]
    np.testing.assert_array_equal(new(A), A * ROW + B)
    del junk


def test_several_threads_at_once() -> None:
    large = np.random.default_rng(0).normal(size=(64, 512)).astype(np.float32)
    entry = entry_of(lambda a: softmax(a, axis=1), (64, 512), 1)
    expected = entry.new(large)
    wrong: list[int] = []

    def call() -> None:
        for k in range(50):
            if not np.array_equal(entry.new(large), expected):
                wrong.append(k)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_no_entry_without_elements() -> None:
    a = var("a", TensorType((0, 3), "float32"))
    assert build(Function((a,), add(a, a))).entry() is None


def test_large_results_lie_in_buffers_that_are_kept() -> None:
    new = entry_of(add, (512, 1025)).new
    a = np.random.default_rng(0).normal(size=(512, 1025)).astype(np.float32)
    POOL.clear()
    first = new(a, a)
    where, dtype_count = first.ctypes.data, sys.getrefcount(a.dtype)
    assert type(first) is np.ndarray
    assert where % 4096 == 0
    assert first.flags.carray
    assert not first.flags.owndata
    np.testing.assert_array_equal(first, 2 * a)
    view = first[1:, ::2].T
    del first
    assert POOL.free_list_bytes == 0
    assert not np.shares_memory(other := new(a, a), view)
    np.testing.assert_array_equal(view, 2 * a[1:, ::2].T)
    del view
    assert a.nbytes < POOL.free_list_bytes < 2 * a.nbytes
    for _ in range(100):
        assert new(a, a).ctypes.data == where
    assert POOL.empty(a.shape, a.dtype).ctypes.data == where  # those of other ways are the same ones
    assert not np.shares_memory(other, POOL.empty(a.shape, a.dtype))
    assert abs(sys.getrefcount(a.dtype) - dtype_count) < 50
    POOL.clear()
    assert POOL.free_list_bytes == 0


def test_the_buffers_that_are_kept_are_the_latest_and_bounded() -> None:
    assert entry_of(add, (2, 3)) is not None  # there are entries now
    POOL.clear()
    sizes = [MIN_POOLED_BYTES + 64 * k for k in range(100)]
    addresses = [POOL.empty((size,), np.dtype(np.uint8)).ctypes.data for size in sizes]
    assert 60 * MIN_POOLED_BYTES < POOL.free_list_bytes < 66 * MIN_POOLED_BYTES
    assert POOL.empty((sizes[-1],), np.dtype(np.uint8)).ctypes.data == addresses[-1]
    before = POOL.free_list_bytes
    whole = POOL.empty((MAX_FREE_LIST_BYTES,), np.dtype(np.uint8))
    del whole  # with what is beside it, more than may be kept
    assert POOL.free_list_bytes == before
    large = POOL.empty((MAX_FREE_LIST_BYTES - MIN_POOLED_BYTES,), np.dtype(np.uint8))
    del large
    assert MAX_FREE_LIST_BYTES - MIN_POOLED_BYTES < POOL.free_list_bytes <= MAX_FREE_LIST_BYTES
    POOL.clear()


def test_large_results_in_a_tuple_and_threads() -> None:
    a = var("a", TensorType((1024, 257), "float32"))
    entry = build(Function((a,), Tuple((add(a, a), multiply(a, a), cumsum(a, axis=1))))).entry()
    assert entry is not None
    new, wrong = entry.new, []

    def work(seed: int) -> None:
        value = np.random.default_rng(seed).integers(0, 9, (1024, 257)).astype(np.float32)
        for _ in range(30):
            results = new(value)
            expected = (value + value, value * value, np.cumsum(value, axis=1))
            wrong.extend(
                seed for one, two in zip(results, expected, strict=True) if not np.array_equal(one, two)
            )

    users = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert wrong == []


def test_no_memory_for_a_large_result_is_an_error() -> None:
    program = """
import resource
import numpy as np
from opgen_runtime import eager
tall, wide = np.ones((2048, 1), np.float32), np.ones((1 << 15,), np.float32)
for _ in range(3):
    eager.add(tall, wide)
resource.setrlimit(resource.RLIMIT_AS, (1 << 31, resource.RLIM_INFINITY))
for _ in range(3):
    try:
        few = [eager.add(tall, wide) for _ in range(9)]
    except MemoryError:
        print("none")
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(np.trace(eager.add(tall, wide)))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == ("none\n" * 3 + "4096.0\n", "")


def test_several_results_are_a_tuple() -> None:
    """Of one kernel and of a program: new arrays each time, nothing leaks, and none of them can be given."""
    a = var("a", TensorType((2, 3), "float32"))
    one = build(Function((a,), split(a, indices_or_sections=3, axis=1)))
    two = build(Function((a,), Tuple((cumsum(softmax(a, axis=0), axis=1), cumsum(a, axis=0)))))
    assert (len(one.compiled), len(two.compiled) > 1) == (1, True)
    for program in (one, two):
        entry, expected = program.entry(), program.run([A])
        assert entry is not None
        found = entry.new(A)
        assert (type(found), len(found)) == (tuple, len(expected))
        for array, other in zip(found, expected, strict=True):
            assert type(array) is np.ndarray
            np.testing.assert_array_equal(array, other)
        assert gc.is_tracked(found)
        assert len({array.ctypes.data for array in (*found, *entry.new(A))}) == 2 * len(found)
        assert entry.new(B[:1]) is entry.new() is entry.into(A, *expected) is NotImplemented
        assert entry.into(A, np.empty_like(expected[0])) is NotImplemented
        counts = [sys.getrefcount(each) for each in (A, A.dtype, found[0], found)]
        for _ in range(200):
            entry.new(A)
            entry.new(A.T)
        after = [sys.getrefcount(each) for each in (A, A.dtype, found[0], found)]
        assert all(abs(x - y) < 50 for x, y in zip(counts, after, strict=True)), (counts, after)


def test_results_of_calls_nest_as_they_did_before_they_were_entered() -> None:
    forms: list[Callable[[Any], Any]] = [
        lambda x: (x + 1, x * 2), lambda x: [x + 1, x * 2], lambda x: [x],
        lambda x: (np.cumsum(x, 0) @ x.T,), lambda x: (x + 1,), lambda x: (x + 1, (x * 2, x)),
        lambda x: {"a": x + 1, "b": x * 2}, lambda x: (x + 1, [x * 2]), lambda x: (x * 2, x * 2, x),
    ]  # fmt: skip
    for form in forms:
        jitted, expected = rt.jit(form), form(A)
        found = [jitted(A) for _ in range(4)]
        assert [repr(each) for each in found] == [repr(expected)] * 4
    op = eager.EagerOp(rt.registry.Op.get("split"))
    for _ in range(4):
        assert repr(op(A, indices_or_sections=3, axis=1)) == repr(tuple(np.split(A, 3, axis=1)))


def test_a_program_of_several_kernels_is_entered() -> None:
    a = var("a", TensorType((2, 3), "float32"))
    program = build(Function((a,), softmax(add(softmax(a, axis=0), cumsum(a, axis=1)), axis=1)))
    entry = program.entry()
    assert len(program.compiled) > 1
    assert entry is not None
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(entry.new(data), program.run([data]))


def test_eager_and_jit_use_it_and_agree() -> None:
    op = eager.EagerOp(rt.registry.Op.get("add"))
    calls = [op(A, B) for _ in range(3)]
    assert op._entry is not None
    for found in calls:
        np.testing.assert_array_equal(found, A + B)
    np.testing.assert_array_equal(op(A, 2.0), A + 2)
    np.testing.assert_array_equal(op(A[:1], B[:1]), A[:1] + B[:1])
    np.testing.assert_array_equal(op(A, rhs=B), A + B)
    inside = A.copy()
    assert op(inside, B, out=inside) is inside
    np.testing.assert_array_equal(inside, A + B)

    jitted = rt.jit(lambda a, b: a * b + a)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(A, B), A * B + A)
    assert jitted._entry is not None
    np.testing.assert_array_equal(jitted(A, 3.0), A * 3 + A)
    np.testing.assert_array_equal(jitted(A.astype(np.float64), B.astype(np.float64)), A * B + A)


def test_calls_before_any_python_code_mean_what_the_slow_ones_do() -> None:
    """Through the trampoline of an eager op: outputs by name, refusals of every kind, and nothing is leaked."""
    op = eager.EagerOp(rt.registry.Op.get("add"))
    assert isinstance(op, eager.EagerOp)
    out = np.empty_like(A)
    for _ in range(3):
        np.testing.assert_array_equal(op(A, B), A + B)
        assert op(A, B, out=out) is out
        np.testing.assert_array_equal(out, A + B)
        np.testing.assert_array_equal(op(A, B, out=None), A + B)
        np.testing.assert_array_equal(op(lhs=A, rhs=B), A + B)
        np.testing.assert_array_equal(op(A, 1.5, out=out), A + 1.5)
    for wrong in (lambda: op(A), lambda: op(A, B, ouT=out), lambda: op(A, B, out=3), lambda: op(A, B, A)):
        with pytest.raises(rt.errors.OpgenError):
            wrong()
    counts = [sys.getrefcount(each) for each in (A, B, out, op._entry.descriptor)]
    for _ in range(100):
        op(A, B)
        op(A, B, out=out)
        op(A[::-1], B)
        op(A, B)
    assert [sys.getrefcount(each) for each in (A, B, out)] == counts[:3]
    named = rt.jit(lambda a, out: a - out)  # a parameter of that name is no place for the result
    for _ in range(3):
        np.testing.assert_array_equal(named(A, B), A - B)
        np.testing.assert_array_equal(named(A, out=B), A - B)


def test_gated_objects_are_called_as_functions_are() -> None:
    """Calls of all kinds come to the trampoline; no tuple or dict is made, and nothing keeps the objects alive."""
    op, jitted = eager.EagerOp(rt.registry.Op.get("add")), rt.jit(lambda a, b: a + b)
    for callee, kind in ((op, eager.EagerOp), (jitted, type(jitted).__base__)):
        assert isinstance(callee, kind)
        assert type(callee).__name__ == kind.__name__
        assert type(callee).__flags__ & 1 << 11, "Py_TPFLAGS_HAVE_VECTORCALL"
        for _ in range(3):
            for found in (callee(A, B), callee(*(A, B)), callee.__call__(A, B), map(callee, [A], [B])):
                np.testing.assert_array_equal(next(found) if isinstance(found, map) else found, A + B)
    out = np.empty_like(A)
    assert op(*(A, B), **{"out": out}) is out
    gone = []
    for _ in range(3):
        made = rt.jit(lambda a: a * a)
        made.itself = made
        gone.append(weakref.ref(made))
        np.testing.assert_array_equal(made(A), A * A)
    del made
    gc.collect()
    assert [each() for each in gone] == [None] * 3


def test_kernels_enter_from_their_second_run_on_and_give_the_same() -> None:
    a = var("a", TensorType((5, 7), "float32"))
    kernel = compile_segment(Function((a,), multiply(a, a)))
    given = np.arange(35, dtype=np.float32).reshape(5, 7)
    results = [kernel.run([given])[0] for _ in range(4)]
    assert len({result.ctypes.data for result in results}) == len(results)
    for found in (*results, *kernel.run([given.T.copy().T]), *kernel.run([given], [np.empty_like(given)])):
        np.testing.assert_array_equal(found, given * given)
    inside = given.copy()
    assert kernel.run([inside], [inside])[0] is inside
    np.testing.assert_array_equal(inside, given * given)
    for wrong in ([], [given, given], [given.astype(np.int8)], [given[:2]]):
        with pytest.raises(rt.errors.OpgenError):
            kernel.run(wrong)


def test_an_entry_lives_while_it_runs() -> None:
    """Threads call one op with signatures in turn, so that each puts its entry where another's is running."""
    op = eager.EagerOp(rt.registry.Op.get("add"))
    wrong: list[object] = []

    def work(size: int) -> None:
        a = np.arange(size, dtype=np.float32)
        wrong.extend(size for _ in range(300) if not np.array_equal(op(a, a), a * 2))

    threads = [threading.Thread(target=work, args=(size,)) for size in (8, 2048, 5000, 9000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_without_the_expected_layouts_calls_go_another_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_module, "WHY_NOT_NATIVE", "it is not so that pointers have 8 bytes")
    monkeypatch.setattr(entry_module, "_made", [])
    op = eager.EagerOp(rt.registry.Op.get("add"))
    said = r"^opgen: calls go through ctypes, which takes longer: it is not so that pointers have 8 bytes$"
    with pytest.warns(UserWarning, match=said) as caught:
        found = [op(A, B) for _ in range(3)]
    np.testing.assert_array_equal(found, [A + B] * 3)
    assert len(caught) == 1
    assert op._entry is None


def test_a_process_that_used_it_ends_well() -> None:
    text = (
        "import numpy as np\nfrom opgen_runtime import eager\n"
        "a = np.ones(8, np.float32)\nkept = [eager.add(a, a) for _ in range(3)]\n"
        "class Late:\n    def __del__(self, add=eager.add, a=a): add(a, a)\nlate = Late()\nprint(kept[2].sum())"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "16.0\n", "")


def test_threads_that_come_first_together_share_one_set_of_functions() -> None:
    """All of a process's entries: an object that found none, and a trampoline that found some, would not fit."""
    program = """
import ctypes, threading, time
import numpy as np
from opgen_runtime.run.compile.native import entry

load, loaded = entry.load_module, []

def slow(name, *rest):
    loaded.append(name)
    time.sleep(0.2)
    return load(name, *rest)

entry.load_module = slow
from opgen_runtime.run.calls import eager
together, made, a = threading.Barrier(6), [], np.ones(3, np.float32)

def first():
    op = eager.EagerOp(eager.op("add").op)
    op(a, a)
    together.wait()
    op(a, a)
    made.append(op)

users = [threading.Thread(target=first) for _ in range(6)]
for user in users:
    user.start()
for user in users:
    user.join()
ways = {ctypes.c_void_p.from_address(id(each) + 64).value for each in made}
print(loaded[0], len({type(each) for each in made}), len(ways), ways == {entry.methods().trampoline})
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout == "native entry 1 1 True\n"
