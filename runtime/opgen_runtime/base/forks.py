"""What a fork must find whole: the locks of the runtime, LLVM's lock, and modules that are being imported.

A fork copies the memory as it stands, and of the threads only the one that forks.  A lock that another thread held
would never be free in the child, what it guards would stay half done, and a module that another thread was importing
would stay half imported.  So before a fork this module waits until no other thread imports anything through it, then
takes every lock; afterwards parent and child give them back.  A fork may have to wait for a call of LLVM's that way.

Locks are taken in reverse order of their registration.  A module makes its lock when it is imported, so after the
modules that it imports itself; while it holds its lock it calls only these, and imports nothing.  Threads that nest
locks therefore take them in this order, too, and no two threads wait for each other.  LLVM's lock is registered first
and taken last: a destructor may need it at any point.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Final

_PATIENCE: Final = 60.0  # seconds; an import that takes longer may be waiting for the thread that forks

_locks: Final[list[AbstractContextManager[object]]] = []
_in_child: Final[list[Callable[[], object]]] = []


def lock() -> threading.RLock:
    """A new lock that is free in the child of a fork; to be made once, as a module is imported."""
    made = threading.RLock()
    _locks.append(made)
    return made


def guard(outside: AbstractContextManager[object]) -> None:
    """Take `outside`, the lock of another library, like those of `lock`."""
    _locks.append(outside)


def in_child(action: Callable[[], object]) -> None:
    """Call `action` in the child of each fork, once the locks are free."""
    _in_child.append(action)


class _Imports:
    """The imports under way, by thread.  They do not exclude each other; a fork waits for those of other threads."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way: Counter[int] = Counter()

    def __enter__(self) -> None:
        with self._changed:
            self._under_way[threading.get_ident()] += 1

    def __exit__(self, *_: object) -> None:
        me = threading.get_ident()
        with self._changed:
            self._under_way[me] -= 1
            if not self._under_way[me]:
                del self._under_way[me]
                self._changed.notify_all()

    def before_fork(self) -> None:
        self._changed.acquire()
        end = time.monotonic() + _PATIENCE
        while self._under_way.keys() - {threading.get_ident()} and time.monotonic() < end:
            self._changed.wait(end - time.monotonic())

    def after_fork_in_parent(self) -> None:
        self._changed.release()

    def after_fork_in_child(self) -> None:
        me = threading.get_ident()
        self._under_way = Counter({me: self._under_way[me]} if me in self._under_way else {})
        self._changed.release()


importing: Final = _Imports()
"""`with importing:` around an import that happens on first use."""


def import_module(name: str) -> ModuleType:
    """The module of that name, imported on first use; raises what importing it raises."""
    with importing:
        return importlib.import_module(name)


def _before() -> None:
    importing.before_fork()
    for each in reversed(_locks):
        each.__enter__()


def _after_in_parent() -> None:
    for each in _locks:
        each.__exit__(None, None, None)
    importing.after_fork_in_parent()


def _after_in_child() -> None:
    for each in _locks:
        each.__exit__(None, None, None)
    importing.after_fork_in_child()
    for action in _in_child:
        action()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
