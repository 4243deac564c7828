"""Tasks shared out among this thread and one more: both are in LLVM at once, or one there and one in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def shared_out(tasks: Sequence[Callable[[], T]]) -> list[T]:
    """What the tasks give, in order.

    They begin in order.  Where some raise, none that has not begun does any more, and what the first of them in order
    raised is raised.
    """
    results: dict[int, T] = {}
    failures: dict[int, BaseException] = {}
    numbers = iter(range(len(tasks)))

    def work() -> None:
        for number in numbers:
            try:
                results[number] = tasks[number]()
            except BaseException as failure:  # raised again in the thread that asked
                failures[number] = failure
            if failures:
                return

    beside = Thread(target=copy_context().run, args=(work,), name="opgen-compile")
    beside.start()
    work()
    beside.join()
    if failures:
        raise failures[min(failures)]
    return [results[number] for number in range(len(tasks))]
