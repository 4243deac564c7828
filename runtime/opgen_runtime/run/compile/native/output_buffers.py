"""Memory of large results for calls without Python in between: output buffers and their free list, in machine code.

A buffer is an array of bytes of numpy's own; the `base` of a result that lies in one is a capsule, whose destructor
keeps the buffer for the next result of its size.  Buffers that were given back longest ago are freed first.  All of it
runs while the interpreter is held, which is the only lock: no Python code runs in between, and a fork finds it whole.
"""

from __future__ import annotations

import ctypes
from array import array as packed
from collections.abc import Mapping
from typing import Final

import numpy as np

from ....codegen import fill
from .entry_fields import EntryField, counted_text, fields_text
from .layouts import CONTIGUOUS_ALIGNED, DATA_OFFSET, DIMS_OFFSET, WRITEABLE

OUTPUT_BUFFER: Final = "opgen_output_buffer"
FREE_LIST_BYTES: Final = "opgen_free_list_bytes"
FREE: Final = "opgen_free_down_to"
_SLOTS: Final = 64  # buffers that are kept at most


def output_buffers_text(limit: int, alignment: int) -> str:
    """Functions of the module of entries: at most `limit` bytes are kept; results begin at multiples of `alignment`."""
    return fill(
        _TEXT,
        **fields_text((EntryField.ARRAY_TYPE, EntryField.NEW_ARRAY, EntryField.BYTE, EntryField.SET_BASE)),
        HOLD_DTYPE=counted_text("dtype", 1),
        OUTPUT_BUFFER=OUTPUT_BUFFER,
        FREE_LIST_BYTES=FREE_LIST_BYTES,
        FREE=FREE,
        SLOTS=_SLOTS,
        LIMIT=limit,
        ALIGNMENT=alignment,
        LOW_BITS=alignment - 1,
        DIMS_OFFSET=DIMS_OFFSET,
        DATA_OFFSET=DATA_OFFSET,
        FLAGS=CONTIGUOUS_ALIGNED | WRITEABLE,
    )


class OutputBuffers:
    """The functions, for Python: `fields`: packed integers that all descriptors share."""

    def __init__(self, addresses: Mapping[str, int], fields: Mapping[EntryField, int]) -> None:
        self._fields = packed("q", [fields.get(field, 0) for field in EntryField])
        size, address = ctypes.c_ssize_t, ctypes.c_void_p
        self._take = ctypes.PYFUNCTYPE(ctypes.py_object, address, address, ctypes.c_int, address, size)(
            addresses[OUTPUT_BUFFER]
        )
        self._free = ctypes.PYFUNCTYPE(None, size, size)(addresses[FREE])
        self._kept_bytes = ctypes.PYFUNCTYPE(size)(addresses[FREE_LIST_BYTES])

    @property
    def free_list_bytes(self) -> int:
        """Bytes that are kept and in nobody's use."""
        kept: int = self._kept_bytes()
        return kept

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[np.generic], size: int) -> np.ndarray:
        """A C-contiguous array of undefined content, of `size` bytes."""
        dims = packed("q", shape)
        made: np.ndarray = self._take(
            self._fields.buffer_info()[0], id(dtype), len(shape), dims.buffer_info()[0], size
        )
        return made

    def clear(self) -> None:
        """Free what is kept."""
        self._free(0, 0)


# What is kept is always whole when another function is called: the buffers, oldest first, how many, and their bytes.
_TEXT: Final = """
@buffers = internal global [$SLOTS x ptr] zeroinitializer, align 64
@count = internal global i64 0, align 8
@kept = internal global i64 0, align 8
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare void @Py_DecRef(ptr)
declare ptr @memmove(ptr, ptr, i64)
define i64 @$FREE_LIST_BYTES() {
start:
  %bytes = load i64, ptr @kept
  ret i64 %bytes
}
define internal i64 @capacity_of(ptr %buffer) {
start:
  %dims_at = getelementptr i8, ptr %buffer, i64 $DIMS_OFFSET
  %dims = load ptr, ptr %dims_at
  %capacity = load i64, ptr %dims
  ret i64 %capacity
}
define internal ptr @remove(i64 %k) {
start:
  %slot = getelementptr ptr, ptr @buffers, i64 %k
  %buffer = load ptr, ptr %slot
  %count = load i64, ptr @count
  %left = add i64 %count, -1
  store i64 %left, ptr @count
  %following = getelementptr ptr, ptr %slot, i64 1
  %behind = sub i64 %left, %k
  %bytes = shl i64 %behind, 3
  %moved = call ptr @memmove(ptr %slot, ptr %following, i64 %bytes)
  %capacity = call i64 @capacity_of(ptr %buffer)
  %kept = load i64, ptr @kept
  %less = sub i64 %kept, %capacity
  store i64 %less, ptr @kept
  ret ptr %buffer
}
define void @$FREE(i64 %most_bytes, i64 %most) {
start:
  br label %each
each:
  %count = load i64, ptr @count
  %kept = load i64, ptr @kept
  %too_many = icmp sgt i64 %count, %most
  %too_large = icmp sgt i64 %kept, %most_bytes
  %excess = or i1 %too_many, %too_large
  br i1 %excess, label %free, label %done
free:
  %oldest = call ptr @remove(i64 0)
  call void @Py_DecRef(ptr %oldest)
  br label %each
done:
  ret void
}
define internal void @give_back(ptr %buffer) {
start:
  %capacity = call i64 @capacity_of(ptr %buffer)
  %fits = icmp ule i64 %capacity, $LIMIT
  br i1 %fits, label %keep, label %free
free:
  call void @Py_DecRef(ptr %buffer)
  ret void
keep:
  %room = sub i64 $LIMIT, %capacity
  %others = sub i64 $SLOTS, 1
  call void @$FREE(i64 %room, i64 %others)
  %count = load i64, ptr @count
  %slot = getelementptr ptr, ptr @buffers, i64 %count
  store ptr %buffer, ptr %slot
  %more = add i64 %count, 1
  store i64 %more, ptr @count
  %kept = load i64, ptr @kept
  %sum = add i64 %kept, %capacity
  store i64 %sum, ptr @kept
  ret void
}
define internal void @end(ptr %capsule) {
start:
  %buffer = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  call void @give_back(ptr %buffer)
  ret void
}
define internal ptr @array_of(ptr %fields, ptr %dtype, i32 %rank, ptr %dims, ptr %data, i32 %flags) {
start:
$ARRAY_TYPE
$NEW_ARRAY
$HOLD_DTYPE
  %made = call ptr %new_array(
    ptr %array_type, ptr %dtype, i32 %rank, ptr %dims, ptr null, ptr %data, i32 %flags, ptr null)
  ret ptr %made
}
define internal ptr @take(ptr %fields, i64 %size) {
start:
  %capacity_at = alloca i64
  %capacity = add i64 %size, $ALIGNMENT
  %count = load i64, ptr @count
  br label %each
each:
  %k = phi i64 [ %count, %start ], [ %before, %compare ]
  %none = icmp eq i64 %k, 0
  br i1 %none, label %make, label %compare
compare:
  %before = add i64 %k, -1
  %slot = getelementptr ptr, ptr @buffers, i64 %before
  %kept = load ptr, ptr %slot
  %has = call i64 @capacity_of(ptr %kept)
  %same = icmp eq i64 %has, %capacity
  br i1 %same, label %found, label %each
found:
  %buffer = call ptr @remove(i64 %before)
  ret ptr %buffer
make:
$BYTE
  store i64 %capacity, ptr %capacity_at
  %made = call ptr @array_of(ptr %fields, ptr %byte, i32 1, ptr %capacity_at, ptr null, i32 0)
  ret ptr %made
}
define ptr @$OUTPUT_BUFFER(ptr %fields, ptr %dtype, i32 %rank, ptr %dims, i64 %size) {
start:
  %buffer = call ptr @take(ptr %fields, i64 %size)
  %no_buffer = icmp eq ptr %buffer, null
  br i1 %no_buffer, label %fail, label %hold
hold:
  %capsule = call ptr @PyCapsule_New(ptr %buffer, ptr null, ptr @end)
  %no_capsule = icmp eq ptr %capsule, null
  br i1 %no_capsule, label %return, label %place
return:
  call void @give_back(ptr %buffer)
  ret ptr null
place:
$SET_BASE
  %first_at = getelementptr i8, ptr %buffer, i64 $DATA_OFFSET
  %first = load i64, ptr %first_at
  %behind = add i64 %first, $LOW_BITS
  %aligned = and i64 %behind, -$ALIGNMENT
  %data = inttoptr i64 %aligned to ptr
  %made = call ptr @array_of(ptr %fields, ptr %dtype, i32 %rank, ptr %dims, ptr %data, i32 $FLAGS)
  %no_array = icmp eq ptr %made, null
  br i1 %no_array, label %drop, label %tie
drop:
  call void @Py_DecRef(ptr %capsule)
  ret ptr null
tie:
  %status = call i32 %set_base(ptr %made, ptr %capsule)
  %untied = icmp slt i32 %status, 0
  br i1 %untied, label %drop_array, label %done
drop_array:
  call void @Py_DecRef(ptr %made)
  br label %fail
done:
  ret ptr %made
fail:
  ret ptr null
}"""
