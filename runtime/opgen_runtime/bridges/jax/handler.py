"""The handler that XLA calls, and the entries that it finds: the machine code of a call for operands of some sizes.

Programs that JAX compiles hold a text and a digest of it, no address, so that they run in other processes: what is not
there yet is made when it is first called.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import jax
import numpy as np

from ...base import Target
from ...base.errors import OpgenError
from ...base.forks import lock
from ...codegen import load_module
from ..entries import native_call
from ..entry_table import PUBLISH, Entry, EntryTable
from ..messages import Message
from .calls import read_message
from .handler_text import FIND, HANDLER, TABLE, WHY, handler_text

TARGET: Final = "opgen"
"""The name under which XLA knows the handler."""
BY_PARTS: Final = "opgen_by_parts"
"""The name for calls of which XLA may make several, of parts of all operands each."""
TARGETS: Final = (TARGET, BY_PARTS)
CAN_PARTITION: Final = hasattr(jax.ffi, "register_ffi_target_as_batch_partitionable")
"""Whether this JAX has calls that are made of parts of their operands."""
_PLACES: Final = 1024  # of the first table
_LEVEL: Final = 2  # of compilation: it runs in every call
_FIND: Final = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)
_WHY: Final = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32)

_lock: Final = lock()
_failed: Final = Message()


class _Entries:
    """All entries, by the words of their calls; `cell` holds the address of the table that readers look into."""

    def __init__(self) -> None:
        self.known: dict[bytes, Entry] = {}
        self.by_address: dict[int, Entry] = {}
        self.cell = ctypes.c_void_p()
        self._table = EntryTable(ctypes.addressof(self.cell), _PLACES, _publish)

    def made(self, text: str, words: np.ndarray, digest: int) -> int:
        """The address of the entry of a call.  Raises what reading the text and compiling raise."""
        key = words.tobytes()
        entry = self.known.get(key)
        if entry is not None:
            return entry.address
        call, flat = read_message(text, _shapes(words[1:].tolist()))
        made = native_call(call.program, call.nested(flat), call.values)
        with _lock:
            entry = self.known.get(key)
            if entry is None:
                entry = self.known[key] = Entry(made, words, digest)
                self.by_address[entry.address] = entry
                self._table.put(entry)
        return entry.address


def _shapes(words: Sequence[int]) -> Iterator[Sequence[int]]:
    """Shapes from words: of each its rank, and its extents."""
    at = 0
    while at < len(words):
        rank = words[at]
        yield words[at + 1 : at + 1 + rank]
        at += 1 + rank


def _find(text: int, length: int, words: int, count: int, digest: int) -> int:
    try:
        held = np.array((ctypes.c_int64 * count).from_address(words), np.int64)
        return _entries.made(ctypes.string_at(text, length).decode(), held, digest)
    except OpgenError as error:
        _failed.say(f"opgen: {error}")
    except BaseException as error:  # nothing may pass through the machine code that called
        _failed.say(f"opgen: {type(error).__name__}: {error}")
    return 0


def _why(entry: int | None, status: int) -> int:
    if entry is not None:
        _failed.say(f"opgen: {_entries.by_address[entry].call.failure(status)}")
    return _failed.address


def _publish(place: int, address: int) -> None:
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(_native()[PUBLISH])(place, address)


_callbacks: Final = {FIND: _FIND(_find), WHY: _WHY(_why)}
_entries: Final = _Entries()


@lru_cache(maxsize=1)
def _native() -> dict[str, int]:
    known = {name: ctypes.cast(each, ctypes.c_void_p).value or 0 for name, each in _callbacks.items()}
    known[TABLE] = ctypes.addressof(_entries.cell)
    return load_module("jax handler", handler_text(Target.host()), (HANDLER, PUBLISH), None, _LEVEL, known)


@lru_cache(maxsize=1)
def register() -> None:
    """Registers the handler with XLA, once.  Raises CodegenError where it cannot be linked."""
    new = ctypes.pythonapi.PyCapsule_New
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    for target in TARGETS:
        jax.ffi.register_ffi_target(target, new(_native()[HANDLER], None, None), platform="cpu")
    if CAN_PARTITION:
        jax.ffi.register_ffi_target_as_batch_partitionable(BY_PARTS)
