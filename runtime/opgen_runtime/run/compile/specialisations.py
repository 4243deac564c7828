"""`Specialisations`: what was compiled for a key, of all who compile when they are called, under one bound.

A jitted function, the eager ops, an executor, a prepared model, a program of open dims: each has a table of what it has
compiled, by the types (and the values) that it was compiled for.  All tables of a process together hold programs of at
most OPGEN_CACHE_MEMORY bytes (256 MiB where it says nothing); beyond that those go that were used least recently,
whosever they are, but the last eight that each owner has used, however large they are: a program that an owner runs now
is never compiled again because of others.  Memory that several programs share counts once.  A table ends with its
owner, and its programs with it.

Threads may share a table; of those that ask for one key at a time one compiles, and the others wait for it.  The child
of a fork has the tables as they were, and what other threads were compiling is nobody's there.
"""

from __future__ import annotations

import heapq
import os
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from threading import Event
from typing import Any, Final, Generic, Protocol, TypeVar, overload

from ...base import forks
from ...base.errors import ExecutorError
from ...base.lru_cache import Footprint
from ...base.vocabulary import dataclass

VARIABLE: Final = "OPGEN_CACHE_MEMORY"
LEAST: Final = 8  # programs that each owner keeps whatever they take
_MAX_BYTES: Final = 1 << 28
_PATIENCE: Final = (
    60.0  # seconds; what compiles longer may be waiting for who waits for it, in a way we cannot see
)


class HasCode(Protocol):
    """What machine code belongs to."""

    def footprint(self) -> Footprint: ...


V = TypeVar("V", bound=HasCode)


class Specialisations(Generic[V]):
    """The programs of one owner by key, the least recently used first."""

    __slots__ = ("__weakref__", "_footprint", "_me", "_values", "_waiting")

    def __init__(self, footprint: Callable[[V], Footprint] | None = None) -> None:
        """`footprint`: what a program takes beside what its owner does; all that it has by default."""
        self._footprint = footprint
        self._values: dict[Hashable, _Value[V]] = {}
        self._waiting: list[_Held] = []  # those of them that cannot go: they are the last ones of their owner
        self._me = weakref.ref(self)

    def get(self, key: Hashable) -> V | None:
        """The program of `key`, used most recently from now on; None where there is none."""
        found = self._values.get(key)
        if found is None:
            return None
        found.used = next(_clock)
        return found.value

    @overload
    def made(self, key: Hashable, make: Callable[[], V]) -> V: ...
    @overload
    def made(self, key: Hashable, make: Callable[[], V | None]) -> V | None: ...
    def made(self, key: Hashable, make: Callable[[], V | None]) -> V | None:
        """The program of `key`; where there is none, `make` gives it, called by one thread at a time.

        None of `make` is not kept.  What it raises is raised, and the next thread that waits tries anew.
        """
        found = self.get(key)
        if found is None:
            with self.making(key):
                found = self.get(key)
                if found is None:
                    found = make()
                    if found is not None:
                        self.put(key, found)
        return found

    @contextmanager
    def making(self, key: Hashable) -> Iterator[None]:
        """Around what looks for a program of `key` once more and makes it: one thread at a time does.

        A thread does not wait for what waits for it, such as a function that needs itself while it is traced.
        """
        own = _begun((id(self), key))
        token = None if own is None else _mine.set((*_mine.get(), own))
        try:
            yield
        finally:
            if own is not None and token is not None:
                _mine.reset(token)
                with _lock:
                    if _under_way.get(own.key) is own:
                        del _under_way[own.key]
                own.done.set()

    def put(self, key: Hashable, program: V) -> V:
        """Keep a program and give it back."""
        most = most_bytes()
        value = _Value(program, key, self._me)
        held = _Held(
            value, dict(program.footprint() if self._footprint is None else self._footprint(program))
        )
        dropped: list[object] = []  # freed after the lock is: what a kernel's end needs may take long
        with _lock:
            before = self._values.get(key)
            self._values[key] = value
            if before is not None:
                _ledger.forget(before.held)
                dropped.append(before)
            value.held = held
            _ledger.count(held)
            self._waiting.append(held)
            if len(self._values) > LEAST or len(self._waiting) > 4 * LEAST:
                waiting, self._waiting = [each for each in self._waiting if each.counted], []
                if len(self._values) > LEAST:
                    _ledger.queue(waiting)
                else:
                    self._waiting = waiting
            _ledger.make_room(most, dropped)
        del dropped, before, value
        return program

    def clear(self) -> None:
        """Forget all of them."""
        with _lock:
            dropped, self._values, self._waiting = self._values, {}, []
            for value in dropped.values():
                _ledger.forget(value.held)
        del dropped

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Hashable]:
        """The keys, the least recently used first."""
        with _lock:
            return iter([value.key for value in sorted(self._values.values(), key=lambda value: value.used)])

    @property
    def nbytes(self) -> int:
        """What the programs take, shared with others or not."""
        with _lock:
            parts = [value.held.parts for value in self._values.values()]
        return sum({where: size for part in parts for where, size in part.items()}.values())

    def explain(self) -> str:
        """How many there are, and what they take."""
        return f"{len(self)} programs kept, of about {self.nbytes:,} bytes; of all functions {statistics()}"


@dataclass(frozen=True, slots=True)
class Statistics:
    """All tables of the process.

    `kept`: how many were put there so far; `found`: how often Python found one, where calls that enter machine code
    directly look for none; `dropped`: how many went for others.
    """

    programs: int
    nbytes: int
    most_bytes: int
    kept: int
    found: int
    dropped: int

    def __str__(self) -> str:
        return (
            f"{self.programs}, of {self.nbytes:,} of {self.most_bytes:,} bytes; {self.kept} were kept so far, "
            f"{self.dropped} of them went for others, {self.found} times one was found"
        )


def statistics() -> Statistics:
    """What the tables of the process hold now, and what they did so far."""
    with _lock:
        _ledger.settle()
        _ledger.asked += 1
        found = next(_clock) + 1 - _ledger.kept - _ledger.asked
        return Statistics(
            _ledger.programs, _ledger.nbytes, most_bytes(), _ledger.kept, found, _ledger.dropped
        )


def most_bytes() -> int:
    """What all programs may take together, as OPGEN_CACHE_MEMORY says. Raises ExecutorError for what is no number."""
    given = os.environ.get(VARIABLE, "")
    if not given:
        return _MAX_BYTES
    if not (given.isascii() and given.isdigit()):
        raise ExecutorError(f"the environment variable {VARIABLE} is {given!r}, expected a number of bytes")
    return int(given)


# ------------------------------------------------------------------ who holds what


class _Value(Generic[V]):
    """A program in a table, and when it was used last."""

    __slots__ = ("__weakref__", "held", "key", "owner", "used", "value")

    held: _Held

    def __init__(self, value: V, key: Hashable, owner: weakref.ref[Specialisations[V]]) -> None:
        self.value, self.key, self.owner = value, key, owner
        self.used = next(_clock)


class _Held(weakref.ref["_Value[Any]"]):
    """That a program is held, and the memory that it takes; it holds neither the program nor the table."""

    __slots__ = ("counted", "parts")

    def __new__(cls, value: _Value[Any], parts: dict[int, int]) -> _Held:
        return super().__new__(cls, value, _ended.append)

    def __init__(self, value: _Value[Any], parts: dict[int, int]) -> None:
        self.parts = parts
        self.counted = False


class _Ledger:
    """The memory of all programs, and the order in which they may go; only under the lock.

    The queue has programs of owners that have more than their last few, by when they were used as they were put there.
    Those that were used since are put there anew when they come up, so that a use is one store.
    """

    def __init__(self) -> None:
        self.nbytes = 0
        self.programs = 0
        self.kept = 0
        self.dropped = 0
        self.asked = 0  # how often for statistics, which look at the clock
        self._users: dict[int, int] = {}  # how many programs have a part
        self._held: dict[int, _Held] = {}  # by their ids; here, so that each tells of its end
        self._queue: list[tuple[int, int, _Held]] = []
        self._numbers = count()

    def count(self, held: _Held) -> None:
        """Something more is held."""
        self.settle()
        held.counted = True
        self._held[id(held)] = held
        self.programs += 1
        self.kept += 1
        for where, size in held.parts.items():
            users = self._users[where] = self._users.get(where, 0) + 1
            self.nbytes += size if users == 1 else 0

    def forget(self, held: _Held) -> None:
        """It is held no more."""
        if not held.counted:
            return
        held.counted = False
        del self._held[id(held)]
        self.programs -= 1
        for where, size in held.parts.items():
            self._users[where] -= 1
            if not self._users[where]:
                del self._users[where]
                self.nbytes -= size

    def settle(self) -> None:
        """Forget what has ended with its table."""
        while _ended:
            self.forget(_ended.popleft())
        if len(self._queue) > 2 * self.programs + 64:
            self._queue = [row for row in self._queue if row[2].counted]
            heapq.heapify(self._queue)

    def queue(self, held: Sequence[_Held]) -> None:
        """These may go, too."""
        for each in held:
            value = each()
            if value is not None:
                heapq.heappush(self._queue, (value.used, next(self._numbers), each))

    def make_room(self, most: int, dropped: list[object]) -> None:
        """Take what was used least recently out of its table until there is room; `dropped` gets it."""
        while self.nbytes > most and self._queue:
            used, _, held = heapq.heappop(self._queue)
            value = held()
            owner = None if value is None else value.owner()
            dropped.append((value, owner))
            if value is None or owner is None or not held.counted:
                self.forget(held)
            elif value.used != used:
                self.queue([held])
            elif len(owner._values) <= LEAST:
                owner._waiting.append(held)
            else:
                del owner._values[value.key]
                self.forget(held)
                self.dropped += 1


# ------------------------------------------------------------------ who makes what


class _Making:
    """A key for which a program is being made."""

    __slots__ = ("done", "key", "waits")

    def __init__(self, key: tuple[int, Hashable]) -> None:
        self.key = key
        self.done = Event()
        self.waits: list[_Making] = []  # what its makers wait for


def _begun(key: tuple[int, Hashable]) -> _Making | None:
    """The key is now being made, by us; None where whoever makes it waits for us, or takes too long."""
    while True:
        mine = _mine.get()
        with _lock:
            other = _under_way.get(key)
            if other is None:
                own = _under_way[key] = _Making(key)
                return own
            if _leads_to(other, mine):
                return None
            for each in mine:
                each.waits.append(other)
        try:
            if not other.done.wait(_PATIENCE):
                return None
        finally:
            with _lock:
                for each in mine:
                    each.waits.remove(other)


def _leads_to(other: _Making, mine: tuple[_Making, ...]) -> bool:
    """Whether what is being made waits for something of ours, or is that."""
    waiting, seen = [other], {id(other)}
    while waiting:
        each = waiting.pop()
        if each in mine:
            return True
        for further in each.waits:
            if id(further) not in seen:
                seen.add(id(further))
                waiting.append(further)
    return False


def _after_fork() -> None:
    """Other threads are not there any more, and with them what they were making."""
    mine = _mine.get()
    for key, each in list(_under_way.items()):
        each.waits.clear()
        if each not in mine:
            del _under_way[key]


_clock: Final = count()
_lock: Final = forks.lock()  # of the ledger, all tables and what is being made: it is held for an instant
_ended: Final[deque[_Held]] = deque()  # of tables that are gone; a destructor only appends to it
_ledger: Final = _Ledger()
_under_way: Final[dict[tuple[int, Hashable], _Making]] = {}
_mine: Final[ContextVar[tuple[_Making, ...]]] = ContextVar("opgen_making", default=())
"""What this thread is making, and those that make a part of it for it."""
forks.in_child(_after_fork)
