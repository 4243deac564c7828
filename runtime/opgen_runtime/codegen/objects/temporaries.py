"""Memory for what a kernel computes on its way: what one call gives back the next one takes, without the system.

A large block that is freed goes back to the system, which clears every page of it for the next call; that can take
several times as long as the kernel.  So a few blocks are kept for the whole process, whichever kernel they come from:
those that are not too large, for requests of at least a quarter of their size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...base import Target, forks
from ..llvm.temporaries import GIVE, TAKE
from ..llvm.text import fill
from .cache import ObjectCache
from .support import LazySymbols, load_module

SYMBOLS: Final = (TAKE, GIVE)
_MODULE: Final = "temporaries"
_SLOTS: Final = 4
_MIN_KEPT_BYTES: Final = 1 << 16  # smaller ones the C library keeps by itself
_MAX_KEPT_BYTES: Final = 1 << 26

# A block begins with its size, in a line of its own.  Who has exchanged a slot for null owns what was in it.
_TEXT: Final = """
@slots = internal global [$SLOTS x ptr] zeroinitializer, align 64
@turn = internal global i64 0, align 8
declare ptr @aligned_alloc(i64, i64)
declare void @free(ptr)
define ptr @$TAKE(i64 %size) nounwind {
start:
  %whole = add i64 %size, 64
  %large = icmp uge i64 %whole, $LEAST
  br i1 %large, label %search, label %make
search:
  %k = phi i64 [ 0, %start ], [ %next, %following ]
  %slot = getelementptr ptr, ptr @slots, i64 %k
  %held = atomicrmw xchg ptr %slot, ptr null acq_rel
  %none = icmp eq ptr %held, null
  br i1 %none, label %following, label %compare
compare:
  %has = load i64, ptr %held, align 8
  %fits = icmp uge i64 %has, %whole
  %most = shl i64 %whole, 2
  %near = icmp ule i64 %has, %most
  %good = and i1 %fits, %near
  br i1 %good, label %found, label %other
found:
  %kept = getelementptr i8, ptr %held, i64 64
  ret ptr %kept
other:
  %displaced = atomicrmw xchg ptr %slot, ptr %held acq_rel
  call void @free(ptr %displaced)
  br label %following
following:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, $SLOTS
  br i1 %more, label %search, label %make
make:
  %new = call ptr @aligned_alloc(i64 64, i64 %whole)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %failure, label %made
made:
  store i64 %whole, ptr %new, align 8
  %given = getelementptr i8, ptr %new, i64 64
  ret ptr %given
failure:
  ret ptr null
}
define void @$GIVE(ptr %given) nounwind {
start:
  %nothing = icmp eq ptr %given, null
  br i1 %nothing, label %done, label %some
some:
  %block = getelementptr i8, ptr %given, i64 -64
  %has = load i64, ptr %block, align 8
  %large = icmp uge i64 %has, $LEAST
  %small = icmp ule i64 %has, $MOST
  %keep = and i1 %large, %small
  br i1 %keep, label %search, label %give
search:
  %k = phi i64 [ 0, %some ], [ %next, %full ]
  %slot = getelementptr ptr, ptr @slots, i64 %k
  %pair = cmpxchg ptr %slot, ptr null, ptr %block acq_rel monotonic
  %stored = extractvalue { ptr, i1 } %pair, 1
  br i1 %stored, label %done, label %full
full:
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, $SLOTS
  br i1 %more, label %search, label %replace
replace:
  %turn = atomicrmw add ptr @turn, i64 1 monotonic
  %at = urem i64 %turn, $SLOTS
  %oldest = getelementptr ptr, ptr @slots, i64 %at
  %displaced = atomicrmw xchg ptr %oldest, ptr %block acq_rel
  call void @free(ptr %displaced)
  br label %done
give:
  call void @free(ptr %block)
  br label %done
done:
  ret void
}
"""

_addresses: dict[str, int] = {}
_lock = forks.lock()


def module_of(symbol: str, target: Target) -> tuple[str, str] | None:
    """Name and text of the module that has a symbol, if it is of these; the same for every target."""
    return (_MODULE, module_text()) if symbol in SYMBOLS else None


def module_text() -> str:
    """The module, which is the same for every machine."""
    return fill(_TEXT, SLOTS=_SLOTS, LEAST=_MIN_KEPT_BYTES, MOST=_MAX_KEPT_BYTES, TAKE=TAKE, GIVE=GIVE)


def symbols(cache: ObjectCache | None = None) -> Mapping[str, int]:
    """Name to address; the module is loaded when one is asked for."""

    def load(symbol: str) -> int:
        with _lock:
            if not _addresses:
                _addresses.update(load_module(_MODULE, module_text(), SYMBOLS, cache))
            return _addresses[symbol]

    return LazySymbols(SYMBOLS, load)
