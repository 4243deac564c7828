"""The handler of calls from torch as LLVM IR text: torch's boxed kernels, `void (StableIValue *, uint64_t, uint64_t)`.

One function, `opgen_dispatch`, serves all ops; a trampoline an op calls it with the op's descriptor.  It turns the
arguments into words (of a tensor its element type, rank and sizes; of an attr its value), finds the entry of these
words in the descriptor's table, allocates results with torch's allocator, and runs the entry's kernel.  A call whose
words have no entry asks Python for one.  Errors are raised through torch's own function, with unwind tables for each
frame.  A descriptor is an array of 64-bit ints, whose words are named in `Descriptor`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from ...codegen import fill
from ..entry_table import Field, table_text
from .reading_text import OPTIONAL, reading_text

DISPATCH: Final = "opgen_dispatch"
DESCRIPTORS: Final = "opgen_descriptors"
TRAMPOLINES: Final = 32  # of a module
_WORDS: Final = 256  # on the stack; more go to the heap
_TENSORS: Final = 32


class Descriptor(IntEnum):
    """The words of an op's descriptor; `TABLE` is the cell of the op's table."""

    NUMBER = 0
    TABLE = 1
    GIVES_SEVERAL = 2
    PARAMETERS = 3
    KINDS = 4  # the first of as many


class ResultField(IntEnum):
    """The words of an entry behind those of `Field`: how results are allocated, and who is told of the end of a call.

    `ROWS`: of each result four words: element type, rank, address of the sizes, address of the strides.  `TEMPORARY`:
    not 0 where Python is told that the call is over.
    """

    RESULT_COUNT = len(Field)
    ROWS = len(Field) + 1
    TEMPORARY = len(Field) + 2


class Why(IntEnum):
    """Why a call fails: what Python makes a message of."""

    NO_ENTRY = 0
    DEVICE = 1
    TORCH = 2
    KERNEL = 3


TORCH_FUNCTIONS: Final = (
    "aoti_torch_delete_tensor_object",
    "aoti_torch_empty_strided",
    "aoti_torch_get_data_ptr",
    "aoti_torch_get_device_type",
    "aoti_torch_get_dim",
    "aoti_torch_get_dtype",
    "aoti_torch_get_layout",
    "aoti_torch_get_sizes",
    "aoti_torch_is_contiguous",
    "torch_call_dispatcher",
    "torch_delete_list",
    "torch_delete_stable_ivalue",
    "torch_delete_string",
    "torch_list_get_item",
    "torch_list_push_back",
    "torch_list_size",
    "torch_new_list_reserve_size",
    "torch_string_c_str",
    "torch_string_length",
)
"""What the text needs of libtorch_cpu."""
RAISE: Final = "_ZN3c106detail14torchCheckFailEPKcS2_jS2_"
"""What it needs of libc10: torchCheckFail(function, file, line, message)."""
CALLBACKS: Final = ("opgen_miss", "opgen_over", "opgen_why")
"""What it needs of Python."""


def handler_text(abi: int) -> str:
    """The module with `DISPATCH`, and with `PUBLISH` of the table.

    `abi`: the version of torch's values that it is written for.
    """
    words = {f"D_{each.name}": int(each) for each in Descriptor}
    words |= {f"F_{each.name}": int(each) for each in (*Field, *ResultField)}
    words |= {f"W_{each.name}": int(each) for each in Why}
    used = {key: value for key, value in words.items() if f"${key}" in _DISPATCH}
    run = fill(
        _DISPATCH, OPTIONAL=OPTIONAL, KIND_MASK=OPTIONAL - 1, WORDS=_WORDS, TENSORS=_TENSORS,
        RAISE=RAISE, **used,
    )  # fmt: skip
    return "\n".join((reading_text(abi), table_text("uwtable"), run))


def trampolines_text() -> str:
    """The module with `trampoline_symbols()`: each calls `DISPATCH` with its descriptor, of `DESCRIPTORS`."""
    parts = [
        f"declare void @{DISPATCH}(ptr, ptr) uwtable",
        f"@{DESCRIPTORS} = external global [{TRAMPOLINES} x ptr]",
        *[fill(_TRAMPOLINE, SYMBOL=symbol, NUMBER=k, DISPATCH=DISPATCH, DESCRIPTORS=DESCRIPTORS)
          for k, symbol in enumerate(trampoline_symbols())],
    ]  # fmt: skip
    return "\n".join(parts)


def trampoline_symbols() -> tuple[str, ...]:
    return tuple([f"opgen_trampoline{k}" for k in range(TRAMPOLINES)])


_TRAMPOLINE: Final = """\
define void @$SYMBOL(ptr %stack, i64 %given, i64 %results) uwtable {
  %place = getelementptr ptr, ptr @$DESCRIPTORS, i64 $NUMBER
  %descriptor = load ptr, ptr %place
  call void @$DISPATCH(ptr %descriptor, ptr %stack)
  ret void
}
"""

_DISPATCH: Final = """\
@where = internal constant [6 x i8] c"opgen\\00"
declare i32 @aoti_torch_empty_strided(i64, ptr, ptr, i32, i32, i32, ptr)
declare i32 @aoti_torch_get_data_ptr(ptr, ptr)
declare i32 @torch_list_push_back(ptr, i64)
declare i32 @torch_new_list_reserve_size(i64, ptr)
declare void @$RAISE(ptr, ptr, i32, ptr) cold noreturn
declare ptr @opgen_miss(i64, ptr, i64, i64)
declare void @opgen_over(i64, i64)
declare ptr @opgen_why(i64, i64, ptr, i64)

define internal void @drop_results(ptr %results, i64 %count) uwtable {
  br label %next
next:
  %k = phi i64 [ 0, %0 ], [ %k_next, %done ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %look, label %over
look:
  %place = getelementptr ptr, ptr %results, i64 %k
  %tensor = load ptr, ptr %place
  %none = icmp eq ptr %tensor, null
  br i1 %none, label %done, label %drop
drop:
  %code = call i32 @aoti_torch_delete_tensor_object(ptr %tensor)
  br label %done
done:
  %k_next = add i64 %k, 1
  br label %next
over:
  ret void
}

define internal void @fail(ptr %state, i64 %number, i64 %why, ptr %entry, i64 %detail) uwtable {
  call void @end(ptr %state)
  %text = call ptr @opgen_why(i64 %number, i64 %why, ptr %entry, i64 %detail)
  call void @$RAISE(ptr @where, ptr @where, i32 0, ptr %text)
  unreachable
}

define void @opgen_dispatch(ptr %descriptor, ptr %stack) uwtable {
  %state = alloca [10 x i64]
  %some_words = alloca [$WORDS x i64]
  %some_tensors = alloca [$TENSORS x i64]
  %temporary = alloca ptr
  %s1 = getelementptr i64, ptr %state, i64 1
  %s2 = getelementptr i64, ptr %state, i64 2
  %s3 = getelementptr i64, ptr %state, i64 3
  %s4 = getelementptr i64, ptr %state, i64 4
  %s5 = getelementptr i64, ptr %state, i64 5
  %s6 = getelementptr i64, ptr %state, i64 6
  %s7 = getelementptr i64, ptr %state, i64 7
  %s8 = getelementptr i64, ptr %state, i64 8
  %s9 = getelementptr i64, ptr %state, i64 9
  store ptr %some_words, ptr %state
  store i64 0, ptr %s1
  store i64 $WORDS, ptr %s2
  store ptr %some_words, ptr %s3
  store ptr %some_tensors, ptr %s4
  store i64 0, ptr %s5
  store i64 $TENSORS, ptr %s6
  store ptr %some_tensors, ptr %s7
  store i64 0, ptr %s8
  store i64 0, ptr %s9
  %number_place = getelementptr i64, ptr %descriptor, i64 $D_NUMBER
  %number = load i64, ptr %number_place
  %parameters_place = getelementptr i64, ptr %descriptor, i64 $D_PARAMETERS
  %parameters = load i64, ptr %parameters_place
  %kinds = getelementptr i64, ptr %descriptor, i64 $D_KINDS
  br label %read
read:
  %k = phi i64 [ 0, %0 ], [ %k_next, %was_read ]
  %more = icmp ult i64 %k, %parameters
  br i1 %more, label %one, label %all_read
one:
  %slot = getelementptr i64, ptr %stack, i64 %k
  %kind_place = getelementptr i64, ptr %kinds, i64 %k
  %kind = load i64, ptr %kind_place
  %plain = and i64 %kind, $KIND_MASK
  %optional = icmp uge i64 %kind, $OPTIONAL
  br i1 %optional, label %maybe, label %there
maybe:
  call void @read_optional(ptr %state, ptr %slot, i64 %plain)
  br label %was_read
there:
  call void @read_item(ptr %state, ptr %slot, i64 %plain)
  br label %was_read
was_read:
  %k_next = add i64 %k, 1
  br label %read
all_read:
  %code = load i64, ptr %s8
  %refused = icmp ne i64 %code, 0
  %device = load i64, ptr %s9
  %elsewhere = icmp ne i64 %device, 0
  br i1 %elsewhere, label %by_device, label %on_cpu
on_cpu:
  br i1 %refused, label %by_torch, label %search
by_torch:
  call void @fail(ptr %state, i64 %number, i64 $W_TORCH, ptr null, i64 %code)
  unreachable
by_device:
  call void @fail(ptr %state, i64 %number, i64 $W_DEVICE, ptr null, i64 %device)
  unreachable
search:
  %words = load ptr, ptr %state
  %count = load i64, ptr %s1
  %hash = call i64 @hash(ptr %words, i64 %count)
  %cell = getelementptr i64, ptr %descriptor, i64 $D_TABLE
  %known = call ptr @find(ptr %cell, ptr %words, i64 %count, i64 %hash)
  %unknown = icmp eq ptr %known, null
  br i1 %unknown, label %miss, label %hit
miss:
  %made = call ptr @opgen_miss(i64 %number, ptr %words, i64 %count, i64 %hash)
  %none = icmp eq ptr %made, null
  br i1 %none, label %by_python, label %hit
by_python:
  call void @fail(ptr %state, i64 %number, i64 $W_NO_ENTRY, ptr null, i64 0)
  unreachable
hit:
  %entry = phi ptr [ %known, %search ], [ %made, %miss ]
  %inputs = load i64, ptr %s5
  %constant_count_place = getelementptr i64, ptr %entry, i64 $F_CONSTANT_COUNT
  %constant_count = load i64, ptr %constant_count_place
  %constants_place = getelementptr i64, ptr %entry, i64 $F_CONSTANTS
  %constants = load ptr, ptr %constants_place
  %result_count_place = getelementptr i64, ptr %entry, i64 $F_RESULT_COUNT
  %result_count = load i64, ptr %result_count_place
  %rows_place = getelementptr i64, ptr %entry, i64 $F_ROWS
  %rows = load ptr, ptr %rows_place
  %first_result = add i64 %inputs, %constant_count
  %operands = add i64 %first_result, %result_count
  %data = alloca ptr, i64 %operands
  %results = alloca ptr, i64 %result_count
  %tensors = load ptr, ptr %s4
  br label %place
place:
  %i = phi i64 [ 0, %hit ], [ %i_next, %place_one ]
  %i_more = icmp ult i64 %i, %inputs
  br i1 %i_more, label %place_one, label %placed
place_one:
  %tensor_place = getelementptr ptr, ptr %tensors, i64 %i
  %tensor = load ptr, ptr %tensor_place
  %datum = getelementptr ptr, ptr %data, i64 %i
  %place_code = call i32 @aoti_torch_get_data_ptr(ptr %tensor, ptr %datum)
  call void @note(ptr %state, i32 %place_code)
  %i_next = add i64 %i, 1
  br label %place
placed:
  %constants_at = getelementptr ptr, ptr %data, i64 %inputs
  %constant_bytes = mul i64 %constant_count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %constants_at, ptr %constants, i64 %constant_bytes, i1 false)
  br label %allocate
allocate:
  %j = phi i64 [ 0, %placed ], [ %j_next, %allocated_one ]
  %j_more = icmp ult i64 %j, %result_count
  br i1 %j_more, label %allocate_one, label %allocated
allocate_one:
  %row_at = mul i64 %j, 4
  %row = getelementptr i64, ptr %rows, i64 %row_at
  %dtype_word = load i64, ptr %row
  %dtype = trunc i64 %dtype_word to i32
  %rank_place = getelementptr i64, ptr %row, i64 1
  %rank = load i64, ptr %rank_place
  %sizes_place = getelementptr i64, ptr %row, i64 2
  %sizes = load ptr, ptr %sizes_place
  %strides_of_place = getelementptr i64, ptr %row, i64 3
  %strides_of = load ptr, ptr %strides_of_place
  %result_place = getelementptr ptr, ptr %results, i64 %j
  store ptr null, ptr %result_place
  %empty_code = call i32 @aoti_torch_empty_strided(i64 %rank, ptr %sizes, ptr %strides_of, i32 %dtype, i32 0, i32 -1,
                                                   ptr %result_place)
  call void @note(ptr %state, i32 %empty_code)
  %is_there = icmp eq i32 %empty_code, 0
  br i1 %is_there, label %point, label %allocated_one
point:
  %result = load ptr, ptr %result_place
  %result_at = add i64 %first_result, %j
  %result_datum = getelementptr ptr, ptr %data, i64 %result_at
  %result_code = call i32 @aoti_torch_get_data_ptr(ptr %result, ptr %result_datum)
  call void @note(ptr %state, i32 %result_code)
  br label %allocated_one
allocated_one:
  %j_next = add i64 %j, 1
  br label %allocate
allocated:
  %later_code = load i64, ptr %s8
  %failed = icmp ne i64 %later_code, 0
  br i1 %failed, label %no_memory, label %run
no_memory:
  call void @drop_results(ptr %results, i64 %result_count)
  call void @over(i64 %number, ptr %entry)
  call void @fail(ptr %state, i64 %number, i64 $W_TORCH, ptr null, i64 %later_code)
  unreachable
run:
  %code_place = getelementptr i64, ptr %entry, i64 $F_CODE
  %function = load ptr, ptr %code_place
  %nothing_to_do = icmp eq ptr %function, null
  br i1 %nothing_to_do, label %give, label %compute
compute:
  %dims_place = getelementptr i64, ptr %entry, i64 $F_DIMS
  %dims = load ptr, ptr %dims_place
  %strides_place = getelementptr i64, ptr %entry, i64 $F_STRIDES
  %strides = load ptr, ptr %strides_place
  %status = call i32 %function(ptr %data, ptr %dims, ptr %strides, ptr null)
  %gave_up = icmp ne i32 %status, 0
  br i1 %gave_up, label %by_kernel, label %give
by_kernel:
  call void @drop_results(ptr %results, i64 %result_count)
  %status_word = sext i32 %status to i64
  call void @fail(ptr %state, i64 %number, i64 $W_KERNEL, ptr %entry, i64 %status_word)
  unreachable
give:
  call void @end(ptr %state)
  call void @over(i64 %number, ptr %entry)
  %several_place = getelementptr i64, ptr %descriptor, i64 $D_GIVES_SEVERAL
  %several = load i64, ptr %several_place
  %in_list = icmp ne i64 %several, 0
  br i1 %in_list, label %list, label %plainly
list:
  %list_code = call i32 @torch_new_list_reserve_size(i64 %result_count, ptr %temporary)
  %made_list = load ptr, ptr %temporary
  br label %append
append:
  %m = phi i64 [ 0, %list ], [ %m_next, %append_one ]
  %m_more = icmp ult i64 %m, %result_count
  br i1 %m_more, label %append_one, label %appended
append_one:
  %item_place = getelementptr i64, ptr %results, i64 %m
  %item = load i64, ptr %item_place
  %item_code = call i32 @torch_list_push_back(ptr %made_list, i64 %item)
  %m_next = add i64 %m, 1
  br label %append
appended:
  store ptr %made_list, ptr %stack
  ret void
plainly:
  %result_bytes = mul i64 %result_count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %stack, ptr %results, i64 %result_bytes, i1 false)
  ret void
}

define internal void @over(i64 %number, ptr %entry) uwtable {
  %temporary_place = getelementptr i64, ptr %entry, i64 $F_TEMPORARY
  %temporary = load i64, ptr %temporary_place
  %lasting = icmp eq i64 %temporary, 0
  br i1 %lasting, label %done, label %tell
tell:
  call void @opgen_over(i64 %number, i64 %temporary)
  br label %done
done:
  ret void
}
"""
