"""How the thread pool partitions a loop, as LLVM IR text: chunks that are claimed in order and get smaller.

The first half of the loop is `parts` equal chunks, two a thread; so is the first half of the rest, and so on for
`stages` halves, as long as a chunk is worth a thread (`least`).  What is left then is cut into chunks of `last`, at
most twice as many.  So few are claimed, and threads end at about the same time, whatever iterations cost and whenever a
thread comes or is held up.  Where a chunk begins is a function of its index and of these numbers.

They are assigned to the threads in turn: one claims its own first, then those that others have not begun.  What
one loop writes and the next one reads, or the same one a call later, is then mostly near the thread that wants it.

Part of the module of `pool_text.py`.
"""

from __future__ import annotations

from typing import Final

_CHUNKS_PER_STAGE: Final = 2  # chunks of a stage
_STAGES: Final = 4

# From %count, %least and %limit to %parts, %stages, %last, %chunks and %participants, the threads that get any.
PARTITION: Final = f"""
  %threads = zext i32 %limit to i64
  %parts = mul i64 %threads, {_CHUNKS_PER_STAGE}
  %twice = mul i64 %parts, 2
  %enough = mul i64 %twice, %least
  %times = udiv i64 %count, %enough
  %zeros = call i64 @llvm.ctlz.i64(i64 %times, i1 false)
  %halvings = sub i64 64, %zeros
  %stages = call i64 @llvm.smin.i64(i64 %halvings, i64 {_STAGES})
  %rest_of_all = lshr i64 %count, %stages
  %rest_before = sub i64 %rest_of_all, 1
  %share_before = udiv i64 %rest_before, %twice
  %share = add i64 %share_before, 1
  %last = call i64 @llvm.smax.i64(i64 %least, i64 %share)
  %full = udiv i64 %rest_before, %last
  %staged = mul i64 %stages, %parts
  %first_ones = add i64 %staged, %full
  %chunks = add i64 %first_ones, 1
  %participants = call i64 @llvm.smin.i64(i64 %threads, i64 %chunks)
"""

BOUND: Final = """
declare i64 @llvm.ctlz.i64(i64, i1)

; How many chunks a thread is assigned.
define internal i64 @hand(i64 %thread, i64 %chunks, i64 %participants) alwaysinline nounwind {
  %others = add i64 %thread, 1
  %rest = sub i64 %chunks, %others
  %more = udiv i64 %rest, %participants
  %hand = add i64 %more, 1
  ret i64 %hand
}

; Where the chunk of an index begins, and the one before it ends.
define internal i64 @bound(i64 %index, i64 %count, i64 %parts, i64 %stages, i64 %last) nounwind {
  %in_stage = udiv i64 %index, %parts
  %stage = call i64 @llvm.smin.i64(i64 %in_stage, i64 %stages)
  %skipped = mul i64 %stage, %parts
  %k = sub i64 %index, %skipped
  %rest = lshr i64 %count, %stage
  %done = sub i64 %count, %rest
  %next = lshr i64 %rest, 1
  %half = sub i64 %rest, %next
  %scaled = mul i64 %k, %half
  %part_of_half = udiv i64 %scaled, %parts
  %small_ones = mul i64 %k, %last
  %at_last = icmp eq i64 %stage, %stages
  %offset = select i1 %at_last, i64 %small_ones, i64 %part_of_half
  %found = add i64 %done, %offset
  %bound = call i64 @llvm.smin.i64(i64 %found, i64 %count)
  ret i64 %bound
}
"""
