"""The thread pool as LLVM IR text: how the chunks of one loop are shared.

One job at a time, a loop cut into chunks, a static partition with stealing: they are assigned to its threads in
turn (`chunks_text.py`). Who holds `@lock` may publish a job: it stores the job's fields, then a word for each
thread, claims chunks like everybody, waits until the chunks that others claimed are run, and gives the lock back.
Who finds the lock taken (nested loops, other callers) runs its loop alone.

A word of `@words`, one thread's, = how many jobs it had (48 bits) and how many chunks of the last one's are unclaimed
(16 bits; a thread is assigned at most 13). It changes in two ways only: a claim subtracts 1 by
compare-and-exchange where the lower half is not 0, and the holder of the lock goes from a word whose lower half is
0 to the next number. So it says by itself whether there is a chunk to claim; nothing else has to be read for that,
no claim runs over into the number, and no value comes twice (2**48 jobs of a microsecond take nine years; the
number may wrap then).

The caller has word 0, the worker of rank k word k + 1. Each goes through all words, its own first (`@share`). When the
caller has gone through them, the lower half of each is 0, and stays so until the next job. A worker that has gone
through them looks at its own word alone, which has a line of the cache to itself, until the number there changes.

Notation: W(J, k) is a word in job J with k chunks unclaimed.  "Before" is happens-before of the C11 model, which is
LLVM's, so that what follows holds on machines that reorder more than x86 does.

No chunk of a job that is not published is claimed, and no stale job is run.  A thread loads W(J, k) with k > 0
(acquire), loads the fields (acquire), and exchanges W(J, k) for W(J, k-1).
- The fields are not older than J's: they were stored before the release store of W(J, all), and the load of W(J, k)
  reads that store or one of the claims after it, which are read-modify-writes and continue its release sequence.
- They are not newer where the exchange succeeds.  Say one of them is of J+1.  Its caller stored it (release) with the
  lock in hand, so after J's caller had seen W(J, 0) and given the lock back (release, acquire).  The thread's load of
  it (acquire) comes before the thread's exchange; so the exchange cannot read a value that is earlier in the order of
  this word than W(J, 0), and fails.  Stores of fields are releases and loads acquires for this reason.
- Claims themselves order nothing and are monotonic: the word was acquired by the load before.
- How many words to go through is read once, before, and is a hint: chunks that are missed by it are left to others, of
  whom the caller, who reads its own number, misses none.  Which chunk was claimed is computed from the fields above.

`@done` counts the claimed chunks that have been run. The k of each word go down by 1 a claim from the number of chunks
to 0, so claims are as many as chunks, and the caller waits for all of them. No addition is missing or too many: a
thread that has run n chunks of a word adds n once, before it goes to the next. They are of one job, which is not over
before this addition. The caller that waits for all of them stores the next 0 only with the lock in hand. An addition
is a release and the wait's load an acquire, so what workers wrote is there when the loop returns, and its stack, its
operands and the fields are free to change.

No wake-up is lost. A worker that found nothing new for a while counts itself in `@sleepers`, reads `@wake`, looks at
its word once more and sleeps on the futex if `@wake` is still the same. A caller stores the words, then passes a
fence, then looks at `@sleepers`. All of these but the stores are sequentially consistent: if the caller's look misses
the sleeper, it comes before the sleeper's addition in the one order of these, and so does the fence before the
sleeper's look at the word, which therefore sees what was stored before the fence. If it does not miss, it changes
`@wake` and wakes: a sleeper that read the old `@wake` is refused by the futex or woken, one that read the new one sees
the job. `@stopping` is stored before `@wake` is changed and read after it, with the same result. A caller needs no
worker, so that a late one costs time, never an answer.

`@limit` is a hint to callers: the value that counts for a job is loaded with the lock in hand, and a stop stores 1
before it takes the lock: no job starts workers after a stop, unless the limit is set again.  `@started` and `@handles`
are touched only with the lock in hand; where a thread cannot be made, fewer work, and the next job tries again.  Two
stops take turns, the second finds nobody to join.  `@home` is a hint.

A fork copies the forking thread alone.  `opgen_pool_reset`, called in the child before anything else runs, forgets
the others: no workers, no sleepers, no lock, and the lower half of each word 0, as after a job.

Some schedulers wake a worker on its caller's CPU and leave it there while another CPU is idle.  A worker that finds
itself on `@home`, the caller's CPU, restricts itself to the other CPUs that the process may use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ....base import architecture_of
from ...llvm.text import fill
from .chunks_text import BOUND, PARTITION
from .workers_text import WORKERS

MAX_WORKERS: Final = 255
_SPIN_PAUSES: Final = 10_000  # pauses of some 40 cycles: 0.1 ms
_YIELD_AFTER_PAUSES: Final = 4096  # pauses before the caller yields its CPU to a worker that is late
_CHUNK_BITS: Final = 16  # of a word

SYMBOLS: Final = ("opgen_parallel_for", "opgen_pool_limit", "opgen_pool_stop", "opgen_pool_reset")


def why_not_native(triple: str) -> str | None:
    """Why there is no native pool on a platform; None where there is one."""
    architecture = triple.split("-")[0]
    if "linux" not in triple:
        return "the pool sleeps on Linux futexes"
    if architecture_of(triple).futex is None:
        return f"the number of the futex call of {architecture} is not known here"
    return None


def pool_text(triple: str, pauses: Mapping[str, int] = MappingProxyType({})) -> str:
    """The module: `SYMBOLS` and their private parts; loops run in the caller where there is no native pool.

    `pauses` are for tests: microseconds to sleep at points of the text (`POINTS`), which widens the window in which
    other threads can come between two steps.  Raises ValueError for a point that the text does not have.
    """
    if why_not_native(triple) is not None:
        return _SERIAL
    if unknown := set(pauses) - set(POINTS):
        raise ValueError(f"the pool has no point {', '.join(sorted(unknown))}; there are {', '.join(POINTS)}")
    architecture = architecture_of(triple)
    pause, pause_declaration = architecture.pause
    text = fill(
        _POOL,
        PAUSE_DECLARATION=pause_declaration,
        PAUSE=pause,
        FUTEX_CALL=architecture.futex,
        MAX_WORKERS=MAX_WORKERS,
        THREADS=MAX_WORKERS + 1,
        SPINS=_SPIN_PAUSES,
        PATIENCE=_YIELD_AFTER_PAUSES,
        UNCLAIMED=(1 << _CHUNK_BITS) - 1,
        JOB_BITS=-1 << _CHUNK_BITS,
        JOB=1 << _CHUNK_BITS,
        **{f"AT_{point}": _pause(pauses.get(point, 0)) for point in POINTS},
    )
    return f"{text}declare i32 @usleep(i32)\n" if pauses else text


def _pause(microseconds: int) -> str:
    return f"call i32 @usleep(i32 {microseconds})" if microseconds else ""


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

_JOBS: Final = """
@words = internal global [$THREADS x [16 x i64]] zeroinitializer, align 128
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
@parts = internal global i64 0
@stages = internal global i64 0
@last = internal global i64 0
@participants = internal global i64 1
@chunks = internal global i64 0
@home = internal global i32 -1
@handles = internal global [$MAX_WORKERS x i64] zeroinitializer, align 128

$PAUSE_DECLARATION
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
  %hint = load atomic i32, ptr @limit monotonic, align 4
  %least = call i64 @llvm.smax.i64(i64 %grain, i64 1)
  %shared = icmp sgt i64 %count, %least
  %several = icmp sgt i32 %hint, 1
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
  $AT_taken
  %limit = load atomic i32, ptr @limit monotonic, align 4
  %still = icmp sgt i32 %limit, 1
  br i1 %still, label %have_workers, label %give_back
give_back:
  store atomic i32 0, ptr @lock release, align 4
  br label %alone
have_workers:
  %started = load i32, ptr @started
  %workers = sub i32 %limit, 1
  %missing = icmp slt i32 %started, %workers
  br i1 %missing, label %start, label %publish
start:
  call void @start_workers(i32 %workers)
  br label %publish
publish:
$PARTITION  %home = call i32 @sched_getcpu()
  store atomic i32 %home, ptr @home monotonic, align 4
  store atomic i64 0, ptr @done monotonic, align 8
  $AT_done
  store atomic ptr %body, ptr @body release, align 8
  $AT_body
  store atomic ptr %closure, ptr @closure release, align 8
  $AT_closure
  store atomic i64 %count, ptr @count release, align 8
  $AT_count
  store atomic i64 %parts, ptr @parts release, align 8
  $AT_parts
  store atomic i64 %stages, ptr @stages release, align 8
  $AT_stages
  store atomic i64 %last, ptr @last release, align 8
  $AT_last
  store atomic i64 %participants, ptr @participants release, align 8
  $AT_participants
  store atomic i64 %chunks, ptr @chunks release, align 8
  $AT_chunks
  br label %offer
offer:
  %above = phi i64 [ %participants, %publish ], [ %thread, %offer ]
  %thread = sub i64 %above, 1
  %hand = call i64 @hand(i64 %thread, i64 %chunks, i64 %participants)
  %word = getelementptr [16 x i64], ptr @words, i64 %thread
  %old = load atomic i64, ptr %word monotonic, align 8
  %next_job = add i64 %old, $JOB
  %new = or i64 %next_job, %hand
  store atomic i64 %new, ptr %word release, align 8
  $AT_offered
  %more = icmp sgt i64 %thread, 0
  br i1 %more, label %offer, label %published
published:
  fence seq_cst
  $AT_published
  %asleep = load atomic i32, ptr @sleepers seq_cst, align 4
  %any_asleep = icmp sgt i32 %asleep, 0
  br i1 %any_asleep, label %rouse, label %join
rouse:
  call void @wake_workers()
  br label %join
join:
  call void @share(i64 0)
  br label %wait
wait:
  %turn = phi i32 [ 0, %join ], [ %turn_more, %again ]
  %arrived = load atomic i64, ptr @done acquire, align 8
  %all = icmp eq i64 %arrived, %chunks
  br i1 %all, label %release, label %hold
hold:
  $PAUSE
  %turn_more = add i32 %turn, 1
  %late = icmp ugt i32 %turn, $PATIENCE
  br i1 %late, label %yield, label %again
yield:
  %yielded = call i32 @sched_yield()
  br label %again
again:
  br label %wait
release:
  $AT_over
  store atomic i32 0, ptr @lock release, align 4
  br label %finish
finish:
  ret void
}

; Claim and run chunks of the job, one's own first.
define internal void @share(i64 %own) nounwind {
entry:
  %around = load atomic i64, ptr @participants monotonic, align 8
  br label %enter
enter:
  %tried = phi i64 [ 0, %entry ], [ %tried_more, %next ]
  %place = add i64 %own, %tried
  %thread = urem i64 %place, %around
  %word = getelementptr [16 x i64], ptr @words, i64 %thread
  br label %look
look:
  %ran = phi i64 [ 0, %enter ], [ %ran, %claim ], [ %ran_more, %run ]
  %seen = load atomic i64, ptr %word acquire, align 8
  %unclaimed = and i64 %seen, $UNCLAIMED
  %none = icmp eq i64 %unclaimed, 0
  br i1 %none, label %left, label %claim
claim:
  $AT_read
  %body = load atomic ptr, ptr @body acquire, align 8
  %closure = load atomic ptr, ptr @closure acquire, align 8
  %count = load atomic i64, ptr @count acquire, align 8
  %parts = load atomic i64, ptr @parts acquire, align 8
  %stages = load atomic i64, ptr @stages acquire, align 8
  %last = load atomic i64, ptr @last acquire, align 8
  %participants = load atomic i64, ptr @participants acquire, align 8
  %chunks = load atomic i64, ptr @chunks acquire, align 8
  $AT_claiming
  %rest = sub i64 %seen, 1
  %claimed = cmpxchg ptr %word, i64 %seen, i64 %rest monotonic monotonic
  %mine = extractvalue { i64, i1 } %claimed, 1
  br i1 %mine, label %run, label %look
run:
  $AT_claimed
  %hand = call i64 @hand(i64 %thread, i64 %chunks, i64 %participants)
  %k = sub i64 %hand, %unclaimed
  %before = mul i64 %k, %participants
  %index = add i64 %before, %thread
  %following = add i64 %index, 1
  %begin = call i64 @bound(i64 %index, i64 %count, i64 %parts, i64 %stages, i64 %last)
  %end = call i64 @bound(i64 %following, i64 %count, i64 %parts, i64 %stages, i64 %last)
  call void %body(ptr %closure, i64 %begin, i64 %end)
  %ran_more = add i64 %ran, 1
  br label %look
left:
  %any = icmp sgt i64 %ran, 0
  br i1 %any, label %report, label %next
report:
  $AT_ran
  %finished = atomicrmw add ptr @done, i64 %ran release
  br label %next
next:
  %tried_more = add i64 %tried, 1
  %all = icmp uge i64 %tried_more, %around
  br i1 %all, label %finish, label %enter
finish:
  ret void
}

define internal ptr @worker(ptr %argument) nounwind {
entry:
  %rank = ptrtoint ptr %argument to i64
  %own = add i64 %rank, 1
  %word = getelementptr [16 x i64], ptr @words, i64 %own
  %allowed = alloca [128 x i8], align 16
  call void @llvm.memset.p0.i64(ptr %allowed, i8 0, i64 128, i1 false)
  %asked = call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  br label %look
look:
  %known = phi i64 [ 0, %entry ], [ %job, %work ], [ %known, %spin ], [ %known, %woken ]  ; the job seen last
  %idle = phi i32 [ 0, %entry ], [ 0, %work ], [ %idle_more, %spin ], [ 0, %woken ]
  %stopping = load atomic i32, ptr @stopping seq_cst, align 4
  %stop = icmp ne i32 %stopping, 0
  br i1 %stop, label %leave, label %read
read:
  %seen = load atomic i64, ptr %word seq_cst, align 8
  %job = and i64 %seen, $JOB_BITS
  %old = icmp eq i64 %job, %known
  br i1 %old, label %spin, label %begin
begin:
  %home = load atomic i32, ptr @home monotonic, align 4
  %here = call i32 @sched_getcpu()
  %on_callers_cpu = icmp eq i32 %here, %home
  br i1 %on_callers_cpu, label %move, label %work
move:
  call void @move_away(ptr %allowed, i32 %here)
  br label %work
work:
  call void @share(i64 %own)
  br label %look
spin:
  $PAUSE
  %idle_more = add i32 %idle, 1
  %tired = icmp ugt i32 %idle, $SPINS
  br i1 %tired, label %sleep, label %look
sleep:
  $AT_tired
  %entering = atomicrmw add ptr @sleepers, i32 1 seq_cst
  $AT_entering
  %wakes = load atomic i32, ptr @wake seq_cst, align 4
  %seen_now = load atomic i64, ptr %word seq_cst, align 8
  %job_now = and i64 %seen_now, $JOB_BITS
  %none_now = icmp eq i64 %job_now, %known
  %stopping_now = load atomic i32, ptr @stopping seq_cst, align 4
  %going_on = icmp eq i32 %stopping_now, 0
  %may_sleep = and i1 %none_now, %going_on
  br i1 %may_sleep, label %doze, label %woken
doze:
  $AT_dozing
  %slept = call i64 (i64, ...) @syscall(i64 $FUTEX_CALL, ptr @wake, i32 128, i32 %wakes, ptr null, ptr null, i32 0)
  br label %woken
woken:
  %leaving = atomicrmw sub ptr @sleepers, i32 1 seq_cst
  br label %look
leave:
  ret ptr null
}
"""

_POOL: Final = f"{_JOBS.replace('$PARTITION', PARTITION)}{BOUND}{WORKERS}"
POINTS: Final = tuple(re.findall(r"\$AT_(\w+)", _POOL))
