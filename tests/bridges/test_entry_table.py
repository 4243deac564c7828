"""Entries and their table, as machine code sees them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

import numpy as np
import pytest

from opgen_runtime.bridges.entries import NativeCall
from opgen_runtime.bridges.entry_table import PUBLISH, Entry, EntryTable, Field, table_text
from opgen_runtime.bridges.messages import Message
from opgen_runtime.codegen import load_module

VISIBLE = """
define i64 @test_hash(ptr %words, i64 %count) {
  %found = call i64 @hash(ptr %words, i64 %count)
  ret i64 %found
}
define ptr @test_find(ptr %cell, ptr %words, i64 %count, i64 %hash) {
  %found = call ptr @find(ptr %cell, ptr %words, i64 %count, i64 %hash)
  ret ptr %found
}
"""
INT, PTR = ctypes.c_int64, ctypes.c_void_p


class Native:
    """The functions of the text."""

    def __init__(self) -> None:
        at = load_module("test table", table_text() + VISIBLE, (PUBLISH, "test_hash", "test_find"), None)
        self.publish: Callable[[int, int], None] = ctypes.CFUNCTYPE(None, PTR, INT)(at[PUBLISH])
        self._hash = ctypes.CFUNCTYPE(INT, PTR, INT)(at["test_hash"])
        self._find = ctypes.CFUNCTYPE(PTR, PTR, PTR, INT, INT)(at["test_find"])

    def hash(self, words: np.ndarray) -> int:
        return self._hash(words.ctypes.data, len(words))

    def find(self, cell: ctypes.c_int64, words: np.ndarray, digest: int) -> int | None:
        return self._find(ctypes.addressof(cell), words.ctypes.data, len(words), digest)


@pytest.fixture(scope="module")
def native() -> Native:
    return Native()


def call(*constants: int) -> NativeCall:
    return NativeCall(11, 12, 13, constants, (), lambda status: RuntimeError(status), None)


def words(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_the_words_of_an_entry() -> None:
    given = words(3, 4)
    found = (INT * 10).from_address(Entry(call(21, 22), given, -5, [7, 8]).address)
    at = found[Field.CONSTANTS]
    assert list((INT * 2).from_address(at)) == [21, 22]
    assert list(found) == [-5, 2, given.ctypes.data, 11, 12, 13, 2, at, 7, 8]


def test_entries_are_found_by_their_words_while_the_table_grows(native: Native) -> None:
    cell = INT()
    table = EntryTable(ctypes.addressof(cell), 4, native.publish)
    kept = []
    for k in range(40):
        mine = words(*range(k), k % 3)
        assert native.find(cell, mine, native.hash(mine)) is None
        kept.append(Entry(call(), mine, native.hash(mine)))
        table.put(kept[-1])
        found = [native.find(cell, each, native.hash(each)) for each in (e_words(e) for e in kept)]
        assert found == [each.address for each in kept]


def e_words(entry: Entry) -> np.ndarray:
    found = (INT * 3).from_address(entry.address)
    return np.array((INT * found[1]).from_address(found[2]), np.int64)


def test_words_of_one_hash_are_compared(native: Native) -> None:
    cell = INT()
    table = EntryTable(ctypes.addressof(cell), 8, native.publish)
    kept = [Entry(call(), each, 6) for each in (words(1, 2), words(1, 3), words(1))]
    for each in kept:
        table.put(each)
    found = [native.find(cell, each, 6) for each in (words(1, 2), words(1, 3), words(1), words(1, 4))]
    assert found == [*[each.address for each in kept], None]


def test_a_message_is_its_threads_own() -> None:
    message, seen = Message(), []

    def work(k: int) -> None:
        message.say(f"number {k}")
        barrier.wait()
        seen.append((k, ctypes.string_at(message.address)))

    barrier = threading.Barrier(4)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(seen) == [(k, f"number {k}".encode()) for k in range(4)]
