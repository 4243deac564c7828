"""A run of a kernel as LLVM IR text: the entry is found, onnxruntime makes the results, the program runs."""

from __future__ import annotations

from typing import Final

from ...run.compile.program.driver import NO_MEMORY, TOO_MANY_STEPS
from .create_text import KERNEL_WORDS
from .words import filled

_MOST_RANK: Final = 32
_TEXTS: Final = {
    "absent_result": ": a result is not asked for; expected are all",
    "broken": "; found the shapes ",
    "comma": ", ",
    "entry": ": ",
    "gave_up": ": its program gave up",
    "memory": ": no memory for temporaries",
    "no_rank": ": the library has no entry for operands of these ranks, found the shapes ",
    "rank": ": an operand has more axes than 32",
    "results": ": another number of results is asked for than the op gives",
    "shapes_end": "; the library has: ",
    "steps": ": a loop goes beyond its limit",
}


def compute_text(most_extents: int, most_dims: int) -> str:
    """`KernelComputeV2`; `most_extents`, `most_dims`: the most that the results of an entry have, and it takes."""
    return filled(
        _OPERAND + _COMPUTE, _TEXTS, KERNEL_WORDS=KERNEL_WORDS, MOST_RANK=_MOST_RANK,
        EXTENTS=max(1, most_extents), DIMS=max(1, most_dims), NO_MEMORY=NO_MEMORY, TOO_MANY_STEPS=TOO_MANY_STEPS,
    )  # fmt: skip


# %state: how many extents and tensors there are, where extents, addresses and ranks go
_OPERAND: Final = """\
define internal ptr @operand(ptr %api, ptr %context, i64 %k, ptr %state) nounwind {
  %value_at = alloca ptr
  %info_at = alloca ptr
  %count_at = alloca i64
  %extents_at = getelementptr ptr, ptr %state, i64 2
  %extents = load ptr, ptr %extents_at
  %data_at = getelementptr ptr, ptr %state, i64 3
  %data = load ptr, ptr %data_at
  %ranks_at = getelementptr ptr, ptr %state, i64 4
  %ranks = load ptr, ptr %ranks_at
  %rank_at = getelementptr i64, ptr %ranks, i64 %k
  store i64 -1, ptr %rank_at
  store ptr null, ptr %value_at
  %get_at = getelementptr ptr, ptr %api, i64 $KernelContext_GetInput
  %get = load ptr, ptr %get_at
  %not_got = call ptr %get(ptr %context, i64 %k, ptr %value_at)
  %got = icmp eq ptr %not_got, null
  br i1 %got, label %look, label %failed
look:
  %value = load ptr, ptr %value_at
  %is_absent = icmp eq ptr %value, null
  br i1 %is_absent, label %absent, label %type
absent:
  ret ptr null
type:
  %type_at = getelementptr ptr, ptr %api, i64 $GetTensorTypeAndShape
  %type_of = load ptr, ptr %type_at
  %no_type = call ptr %type_of(ptr %value, ptr %info_at)
  %is_typed = icmp eq ptr %no_type, null
  br i1 %is_typed, label %count, label %failed
count:
  %info = load ptr, ptr %info_at
  %count_of_at = getelementptr ptr, ptr %api, i64 $GetDimensionsCount
  %count_of = load ptr, ptr %count_of_at
  %no_count = call ptr %count_of(ptr %info, ptr %count_at)
  %rank = load i64, ptr %count_at
  %is_large = icmp ugt i64 %rank, $MOST_RANK
  br i1 %is_large, label %large, label %dims
dims:
  %filled = load i64, ptr %state
  %to = getelementptr i64, ptr %extents, i64 %filled
  %dims_at = getelementptr ptr, ptr %api, i64 $GetDimensions
  %dims_of = load ptr, ptr %dims_at
  %no_dims = call ptr %dims_of(ptr %info, ptr %to, i64 %rank)
  %filled_now = add i64 %filled, %rank
  store i64 %filled_now, ptr %state
  br label %large
large:
  %release_at = getelementptr ptr, ptr %api, i64 $ReleaseTensorTypeAndShapeInfo
  %release = load ptr, ptr %release_at
  call void %release(ptr %info)
  store i64 %rank, ptr %rank_at
  %tensors_at = getelementptr i64, ptr %state, i64 1
  %tensor = load i64, ptr %tensors_at
  %tensor_next = add i64 %tensor, 1
  store i64 %tensor_next, ptr %tensors_at
  %datum = getelementptr ptr, ptr %data, i64 %tensor
  %data_of_at = getelementptr ptr, ptr %api, i64 $GetTensorMutableData
  %data_of = load ptr, ptr %data_of_at
  %no_data = call ptr %data_of(ptr %value, ptr %datum)
  ret ptr %no_data
failed:
  %why = phi ptr [ %not_got, %0 ], [ %no_type, %type ]
  ret ptr %why
}
define internal void @say_shapes(ptr %message, ptr %ranks, i64 %count, ptr %extents) nounwind {
  br label %each
each:
  %k = phi i64 [ 0, %0 ], [ %k_next, %said ]
  %filled = phi i64 [ 0, %0 ], [ %filled_now, %said ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %begin, label %over
begin:
  %is_first = icmp eq i64 %k, 0
  br i1 %is_first, label %one, label %between
between:
  call void @say(ptr %message, ptr @text.comma)
  br label %one
one:
  %rank_at = getelementptr i64, ptr %ranks, i64 %k
  %rank = load i64, ptr %rank_at
  %is_absent = icmp slt i64 %rank, 0
  br i1 %is_absent, label %absent, label %shape
absent:
  call void @say(ptr %message, ptr @text.absent)
  br label %said
shape:
  call void @say(ptr %message, ptr @text.open)
  br label %axis
axis:
  %a = phi i64 [ 0, %shape ], [ %a_next, %extent ]
  %a_more = icmp slt i64 %a, %rank
  br i1 %a_more, label %separate, label %close
separate:
  %is_first_axis = icmp eq i64 %a, 0
  br i1 %is_first_axis, label %extent, label %comma
comma:
  call void @say(ptr %message, ptr @text.comma)
  br label %extent
extent:
  %position = add i64 %filled, %a
  %extent_at = getelementptr i64, ptr %extents, i64 %position
  %value = load i64, ptr %extent_at
  call void @say_int(ptr %message, i64 %value)
  %a_next = add i64 %a, 1
  br label %axis
close:
  call void @say(ptr %message, ptr @text.close)
  %after = add i64 %filled, %rank
  br label %said
said:
  %filled_now = phi i64 [ %filled, %absent ], [ %after, %close ]
  %k_next = add i64 %k, 1
  br label %each
over:
  ret void
}
"""

_COMPUTE: Final = """\
define internal ptr @refused(ptr %api, ptr %own, ptr %text) nounwind {
  %message = alloca [$MESSAGE_BYTES x i8], align 8
  call void @begin(ptr %message, ptr %own)
  call void @say(ptr %message, ptr %text)
  %status = call ptr @refusal(ptr %api, i32 $CODE_FAIL, ptr %message)
  ret ptr %status
}
define internal ptr @KernelComputeV2(ptr %kernel, ptr %context) nounwind {
  %count_at = alloca i64
  %state = alloca [5 x i64], align 8
  %results = alloca [$EXTENTS x i64], align 8
  %dims = alloca [$DIMS x i64], align 8
  %value_at = alloca ptr
  %api = load ptr, ptr %kernel
  %own_at = getelementptr ptr, ptr %kernel, i64 1
  %own = load ptr, ptr %own_at
  %found_at = getelementptr i64, ptr %kernel, i64 2
  %found = load i64, ptr %found_at
  %inputs_at = getelementptr ptr, ptr %api, i64 $KernelContext_GetInputCount
  %inputs_of = load ptr, ptr %inputs_at
  %no_inputs = call ptr %inputs_of(ptr %context, ptr %count_at)
  %given = load i64, ptr %count_at
  %room = mul i64 %given, $MOST_RANK
  %extents = alloca i64, i64 %room, align 8
  %ranks = alloca i64, i64 %given, align 8
  %inputs = alloca ptr, i64 %given, align 8
  store i64 0, ptr %state
  %s1 = getelementptr i64, ptr %state, i64 1
  store i64 0, ptr %s1
  %s2 = getelementptr i64, ptr %state, i64 2
  store ptr %extents, ptr %s2
  %s3 = getelementptr i64, ptr %state, i64 3
  store ptr %inputs, ptr %s3
  %s4 = getelementptr i64, ptr %state, i64 4
  store ptr %ranks, ptr %s4
  %has_inputs = icmp eq ptr %no_inputs, null
  br i1 %has_inputs, label %each_input, label %failed
each_input:
  %k = phi i64 [ 0, %0 ], [ %k_next, %was_read ]
  %count = phi i64 [ 0, %0 ], [ %count_now, %was_read ]
  %k_more = icmp ult i64 %k, %given
  br i1 %k_more, label %one_input, label %search
one_input:
  %not_read = call ptr @operand(ptr %api, ptr %context, i64 %k, ptr %state)
  %is_read = icmp eq ptr %not_read, null
  br i1 %is_read, label %ranked, label %failed
ranked:
  %k_next = add i64 %k, 1
  %rank_at = getelementptr i64, ptr %ranks, i64 %k
  %rank = load i64, ptr %rank_at
  %is_large = icmp sgt i64 %rank, $MOST_RANK
  br i1 %is_large, label %too_large, label %was_read
was_read:
  %is_absent = icmp slt i64 %rank, 0
  %count_now = select i1 %is_absent, i64 %count, i64 %k_next
  br label %each_input
too_large:
  %of_rank = call ptr @refused(ptr %api, ptr %own, ptr @text.rank)
  ret ptr %of_rank

search:
  %rank_bytes = mul i64 %count, 8
  br label %each_entry
each_entry:
  %e = phi i64 [ 0, %search ], [ %e_next, %other ]
  %near = phi ptr [ null, %search ], [ %near_now, %other ]
  %rule = phi i64 [ 0, %search ], [ %rule_now, %other ]
  %e_more = icmp ult i64 %e, %found
  br i1 %e_more, label %try, label %none
try:
  %place = add i64 %e, $KERNEL_WORDS
  %entry_at = getelementptr ptr, ptr %kernel, i64 %place
  %entry = load ptr, ptr %entry_at
  %own_count_at = getelementptr i64, ptr %entry, i64 $ENTRY_RANK_COUNT
  %own_count = load i64, ptr %own_count_at
  %same_count = icmp eq i64 %own_count, %count
  br i1 %same_count, label %compare, label %other
compare:
  %own_ranks_at = getelementptr i64, ptr %entry, i64 $ENTRY_RANKS
  %own_ranks = load ptr, ptr %own_ranks_at
  %order = call i32 @memcmp(ptr %own_ranks, ptr %ranks, i64 %rank_bytes)
  %same = icmp eq i32 %order, 0
  br i1 %same, label %measure, label %other
measure:
  %sizes_at = getelementptr i64, ptr %entry, i64 $ENTRY_SIZES
  %sizes = load ptr, ptr %sizes_at
  %broken = call i64 %sizes(ptr %extents, ptr %results, ptr %dims)
  %fits = icmp eq i64 %broken, 0
  br i1 %fits, label %prepare, label %other
other:
  %near_now = phi ptr [ %near, %try ], [ %near, %compare ], [ %entry, %measure ]
  %rule_now = phi i64 [ %rule, %try ], [ %rule, %compare ], [ %broken, %measure ]
  %e_next = add i64 %e, 1
  br label %each_entry

none:
  %message = alloca [$MESSAGE_BYTES x i8], align 8
  call void @begin(ptr %message, ptr %own)
  %no_rank = icmp eq ptr %near, null
  br i1 %no_rank, label %by_rank, label %by_rule
by_rank:
  call void @say(ptr %message, ptr @text.no_rank)
  call void @say_shapes(ptr %message, ptr %ranks, i64 %count, ptr %extents)
  call void @say(ptr %message, ptr @text.shapes_end)
  br label %each_kept
each_kept:
  %l = phi i64 [ 0, %by_rank ], [ %l_next, %say_kept ]
  %l_more = icmp ult i64 %l, %found
  br i1 %l_more, label %separate, label %refuse
separate:
  %l_first = icmp eq i64 %l, 0
  br i1 %l_first, label %say_kept, label %comma
comma:
  call void @say(ptr %message, ptr @text.comma)
  br label %say_kept
say_kept:
  %kept_place = add i64 %l, $KERNEL_WORDS
  %kept_at = getelementptr ptr, ptr %kernel, i64 %kept_place
  %kept = load ptr, ptr %kept_at
  %kept_text_at = getelementptr i64, ptr %kept, i64 $ENTRY_TEXT
  %kept_text = load ptr, ptr %kept_text_at
  call void @say(ptr %message, ptr %kept_text)
  %l_next = add i64 %l, 1
  br label %each_kept
by_rule:
  %near_text_at = getelementptr i64, ptr %near, i64 $ENTRY_TEXT
  %near_text = load ptr, ptr %near_text_at
  %rules_at = getelementptr i64, ptr %near, i64 $ENTRY_RULES
  %rules = load ptr, ptr %rules_at
  %rule_place = sub i64 %rule, 1
  %rule_at = getelementptr ptr, ptr %rules, i64 %rule_place
  %rule_text = load ptr, ptr %rule_at
  call void @say(ptr %message, ptr @text.entry)
  call void @say(ptr %message, ptr %rule_text)
  call void @say(ptr %message, ptr @text.broken)
  call void @say_shapes(ptr %message, ptr %ranks, i64 %count, ptr %extents)
  call void @say(ptr %message, ptr @text.shapes_end)
  call void @say(ptr %message, ptr %near_text)
  br label %refuse
refuse:
  %refusal = call ptr @refusal(ptr %api, i32 $CODE_INVALID_ARGUMENT, ptr %message)
  ret ptr %refusal

prepare:
  %outputs_at = getelementptr ptr, ptr %api, i64 $KernelContext_GetOutputCount
  %outputs_of = load ptr, ptr %outputs_at
  %no_outputs = call ptr %outputs_of(ptr %context, ptr %count_at)
  %asked = load i64, ptr %count_at
  %output_count_at = getelementptr i64, ptr %entry, i64 $ENTRY_OUTPUT_COUNT
  %output_count = load i64, ptr %output_count_at
  %as_many = icmp eq i64 %asked, %output_count
  br i1 %as_many, label %gather, label %not_as_many
not_as_many:
  %of_results = call ptr @refused(ptr %api, ptr %own, ptr @text.results)
  ret ptr %of_results
gather:
  %tensors = load i64, ptr %s1
  %data_count = add i64 %tensors, %output_count
  %data = alloca ptr, i64 %data_count, align 8
  %tensor_bytes = mul i64 %tensors, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %inputs, i64 %tensor_bytes, i1 false)
  %output_ranks_at = getelementptr i64, ptr %entry, i64 $ENTRY_OUTPUT_RANKS
  %output_ranks = load ptr, ptr %output_ranks_at
  %output_at = getelementptr ptr, ptr %api, i64 $KernelContext_GetOutput
  %output_of = load ptr, ptr %output_at
  %data_of_at = getelementptr ptr, ptr %api, i64 $GetTensorMutableData
  %data_of = load ptr, ptr %data_of_at
  br label %each_output
each_output:
  %j = phi i64 [ 0, %gather ], [ %j_next, %counted ]
  %before = phi i64 [ 0, %gather ], [ %after, %counted ]
  %some = phi i1 [ false, %gather ], [ %some_now, %counted ]
  %j_more = icmp ult i64 %j, %output_count
  br i1 %j_more, label %one_output, label %outputs_made
one_output:
  %output_rank_at = getelementptr i64, ptr %output_ranks, i64 %j
  %output_rank = load i64, ptr %output_rank_at
  %shape = getelementptr i64, ptr %results, i64 %before
  %after = add i64 %before, %output_rank
  store ptr null, ptr %value_at
  %not_made = call ptr %output_of(ptr %context, i64 %j, ptr %shape, i64 %output_rank, ptr %value_at)
  %is_made = icmp eq ptr %not_made, null
  br i1 %is_made, label %made, label %failed
made:
  %value = load ptr, ptr %value_at
  %is_left_out = icmp eq ptr %value, null
  br i1 %is_left_out, label %left_out, label %point
left_out:
  %of_absent = call ptr @refused(ptr %api, ptr %own, ptr @text.absent_result)
  ret ptr %of_absent
point:
  %datum_place = add i64 %tensors, %j
  %datum = getelementptr ptr, ptr %data, i64 %datum_place
  %no_data = call ptr %data_of(ptr %value, ptr %datum)
  %has_data = icmp eq ptr %no_data, null
  br i1 %has_data, label %each_extent, label %failed
each_extent:
  %x = phi i64 [ %before, %point ], [ %x_next, %one_extent ]
  %product = phi i64 [ 1, %point ], [ %product_now, %one_extent ]
  %x_more = icmp ult i64 %x, %after
  br i1 %x_more, label %one_extent, label %counted
one_extent:
  %extent_at = getelementptr i64, ptr %results, i64 %x
  %extent = load i64, ptr %extent_at
  %is_zero = icmp eq i64 %extent, 0
  %product_now = select i1 %is_zero, i64 0, i64 %product
  %x_next = add i64 %x, 1
  br label %each_extent
counted:
  %has_elements = icmp ne i64 %product, 0
  %some_now = or i1 %some, %has_elements
  %j_next = add i64 %j, 1
  br label %each_output

outputs_made:
  br i1 %some, label %run, label %done
run:
  %code_at = getelementptr i64, ptr %entry, i64 $ENTRY_CODE
  %code = load ptr, ptr %code_at
  %status = call i32 %code(ptr %data, ptr %dims, ptr null, ptr null)
  switch i32 %status, label %gave_up [
    i32 0, label %done
    i32 $NO_MEMORY, label %no_memory
    i32 $TOO_MANY_STEPS, label %too_many_steps
  ]
done:
  ret ptr null
no_memory:
  %of_memory = call ptr @refused(ptr %api, ptr %own, ptr @text.memory)
  ret ptr %of_memory
too_many_steps:
  %of_steps = call ptr @refused(ptr %api, ptr %own, ptr @text.steps)
  ret ptr %of_steps
gave_up:
  %of_program = call ptr @refused(ptr %api, ptr %own, ptr @text.gave_up)
  ret ptr %of_program
failed:
  %why = phi ptr [ %no_inputs, %0 ], [ %not_read, %one_input ], [ %not_made, %one_output ], [ %no_data, %point ]
  ret ptr %why
}
"""
