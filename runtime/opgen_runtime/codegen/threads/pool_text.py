"""The thread pool as LLVM IR text.

One job at a time.  `@word` holds the job's number (upper half) and the next chunk to claim (lower half).  A
worker reads the job's fields and then claims a chunk by compare-and-exchange on `@word`: that succeeds only if
the job is still the one whose fields it read, so that a late worker never runs a stale job, and the caller waits
for claimed chunks alone.  Fields are stored with release and loaded with acquire for the same reason.  Who finds
the pool taken (nested calls, other callers) runs its loop itself.

Workers that find nothing spin for a while, then sleep on the futex `@wake`.  A sleeper counts itself in
`@sleepers` before it looks at `@word` once more, and a caller publishes `@word` before it looks at `@sleepers`
(both sequentially consistent), so that no wake-up is lost.

Some schedulers wake a worker on its caller's CPU and leave it there while another CPU is idle.  A worker that finds
itself on `@home`, the caller's CPU, restricts itself to the other CPUs that the process may use.
"""

from __future__ import annotations

from typing import Final

MAX_WORKERS: Final = 255
_CHUNKS_PER_THREAD: Final = 4
_SPINS: Final = 10_000  # pauses of some 40 cycles: 0.1 ms
_PATIENCE: Final = 4096  # pauses before the caller yields its CPU to a worker that is late

_PAUSE: Final = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.hint(i32 1)",
}
_PAUSE_DECLARATION: Final = {
    "x86_64": "declare void @llvm.x86.sse2.pause()",
    "aarch64": "declare void @llvm.aarch64.hint(i32)",
}
_FUTEX: Final = {"x86_64": 202, "aarch64": 98, "riscv64": 98}

SYMBOLS: Final = ("opgen_parallel_for", "opgen_pool_limit", "opgen_pool_stop", "opgen_pool_reset")


def why_not_native(triple: str) -> str | None:
    """Why there is no native pool on a platform; None where there is one."""
    architecture = triple.split("-")[0]
    if "linux" not in triple:
        return "the pool sleeps on Linux futexes"
    if architecture not in _FUTEX:
        return f"the number of the futex call of {architecture} is not known here"
    return None


def pool_text(triple: str) -> str:
    """The module: `SYMBOLS` and their private parts; loops run in the caller where there is no native pool."""
    if why_not_native(triple) is not None:
        return _SERIAL
    architecture = triple.split("-")[0]
    return (
        _POOL.replace("PAUSE_DECLARATION", _PAUSE_DECLARATION.get(architecture, ""))
        .replace("PAUSE", _PAUSE.get(architecture, ""))
        .replace("FUTEX_CALL", str(_FUTEX[architecture]))
        .replace("MAX_WORKERS", str(MAX_WORKERS))
        .replace("CHUNKS_PER_THREAD", str(_CHUNKS_PER_THREAD))
        .replace("SPINS", str(_SPINS))
        .replace("PATIENCE", str(_PATIENCE))
    )


_SERIAL: Final = """
define void @opgen_parallel_for(ptr %body, ptr %closure, i64 %count, i64 %grain) nounwind {
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %run, label %done
run:
  call void %body(ptr %closure, i64 0, i64 %count)
  br label %done
done:
  ret void
}
define void @opgen_pool_limit(i32 %threads) nounwind {
  ret void
}
define void @opgen_pool_stop() nounwind {
  ret void
}
define void @opgen_pool_reset() nounwind {
  ret void
}
"""

_POOL: Final = """
@word = internal global i64 0, align 128
@done = internal global i64 0, align 128
@wake = internal global i32 0, align 128
@sleepers = internal global i32 0, align 64
@lock = internal global i32 0, align 128
@limit = internal global i32 1, align 128
@started = internal global i32 0
@stopping = internal global i32 0
@body = internal global ptr null, align 128
@closure = internal global ptr null
@count = internal global i64 0
@chunk = internal global i64 0
@chunks = internal global i64 0
@home = internal global i32 -1
@handles = internal global [MAX_WORKERS x i64] zeroinitializer, align 128

PAUSE_DECLARATION
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @sched_yield()
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i64 @syscall(i64, ...)

define void @opgen_parallel_for(ptr %body, ptr %closure, i64 %count, i64 %grain) nounwind {
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %ask, label %finish
ask:
  %limit = load atomic i32, ptr @limit monotonic, align 4
  %least = call i64 @llvm.smax.i64(i64 %grain, i64 1)
  %shared = icmp sgt i64 %count, %least
  %several = icmp sgt i32 %limit, 1
  %worth = and i1 %shared, %several
  br i1 %worth, label %take, label %alone
take:
  %taken = cmpxchg ptr @lock, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %taken, 1
  br i1 %mine, label %ready, label %alone
alone:
  call void %body(ptr %closure, i64 0, i64 %count)
  ret void
ready:
  %started = load i32, ptr @started
  %workers = sub i32 %limit, 1
  %missing = icmp slt i32 %started, %workers
  br i1 %missing, label %start, label %publish
start:
  call void @start_workers(i32 %workers)
  br label %publish
publish:
  %threads = zext i32 %limit to i64
  %parts = mul i64 %threads, CHUNKS_PER_THREAD
  %last_part = sub i64 %parts, 1
  %padded = add i64 %count, %last_part
  %share = udiv i64 %padded, %parts
  %chunk = call i64 @llvm.smax.i64(i64 %least, i64 %share)
  %before = sub i64 %count, 1
  %full = udiv i64 %before, %chunk
  %chunks = add i64 %full, 1
  %home = call i32 @sched_getcpu()
  store atomic i32 %home, ptr @home monotonic, align 4
  store atomic i64 0, ptr @done release, align 8
  store atomic ptr %body, ptr @body release, align 8
  store atomic ptr %closure, ptr @closure release, align 8
  store atomic i64 %count, ptr @count release, align 8
  store atomic i64 %chunk, ptr @chunk release, align 8
  store atomic i64 %chunks, ptr @chunks release, align 8
  %old = load atomic i64, ptr @word monotonic, align 8
  %job = and i64 %old, -4294967296
  %new = add i64 %job, 4294967296
  store atomic i64 %new, ptr @word seq_cst, align 8
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %any_asleep = icmp sgt i32 %asleep, 0
  br i1 %any_asleep, label %rouse, label %claim
rouse:
  call void @wake_workers()
  br label %claim
claim:
  %ran = phi i64 [ 0, %publish ], [ 0, %rouse ], [ %ran_more, %run ]
  %claimed = atomicrmw add ptr @word, i64 1 acq_rel
  %index = and i64 %claimed, 4294967295
  %left = icmp ult i64 %index, %chunks
  br i1 %left, label %run, label %others
run:
  %begin = mul i64 %index, %chunk
  %stop = add i64 %begin, %chunk
  %end = call i64 @llvm.smin.i64(i64 %stop, i64 %count)
  call void %body(ptr %closure, i64 %begin, i64 %end)
  %ran_more = add i64 %ran, 1
  br label %claim
others:
  %awaited = sub i64 %chunks, %ran
  br label %wait
wait:
  %turn = phi i32 [ 0, %others ], [ %turn_more, %again ]
  %arrived = load atomic i64, ptr @done acquire, align 8
  %all = icmp eq i64 %arrived, %awaited
  br i1 %all, label %release, label %hold
hold:
  PAUSE
  %turn_more = add i32 %turn, 1
  %late = icmp ugt i32 %turn, PATIENCE
  br i1 %late, label %yield, label %again
yield:
  %yielded = call i32 @sched_yield()
  br label %again
again:
  br label %wait
release:
  store atomic i32 0, ptr @lock release, align 4
  br label %finish
finish:
  ret void
}

define internal void @wake_workers() noinline nounwind {
  %bump = atomicrmw add ptr @wake, i32 1 seq_cst
  %woken = call i64 (i64, ...) @syscall(i64 FUTEX_CALL, ptr @wake, i32 129, i32 2147483647, ptr null, ptr null, i32 0)
  ret void
}

define internal void @start_workers(i32 %wanted) noinline nounwind {
entry:
  %all = alloca [128 x i8], align 16
  %previous = alloca [128 x i8], align 16
  call void @llvm.memset.p0.i64(ptr %all, i8 -1, i64 128, i1 false)
  %blocked = call i32 @pthread_sigmask(i32 0, ptr %all, ptr %previous)
  %first = load i32, ptr @started
  br label %next
next:
  %k = phi i32 [ %first, %entry ], [ %k_more, %made ]
  %more = icmp slt i32 %k, %wanted
  br i1 %more, label %make, label %end
make:
  %handle = getelementptr [MAX_WORKERS x i64], ptr @handles, i64 0, i32 %k
  %number = sext i32 %k to i64
  %argument = inttoptr i64 %number to ptr
  %status = call i32 @pthread_create(ptr %handle, ptr null, ptr @worker, ptr %argument)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %made, label %end
made:
  %k_more = add i32 %k, 1
  store i32 %k_more, ptr @started
  br label %next
end:
  %restored = call i32 @pthread_sigmask(i32 2, ptr %previous, ptr null)
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal ptr @worker(ptr %argument) nounwind {
entry:
  %number = ptrtoint ptr %argument to i64
  %rank = trunc i64 %number to i32
  %allowed = alloca [128 x i8], align 16
  call void @llvm.memset.p0.i64(ptr %allowed, i8 0, i64 128, i1 false)
  %asked = call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  br label %look
look:
  %idle = phi i32 [ 0, %entry ], [ 0, %work ], [ %idle_more, %spin ], [ 0, %lost ], [ 0, %woken ]
  %stopping = load atomic i32, ptr @stopping seq_cst, align 4
  %stop = icmp ne i32 %stopping, 0
  br i1 %stop, label %leave, label %read
read:
  %open = call i64 @open_chunk(i32 %rank)
  %none = icmp eq i64 %open, -1
  br i1 %none, label %spin, label %prepare
prepare:
  %body = load atomic ptr, ptr @body acquire, align 8
  %closure = load atomic ptr, ptr @closure acquire, align 8
  %count = load atomic i64, ptr @count acquire, align 8
  %chunk = load atomic i64, ptr @chunk acquire, align 8
  %after = add i64 %open, 1
  %claim = cmpxchg ptr @word, i64 %open, i64 %after acq_rel monotonic
  %mine = extractvalue { i64, i1 } %claim, 1
  br i1 %mine, label %run, label %lost
lost:
  br label %look
run:
  %home = load atomic i32, ptr @home monotonic, align 4
  %here = call i32 @sched_getcpu()
  %crowded = icmp eq i32 %here, %home
  br i1 %crowded, label %move, label %work
move:
  call void @move_away(ptr %allowed, i32 %here)
  br label %work
work:
  %index = and i64 %open, 4294967295
  %begin = mul i64 %index, %chunk
  %past = add i64 %begin, %chunk
  %end = call i64 @llvm.smin.i64(i64 %past, i64 %count)
  call void %body(ptr %closure, i64 %begin, i64 %end)
  %finished = atomicrmw add ptr @done, i64 1 acq_rel
  br label %look
spin:
  PAUSE
  %idle_more = add i32 %idle, 1
  %tired = icmp ugt i32 %idle, SPINS
  br i1 %tired, label %sleep, label %look
sleep:
  %entering = atomicrmw add ptr @sleepers, i32 1 seq_cst
  %seen = load atomic i32, ptr @wake seq_cst, align 4
  %open_now = call i64 @open_chunk(i32 %rank)
  %none_now = icmp eq i64 %open_now, -1
  %stopping_now = load atomic i32, ptr @stopping seq_cst, align 4
  %going_on = icmp eq i32 %stopping_now, 0
  %may_sleep = and i1 %none_now, %going_on
  br i1 %may_sleep, label %doze, label %woken
doze:
  %slept = call i64 (i64, ...) @syscall(i64 FUTEX_CALL, ptr @wake, i32 128, i32 %seen, ptr null, ptr null, i32 0)
  br label %woken
woken:
  %leaving = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %look
leave:
  ret ptr null
}

; Run this thread on the allowed CPUs without the given one; where no other is allowed, nothing changes.
define internal void @move_away(ptr %allowed, i32 %here) noinline nounwind {
  %others = alloca [128 x i8], align 16
  call void @llvm.memcpy.p0.p0.i64(ptr %others, ptr %allowed, i64 128, i1 false)
  %place = lshr i32 %here, 3
  %inside = and i32 %place, 127
  %byte = getelementptr i8, ptr %others, i32 %inside
  %bits = load i8, ptr %byte
  %low = and i32 %here, 7
  %shift = trunc i32 %low to i8
  %bit = shl i8 1, %shift
  %mask = xor i8 %bit, -1
  %left = and i8 %bits, %mask
  store i8 %left, ptr %byte
  %moved = call i32 @sched_setaffinity(i32 0, i64 128, ptr %others)
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; The value of @word if it offers a chunk to the worker of this rank, else -1.
define internal i64 @open_chunk(i32 %rank) alwaysinline nounwind {
  %word = load atomic i64, ptr @word seq_cst, align 8
  %chunks = load atomic i64, ptr @chunks acquire, align 8
  %index = and i64 %word, 4294967295
  %left = icmp ult i64 %index, %chunks
  %limit = load atomic i32, ptr @limit monotonic, align 4
  %places = sub i32 %limit, 1
  %wanted = icmp slt i32 %rank, %places
  %open = and i1 %left, %wanted
  %found = select i1 %open, i64 %word, i64 -1
  ret i64 %found
}

define void @opgen_pool_limit(i32 %threads) nounwind {
  store atomic i32 %threads, ptr @limit monotonic, align 4
  ret void
}

; End all workers and wait for them; loops run in their callers from now on, until the limit is set again.
define void @opgen_pool_stop() nounwind {
entry:
  store atomic i32 1, ptr @limit monotonic, align 4
  br label %take
take:
  %taken = cmpxchg ptr @lock, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %taken, 1
  br i1 %mine, label %stop, label %hold
hold:
  %yielded = call i32 @sched_yield()
  br label %take
stop:
  store atomic i32 1, ptr @stopping seq_cst, align 4
  call void @wake_workers()
  %started = load i32, ptr @started
  br label %next
next:
  %k = phi i32 [ 0, %stop ], [ %k_more, %join ]
  %more = icmp slt i32 %k, %started
  br i1 %more, label %join, label %end
join:
  %place = getelementptr [MAX_WORKERS x i64], ptr @handles, i64 0, i32 %k
  %handle = load i64, ptr %place
  %joined = call i32 @pthread_join(i64 %handle, ptr null)
  %k_more = add i32 %k, 1
  br label %next
end:
  store i32 0, ptr @started
  store atomic i32 0, ptr @stopping seq_cst, align 4
  store atomic i32 0, ptr @lock release, align 4
  ret void
}

; In a forked child only the forking thread lives on: forget the workers, and whoever held the lock.
define void @opgen_pool_reset() nounwind {
  store i32 0, ptr @started
  store atomic i64 0, ptr @chunks seq_cst, align 8
  store atomic i32 0, ptr @sleepers seq_cst, align 4
  store atomic i32 0, ptr @stopping seq_cst, align 4
  store atomic i32 0, ptr @lock seq_cst, align 4
  ret void
}
"""
