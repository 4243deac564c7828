"""The native entry as LLVM IR text: functions of CPython's METH_FASTCALL that check arrays and run a kernel on them.

The gate is a function of CPython's vectorcall (PEP 590): `self` is the object that is called, which holds the address
of its words.

`self` is an int64 array, the descriptor, whose words are named in `Word`; after these come the records of the
operands, inputs first, then the outputs.  A record holds the dtype object, the rank, the address of the dims and the
size in bytes.  An argument fits if it is exactly an array (no subclass) with that dtype object and those dims,
C-contiguous and aligned; an output, of which one that is in no tuple is filled, must be writeable and overlap no
input.  Where anything does not fit, the result is `NotImplemented`, and nothing has been touched.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from ...codegen import fill

SYMBOLS: Final = ("opgen_entry_new", "opgen_entry_into")
GATE_SYMBOL: Final = "opgen_entry_gate"
RECORD_WORDS: Final = 4

# Byte offsets on a 64-bit CPython with reference counts at the front of objects; numpy's are those of
# `PyArrayObject_fields` (numpy/ndarraytypes.h).  `entry.py` verifies them before anything here runs.
TYPE_OFFSET: Final = 8
DATA_OFFSET: Final = 16
RANK_OFFSET: Final = 24
DIMS_OFFSET: Final = 32
DTYPE_OFFSET: Final = 56
FLAGS_OFFSET: Final = 64
CONTIGUOUS_ALIGNED: Final = 0x0101
WRITEABLE: Final = 0x0400
TUPLE_SIZE_OFFSET: Final = 16  # of CPython's tuples: how many items, and the first of them
TUPLE_ITEMS_OFFSET: Final = 24

# Of objects with a gate, whose type `gate.py` makes: the vectorcall function, and the words of the gate.
GATE_OFFSET: Final = 64
GATE_WORDS_OFFSET: Final = 72
COUNT_MASK: Final = (1 << 63) - 1  # of what vectorcall gives as the number of arguments


class Word(IntEnum):
    """What each word of the descriptor holds: addresses, and five numbers."""

    ARRAY_TYPE = 0
    NOT_IMPLEMENTED = 1
    NEW_ARRAY = 2  # PyArray_NewFromDescr
    INCREF = 3
    DECREF = 4
    NO_MEMORY = 5  # PyErr_NoMemory
    SAVE_THREAD = 6
    RESTORE_THREAD = 7
    KERNEL = 8
    KERNEL_DIMS = 9
    KERNEL_STRIDES = 10
    INPUTS = 11  # how many
    CONSTANTS = 12  # how many
    CONSTANT_ADDRESSES = 13
    RECORDS = 14
    RELEASES = 15  # whether other threads may run Python meanwhile
    OUTPUTS = 16  # how many
    NEW_TUPLE = 17  # PyTuple_New
    IN_TUPLE = 18  # whether the new outputs are given in a tuple


class GateWord(IntEnum):
    """What each word of a gate holds: addresses of objects, and of functions of CPython."""

    ENTRY = 0  # the descriptor of an entry, or 0
    SLOW = 1  # what is called where that does not fit
    OUT = 2  # the interned text "out"
    NOT_IMPLEMENTED = 3
    VECTORCALL = 4  # PyObject_Vectorcall
    INCREF = 5
    DECREF = 6


def entry_text() -> str:
    """The module with the functions of `SYMBOLS` and `GATE_SYMBOL`."""
    fits = fill(
        _FITS,
        TYPE_OFFSET=TYPE_OFFSET,
        RANK_OFFSET=RANK_OFFSET,
        DIMS_OFFSET=DIMS_OFFSET,
        DTYPE_OFFSET=DTYPE_OFFSET,
        FLAGS_OFFSET=FLAGS_OFFSET,
    )
    run = fill(
        _RUN,
        WORDS="\n".join(map(_word, Word)),
        DATA_OFFSET=DATA_OFFSET,
        RECORD_WORDS=RECORD_WORDS,
        INPUT_FLAGS=CONTIGUOUS_ALIGNED,
        OUTPUT_FLAGS=CONTIGUOUS_ALIGNED | WRITEABLE,
        TUPLE_ITEMS_OFFSET=TUPLE_ITEMS_OFFSET,
    )
    entries = [
        fill(_ENTRY, NAME=name, INTO=into) for name, into in zip(SYMBOLS, ("false", "true"), strict=True)
    ]
    gate = fill(
        _GATE,
        SYMBOL=GATE_SYMBOL,
        WORDS="\n".join(
            fill(_WORD, NAME=word.name.lower(), POSITION=int(word), KIND="ptr") for word in GateWord
        ),
        GATE_WORDS_OFFSET=GATE_WORDS_OFFSET,
        COUNT_MASK=COUNT_MASK,
        TUPLE_SIZE_OFFSET=TUPLE_SIZE_OFFSET,
        TUPLE_ITEMS_OFFSET=TUPLE_ITEMS_OFFSET,
    )
    return "\n".join((fits, run, *entries, gate))


_NUMBERS: Final = frozenset({Word.INPUTS, Word.CONSTANTS, Word.RELEASES, Word.OUTPUTS, Word.IN_TUPLE})


def _word(word: Word) -> str:
    return fill(_WORD, NAME=word.name.lower(), POSITION=int(word), KIND="i64" if word in _NUMBERS else "ptr")


_WORD: Final = """\
  %at.$NAME = getelementptr i64, ptr %words, i64 $POSITION
  %$NAME = load $KIND, ptr %at.$NAME"""

_ENTRY: Final = """
define ptr @$NAME(ptr %self, ptr %args, i64 %count) {
  %result = call ptr @run(ptr %self, ptr %args, i64 %count, i1 $INTO)
  ret ptr %result
}"""

# The entry is held while it runs: the kernel may release the interpreter, and another thread put another entry there.
_GATE: Final = """
define ptr @$SYMBOL(ptr %self, ptr %args, i64 %flagged_count, ptr %names) {
start:
  %count = and i64 %flagged_count, $COUNT_MASK
  %words_at = getelementptr i8, ptr %self, i64 $GATE_WORDS_OFFSET
  %words = load ptr, ptr %words_at
$WORDS
  %known = icmp ne ptr %entry, null
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
  %is_out = icmp eq ptr %name, %out
  br i1 %is_out, label %try, label %ask_slow
try:
  %extra = zext i1 %into to i64
  %given = add i64 %count, %extra
  call void %incref(ptr %entry)
  %result = call ptr @run(ptr %entry, ptr %args, i64 %given, i1 %into)
  call void %decref(ptr %entry)
  %refused = icmp eq ptr %result, %not_implemented
  br i1 %refused, label %drop, label %done
drop:
  call void %decref(ptr %result)
  br label %ask_slow
ask_slow:
  %answer = call ptr %vectorcall(ptr %slow, ptr %args, i64 %count, ptr %names)
  ret ptr %answer
done:
  ret ptr %result
}"""

_FITS: Final = """
define internal i1 @fits(ptr %object, ptr %type, ptr %record, i32 %wanted) {
start:
  %type_at = getelementptr i8, ptr %object, i64 $TYPE_OFFSET
  %own_type = load ptr, ptr %type_at
  %is_array = icmp eq ptr %own_type, %type
  br i1 %is_array, label %array, label %no
array:
  %dtype_at = getelementptr i8, ptr %object, i64 $DTYPE_OFFSET
  %own_dtype = load ptr, ptr %dtype_at
  %dtype = load ptr, ptr %record
  %same_dtype = icmp eq ptr %own_dtype, %dtype
  %flags_at = getelementptr i8, ptr %object, i64 $FLAGS_OFFSET
  %flags = load i32, ptr %flags_at
  %have = and i32 %flags, %wanted
  %flagged = icmp eq i32 %have, %wanted
  %rank_at = getelementptr i8, ptr %object, i64 $RANK_OFFSET
  %own_rank32 = load i32, ptr %rank_at
  %own_rank = sext i32 %own_rank32 to i64
  %rank_in = getelementptr i64, ptr %record, i64 1
  %rank = load i64, ptr %rank_in
  %same_rank = icmp eq i64 %own_rank, %rank
  %two = and i1 %same_dtype, %flagged
  %three = and i1 %two, %same_rank
  br i1 %three, label %dims, label %no
dims:
  %dims_at = getelementptr i8, ptr %object, i64 $DIMS_OFFSET
  %own_dims = load ptr, ptr %dims_at
  %dims_in = getelementptr i64, ptr %record, i64 2
  %wanted_dims = load ptr, ptr %dims_in
  br label %each
each:
  %axis = phi i64 [ 0, %dims ], [ %next, %compare ]
  %done = icmp eq i64 %axis, %rank
  br i1 %done, label %yes, label %compare
compare:
  %own_dim_at = getelementptr i64, ptr %own_dims, i64 %axis
  %own_dim = load i64, ptr %own_dim_at
  %dim_at = getelementptr i64, ptr %wanted_dims, i64 %axis
  %dim = load i64, ptr %dim_at
  %next = add i64 %axis, 1
  %same_dim = icmp eq i64 %own_dim, %dim
  br i1 %same_dim, label %each, label %no
yes:
  ret i1 true
no:
  ret i1 false
}"""

_RUN: Final = """
define internal ptr @run(ptr %self, ptr %args, i64 %count, i1 %into) {
start:
  %words_at = getelementptr i8, ptr %self, i64 $DATA_OFFSET
  %words = load ptr, ptr %words_at
$WORDS
  %given = zext i1 %into to i64
  %expected = add i64 %inputs, %given
  %right_count = icmp eq i64 %count, %expected
  %several = icmp ne i64 %in_tuple, 0
  %unfillable = and i1 %into, %several
  %fillable = xor i1 %unfillable, true
  %called_well = and i1 %right_count, %fillable
  br i1 %called_well, label %prepare, label %refuse
prepare:
  %with_constants = add i64 %inputs, %constants
  %pointer_count = add i64 %with_constants, %outputs
  %pointers = alloca ptr, i64 %pointer_count
  %alone_at = alloca ptr
  br label %each_input
each_input:
  %input = phi i64 [ 0, %prepare ], [ %next_input, %take_input ]
  %inputs_done = icmp eq i64 %input, %inputs
  %record_words = mul i64 %input, $RECORD_WORDS
  %record = getelementptr i64, ptr %records, i64 %record_words
  br i1 %inputs_done, label %output, label %check_input
check_input:
  %argument_at = getelementptr ptr, ptr %args, i64 %input
  %argument = load ptr, ptr %argument_at
  %input_fits = call i1 @fits(ptr %argument, ptr %array_type, ptr %record, i32 $INPUT_FLAGS)
  br i1 %input_fits, label %take_input, label %refuse
take_input:
  %data_at = getelementptr i8, ptr %argument, i64 $DATA_OFFSET
  %data = load ptr, ptr %data_at
  %pointer_at = getelementptr ptr, ptr %pointers, i64 %input
  store ptr %data, ptr %pointer_at
  %next_input = add i64 %input, 1
  br label %each_input
output:
  br i1 %into, label %check_output, label %new_output
check_output:
  %target_at = getelementptr ptr, ptr %args, i64 %inputs
  %target = load ptr, ptr %target_at
  %target_fits = call i1 @fits(ptr %target, ptr %array_type, ptr %record, i32 $OUTPUT_FLAGS)
  br i1 %target_fits, label %bounds, label %refuse
bounds:
  %target_data_at = getelementptr i8, ptr %target, i64 $DATA_OFFSET
  %first = load i64, ptr %target_data_at
  %size_in = getelementptr i64, ptr %record, i64 3
  %size = load i64, ptr %size_in
  %last = add i64 %first, %size
  br label %each_overlap
each_overlap:
  %other = phi i64 [ 0, %bounds ], [ %next_other, %apart ]
  %others_done = icmp eq i64 %other, %inputs
  br i1 %others_done, label %take_output, label %apart
apart:
  %other_at = getelementptr ptr, ptr %pointers, i64 %other
  %other_first = load i64, ptr %other_at
  %other_words = mul i64 %other, $RECORD_WORDS
  %other_record = getelementptr i64, ptr %records, i64 %other_words
  %other_size_in = getelementptr i64, ptr %other_record, i64 3
  %other_size = load i64, ptr %other_size_in
  %other_last = add i64 %other_first, %other_size
  %begins = icmp ult i64 %other_first, %last
  %ends = icmp ult i64 %first, %other_last
  %overlaps = and i1 %begins, %ends
  %next_other = add i64 %other, 1
  br i1 %overlaps, label %refuse, label %each_overlap
take_output:
  call void %incref(ptr %target)
  %target_to = getelementptr ptr, ptr %pointers, i64 %with_constants
  %target_data = load ptr, ptr %target_data_at
  store ptr %target_data, ptr %target_to
  br label %launch
new_output:
  br i1 %several, label %new_whole, label %each_output
new_whole:
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
  %new_words = mul i64 %new_number, $RECORD_WORDS
  %new_record = getelementptr i64, ptr %records, i64 %new_words
  %new_dtype = load ptr, ptr %new_record
  %new_rank_in = getelementptr i64, ptr %new_record, i64 1
  %new_rank = load i64, ptr %new_rank_in
  %new_rank32 = trunc i64 %new_rank to i32
  %new_dims_in = getelementptr i64, ptr %new_record, i64 2
  %new_dims = load ptr, ptr %new_dims_in
  call void %incref(ptr %new_dtype)
  %made = call ptr %new_array(
    ptr %array_type, ptr %new_dtype, i32 %new_rank32, ptr %new_dims, ptr null, ptr null, i32 0, ptr null)
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
  %result = phi ptr [ %target, %take_output ], [ %made_whole, %all_made ], [ %alone, %take_alone ]
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
  %releasing = icmp ne i64 %releases, 0
  br i1 %releasing, label %release, label %hold
release:
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
  call void %decref(ptr %result)
  %error = call ptr %no_memory()
  ret ptr %error
done:
  ret ptr %result
fail_whole:
  br i1 %several, label %drop_whole, label %fail
drop_whole:
  call void %decref(ptr %made_whole)
  br label %fail
fail:
  ret ptr null
refuse:
  call void %incref(ptr %not_implemented)
  ret ptr %not_implemented
}"""
