"""What torch's boxed kernels do with arguments, as LLVM IR text: arguments become words, and are given up.

The state of a call is ten words: the part of words, [address, count, capacity, address on the stack], the like part of
tensors, the codes of torch's functions that failed, whether an operand lies elsewhere than on the CPU.  Parts begin on
the stack, and go to the heap where there is more.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from ...codegen import fill


class Kind(IntEnum):
    """How an argument lies in torch's values."""

    TENSOR = 0
    TENSORS = 1
    RAW = 2
    LIST = 3
    STRING = 4
    STRINGS = 5


OPTIONAL: Final = 8
"""Added to a kind: the argument may be absent."""


def reading_text(abi: int) -> str:
    """`read_item` and `read_optional`, which take arguments in, and `end`, which gives up what was taken.

    `abi`: the version of torch's values that they are written for.
    """
    kinds = {f"K_{each.name}": int(each) for each in Kind}
    return fill(_READING, ABI=abi, **kinds)


_READING: Final = """\
@contiguous = internal constant [17 x i8] c"aten::contiguous\\00"
@nothing = internal constant [1 x i8] zeroinitializer
declare i32 @aoti_torch_delete_tensor_object(ptr)
declare i32 @aoti_torch_get_device_type(ptr, ptr)
declare i32 @aoti_torch_get_dim(ptr, ptr)
declare i32 @aoti_torch_get_dtype(ptr, ptr)
declare i32 @aoti_torch_get_layout(ptr, ptr)
declare i32 @aoti_torch_get_sizes(ptr, ptr)
declare i32 @aoti_torch_is_contiguous(ptr, ptr)
declare i32 @torch_call_dispatcher(ptr, ptr, ptr, i64)
declare i32 @torch_delete_list(ptr)
declare i32 @torch_delete_stable_ivalue(ptr)
declare i32 @torch_delete_string(ptr)
declare i32 @torch_list_get_item(ptr, i64, ptr)
declare i32 @torch_list_size(ptr, ptr)
declare i32 @torch_string_c_str(ptr, ptr)
declare i32 @torch_string_length(ptr, ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal void @reserve(ptr %part, i64 %more) uwtable {
  %count_place = getelementptr i64, ptr %part, i64 1
  %capacity_place = getelementptr i64, ptr %part, i64 2
  %count = load i64, ptr %count_place
  %capacity = load i64, ptr %capacity_place
  %needed = add i64 %count, %more
  %fits = icmp ule i64 %needed, %capacity
  br i1 %fits, label %done, label %grow
grow:
  %new_capacity = mul i64 %needed, 2
  %bytes = mul i64 %new_capacity, 8
  %new = call ptr @malloc(i64 %bytes)
  %old = load ptr, ptr %part
  %used = mul i64 %count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %old, i64 %used, i1 false)
  call void @release(ptr %part)
  store ptr %new, ptr %part
  store i64 %new_capacity, ptr %capacity_place
  br label %done
done:
  ret void
}

define internal void @release(ptr %part) uwtable {
  %now = load ptr, ptr %part
  %first_place = getelementptr i64, ptr %part, i64 3
  %first = load ptr, ptr %first_place
  %on_stack = icmp eq ptr %now, %first
  br i1 %on_stack, label %done, label %heap
heap:
  call void @free(ptr %now)
  store ptr %first, ptr %part
  br label %done
done:
  ret void
}

define internal void @push(ptr %part, i64 %value) uwtable {
  call void @reserve(ptr %part, i64 1)
  %count_place = getelementptr i64, ptr %part, i64 1
  %count = load i64, ptr %count_place
  %data = load ptr, ptr %part
  %place = getelementptr i64, ptr %data, i64 %count
  store i64 %value, ptr %place
  %next = add i64 %count, 1
  store i64 %next, ptr %count_place
  ret void
}

define internal void @note(ptr %state, i32 %code) uwtable {
  %place = getelementptr i64, ptr %state, i64 8
  %before = load i64, ptr %place
  %wide = sext i32 %code to i64
  %both = or i64 %before, %wide
  store i64 %both, ptr %place
  ret void
}

define internal void @read_tensor(ptr %state, ptr %slot) uwtable {
  %flag = alloca i8
  %small = alloca i32
  %wide = alloca i64
  %values = alloca [2 x i64]
  %tensors = getelementptr i64, ptr %state, i64 4
  %given = load ptr, ptr %slot
  store i32 0, ptr %small
  %c0 = call i32 @aoti_torch_get_device_type(ptr %given, ptr %small)
  call void @note(ptr %state, i32 %c0)
  %device = load i32, ptr %small
  %device_place = getelementptr i64, ptr %state, i64 9
  %device_before = load i64, ptr %device_place
  %device_wide = sext i32 %device to i64
  %device_both = or i64 %device_before, %device_wide
  store i64 %device_both, ptr %device_place
  store i32 0, ptr %small
  %c6 = call i32 @aoti_torch_get_layout(ptr %given, ptr %small)
  call void @note(ptr %state, i32 %c6)
  %layout = load i32, ptr %small
  %elsewhere = or i32 %device, %layout
  %is_plain = icmp eq i32 %elsewhere, 0
  br i1 %is_plain, label %look, label %foreign
foreign:
  %foreign_word = ptrtoint ptr %given to i64
  call void @push(ptr %tensors, i64 %foreign_word)
  call void @note(ptr %state, i32 %layout)
  ret void
look:
  store i8 0, ptr %flag
  %c1 = call i32 @aoti_torch_is_contiguous(ptr %given, ptr %flag)
  call void @note(ptr %state, i32 %c1)
  %contiguous = load i8, ptr %flag
  %is_contiguous = icmp ne i8 %contiguous, 0
  br i1 %is_contiguous, label %read, label %copy
copy:
  store ptr %given, ptr %values
  %format = getelementptr i64, ptr %values, i64 1
  store i64 0, ptr %format
  %c2 = call i32 @torch_call_dispatcher(ptr @contiguous, ptr @nothing, ptr %values, i64 $ABI)
  call void @note(ptr %state, i32 %c2)
  %copied = load ptr, ptr %values
  %was_copied = icmp eq i32 %c2, 0
  br i1 %was_copied, label %read, label %lost
lost:
  ret void
read:
  %tensor = phi ptr [ %given, %look ], [ %copied, %copy ]
  %tensor_word = ptrtoint ptr %tensor to i64
  call void @push(ptr %tensors, i64 %tensor_word)
  store i32 0, ptr %small
  %c3 = call i32 @aoti_torch_get_dtype(ptr %tensor, ptr %small)
  call void @note(ptr %state, i32 %c3)
  %dtype = load i32, ptr %small
  %dtype_word = sext i32 %dtype to i64
  call void @push(ptr %state, i64 %dtype_word)
  store i64 0, ptr %wide
  %c4 = call i32 @aoti_torch_get_dim(ptr %tensor, ptr %wide)
  call void @note(ptr %state, i32 %c4)
  %rank = load i64, ptr %wide
  call void @push(ptr %state, i64 %rank)
  call void @reserve(ptr %state, i64 %rank)
  %c5 = call i32 @aoti_torch_get_sizes(ptr %tensor, ptr %wide)
  call void @note(ptr %state, i32 %c5)
  %sizes = load ptr, ptr %wide
  %count_place = getelementptr i64, ptr %state, i64 1
  %count = load i64, ptr %count_place
  %words = load ptr, ptr %state
  %place = getelementptr i64, ptr %words, i64 %count
  %bytes = mul i64 %rank, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %sizes, i64 %bytes, i1 false)
  %next = add i64 %count, %rank
  store i64 %next, ptr %count_place
  ret void
}

define internal void @read_string(ptr %state, ptr %slot) uwtable {
  %length_place = alloca i64
  %text_place = alloca ptr
  store i64 0, ptr %length_place
  %string = load ptr, ptr %slot
  %c0 = call i32 @torch_string_length(ptr %string, ptr %length_place)
  call void @note(ptr %state, i32 %c0)
  %c1 = call i32 @torch_string_c_str(ptr %string, ptr %text_place)
  call void @note(ptr %state, i32 %c1)
  %length = load i64, ptr %length_place
  %text = load ptr, ptr %text_place
  call void @push(ptr %state, i64 %length)
  %up = add i64 %length, 7
  %more = lshr i64 %up, 3
  call void @reserve(ptr %state, i64 %more)
  %count_place = getelementptr i64, ptr %state, i64 1
  %count = load i64, ptr %count_place
  %words = load ptr, ptr %state
  %next = add i64 %count, %more
  %any = icmp ne i64 %more, 0
  br i1 %any, label %fill, label %over
fill:
  %last = sub i64 %next, 1
  %last_place = getelementptr i64, ptr %words, i64 %last
  store i64 0, ptr %last_place
  %place = getelementptr i64, ptr %words, i64 %count
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %text, i64 %length, i1 false)
  br label %over
over:
  store i64 %next, ptr %count_place
  %c2 = call i32 @torch_delete_string(ptr %string)
  call void @note(ptr %state, i32 %c2)
  ret void
}

define internal void @read_list(ptr %state, ptr %slot, i64 %kind) uwtable {
  %size_place = alloca i64
  %item = alloca i64
  store i64 0, ptr %size_place
  %list = load ptr, ptr %slot
  %c0 = call i32 @torch_list_size(ptr %list, ptr %size_place)
  call void @note(ptr %state, i32 %c0)
  %size = load i64, ptr %size_place
  call void @push(ptr %state, i64 %size)
  br label %next
next:
  %k = phi i64 [ 0, %0 ], [ %k_next, %done ]
  %more = icmp ult i64 %k, %size
  br i1 %more, label %get, label %over
get:
  store i64 0, ptr %item
  %c1 = call i32 @torch_list_get_item(ptr %list, i64 %k, ptr %item)
  call void @note(ptr %state, i32 %c1)
  call void @read_item(ptr %state, ptr %item, i64 %kind)
  br label %done
done:
  %k_next = add i64 %k, 1
  br label %next
over:
  %c2 = call i32 @torch_delete_list(ptr %list)
  call void @note(ptr %state, i32 %c2)
  ret void
}

define internal void @read_item(ptr %state, ptr %slot, i64 %kind) uwtable {
  switch i64 %kind, label %raw [
    i64 $K_TENSOR, label %tensor
    i64 $K_TENSORS, label %tensors
    i64 $K_LIST, label %list
    i64 $K_STRING, label %string
    i64 $K_STRINGS, label %strings
  ]
tensor:
  call void @read_tensor(ptr %state, ptr %slot)
  ret void
tensors:
  call void @read_list(ptr %state, ptr %slot, i64 $K_TENSOR)
  ret void
list:
  call void @read_list(ptr %state, ptr %slot, i64 $K_RAW)
  ret void
string:
  call void @read_string(ptr %state, ptr %slot)
  ret void
strings:
  call void @read_list(ptr %state, ptr %slot, i64 $K_STRING)
  ret void
raw:
  %value = load i64, ptr %slot
  call void @push(ptr %state, i64 %value)
  ret void
}

define internal void @read_optional(ptr %state, ptr %slot, i64 %kind) uwtable {
  %inner = load ptr, ptr %slot
  %absent = icmp eq ptr %inner, null
  br i1 %absent, label %none, label %some
none:
  call void @push(ptr %state, i64 0)
  ret void
some:
  call void @push(ptr %state, i64 1)
  call void @read_item(ptr %state, ptr %inner, i64 %kind)
  %code = call i32 @torch_delete_stable_ivalue(ptr %inner)
  call void @note(ptr %state, i32 %code)
  ret void
}

define internal void @end(ptr %state) uwtable {
  %tensors = getelementptr i64, ptr %state, i64 4
  %count_place = getelementptr i64, ptr %state, i64 5
  %count = load i64, ptr %count_place
  %data = load ptr, ptr %tensors
  br label %next
next:
  %k = phi i64 [ 0, %0 ], [ %k_next, %drop ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %drop, label %over
drop:
  %place = getelementptr ptr, ptr %data, i64 %k
  %tensor = load ptr, ptr %place
  %code = call i32 @aoti_torch_delete_tensor_object(ptr %tensor)
  %k_next = add i64 %k, 1
  br label %next
over:
  call void @release(ptr %state)
  call void @release(ptr %tensors)
  ret void
}
"""
