"""Entries of calls in memory, and the table in which machine code finds them by the words of a call.

An entry is an array of 64-bit ints, named in `Field`; what a framework needs beside them comes behind.  A table is an
array of them, too: the mask of its places, which are a power of two, then the places: addresses of entries, at most
half of them taken.  No entry and no table ever goes, so that readers take no lock; a cell, a word of memory, holds the
address of the newest table.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final

import numpy as np

from ..codegen import fill
from ..run.compile.native.pointers import address_of
from .entries import NativeCall

PUBLISH: Final = "opgen_publish"
"""`void (ptr place, i64 value)`: stores a value that other threads may read from then on."""


class Field(IntEnum):
    """The words that every entry begins with: the call's hash and words, and how its kernel is called."""

    HASH = 0
    WORD_COUNT = 1
    WORDS = 2
    CODE = 3
    DIMS = 4
    STRIDES = 5
    CONSTANT_COUNT = 6
    CONSTANTS = 7


class Entry:
    """The words of an entry in memory, at `address`, and what must live as long."""

    def __init__(self, call: NativeCall, words: np.ndarray, digest: int, more: Sequence[int] = ()) -> None:
        """`words`: int64[n], those of the call, of which `digest` is the hash; `more`: what comes behind `Field`."""
        self.call = call
        self.digest = digest
        self._words = words
        self._constants = np.array(call.constants, np.uint64)
        fields = {
            Field.HASH: digest,
            Field.WORD_COUNT: len(words),
            Field.WORDS: address_of(words),
            Field.CODE: call.code,
            Field.DIMS: call.dims,
            Field.STRIDES: call.strides,
            Field.CONSTANT_COUNT: len(call.constants),
            Field.CONSTANTS: address_of(self._constants),
        }
        self._fields = np.array([*[fields[each] for each in Field], *more], np.int64)
        self.address = address_of(self._fields)


class EntryTable:
    """The table whose address is in a cell.  Writers must hold a lock of theirs."""

    def __init__(self, cell: int, places: int, publish: Callable[[int, int], None]) -> None:
        """`cell`: its address, where nobody reads yet; `places`: at first; `publish`: as `PUBLISH` does."""
        self._cell = cell
        self._publish = publish
        self._entries: list[Entry] = []
        self._tables = [_empty(places)]  # readers may still look into one of before
        ctypes.c_int64.from_address(cell).value = address_of(self._tables[0])

    def put(self, entry: Entry) -> None:
        """Lets readers find an entry, whose words no other one has."""
        self._entries.append(entry)
        table = self._tables[-1]
        places = len(table) - 1
        if 2 * len(self._entries) <= places:
            self._publish(address_of(table) + 8 * _free(table, entry), entry.address)
            return
        wider = _empty(2 * places)
        for each in self._entries:
            wider[_free(wider, each)] = each.address
        self._tables.append(wider)
        self._publish(self._cell, address_of(wider))


def _empty(places: int) -> np.ndarray:
    assert places > 0
    assert places & (places - 1) == 0
    table = np.zeros(1 + places, np.int64)
    table[0] = places - 1
    return table


def _free(table: np.ndarray, entry: Entry) -> int:
    """The word of the table that is the entry's."""
    mask = int(table[0])
    place = entry.digest & mask
    while table[1 + place]:
        place = (place + 1) & mask
    return 1 + place


def table_text(attributes: str = "") -> str:
    """`i64 @hash(words, count)`, `ptr @find(cell, words, count, hash)`, null where there is no entry, and `PUBLISH`.

    `attributes`: of LLVM's functions.  memcmp of the C library must be there.
    """
    fields = {each.name: int(each) for each in (Field.HASH, Field.WORD_COUNT, Field.WORDS)}
    return fill(_TEXT, PUBLISH=PUBLISH, ATTRIBUTES=attributes, **fields)


_TEXT: Final = """\
declare i32 @memcmp(ptr, ptr, i64)

define void @$PUBLISH(ptr %place, i64 %value) $ATTRIBUTES {
  store atomic i64 %value, ptr %place release, align 8
  ret void
}

define internal i64 @hash(ptr %words, i64 %count) $ATTRIBUTES {
  br label %next
next:
  %k = phi i64 [ 0, %0 ], [ %k_next, %mix ]
  %found = phi i64 [ 1469598103934665603, %0 ], [ %folded, %mix ]
  %more = icmp ult i64 %k, %count
  br i1 %more, label %mix, label %over
mix:
  %place = getelementptr i64, ptr %words, i64 %k
  %word = load i64, ptr %place
  %with = xor i64 %found, %word
  %product = mul i64 %with, -7046029254386353131
  %high = lshr i64 %product, 32
  %folded = xor i64 %product, %high
  %k_next = add i64 %k, 1
  br label %next
over:
  ret i64 %found
}

define internal ptr @find(ptr %cell, ptr %words, i64 %count, i64 %hash) $ATTRIBUTES {
  %table = load atomic ptr, ptr %cell acquire, align 8
  %mask = load i64, ptr %table
  %places = getelementptr i64, ptr %table, i64 1
  %bytes = mul i64 %count, 8
  br label %next
next:
  %at = phi i64 [ %hash, %0 ], [ %at_next, %other ]
  %masked = and i64 %at, %mask
  %place = getelementptr ptr, ptr %places, i64 %masked
  %entry = load atomic ptr, ptr %place acquire, align 8
  %empty = icmp eq ptr %entry, null
  br i1 %empty, label %none, label %compare
compare:
  %own_hash_place = getelementptr i64, ptr %entry, i64 $HASH
  %own_hash = load i64, ptr %own_hash_place
  %same_hash = icmp eq i64 %own_hash, %hash
  br i1 %same_hash, label %compare_counts, label %other
compare_counts:
  %own_count_place = getelementptr i64, ptr %entry, i64 $WORD_COUNT
  %own_count = load i64, ptr %own_count_place
  %same_count = icmp eq i64 %own_count, %count
  br i1 %same_count, label %compare_words, label %other
compare_words:
  %own_words_place = getelementptr i64, ptr %entry, i64 $WORDS
  %own_words = load ptr, ptr %own_words_place
  %order = call i32 @memcmp(ptr %own_words, ptr %words, i64 %bytes)
  %same = icmp eq i32 %order, 0
  br i1 %same, label %found, label %other
other:
  %at_next = add i64 %masked, 1
  br label %next
found:
  ret ptr %entry
none:
  ret ptr null
}
"""
