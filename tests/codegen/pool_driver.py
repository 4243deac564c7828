"""Drives the thread pool in this process: jobs of alternating sizes, every index of every job counted.

`python -m tests.codegen.pool_driver '{"threads": 3, "jobs": 1000}' ...` prints `ok`, or what went wrong, for each load;
run it with a time limit, since what goes wrong in a pool may be that it waits for ever.
"""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from opgen_runtime.base.target import Target
from opgen_runtime.codegen.objects import load as jit
from opgen_runtime.codegen.objects.cache import ObjectCache
from opgen_runtime.codegen.objects.compile import optimise_and_compile
from opgen_runtime.codegen.objects.support import load_module
from opgen_runtime.codegen.objects.threads.pool_text import SYMBOLS, pool_text

# `drive(pool, counts, sizes, kinds, jobs, grain, work, active)`: job k is a parallel loop over `sizes[k % kinds]`
# indices, whose body adds 1 to each one's count.  After each job exactly its indices must have been counted, once, and
# nothing may be running any more.  Gives the number of jobs that were right, all of them or those before the first
# wrong one.
TEXT = """
%closure = type { ptr, ptr, i64 }

define internal void @body(ptr %c, i64 %begin, i64 %end) nounwind {
entry:
  %counts = load ptr, ptr %c
  %active_at = getelementptr %closure, ptr %c, i64 0, i32 1
  %active = load ptr, ptr %active_at
  %work_at = getelementptr %closure, ptr %c, i64 0, i32 2
  %work = load i64, ptr %work_at
  %entered = atomicrmw add ptr %active, i64 1 monotonic
  br label %outer
outer:
  %i = phi i64 [ %begin, %entry ], [ %i1, %inner_done ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %count, label %out
count:
  %place = getelementptr i64, ptr %counts, i64 %i
  %old = atomicrmw add ptr %place, i64 1 monotonic
  br label %inner
inner:
  %k = phi i64 [ 0, %count ], [ %k1, %inner ]
  %k1 = add i64 %k, 1
  %spun = load volatile i64, ptr %work_at
  %again = icmp slt i64 %k1, %work
  br i1 %again, label %inner, label %inner_done
inner_done:
  %i1 = add i64 %i, 1
  br label %outer
out:
  %left = atomicrmw sub ptr %active, i64 1 monotonic
  ret void
}

define i64 @drive(ptr %pool, ptr %counts, ptr %sizes, i64 %kinds, i64 %jobs, i64 %grain, i64 %work, i64 %length) {
entry:
  %active = alloca i64
  store i64 0, ptr %active
  br label %next
next:
  %job = phi i64 [ 0, %entry ], [ %job1, %good ]
  %kind = urem i64 %job, %kinds
  %size_at = getelementptr i64, ptr %sizes, i64 %kind
  %size = load i64, ptr %size_at
  call void @one(ptr %pool, ptr %counts, ptr %active, i64 %size, i64 %grain, i64 %work)
  %running = load atomic i64, ptr %active monotonic, align 8
  %idle = icmp eq i64 %running, 0
  br i1 %idle, label %check, label %bad
check:
  %i = phi i64 [ 0, %next ], [ %i1, %right ]
  %place = getelementptr i64, ptr %counts, i64 %i
  %count = load atomic i64, ptr %place monotonic, align 8
  %inside = icmp slt i64 %i, %size
  %wanted = zext i1 %inside to i64
  %once = icmp eq i64 %count, %wanted
  br i1 %once, label %right, label %bad
right:
  store atomic i64 0, ptr %place monotonic, align 8
  %i1 = add i64 %i, 1
  %all = icmp eq i64 %i1, %length
  br i1 %all, label %good, label %check
good:
  %job1 = add i64 %job, 1
  %finished = icmp eq i64 %job1, %jobs
  br i1 %finished, label %bad, label %next
bad:
  %number = phi i64 [ %job, %next ], [ %job, %check ], [ %job1, %good ]
  ret i64 %number
}

; A frame of its own, gone when the job is: what runs a job that is over reads what the next frame holds.
define internal void @one(ptr %pool, ptr %counts, ptr %active, i64 %size, i64 %grain, i64 %work) noinline {
  %c = alloca %closure
  store ptr %counts, ptr %c
  %active_at = getelementptr %closure, ptr %c, i64 0, i32 1
  store ptr %active, ptr %active_at
  %work_at = getelementptr %closure, ptr %c, i64 0, i32 2
  store i64 %work, ptr %work_at
  call void %pool(ptr @body, ptr %c, i64 %size, i64 %grain)
  ret void
}
"""


@dataclass(frozen=True)
class Load:
    """What is driven: `pauses` are those of `pool_text`; each caller runs `jobs` loops over `sizes` in turn.

    `flips`: the limit changes meanwhile; `stops`: the pool is stopped meanwhile, too;
    `one_cpu`: all threads on one CPU.
    """

    threads: int = 3
    jobs: int = 1000
    sizes: tuple[int, ...] = (2, 64)
    grain: int = 1
    work: int = 1
    callers: int = 1
    pauses: dict[str, int] = field(default_factory=dict)
    flips: bool = False
    stops: bool = False
    one_cpu: bool = False


def driven(loads: Sequence[Load], seconds: float) -> list[str]:
    """What went wrong with the loads, each with a pool of its own, in one process; after `seconds` one hangs."""
    command = [sys.executable, "-m", "tests.codegen.pool_driver"]
    command += [json.dumps(dataclasses.asdict(load)) for load in loads]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        said = (error.stdout or b"").decode().splitlines()
        problems = [*said, f"hangs: {loads[len(said)]}"]
    else:
        problems = done.stdout.splitlines()
        if done.returncode:
            problems.append(f"ended with status {done.returncode}: {loads[len(problems)]}")
    return [problem for problem in problems if problem != "ok"]


_numbers = itertools.count()


def drive(load: Load) -> str:
    """What went wrong, or nothing."""
    allowed = os.sched_getaffinity(0)
    if load.one_cpu:
        os.sched_setaffinity(0, {min(allowed)})
    cache = ObjectCache(None)
    pool = load_module(
        f"driven pool {next(_numbers)}", pool_text(Target.host().triple, load.pauses), SYMBOLS, cache
    )
    loaded = jit.load(optimise_and_compile(TEXT, Target.host()).object_code, "drive")
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 5)(loaded.address)
    limit = ctypes.CFUNCTYPE(None, ctypes.c_int32)(pool["opgen_pool_limit"])
    stop = ctypes.CFUNCTYPE(None)(pool["opgen_pool_stop"])
    limit(load.threads)
    sizes = np.array(load.sizes, np.int64)
    problems: list[str] = []

    def call(number: int) -> None:
        counts = np.zeros(int(sizes.max()) + 1, np.int64)
        right = run(
            pool["opgen_parallel_for"], counts.ctypes.data, sizes.ctypes.data, sizes.size,
            load.jobs, load.grain, load.work, counts.size,
        )  # fmt: skip
        if right != load.jobs:
            problems.append(f"{load}, caller {number}: job {right} counted {counts.tolist()}")

    callers = [threading.Thread(target=call, args=(k,), daemon=True) for k in range(load.callers)]
    for caller in callers:
        caller.start()
    turn = 0
    while any(caller.is_alive() for caller in callers):
        turn += 1
        time.sleep(0.0005 if load.flips or load.stops else 0.01)
        if load.stops and turn % 8 == 0:
            stop()
        if load.flips or load.stops:
            limit(1 + turn * 7 % (load.threads + 2))
    stop()
    os.sched_setaffinity(0, allowed)
    return "; ".join(problems)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        given = json.loads(argument)
        print(drive(Load(**{**given, "sizes": tuple(given.get("sizes", Load.sizes))})) or "ok", flush=True)
