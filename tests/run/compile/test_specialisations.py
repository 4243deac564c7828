"""One memory of programs for all who compile when they are called: its bound, its order, threads, forks."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import opgen_runtime as rt
from opgen_runtime import ir, ops
from opgen_runtime.base.errors import ExecutorError
from opgen_runtime.run.calls import eager
from opgen_runtime.run.calls.eager import eager_op
from opgen_runtime.run.compile import specialisations
from opgen_runtime.run.compile.specialisations import LEAST, Specialisations, statistics
from opgen_runtime.run.executor import GraphExecutor

A = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)


class Program:
    """Something of a size; `shared`: a part that others have, too."""

    def __init__(self, size: int, shared: int | None = None) -> None:
        self.size, self.shared = size, shared

    def footprint(self) -> Iterator[tuple[int, int]]:
        yield id(self), self.size
        if self.shared is not None:
            yield self.shared, 1000


def alone(patch: pytest.MonkeyPatch) -> int:
    """Drops what others have and may go; the bytes of what stays."""
    gc.collect()
    patch.setenv(specialisations.VARIABLE, "0")
    Specialisations[Program]().put("key", Program(1))
    return statistics().nbytes


@pytest.fixture(scope="module", autouse=True)
def _collections_of_what_is_new() -> Iterator[None]:
    """Collections pass over what other tests left, which takes over a second each in a process of many tests."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def bounded(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the bound to what there is now and some bytes more."""
    return lambda size: monkeypatch.setenv(specialisations.VARIABLE, str(alone(monkeypatch) + size))


def test_what_was_used_least_recently_goes_first_whosever_it_is(bounded: Callable[[int], None]) -> None:
    others = {key: Specialisations[Program]() for key in "ab"}
    bounded(24 * 100)
    for k in range(12):
        for table in others.values():
            table.put(k, Program(100))
    for k in (0, 1):
        assert others["a"].get(k) is not None
    dropped = statistics().dropped
    for k in range(12, 15):
        others["b"].put(k, Program(100))
    assert list(others["a"]) == [*range(3, 12), 0, 1]
    assert list(others["b"]) == [*range(2, 15)]
    assert statistics().dropped == dropped + 3


def test_the_last_of_each_owner_stay(bounded: Callable[[int], None]) -> None:
    large, small = Specialisations[Program](), Specialisations[Program]()
    bounded(100)
    for k in range(LEAST + 3):
        large.put(k, Program(10_000))
        small.put("one", Program(5))
    assert list(large) == [*range(3, LEAST + 3)]
    assert list(small) == ["one"]
    large.put("more", Program(1))
    assert list(large) == [*range(4, LEAST + 3), "more"]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(1, 50)), max_size=60),
    st.integers(0, 700),
)
def test_any_order_of_uses(uses: list[tuple[int, int, int]], room: int) -> None:
    """Against a list: after each program the bound holds, or each owner has its last few alone."""
    tables = [Specialisations[Program]() for _ in range(3)]
    order: list[tuple[int, int, int]] = []  # (owner, key, size), the least recently used first

    def of(owner: int) -> list[tuple[int, int, int]]:
        return [row for row in order if row[0] == owner]

    with pytest.MonkeyPatch.context() as patch:
        before = alone(patch)
        patch.setenv(specialisations.VARIABLE, str(before + room))
        for owner, key, size in uses:
            known = next((row for row in order if row[:2] == (owner, key)), None)
            assert (tables[owner].get(key) is None) == (known is None)
            if known is not None:
                order.remove(known)
                order.append(known)
                continue
            tables[owner].put(key, Program(size))
            order.append((owner, key, size))
            while sum(row[2] for row in order) > room:
                may_go = [row for row in order if len(of(row[0])) > LEAST]
                if not may_go:
                    break
                order.remove(may_go[0])
            assert [list(table) for table in tables] == [[row[1] for row in of(k)] for k in range(3)]
        assert statistics().nbytes - before == sum(row[2] for row in order)
        assert sum(table.nbytes for table in tables) == sum(row[2] for row in order)
    del tables
    assert statistics().nbytes == before


def test_what_programs_share_counts_once() -> None:
    table, other = Specialisations[Program](), Specialisations[Program]()
    before = statistics().nbytes
    part = object()
    for k in range(3):
        table.put(k, Program(10, id(part)))
        other.put(k, Program(10, id(part)))
    assert statistics().nbytes - before == 6 * 10 + 1000
    assert table.nbytes == 3 * 10 + 1000
    table.clear()
    assert statistics().nbytes - before == 3 * 10 + 1000
    del other
    assert statistics().nbytes == before


def test_programs_end_with_their_owner() -> None:
    gc.collect()
    before = statistics()
    table = Specialisations[Program]()
    program = table.put("key", Program(10))
    end = weakref.ref(program)
    del program
    assert statistics().programs == before.programs + 1
    gc.disable()
    del table
    assert end() is None
    gc.enable()
    assert (statistics().programs, statistics().nbytes) == (before.programs, before.nbytes)
    cycle: list[Any] = [Specialisations[Program]()]
    cycle.append(cycle)
    cycle[0].put("key", Program(10))
    del cycle
    gc.collect()
    assert (statistics().programs, statistics().nbytes) == (before.programs, before.nbytes)


@pytest.mark.parametrize("text", ["12 MB", "-1", "1e9", "²"])  # a digit that is no number
def test_a_bound_that_is_no_number_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_CACHE_MEMORY", text)
    with pytest.raises(ExecutorError, match=f"OPGEN_CACHE_MEMORY is '{text}', expected a number of bytes"):
        Specialisations[Program]().put("key", Program(1))


def test_a_bound_of_nothing_keeps_the_last_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_CACHE_MEMORY", "0")
    f = rt.jit(lambda x: x + 0.5)
    for columns in range(1, 20):
        np.testing.assert_array_equal(f(np.ones(columns, np.float32)), np.full(columns, 1.5, np.float32))
    assert len(f._compiled) == LEAST


def test_everybody_is_in_it() -> None:
    before = statistics()
    f = rt.jit(lambda x: ops.tanh(x) * 0.75)
    f(A)
    compiled = len(eager_op.compiled)
    eager.clip(A, a_min=0.123, a_max=0.75)
    assert len(eager_op.compiled) == compiled + 1
    executor = GraphExecutor()
    x = ir.var("x", shape=(rt.dim("n"), 4))
    executor.evaluate(ops.exp(x), {x: A})
    built = rt.build(ir.Function((x,), ops.softmax(ops.tanh(x))))
    built.run([A])
    now = statistics()
    assert now.programs >= before.programs + 4
    assert now.nbytes > before.nbytes
    assert f._compiled.explain().startswith("1 programs kept, of about ")
    f(A)
    f(x=A)
    assert statistics().found > now.found


# ------------------------------------------------------------------ threads


def test_threads_that_ask_for_one_key_compile_it_once() -> None:
    traced: list[int] = []
    begun = threading.Barrier(8)

    @rt.jit
    def f(x: Any) -> Any:
        traced.append(1)
        return ops.tanh(x * 1.75)

    def call(_: int) -> np.ndarray:
        begun.wait()
        found: np.ndarray = f(A)
        return found

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(call, range(8)))
    for each in found:
        np.testing.assert_array_equal(each, found[0])
    assert len(traced) == 1


def test_where_making_fails_the_next_thread_tries() -> None:
    table = Specialisations[Program]()
    program, tried = Program(1), threading.Event()
    attempts: list[str] = []

    def fails() -> Program:
        attempts.append("fails")
        tried.set()
        waiting.wait(0.2)  # for another to wait
        raise KeyError("no")

    def works() -> Program:
        attempts.append("works")
        return program

    waiting = threading.Event()

    def first() -> None:
        with pytest.raises(KeyError):
            table.made("key", fails)

    thread = threading.Thread(target=first)
    thread.start()
    tried.wait()
    assert table.made("key", works) is program
    thread.join()
    assert attempts == ["fails", "works"]
    assert table.made("key", fails) is program
    assert table.made("nothing", lambda: None) is None
    assert list(table) == ["key"]


def test_what_needs_itself_is_made_without_waiting() -> None:
    table = Specialisations[Program]()

    def outer() -> Program:
        return table.made("key", lambda: Program(1))

    assert table.made("key", outer) is table.get("key")


def test_threads_that_need_what_each_other_makes_do_not_wait_for_ever() -> None:
    table = Specialisations[Program]()
    both = threading.Barrier(2)

    def made(own: str, other: str) -> Program:
        def make() -> Program:
            both.wait()
            table.made(other, lambda: Program(1))
            return Program(2)

        return table.made(own, make)

    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(made, *keys) for keys in (("a", "b"), ("b", "a"))]
        assert [each.result(timeout=20).size for each in found] == [2, 2]
    assert specialisations._under_way == {}


def slowly(begun: threading.Event, end: threading.Event) -> Callable[[], Program]:
    """What makes a program once `end` is set."""

    def slow() -> Program:
        begun.set()
        end.wait()
        return Program(1)

    return slow


def test_who_waits_too_long_makes_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specialisations, "_PATIENCE", 0.01)
    table = Specialisations[Program]()
    begun, end = threading.Event(), threading.Event()

    thread = threading.Thread(target=table.made, args=("key", slowly(begun, end)))
    thread.start()
    begun.wait()
    assert table.made("key", lambda: Program(2)).size == 2
    end.set()
    thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_makes_what_another_thread_was_making() -> None:
    table = Specialisations[Program]()
    begun, end = threading.Event(), threading.Event()

    table.put("known", Program(7))
    thread = threading.Thread(target=table.made, args=("key", slowly(begun, end)))
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            made = table.made("key", lambda: Program(2))
            known = table.get("known")
            status = 0 if made.size == 2 and known is not None and known.size == 7 else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    end.set()
    thread.join()
    assert os.waitstatus_to_exitcode(status) == 0
    found = table.get("key")
    assert found is not None
    assert found.size == 1
