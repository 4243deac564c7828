"""The thread pool's workers as LLVM IR text: workers are started, woken, kept off the caller's CPU, ended and
forgotten.

Part of the module of `pool_text.py`, whose docstring has the argument.
"""

from __future__ import annotations

from typing import Final

WORKERS: Final = """
define internal void @wake_workers() noinline nounwind {
  %bump = atomicrmw add ptr @wake, i32 1 seq_cst
  %woken = call i64 (i64, ...) @syscall(i64 $FUTEX_CALL, ptr @wake, i32 129, i32 2147483647, ptr null, ptr null, i32 0)
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
  %handle = getelementptr [$MAX_WORKERS x i64], ptr @handles, i64 0, i32 %k
  %number = sext i32 %k to i64
  %argument = inttoptr i64 %number to ptr
  %status = call i32 @pthread_create(ptr %handle, ptr null, ptr @worker, ptr %argument)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %made, label %end
made:
  $AT_made
  %k_more = add i32 %k, 1
  store i32 %k_more, ptr @started
  br label %next
end:
  %restored = call i32 @pthread_sigmask(i32 2, ptr %previous, ptr null)
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

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
  $AT_stopping
  call void @wake_workers()
  %started = load i32, ptr @started
  br label %next
next:
  %k = phi i32 [ 0, %stop ], [ %k_more, %join ]
  %more = icmp slt i32 %k, %started
  br i1 %more, label %join, label %end
join:
  %place = getelementptr [$MAX_WORKERS x i64], ptr @handles, i64 0, i32 %k
  %handle = load i64, ptr %place
  %joined = call i32 @pthread_join(i64 %handle, ptr null)
  %k_more = add i32 %k, 1
  br label %next
end:
  $AT_joined
  store i32 0, ptr @started
  store atomic i32 0, ptr @stopping seq_cst, align 4
  store atomic i32 0, ptr @lock release, align 4
  ret void
}

; In a forked child only the forking thread lives on: forget the workers, the unfinished job, and who held the lock.
define void @opgen_pool_reset() nounwind {
entry:
  store i32 0, ptr @started
  br label %next
next:
  %k = phi i64 [ 0, %entry ], [ %k_more, %next ]
  %word = getelementptr [16 x i64], ptr @words, i64 %k
  %old = load atomic i64, ptr %word monotonic, align 8
  %shut = and i64 %old, $JOB_BITS
  store atomic i64 %shut, ptr %word monotonic, align 8
  %k_more = add i64 %k, 1
  %more = icmp ult i64 %k_more, $THREADS
  br i1 %more, label %next, label %end
end:
  store atomic i32 0, ptr @sleepers monotonic, align 4
  store atomic i32 0, ptr @stopping monotonic, align 4
  store atomic i32 0, ptr @lock release, align 4
  ret void
}
"""
