"""The long calls of LLVM without llvmlite's lock, so that several threads compile at once.

llvmlite holds one lock in every call.  LLVM itself asks for less: a thread that has a context, a pass builder and a
target machine of its own needs none.  Two calls take nearly all of the time, passes and code generation; here they are
made on the library itself, under the lock of a lane, which holds what a thread must have of its own.  A fork waits for
the lanes that are taken, as it waits for llvmlite's lock.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, TypeAlias

import llvmlite.binding as llvm

from ...base import forks

_MAX_COMPILING_THREADS: Final = 4  # threads that compile at once; more would wait for each other's Python
Benches: TypeAlias = (
    "dict[tuple[str, str, str], Any]"  # by triple, processor and features: what compiles for it
)

forks.guard(llvm.ffi.lib._lock)  # before the lanes: whoever has a lane asks for it


class _Lane:
    def __init__(self) -> None:
        self.lock = forks.lock()
        self.benches: Benches = {}


_lanes: Final = [_Lane() for _ in range(_MAX_COMPILING_THREADS)]
_turns: Final = itertools.count()


@contextmanager
def lane() -> Iterator[Benches]:
    """What this thread has for itself in the block, and its lane keeps for the next."""
    for each in _lanes:
        if each.lock.acquire(blocking=False):
            taken = each
            break
    else:
        taken = _lanes[next(_turns) % _MAX_COMPILING_THREADS]
        taken.lock.acquire()
    try:
        yield taken.benches
    finally:
        taken.lock.release()


def run_passes(passes: Any, unit: Any, builder: Any) -> None:
    """Run a pass manager of modules or of functions on a module or a function."""
    _call(f"LLVMPY_RunNew{_kind(passes)}PassManager")(passes, unit, builder)


@contextmanager
def passing(passes: Any) -> Iterator[Any]:
    """A pass manager that is freed at the end, which llvmlite forgets to do."""
    free = getattr(llvm.ffi.lib, f"LLVMPY_DisposeNew{_kind(passes)}PassManger")
    pointer = passes._ptr
    try:
        yield passes
    finally:
        passes.detach()
        free(pointer)


def _kind(passes: Any) -> str:
    return "Module" if isinstance(passes, llvm.ModulePassManager) else "Function"


def emit_object(machine: Any, module: Any) -> bytes:
    """Object code of a module.  Raises RuntimeError with LLVM's message."""
    with llvm.ffi.OutputString() as error:
        made = _call("LLVMPY_TargetMachineEmitToMemory")(machine, module, 1, error)
        if not made:
            raise RuntimeError(str(error))
    library = llvm.ffi.lib
    try:
        return ctypes.string_at(library.LLVMPY_GetBufferStart(made), library.LLVMPY_GetBufferSize(made))
    finally:
        library.LLVMPY_DisposeMemoryBuffer(made)


@lru_cache(maxsize=8)
def _call(name: str) -> Any:
    """A function of the library as llvmlite declares it, without its lock."""
    locked = getattr(llvm.ffi.lib, name)
    found = _library()[name]
    found.argtypes, found.restype = locked.argtypes, locked.restype
    return found


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(llvm.ffi.lib._name)
