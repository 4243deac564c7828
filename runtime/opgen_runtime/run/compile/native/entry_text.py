"""The native entry as LLVM IR text: functions of CPython's METH_FASTCALL that check arrays and run a kernel on them.

The trampoline is a function of CPython's vectorcall (PEP 590): `self` is the object that is called, which holds
the address of its words.

`self` is an int64 array, the descriptor, whose words are named in `EntryField`; after these come the records of the
operands, inputs first, then the outputs, and their dims.  A record holds the dtype object, the rank, the address of the
dims and the size in bytes.  An argument fits if it is exactly an array (no subclass) with that dtype object and those
dims, C-contiguous and aligned; an output, of which one that is in no tuple is filled, must be writeable and overlap no
input.  Where anything does not fit, the result is `NotImplemented`, and nothing has been touched.

It is compiled without passes, which take longer than generating its code: what they would do, to inline functions and
to load what is needed where it is, is done here.
"""

from __future__ import annotations

from typing import Final

from ....codegen import fill
from .buffers import ALIGNMENT, MAX_FREE_LIST_BYTES, MIN_POOLED_BYTES
from .entry_fields import (
    RECORD_FIELDS,
    TRAMPOLINE_FIELDS_OFFSET,
    EntryField,
    TrampolineField,
    counted_text,
    fields_text,
)
from .layouts import (
    CONTIGUOUS_ALIGNED,
    COUNT_MASK,
    DATA_OFFSET,
    DIMS_OFFSET,
    DTYPE_OFFSET,
    FLAGS_OFFSET,
    RANK_OFFSET,
    TUPLE_ITEMS_OFFSET,
    TUPLE_SIZE_OFFSET,
    TYPE_OFFSET,
    WRITEABLE,
)
from .output_buffers import OUTPUT_BUFFER, output_buffers_text

SYMBOLS: Final = ("opgen_entry_new", "opgen_entry_into")
TRAMPOLINE_SYMBOL: Final = "opgen_entry_trampoline"
_FEW: Final = 15  # arguments that are copied to the stack


def entry_text() -> str:
    """The module with the functions of `SYMBOLS` and `TRAMPOLINE_SYMBOL`."""
    run = fill(
        _RUN,
        **fields_text([field for field in EntryField if field not in (EntryField.BYTE, EntryField.SET_BASE)]),
        HOLD=counted_text("itself", 1),
        DROP=counted_text("itself", -1),
        HOLD_TARGET=counted_text("to_fill", 1),
        HOLD_DTYPE=counted_text("new_dtype", 1),
        RECORDS=len(EntryField),
        DECREF_POSITION=int(EntryField.DECREF),
        RECORD_FIELDS=RECORD_FIELDS,
        TYPE_OFFSET=TYPE_OFFSET,
        RANK_OFFSET=RANK_OFFSET,
        DIMS_OFFSET=DIMS_OFFSET,
        DTYPE_OFFSET=DTYPE_OFFSET,
        FLAGS_OFFSET=FLAGS_OFFSET,
        DATA_OFFSET=DATA_OFFSET,
        CONTIGUOUS_ALIGNED=CONTIGUOUS_ALIGNED,
        WRITEABLE=WRITEABLE,
        TUPLE_ITEMS_OFFSET=TUPLE_ITEMS_OFFSET,
        OUTPUT_BUFFER=OUTPUT_BUFFER,
        MIN_POOLED_BYTES=MIN_POOLED_BYTES,
    )  # fmt: skip
    entries = [
        fill(_ENTRY, NAME=name, INTO=into, DATA_OFFSET=DATA_OFFSET)
        for name, into in zip(SYMBOLS, ("false", "true"), strict=True)
    ]
    ask = fill(
        _ASK,
        **fields_text((TrampolineField.SLOW, TrampolineField.CALLEE, TrampolineField.VECTORCALL)),
        FEW=_FEW,
        ROOM=_FEW + 1,
        TUPLE_SIZE_OFFSET=TUPLE_SIZE_OFFSET,
    )
    trampoline = fill(
        _TRAMPOLINE,
        **fields_text((TrampolineField.FIELDS, TrampolineField.OUT)),
        SYMBOL=TRAMPOLINE_SYMBOL,
        TRAMPOLINE_FIELDS_OFFSET=TRAMPOLINE_FIELDS_OFFSET,
        COUNT_MASK=COUNT_MASK,
        TUPLE_SIZE_OFFSET=TUPLE_SIZE_OFFSET,
        TUPLE_ITEMS_OFFSET=TUPLE_ITEMS_OFFSET,
    )
    return "\n".join((output_buffers_text(MAX_FREE_LIST_BYTES, ALIGNMENT), ask, run, *entries, trampoline))


_ENTRY: Final = """
define ptr @$NAME(ptr %self, ptr %args, i64 %count) {
start:
  %words_at = getelementptr i8, ptr %self, i64 $DATA_OFFSET
  %fields = load ptr, ptr %words_at
  %result = tail call ptr @run(ptr %fields, ptr %args, i64 %count, i1 $INTO, ptr null, ptr null)
  ret ptr %result
}"""

# The function's own call has the object before the arguments.
_ASK: Final = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @PyErr_NoMemory()
define internal ptr @ask(ptr %trampoline, ptr %args, i64 %count, ptr %names) {
start:
  %few_at = alloca [$ROOM x ptr]
$SLOW
$CALLEE
$VECTORCALL
  %by_name = icmp ne ptr %names, null
  br i1 %by_name, label %named, label %total
named:
  %size_at = getelementptr i8, ptr %names, i64 $TUPLE_SIZE_OFFSET
  %size = load i64, ptr %size_at
  br label %total
total:
  %more = phi i64 [ 0, %start ], [ %size, %named ]
  %given = add i64 %count, %more
  %bytes = shl i64 %given, 3
  %is_few = icmp ule i64 %given, $FEW
  br i1 %is_few, label %call, label %many
many:
  %all_bytes = add i64 %bytes, 8
  %many_at = call ptr @malloc(i64 %all_bytes)
  %no_memory = icmp eq ptr %many_at, null
  br i1 %no_memory, label %fail, label %call
call:
  %at = phi ptr [ %few_at, %total ], [ %many_at, %many ]
  store ptr %callee, ptr %at
  %rest = getelementptr ptr, ptr %at, i64 1
  %copied = call ptr @memmove(ptr %rest, ptr %args, i64 %bytes)
  %with_callee = add i64 %count, 1
  %answer = call ptr %vectorcall(ptr %slow, ptr %at, i64 %with_callee, ptr %names)
  br i1 %is_few, label %done, label %give_back
give_back:
  call void @free(ptr %at)
  br label %done
done:
  ret ptr %answer
fail:
  %error = call ptr @PyErr_NoMemory()
  ret ptr %error
}"""

_TRAMPOLINE: Final = """
define ptr @$SYMBOL(ptr %self, ptr %args, i64 %flagged_count, ptr %names) {
start:
  %count = and i64 %flagged_count, $COUNT_MASK
  %trampoline_at = getelementptr i8, ptr %self, i64 $TRAMPOLINE_FIELDS_OFFSET
  %trampoline = load ptr, ptr %trampoline_at
$FIELDS
  %known = icmp ne ptr %fields, null
  br i1 %known, label %ask, label %ask_slow
ask:
  %into = icmp ne ptr %names, null
  br i1 %into, label %named, label %try
named:
  %size_at = getelementptr i8, ptr %names, i64 $TUPLE_SIZE_OFFSET
  %size = load i64, ptr %size_at
  %one = icmp eq i64 %size, 1
  br i1 %one, label %look, label %ask_slow
look:
  %name_at = getelementptr i8, ptr %names, i64 $TUPLE_ITEMS_OFFSET
  %name = load ptr, ptr %name_at
$OUT
  %is_out = icmp eq ptr %name, %out
  br i1 %is_out, label %try, label %ask_slow
try:
  %result = tail call ptr @run(ptr %fields, ptr %args, i64 %count, i1 %into, ptr %trampoline, ptr %names)
  ret ptr %result
ask_slow:
  %answer = call ptr @ask(ptr %trampoline, ptr %args, i64 %count, ptr %names)
  ret ptr %answer
}"""

# `%count`: of the arguments by position, with the output where they come from no trampoline.
# The entry is held while it runs: the kernel may release the interpreter, and another thread put another entry there.
_RUN: Final = """
define internal ptr @run(ptr %fields, ptr %args, i64 %count, i1 %into, ptr %trampoline, ptr %names) {
start:
  %alone_at = alloca ptr
$INPUTS
$ARGUMENTS_INTO
  %named = icmp ne ptr %names, null
  %by_name = zext i1 %named to i64
  %given = add i64 %count, %by_name
  %expected = select i1 %into, i64 %arguments_into, i64 %inputs
  %right_count = icmp eq i64 %given, %expected
  br i1 %right_count, label %prepare, label %refuse
prepare:
$CONSTANTS
$OUTPUTS
$ARRAY_TYPE
  %records = getelementptr i64, ptr %fields, i64 $RECORDS
  %with_constants = add i64 %inputs, %constants
  %pointer_count = add i64 %with_constants, %outputs
  %pointers = alloca ptr, i64 %pointer_count
  br label %each_argument
each_argument:
  %number = phi i64 [ 0, %prepare ], [ %next, %take ]
  %first = phi i64 [ 0, %prepare ], [ %data, %take ]
  %all_fit = icmp eq i64 %number, %given
  br i1 %all_fit, label %fit, label %check
check:
  %argument_at = getelementptr ptr, ptr %args, i64 %number
  %argument = load ptr, ptr %argument_at
  %type_at = getelementptr i8, ptr %argument, i64 $TYPE_OFFSET
  %type = load ptr, ptr %type_at
  %is_array = icmp eq ptr %type, %array_type
  br i1 %is_array, label %array, label %refuse
array:
  %record = getelementptr [$RECORD_FIELDS x i64], ptr %records, i64 %number
  %own_dtype_at = getelementptr i8, ptr %argument, i64 $DTYPE_OFFSET
  %own_dtype = load i64, ptr %own_dtype_at
  %dtype = load i64, ptr %record
  %wrong_dtype = xor i64 %own_dtype, %dtype
  %flags_at = getelementptr i8, ptr %argument, i64 $FLAGS_OFFSET
  %flags = load i32, ptr %flags_at
  %have = and i32 %flags, $CONTIGUOUS_ALIGNED
  %lacking = xor i32 %have, $CONTIGUOUS_ALIGNED
  %own_rank_at = getelementptr i8, ptr %argument, i64 $RANK_OFFSET
  %own_rank = load i32, ptr %own_rank_at
  %rank_in = getelementptr i64, ptr %record, i64 1
  %rank = load i64, ptr %rank_in
  %rank32 = trunc i64 %rank to i32
  %wrong_rank = xor i32 %own_rank, %rank32
  %wrong_two = or i32 %lacking, %wrong_rank
  %wrong_either = zext i32 %wrong_two to i64
  %wrong_any = or i64 %wrong_dtype, %wrong_either
  %alike = icmp eq i64 %wrong_any, 0
  br i1 %alike, label %dims, label %refuse
dims:
  %dims_at = getelementptr i8, ptr %argument, i64 $DIMS_OFFSET
  %own_dims = load ptr, ptr %dims_at
  %dims_in = getelementptr i64, ptr %record, i64 2
  %wanted_dims = load ptr, ptr %dims_in
  br label %each_axis
each_axis:
  %axis = phi i64 [ 0, %dims ], [ %next_axis, %compare ]
  %dims_done = icmp eq i64 %axis, %rank
  br i1 %dims_done, label %take, label %compare
compare:
  %own_dim_at = getelementptr i64, ptr %own_dims, i64 %axis
  %own_dim = load i64, ptr %own_dim_at
  %dim_at = getelementptr i64, ptr %wanted_dims, i64 %axis
  %dim = load i64, ptr %dim_at
  %next_axis = add i64 %axis, 1
  %same_dim = icmp eq i64 %own_dim, %dim
  br i1 %same_dim, label %each_axis, label %refuse
take:
  %data_at = getelementptr i8, ptr %argument, i64 $DATA_OFFSET
  %data = load i64, ptr %data_at
  %pointer_at = getelementptr i64, ptr %pointers, i64 %number
  store i64 %data, ptr %pointer_at
  %next = add i64 %number, 1
  br label %each_argument
fit:
  br i1 %into, label %writeable, label %begin
writeable:
  %target_at = getelementptr ptr, ptr %args, i64 %inputs
  %target = load ptr, ptr %target_at
  %target_flags_at = getelementptr i8, ptr %target, i64 $FLAGS_OFFSET
  %target_flags = load i32, ptr %target_flags_at
  %own_writeable = and i32 %target_flags, $WRITEABLE
  %is_locked = icmp eq i32 %own_writeable, 0
  br i1 %is_locked, label %refuse, label %bounds
bounds:
  %target_record = getelementptr [$RECORD_FIELDS x i64], ptr %records, i64 %inputs
  %size_in = getelementptr i64, ptr %target_record, i64 3
  %size = load i64, ptr %size_in
  %last = add i64 %first, %size
  br label %each_overlap
each_overlap:
  %other = phi i64 [ 0, %bounds ], [ %next_other, %apart ]
  %others_done = icmp eq i64 %other, %inputs
  br i1 %others_done, label %begin, label %apart
apart:
  %other_at = getelementptr i64, ptr %pointers, i64 %other
  %other_first = load i64, ptr %other_at
  %other_record = getelementptr [$RECORD_FIELDS x i64], ptr %records, i64 %other
  %other_size_in = getelementptr i64, ptr %other_record, i64 3
  %other_size = load i64, ptr %other_size_in
  %other_last = add i64 %other_first, %other_size
  %begins = icmp ult i64 %other_first, %last
  %ends = icmp ult i64 %first, %other_last
  %overlaps = and i1 %begins, %ends
  %next_other = add i64 %other, 1
  br i1 %overlaps, label %refuse, label %each_overlap
begin:
  %to_fill = phi ptr [ null, %fit ], [ %target, %each_overlap ]
$ITSELF
$HOLD
  br i1 %into, label %take_output, label %new_output
take_output:
$HOLD_TARGET
  %output_at = getelementptr i64, ptr %pointers, i64 %with_constants
  store i64 %first, ptr %output_at
  br label %launch
new_output:
$IN_TUPLE
$NEW_ARRAY
  %several = icmp ne i64 %in_tuple, 0
  br i1 %several, label %new_whole, label %each_output
new_whole:
$NEW_TUPLE
  %whole = call ptr %new_tuple(i64 %outputs)
  %items = getelementptr i8, ptr %whole, i64 $TUPLE_ITEMS_OFFSET
  %no_whole = icmp eq ptr %whole, null
  br i1 %no_whole, label %fail, label %each_output
each_output:
  %made_whole = phi ptr [ null, %new_output ], [ %whole, %new_whole ], [ %made_whole, %put_output ]
  %made_at = phi ptr [ %alone_at, %new_output ], [ %items, %new_whole ], [ %made_at, %put_output ]
  %made_count = phi i64 [ 0, %new_output ], [ 0, %new_whole ], [ %next_output, %put_output ]
  %outputs_done = icmp eq i64 %made_count, %outputs
  br i1 %outputs_done, label %all_made, label %make_output
make_output:
  %new_number = add i64 %inputs, %made_count
  %new_record = getelementptr [$RECORD_FIELDS x i64], ptr %records, i64 %new_number
  %new_dtype = load ptr, ptr %new_record
  %new_rank_in = getelementptr i64, ptr %new_record, i64 1
  %new_rank = load i64, ptr %new_rank_in
  %new_rank32 = trunc i64 %new_rank to i32
  %new_dims_in = getelementptr i64, ptr %new_record, i64 2
  %new_dims = load ptr, ptr %new_dims_in
  %new_size_in = getelementptr i64, ptr %new_record, i64 3
  %new_size = load i64, ptr %new_size_in
  %is_large = icmp uge i64 %new_size, $MIN_POOLED_BYTES
  br i1 %is_large, label %make_large, label %make_small
make_large:
  %large = call ptr @$OUTPUT_BUFFER(ptr %fields, ptr %new_dtype, i32 %new_rank32, ptr %new_dims, i64 %new_size)
  br label %either
make_small:
$HOLD_DTYPE
  %small = call ptr %new_array(
    ptr %array_type, ptr %new_dtype, i32 %new_rank32, ptr %new_dims, ptr null, ptr null, i32 0, ptr null)
  br label %either
either:
  %made = phi ptr [ %large, %make_large ], [ %small, %new_dtype.held ]
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %fail_whole, label %put_output
put_output:
  %made_to = getelementptr ptr, ptr %made_at, i64 %made_count
  store ptr %made, ptr %made_to
  %made_data_at = getelementptr i8, ptr %made, i64 $DATA_OFFSET
  %made_data = load ptr, ptr %made_data_at
  %output_slot = add i64 %with_constants, %made_count
  %output_to = getelementptr ptr, ptr %pointers, i64 %output_slot
  store ptr %made_data, ptr %output_to
  %next_output = add i64 %made_count, 1
  br label %each_output
all_made:
  br i1 %several, label %launch, label %take_alone
take_alone:
  %alone = load ptr, ptr %alone_at
  br label %launch
launch:
  %filled = phi ptr [ %to_fill, %to_fill.held ], [ %made_whole, %all_made ], [ %alone, %take_alone ]
$CONSTANT_ADDRESSES
  br label %each_constant
each_constant:
  %constant = phi i64 [ 0, %launch ], [ %next_constant, %take_constant ]
  %constants_done = icmp eq i64 %constant, %constants
  br i1 %constants_done, label %call, label %take_constant
take_constant:
  %constant_from = getelementptr ptr, ptr %constant_addresses, i64 %constant
  %constant_data = load ptr, ptr %constant_from
  %constant_slot = add i64 %inputs, %constant
  %constant_to = getelementptr ptr, ptr %pointers, i64 %constant_slot
  store ptr %constant_data, ptr %constant_to
  %next_constant = add i64 %constant, 1
  br label %each_constant
call:
$KERNEL
$KERNEL_DIMS
$KERNEL_STRIDES
$RELEASES
  %releasing = icmp ne i64 %releases, 0
  br i1 %releasing, label %release, label %hold
release:
$SAVE_THREAD
$RESTORE_THREAD
  %state = call ptr %save_thread()
  %released_code = call i32 %kernel(ptr %pointers, ptr %kernel_dims, ptr %kernel_strides, ptr null)
  call void %restore_thread(ptr %state)
  br label %finish
hold:
  %held_code = call i32 %kernel(ptr %pointers, ptr %kernel_dims, ptr %kernel_strides, ptr null)
  br label %finish
finish:
  %code = phi i32 [ %released_code, %release ], [ %held_code, %hold ]
  %wrong = icmp ne i32 %code, 0
  br i1 %wrong, label %memory, label %done
memory:
$DECREF
$NO_MEMORY
  call void %decref(ptr %filled)
  %error = call ptr %no_memory()
  br label %done
fail_whole:
  br i1 %several, label %drop_whole, label %fail
drop_whole:
  %drop_at = getelementptr i64, ptr %fields, i64 $DECREF_POSITION
  %drop = load ptr, ptr %drop_at
  call void %drop(ptr %made_whole)
  br label %fail
fail:
  br label %done
done:
  %result = phi ptr [ %filled, %finish ], [ %error, %memory ], [ null, %fail ]
$DROP
  ret ptr %result
refuse:
  %has_trampoline = icmp ne ptr %trampoline, null
  br i1 %has_trampoline, label %ask_slow, label %say_so
ask_slow:
  %answer = call ptr @ask(ptr %trampoline, ptr %args, i64 %count, ptr %names)
  ret ptr %answer
say_so:
$NOT_IMPLEMENTED
$INCREF
  call void %incref(ptr %not_implemented)
  ret ptr %not_implemented
}"""
