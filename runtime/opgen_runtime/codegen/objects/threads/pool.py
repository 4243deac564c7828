"""Compiling, loading and configuring the thread pool, once a process and only when it is first asked for."""

from __future__ import annotations

import atexit
import ctypes

from ....base import Target, forks
from ....base.errors import CodegenError
from ..cache import ObjectCache
from ..support import load_module
from .pool_text import MAX_WORKERS, SYMBOLS, pool_text


class Pool:
    """The pool in memory.  Its code is never unloaded: workers may run it until the process ends."""

    def __init__(self, cache: ObjectCache | None) -> None:
        self.addresses = load_module("thread pool", pool_text(Target.host().triple), SYMBOLS, cache)
        self.limit = ctypes.CFUNCTYPE(None, ctypes.c_int32)(self.addresses["opgen_pool_limit"])
        self.stop = ctypes.CFUNCTYPE(None)(self.addresses["opgen_pool_stop"])
        self.reset = ctypes.CFUNCTYPE(None)(self.addresses["opgen_pool_reset"])


_pool: Pool | None = None
_threads: int | None = None
_lock = forks.lock()


def load(cache: ObjectCache | None = None) -> Pool:
    """The pool, made on the first call; its object code comes from `cache` (by default the user's) if it can."""
    global _pool
    with _lock:
        if _pool is None:
            made = Pool(cache)
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


def _reset_in_children(pool: Pool) -> None:
    """Forget the workers in children of os.fork, and of a C library's fork where that can be asked for."""
    forks.in_child(pool.reset)
    register = getattr(ctypes.CDLL(None), "__register_atfork", None)
    if register is not None:
        register.argtypes = [ctypes.c_void_p] * 4
        register(None, None, pool.addresses["opgen_pool_reset"], None)
