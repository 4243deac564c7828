"""The native thread pool: every index once, whatever the counts, callers, forks, nesting and delays of its threads."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from opgen_runtime.base.errors import CodegenError
from opgen_runtime.base.target import Target
from opgen_runtime.codegen.objects import load as jit
from opgen_runtime.codegen.objects import threads
from opgen_runtime.codegen.objects.cache import ObjectCache
from opgen_runtime.codegen.objects.compile import optimise_and_compile
from opgen_runtime.codegen.objects.threads.pool_text import POINTS, pool_text
from tests.codegen.pool_driver import Load, driven

# Kernels `void (ptr counts, i64 count, i64 grain, i64 work)`; the loop adds 1 to counts[i], `work` times over.
KERNELS = """
declare void @opgen_parallel_for(ptr, ptr, i64, i64)
%closure = type { ptr, i64, i64 }

define internal void @body(ptr %c, i64 %begin, i64 %end) {
entry:
  %counts = load ptr, ptr %c
  %work_at = getelementptr %closure, ptr %c, i64 0, i32 1
  %work = load i64, ptr %work_at
  br label %outer
outer:
  %i = phi i64 [ %begin, %entry ], [ %i1, %inner_done ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %inner, label %out
inner:
  %k = phi i64 [ 0, %outer ], [ %k1, %inner ]
  %place = getelementptr i32, ptr %counts, i64 %i
  %old = load volatile i32, ptr %place
  %new = add i32 %old, 1
  store volatile i32 %new, ptr %place
  %k1 = add i64 %k, 1
  %again = icmp slt i64 %k1, %work
  br i1 %again, label %inner, label %inner_done
inner_done:
  %i1 = add i64 %i, 1
  br label %outer
out:
  ret void
}
define void @flat(ptr %counts, i64 %count, i64 %grain, i64 %work) {
  %c = alloca %closure
  store ptr %counts, ptr %c
  %work_at = getelementptr %closure, ptr %c, i64 0, i32 1
  store i64 %work, ptr %work_at
  call void @opgen_parallel_for(ptr @body, ptr %c, i64 %count, i64 %grain)
  ret void
}
; Rows of `work` elements: the outer loop's body runs a parallel loop over its row.
define internal void @row(ptr %c, i64 %begin, i64 %end) {
entry:
  %counts = load ptr, ptr %c
  %work_at = getelementptr %closure, ptr %c, i64 0, i32 1
  %width = load i64, ptr %work_at
  br label %next
next:
  %i = phi i64 [ %begin, %entry ], [ %i1, %next ]
  %offset = mul i64 %i, %width
  %start = getelementptr i32, ptr %counts, i64 %offset
  call void @flat(ptr %start, i64 %width, i64 1, i64 1)
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %end
  br i1 %more, label %next, label %out
out:
  ret void
}
define void @nested(ptr %counts, i64 %rows, i64 %grain, i64 %width) {
  %c = alloca %closure
  store ptr %counts, ptr %c
  %work_at = getelementptr %closure, ptr %c, i64 0, i32 1
  store i64 %width, ptr %work_at
  call void @opgen_parallel_for(ptr @row, ptr %c, i64 %rows, i64 %grain)
  ret void
}
"""
Run = Callable[[np.ndarray, int, int, int], None]


@pytest.fixture(scope="module")
def kernels() -> dict[str, Run]:
    threads.symbols(ObjectCache(None))["opgen_parallel_for"]
    object_code = optimise_and_compile(KERNELS, Target.host()).object_code

    def kernel(name: str) -> Run:
        loaded = jit.load(object_code, name)
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 3)(loaded.address)

        def run(counts: np.ndarray, count: int, grain: int, work: int, _keep: object = loaded) -> None:
            function(counts.ctypes.data, count, grain, work)

        return run

    return {name: kernel(name) for name in ("flat", "nested")}


@pytest.fixture(params=[1, 2, 5])
def several(request: pytest.FixtureRequest) -> object:
    before = threads.num_threads()
    threads.set_num_threads(request.param)
    yield request.param
    threads.set_num_threads(before)


def test_every_index_once(kernels: dict[str, Run], several: int) -> None:
    for count in (0, 1, 2, 3, 7, 64, 1000, 4097):
        for grain in (-1, 0, 1, 2, 10, 5000):
            counts = np.zeros(count + 1, np.int32)
            kernels["flat"](counts, count, grain, 1)
            assert counts[:count].tolist() == [1] * count, (count, grain)
            assert counts[count] == 0


def test_many_launches(kernels: dict[str, Run], several: int) -> None:
    counts = np.zeros(64, np.int32)
    for _ in range(20000):
        kernels["flat"](counts, 64, 1, 1)
    assert counts.tolist() == [20000] * 64


def test_after_sleep(kernels: dict[str, Run], several: int) -> None:
    counts = np.zeros(64, np.int32)
    for _ in range(30):
        time.sleep(0.004)
        kernels["flat"](counts, 64, 1, 100)
    assert counts.tolist() == [3000] * 64


def test_nested(kernels: dict[str, Run], several: int) -> None:
    counts = np.zeros((50, 33), np.int32)
    for _ in range(100):
        kernels["nested"](counts, 50, 1, 33)
    assert (counts == 100).all()


def test_four_python_threads(kernels: dict[str, Run], several: int) -> None:
    arrays = [np.zeros(333, np.int32) for _ in range(4)]

    def many(counts: np.ndarray) -> None:
        for _ in range(2000):
            kernels["flat"](counts, 333, 1, 1)

    callers = [threading.Thread(target=many, args=(a,)) for a in arrays]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert [(a == 2000).all() for a in arrays] == [True] * 4


def test_windows_between_the_steps_of_caller_and_workers_are_closed() -> None:
    """Jobs of few and of many chunks in turn, with the steps slow one by one, and then several of them together."""
    slow: list[dict[str, int]] = [{point: 20} for point in POINTS]
    slow += [{"chunks": 50, "claiming": 20}, {"chunks": 50, "ran": 50}, {"published": 50, "claimed": 50}]
    loads = [Load(threads=3, jobs=100, pauses=pauses) for pauses in slow]
    assert driven([Load(threads=3, jobs=100_000), *loads], 60) == []


def test_limit_and_stops_while_jobs_run() -> None:
    load = Load(threads=4, jobs=5000, sizes=(2, 64, 7), callers=3, flips=True, stops=True)
    assert driven([load], 60) == []


def test_points_of_the_text() -> None:
    plain = pool_text(Target.host().triple)
    assert "AT " not in plain
    assert "usleep" not in plain
    assert pool_text(Target.host().triple, dict.fromkeys(POINTS, 7)).count("@usleep(i32 7)") == len(POINTS)
    with pytest.raises(ValueError, match="the pool has no point nowhere; there are taken, "):
        pool_text(Target.host().triple, {"nowhere": 1})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork(kernels: dict[str, Run], several: int) -> None:
    counts = np.zeros(100, np.int32)
    kernels["flat"](counts, 100, 1, 1)
    child = os.fork()
    if child == 0:
        kernels["flat"](counts, 100, 1, 1000)
        os._exit(0 if counts.tolist() == [1001] * 100 else 1)
    deadline = time.monotonic() + 20
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
        time.sleep(0.002)
    assert ended[0] == child, "the child hangs"
    assert os.waitstatus_to_exitcode(ended[1]) == 0
    kernels["flat"](counts, 100, 1, 1)
    assert counts.tolist() == [2] * 100


@pytest.mark.skipif(threads.num_threads() < 2, reason="one CPU")
def test_two_threads_work(kernels: dict[str, Run]) -> None:
    """The caller does not do it all, and on an idle machine two CPUs are used at once."""
    counts = np.zeros(64, np.int32)
    seen = []
    for _ in range(10):  # on a busy machine a worker may get no CPU for a while
        wall, cpu, own = time.perf_counter(), time.process_time(), time.thread_time()
        kernels["flat"](counts, 64, 1, 400_000)
        wall, cpu, own = time.perf_counter() - wall, time.process_time() - cpu, time.thread_time() - own
        seen.append((round(own / cpu, 2), round(cpu / wall, 2)))
        if own < 0.8 * cpu and (cpu > 1.2 * wall or os.getloadavg()[0] > 0.5):
            return
    pytest.fail(f"(caller's share of the CPU time, CPU time over wall time): {seen}")


def test_set_num_threads() -> None:
    with pytest.raises(CodegenError, match=r"set_num_threads\(0\): expected 1 to 256"):
        threads.set_num_threads(0)


def test_nothing_at_import_and_clean_exit(tmp_path: object) -> None:
    program = """
import ctypes, threading, opgen_runtime.codegen.objects.threads as threads
from opgen_runtime.codegen.objects.threads import pool
assert pool._pool is None
table = threads.symbols()
assert pool._pool is None and "opgen_parallel_for" in list(table)
threads.set_num_threads(3)
address = table["opgen_parallel_for"]
BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
spans = []
body = BODY(lambda closure, begin, end: spans.append((begin, end)))
run = ctypes.CFUNCTYPE(None, BODY, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)
run(body, None, 10, 5)
print(sorted(spans))
"""
    for _ in range(2):  # the second time the pool comes from the cache
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "OPGEN_CACHE_DIR": str(tmp_path)},
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "[(0, 5), (5, 10)]\n", "")
