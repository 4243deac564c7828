"""The handler of calls from XLA as LLVM IR text: `XLA_FFI_Error *handler(XLA_FFI_CallFrame *)`.

One function serves all ops.  A call has two attributes: `digest`, of what it is but for the sizes of its operands, and
`program`, the text of it.  The handler finds the entry of the digest and the operands' sizes, and runs the kernel that
the entry has; where there is none, Python is asked for one, once.  Subnormal numbers stay what they are, as everywhere
else, although XLA's threads flush them to 0: Python computes constants here, and starts the workers of kernels.

Offsets of structs are those of `xla/ffi/api/c_api.h`,
whose version 0.1 the handler is of: later ones add fields behind.
"""

from __future__ import annotations

from typing import Final

from ...base import Target
from ...codegen import fill
from ..entry_table import Field, table_text

HANDLER: Final = "opgen_jax"
TABLE: Final = "opgen_table"
FIND: Final = "opgen_find"
WHY: Final = "opgen_why"
VERSION: Final = (0, 1)
"""The lowest version of the interface that has what the handler reads."""


def handler_text(target: Target) -> str:
    """The module for a machine: the handler, and `PUBLISH` of the table."""
    used = (Field.CODE, Field.DIMS, Field.STRIDES, Field.CONSTANT_COUNT, Field.CONSTANTS)
    fields = {each.name: int(each) for each in used}
    run = fill(_TEXT, MAJOR=VERSION[0], MINOR=VERSION[1], **fields, **_OFFSETS, **_NAMES)
    return "\n".join((table_text(), _modes_text(target), run))


def _modes_text(target: Target) -> str:
    """`@keep_subnormals(ptr place)`, which stores the modes of floats in 8 bytes, and `@restore(ptr place)`."""
    control = target.architecture.float_control
    if control is None:
        return _NO_MODES
    return fill(
        _MODES,
        TYPE=control.type,
        KEPT=~control.flushes,
        READ=control.read,
        WRITE=control.write,
        DECLARATIONS=control.declarations,
    )


_NAMES: Final = {"HANDLER": HANDLER, "TABLE": TABLE, "FIND_ENTRY": FIND, "WHY": WHY}
# Bytes from the start of a frame, and of the structs that it leads to.
_OFFSETS: Final = {
    "EXTENSION": 8,
    "API": 16,
    "STAGE": 32,
    "ARGS": 40,
    "RETS": 80,
    "ATTRS": 120,
    "LIST_SIZE": 16,  # of arguments, results and attributes
    "LIST_ITEMS": 32,
    "ATTR_ITEMS": 40,
    "BUFFER_DATA": 24,
    "BUFFER_RANK": 32,
    "BUFFER_DIMS": 40,
    "EXTENSION_TYPE": 8,
    "EXTENSION_METADATA": 24,
    "METADATA_MAJOR": 24,
    "METADATA_MINOR": 28,
    "API_ERROR_CREATE": 48,
    "METADATA": 1,  # the extension's type
    "EXECUTE": 3,  # the stage
    "INTERNAL": 13,  # the error's code
    "ERROR_SIZE": 28,
}

_NO_MODES: Final = """\
define internal void @keep_subnormals(ptr %place) {
  ret void
}

define internal void @restore(ptr %place) {
  ret void
}
"""
_MODES: Final = """\
$DECLARATIONS

define internal void @restore(ptr %place) {
$WRITE
  ret void
}

define internal void @keep_subnormals(ptr %place) {
$READ
  %modes = load $TYPE, ptr %place
  %kept = and $TYPE %modes, $KEPT
  %new = alloca $TYPE
  store $TYPE %kept, ptr %new
  call void @restore(ptr %new)
  ret void
}
"""
_TEXT: Final = """\
@$TABLE = external global ptr
declare ptr @$FIND_ENTRY(ptr, i64, ptr, i64, i64)
declare ptr @$WHY(ptr, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal ptr @error(ptr %frame, ptr %message) {
  %args = alloca [4 x i64]
  store i64 $ERROR_SIZE, ptr %args
  %extension = getelementptr i64, ptr %args, i64 1
  store i64 0, ptr %extension
  %message_place = getelementptr i64, ptr %args, i64 2
  store ptr %message, ptr %message_place
  %code_place = getelementptr i64, ptr %args, i64 3
  store i32 $INTERNAL, ptr %code_place
  %api_place = getelementptr i8, ptr %frame, i64 $API
  %api = load ptr, ptr %api_place
  %create_place = getelementptr i8, ptr %api, i64 $API_ERROR_CREATE
  %create = load ptr, ptr %create_place
  %made = call ptr %create(ptr %args)
  ret ptr %made
}

define ptr @$HANDLER(ptr %frame) {
start:
  %extension_place = getelementptr i8, ptr %frame, i64 $EXTENSION
  %extension = load ptr, ptr %extension_place
  %has_none = icmp eq ptr %extension, null
  br i1 %has_none, label %staged, label %extended
extended:
  %type_place = getelementptr i8, ptr %extension, i64 $EXTENSION_TYPE
  %type = load i32, ptr %type_place
  %is_metadata = icmp eq i32 %type, $METADATA
  br i1 %is_metadata, label %describe, label %staged
describe:
  %metadata_place = getelementptr i8, ptr %extension, i64 $EXTENSION_METADATA
  %metadata = load ptr, ptr %metadata_place
  %major_place = getelementptr i8, ptr %metadata, i64 $METADATA_MAJOR
  store i32 $MAJOR, ptr %major_place
  %minor_place = getelementptr i8, ptr %metadata, i64 $METADATA_MINOR
  store i32 $MINOR, ptr %minor_place
  ret ptr null
staged:
  %stage_place = getelementptr i8, ptr %frame, i64 $STAGE
  %stage = load i32, ptr %stage_place
  %executes = icmp eq i32 %stage, $EXECUTE
  br i1 %executes, label %execute, label %done
execute:
  %modes = alloca i64
  call void @keep_subnormals(ptr %modes)
  %failure = call ptr @execute(ptr %frame)
  call void @restore(ptr %modes)
  ret ptr %failure
done:
  ret ptr null
}

define internal ptr @execute(ptr %frame) {
start:
  %args = getelementptr i8, ptr %frame, i64 $ARGS
  %arg_count_place = getelementptr i8, ptr %args, i64 $LIST_SIZE
  %arg_count = load i64, ptr %arg_count_place
  %arg_items_place = getelementptr i8, ptr %args, i64 $LIST_ITEMS
  %arg_items = load ptr, ptr %arg_items_place
  %rets = getelementptr i8, ptr %frame, i64 $RETS
  %ret_count_place = getelementptr i8, ptr %rets, i64 $LIST_SIZE
  %ret_count = load i64, ptr %ret_count_place
  %ret_items_place = getelementptr i8, ptr %rets, i64 $LIST_ITEMS
  %ret_items = load ptr, ptr %ret_items_place
  %attrs = getelementptr i8, ptr %frame, i64 $ATTRS
  %attr_items_place = getelementptr i8, ptr %attrs, i64 $ATTR_ITEMS
  %attr_items = load ptr, ptr %attr_items_place
  %digest_attr = load ptr, ptr %attr_items
  %digest_value_place = getelementptr i8, ptr %digest_attr, i64 8
  %digest_value = load ptr, ptr %digest_value_place
  %digest = load i64, ptr %digest_value
  br label %counting

counting:
  %c = phi i64 [0, %start], [%c_next, %counted]
  %words_so_far = phi i64 [1, %start], [%words_next, %counted]
  %c_more = icmp slt i64 %c, %arg_count
  br i1 %c_more, label %counted, label %reading
counted:
  %c_place = getelementptr ptr, ptr %arg_items, i64 %c
  %c_buffer = load ptr, ptr %c_place
  %c_rank_place = getelementptr i8, ptr %c_buffer, i64 $BUFFER_RANK
  %c_rank = load i64, ptr %c_rank_place
  %with_rank = add i64 %words_so_far, %c_rank
  %words_next = add i64 %with_rank, 1
  %c_next = add i64 %c, 1
  br label %counting

reading:
  %words = alloca i64, i64 %words_so_far
  store i64 %digest, ptr %words
  br label %arguments
arguments:
  %a = phi i64 [0, %reading], [%a_next, %argument_done]
  %at = phi i64 [1, %reading], [%d_at, %argument_done]
  %a_more = icmp slt i64 %a, %arg_count
  br i1 %a_more, label %argument, label %look
argument:
  %a_place = getelementptr ptr, ptr %arg_items, i64 %a
  %buffer = load ptr, ptr %a_place
  %rank_place = getelementptr i8, ptr %buffer, i64 $BUFFER_RANK
  %rank = load i64, ptr %rank_place
  %dims_place = getelementptr i8, ptr %buffer, i64 $BUFFER_DIMS
  %dims = load ptr, ptr %dims_place
  %rank_word = getelementptr i64, ptr %words, i64 %at
  store i64 %rank, ptr %rank_word
  %first = add i64 %at, 1
  br label %dimensions
dimensions:
  %d = phi i64 [0, %argument], [%d_next, %dimension]
  %d_at = phi i64 [%first, %argument], [%d_at_next, %dimension]
  %d_more = icmp slt i64 %d, %rank
  br i1 %d_more, label %dimension, label %argument_done
dimension:
  %dim_place = getelementptr i64, ptr %dims, i64 %d
  %dim = load i64, ptr %dim_place
  %dim_word = getelementptr i64, ptr %words, i64 %d_at
  store i64 %dim, ptr %dim_word
  %d_next = add i64 %d, 1
  %d_at_next = add i64 %d_at, 1
  br label %dimensions
argument_done:
  %a_next = add i64 %a, 1
  br label %arguments

look:
  %hash = call i64 @hash(ptr %words, i64 %words_so_far)
  %entry = call ptr @find(ptr @$TABLE, ptr %words, i64 %words_so_far, i64 %hash)
  %is_new = icmp eq ptr %entry, null
  br i1 %is_new, label %miss, label %found
miss:
  %program_place = getelementptr ptr, ptr %attr_items, i64 1
  %program = load ptr, ptr %program_place
  %text = load ptr, ptr %program
  %length_place = getelementptr i64, ptr %program, i64 1
  %length = load i64, ptr %length_place
  %made = call ptr @$FIND_ENTRY(ptr %text, i64 %length, ptr %words, i64 %words_so_far, i64 %hash)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %refused, label %found
refused:
  %reason = call ptr @$WHY(ptr null, i32 0)
  %refusal = call ptr @error(ptr %frame, ptr %reason)
  ret ptr %refusal

found:
  %known = phi ptr [%entry, %look], [%made, %miss]
  %code_place = getelementptr i64, ptr %known, i64 $CODE
  %code = load ptr, ptr %code_place
  %is_empty = icmp eq ptr %code, null
  br i1 %is_empty, label %done, label %gather
gather:
  %constant_count_place = getelementptr i64, ptr %known, i64 $CONSTANT_COUNT
  %constant_count = load i64, ptr %constant_count_place
  %constants_place = getelementptr i64, ptr %known, i64 $CONSTANTS
  %constants = load ptr, ptr %constants_place
  %operand_count = add i64 %arg_count, %constant_count
  %data_count = add i64 %operand_count, %ret_count
  %data = alloca ptr, i64 %data_count
  br label %inputs
inputs:
  %i = phi i64 [0, %gather], [%i_next, %input]
  %i_more = icmp slt i64 %i, %arg_count
  br i1 %i_more, label %input, label %between
input:
  %i_place = getelementptr ptr, ptr %arg_items, i64 %i
  %i_buffer = load ptr, ptr %i_place
  %i_data_place = getelementptr i8, ptr %i_buffer, i64 $BUFFER_DATA
  %i_data = load ptr, ptr %i_data_place
  %i_to = getelementptr ptr, ptr %data, i64 %i
  store ptr %i_data, ptr %i_to
  %i_next = add i64 %i, 1
  br label %inputs
between:
  %constants_to = getelementptr ptr, ptr %data, i64 %arg_count
  %constant_bytes = mul i64 %constant_count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %constants_to, ptr %constants, i64 %constant_bytes, i1 false)
  br label %outputs
outputs:
  %o = phi i64 [0, %between], [%o_next, %output]
  %o_more = icmp slt i64 %o, %ret_count
  br i1 %o_more, label %output, label %run
output:
  %o_place = getelementptr ptr, ptr %ret_items, i64 %o
  %o_buffer = load ptr, ptr %o_place
  %o_data_place = getelementptr i8, ptr %o_buffer, i64 $BUFFER_DATA
  %o_data = load ptr, ptr %o_data_place
  %o_at = add i64 %operand_count, %o
  %o_to = getelementptr ptr, ptr %data, i64 %o_at
  store ptr %o_data, ptr %o_to
  %o_next = add i64 %o, 1
  br label %outputs
run:
  %kernel_dims_place = getelementptr i64, ptr %known, i64 $DIMS
  %kernel_dims = load ptr, ptr %kernel_dims_place
  %kernel_strides_place = getelementptr i64, ptr %known, i64 $STRIDES
  %kernel_strides = load ptr, ptr %kernel_strides_place
  %status = call i32 %code(ptr %data, ptr %kernel_dims, ptr %kernel_strides, ptr null)
  %is_right = icmp eq i32 %status, 0
  br i1 %is_right, label %done, label %wrong
done:
  ret ptr null
wrong:
  %what = call ptr @$WHY(ptr %known, i32 %status)
  %failure = call ptr @error(ptr %frame, ptr %what)
  ret ptr %failure
}
"""
