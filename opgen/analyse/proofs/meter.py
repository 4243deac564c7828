"""Limits on the static work of a declaration, so that none can keep the generator busy without end.

Steps are calls of the library and of declared functions, and the entries of tuples.  A tuple counts with all that is
inside it, however often that is shared: printing, comparing and walking it takes as long.
"""

from __future__ import annotations

import builtins
import itertools
import math
from collections.abc import Callable
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import FunctionType, SimpleNamespace
from typing import Any, Final

from opgen_runtime.base.errors import LanguageError
from opgen_runtime.compute import lang
from opgen_runtime.compute.lang.scope import among_elements

MAX_STEPS: Final = 100_000  # for one signature
MAX_TOTAL: Final = (
    300_000  # for all signatures of one op; tests beyond are an error, made-up samples are left out
)
FREE_STEPS: Final = 1_000  # of each signature, that do not count in the total
FREE_SIGNATURES: Final = 1_000  # of one op; all steps of further ones count
MAX_SIZE: Final = 50_000  # entries of a tuple, with those of the tuples inside
_LOOPS: Final = (lang.over, lang.sum, lang.prod, lang.min, lang.max, lang.any, lang.all)
_SIZED: Final = frozenset(
    {
        "each",
        "over",
        "tuple",
        "sorted",
        "sum",
        "prod",
        "min",
        "max",
        "any",
        "all",
        "zip",
        "prefix_sums",
        "checked_add",
    }
)


class Meter:
    """Counts steps; past a limit every further step raises LanguageError (code "limit")."""

    def __init__(self) -> None:
        self.steps = 0
        self.total = 0
        self.signatures = 0
        self._sizes: dict[
            int, tuple[tuple[Any, ...], int]
        ] = {}  # by id; the tuple is kept, so that no other has it

    def reset(self) -> None:
        """Begin with another signature."""
        self.total += self._counted()
        self.signatures += 1
        self.steps = 0
        self._sizes.clear()

    def spent(self, part: float = 1.0) -> bool:
        """Whether this part of the total has been spent."""
        return self.used > part

    @property
    def used(self) -> float:
        """Which part of the total has been spent; above 1 where it was passed."""
        return (self.total + self._counted()) / MAX_TOTAL

    def _counted(self) -> int:
        """The steps of this signature that count in the total."""
        free = FREE_STEPS if self.signatures < FREE_SIGNATURES else 0
        return max(0, self.steps - free)

    def tick(self, count: int = 1) -> None:
        self.steps += count
        if self.steps > MAX_STEPS:
            raise LanguageError(
                f"more than {MAX_STEPS} static steps to build this; is a loop without end?", "limit"
            )

    def star(self, value: Any) -> Any:
        """The value of `*value`; its entries are counted before they are spread."""
        self.tick(_length(value))
        return value

    def made(self, value: Any) -> Any:
        """A value that has been made; a tuple that is too large is refused."""
        if isinstance(value, tuple):
            self._size(value)
        return value

    def _size(self, value: tuple[Any, ...]) -> int:
        known = self._sizes.get(id(value))
        if known is not None:
            return known[1]
        self.tick(len(value))
        size = 1 + len(value)
        for item in value:
            if isinstance(item, tuple):
                size += self._size(item)
        if size > MAX_SIZE:
            raise LanguageError(f"a static tuple of more than {MAX_SIZE} entries in all", "limit")
        self._sizes[id(value)] = (value, size)
        return size


class MeteredLibrary:
    """`opgen_runtime.compute.lang` as declarations see it during analysis: every call is counted."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def __getattr__(self, name: str) -> Any:
        found = getattr(lang, name)
        if callable(found):
            found = counted(self._meter, found, name in _SIZED)
        setattr(self, name, found)
        return found


def metered_builtins(meter: Meter) -> SimpleNamespace:
    """What generated code uses of Python's builtins."""
    return SimpleNamespace(tuple=counted(meter, builtins.tuple, sized=False))


def counted(meter: Meter, function: Callable[..., Any], sized: bool) -> Callable[..., Any]:
    """The function; its calls, with `sized` the entries of its arguments, and the tuples that it gives count."""
    tick, made = meter.tick, meter.made
    length = _unrolled if function in _LOOPS else _length

    def sized_call(*arguments: Any, **keywords: Any) -> Any:
        steps = 1
        for argument in arguments:
            if type(argument) is not int:
                steps += length(argument)
        tick(steps)
        value = function(*arguments, **keywords)
        return made(value) if isinstance(value, tuple) else value

    def call(*arguments: Any, **keywords: Any) -> Any:
        meter.steps += 1  # as `tick` and `made` do it: most of all calls come here
        if meter.steps > MAX_STEPS:
            tick(0)
        value = function(*arguments, **keywords)
        return made(value) if isinstance(value, tuple) else value

    # The same for functions of so many arguments: Python calls those in half the time.

    def call_of_one(argument: Any) -> Any:
        meter.steps += 1
        if meter.steps > MAX_STEPS:
            tick(0)
        value = function(argument)
        return made(value) if isinstance(value, tuple) else value

    def call_of_two(first: Any, second: Any) -> Any:
        meter.steps += 1
        if meter.steps > MAX_STEPS:
            tick(0)
        value = function(first, second)
        return made(value) if isinstance(value, tuple) else value

    def call_of_three(first: Any, second: Any, third: Any) -> Any:
        meter.steps += 1
        if meter.steps > MAX_STEPS:
            tick(0)
        value = function(first, second, third)
        return made(value) if isinstance(value, tuple) else value

    if sized:
        return sized_call
    plain: dict[int, Callable[..., Any]] = {1: call_of_one, 2: call_of_two, 3: call_of_three}
    return plain.get(_positional(function), call)


def _positional(function: Callable[..., Any]) -> int:
    """How many arguments a function takes, where all are given, by position; 0 of any other."""
    if not isinstance(function, FunctionType) or function.__defaults__:
        return 0
    code = function.__code__
    others = code.co_kwonlyargcount or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
    return 0 if others else code.co_argcount


def _unrolled(value: object) -> int:
    """Likewise for what makes a loop of a range among elements, and unrolls tuples only."""
    if isinstance(value, (tuple, list)):
        return len(value)
    return 0 if among_elements() else _length(value)


def _length(value: object) -> int:
    """How many static steps running over a value takes."""
    if type(value) is int:
        return 0
    if isinstance(value, (tuple, list, str)):
        return len(value)
    shape = getattr(value, "shape", None)
    count = getattr(value, "count", None)
    if isinstance(count, int):
        return min(count, MAX_STEPS + 1)
    if isinstance(shape, tuple) and all(isinstance(extent, int) for extent in shape):
        # The outer loops run, whatever is inside: up to the first that is empty.
        run = itertools.takewhile(lambda extent: extent > 0, shape)
        return min(math.prod(run), MAX_STEPS + 1) if hasattr(value, "reverse") else 0
    return 0
