"""Compiling, loading and configuring the thread pool, once a process and only when it is first asked for."""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import threading
from typing import Any, Final

import llvmlite.binding as llvm

from ...errors import CodegenError
from ...target import Target
from ..cache import ObjectCache, default_cache
from ..compile import LLVM_VERSION, LLVMLITE_VERSION, initialise, optimise_and_compile
from ..pipeline import Pipeline
from .pool_text import MAX_WORKERS, SYMBOLS, pool_text

_IMPORTS: Final = ("pthread_create", "pthread_join", "pthread_sigmask", "sched_yield", "syscall", "memset")


class Pool:
    """The pool in memory.  Its code is never unloaded: workers may run it until the process ends."""

    def __init__(self, cache: ObjectCache | None) -> None:
        tracker = _linked(_object_code(cache))
        self.addresses: dict[str, int] = {name: tracker[name] for name in SYMBOLS}
        self.limit = ctypes.CFUNCTYPE(None, ctypes.c_int32)(self.addresses["opgen_pool_limit"])
        self.stop = ctypes.CFUNCTYPE(None)(self.addresses["opgen_pool_stop"])
        self.reset = ctypes.CFUNCTYPE(None)(self.addresses["opgen_pool_reset"])


_pool: Pool | None = None
_threads: int | None = None
_lock = threading.Lock()


def load(cache: ObjectCache | None = None) -> Pool:
    """The pool, made on the first call; its object code comes from `cache` (by default the user's) if it can."""
    global _pool
    with _lock:
        if _pool is None:
            made = Pool(default_cache() if cache is None else cache)
            made.limit(num_threads())
            atexit.register(made.stop)
            _reset_in_children(made)
            _pool = made
    return _pool


def num_threads() -> int:
    """Threads that a parallel loop may use, the calling one included."""
    global _threads
    if _threads is None:
        _threads = min(Target.host().num_threads, MAX_WORKERS + 1)
    return _threads


def set_num_threads(count: int) -> None:
    """Let parallel loops use `count` threads from now on.  Raises CodegenError outside 1..256."""
    global _threads
    if not 1 <= count <= MAX_WORKERS + 1:
        raise CodegenError(f"set_num_threads({count}): expected 1 to {MAX_WORKERS + 1}")
    with _lock:
        _threads = count
        if _pool is not None:
            _pool.limit(count)


def _object_code(cache: ObjectCache | None) -> bytes:
    target = Target.host()
    text = pool_text(target.triple)
    parts = (text, target.triple, target.cpu, target.features, LLVM_VERSION, LLVMLITE_VERSION)
    key = hashlib.blake2b("\0".join(parts).encode(), digest_size=20).hexdigest()
    found = None if cache is None else cache.get(key)
    if found is not None:
        return found.object_code
    made = optimise_and_compile(text, target, Pipeline.DIRECT).object_code
    if cache is not None:
        cache.put(key, made, {"name": "thread pool"})
    return made


def _linked(object_code: bytes) -> Any:
    initialise()
    jit = llvm.create_lljit_compiler()
    builder = llvm.JITLibraryBuilder().add_object_img(object_code)
    process = ctypes.CDLL(None)
    for name in _IMPORTS:
        address = ctypes.cast(getattr(process, name), ctypes.c_void_p).value
        assert address is not None
        builder.import_symbol(name, address)
    for name in SYMBOLS:
        builder.export_symbol(name)
    try:
        tracker = builder.link(jit, "opgen_threads")
    except RuntimeError as error:
        raise CodegenError(f"the thread pool cannot be linked: {str(error).strip()}") from error
    for held in (jit, tracker):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))  # never unloaded, not even at exit
    return tracker


def _reset_in_children(pool: Pool) -> None:
    """Remake the pool lazily in children, by os.fork and by a C library's fork."""
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)
    register = getattr(ctypes.CDLL(None), "__register_atfork", None)
    if register is not None:
        register.argtypes = [ctypes.c_void_p] * 4
        register(None, None, pool.addresses["opgen_pool_reset"], None)


def _after_fork() -> None:
    _lock.release()
    if _pool is not None:
        _pool.reset()
