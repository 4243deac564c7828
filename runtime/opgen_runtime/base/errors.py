"""The exception tree of the runtime.

    OpgenError                      every error that a user can cause
    ├── AttrError                   an attr: unknown, missing, wrong type or out of bounds
    ├── CallError                   a call: wrong number or kind of arguments
    ├── TypeInferenceError          types that cannot be reconciled (names op, argument, expected, found)
    │   ├── ShapeError              a dim or a rank
    │   └── DTypeError              an element type
    ├── RegistryError               the op registry or the global function registry
    ├── ParseError                  IR text that cannot be parsed (line and column in the text)
    ├── UndecidedError              a decision that needs the value of a symbolic dim or of an element
    ├── LanguageError               a compute expression that breaks a rule of the language
    │   ├── AccessError             a read or write that cannot be proved in bounds
    │   └── OpenConditionError      a condition that must be known when a kernel is built, and is not
    ├── ScheduleError               an illegal schedule primitive (names axis and stage)
    ├── StrategyError               no implementation, or no such target
    ├── LoweringError               loop IR that cannot be built
    ├── CodegenError                LLVM refuses, or a symbol is unresolved
    ├── PassError                   the pass infrastructure
    └── ExecutorError               a bad executor kind, or values that do not fit the program

`assert` is for our own bugs only; whatever a user can cause raises one of these.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import TypeVar

E = TypeVar("E", bound=BaseException)

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_GENERATED: set[str] = set()
_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")


def hide_from_call_sites(file: str) -> None:
    """Takes a generated module for a part of the runtime, so that errors name the code that calls it."""
    _GENERATED.add(file)


def call_site() -> str:
    """`file:line` of the innermost frame that is neither the runtime's nor a generated module's.

    Walked only when an error is being raised, so that calls which succeed pay nothing.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def did_you_mean(name: str, known: Iterable[str], count: int = 3) -> str:
    """`; did you mean 'axis'?` for a name that is near known ones, else nothing."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=count)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def shown(value: object) -> str:
    """`repr(value)` for a message: without addresses, so that equal values read the same in every process."""
    text = repr(value)
    return text if isinstance(value, str) else _ADDRESS.sub("", text)


def without_frames(error: E) -> E:
    """The error without the frames that it came through, nor those of what caused it: they hold all that they used."""
    open_: list[BaseException | None] = [error]
    while open_:
        each = open_.pop()
        if each is not None and each.__traceback__ is not None:
            each.__traceback__ = None
            open_ += [each.__cause__, each.__context__]
    return error


def _is_ours(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file == "<string>":  # a method that dataclasses wrote, of a class of the runtime
        return str(frame.f_globals.get("__name__", "")).partition(".")[0] == __name__.partition(".")[0]
    return file.startswith(_PACKAGE) or file in _GENERATED


class OpgenError(Exception):
    """Base of all errors that a user can cause.

    `defect`: the rule that is broken, where it is one that our own work is held to.
    """

    defect: str | None = None


class AttrError(OpgenError, ValueError):
    """An attr that is unknown, missing, of the wrong type or out of bounds.

    Of a value out of bounds, `op`, `attr`, `value` (the whole value; of a list, with the element that is refused) and
    `bound` (the declared text) say which bound refused what; otherwise they are None.
    """

    def __init__(
        self,
        message: str,
        *,
        op: str | None = None,
        attr: str | None = None,
        value: object = None,
        bound: str | None = None,
    ) -> None:
        super().__init__(message)
        self.op = op
        self.attr = attr
        self.value = value
        self.bound = bound


class CallError(OpgenError, TypeError):
    """A call with the wrong number or kind of arguments."""


class TypeInferenceError(OpgenError, TypeError):
    """Types that cannot be reconciled."""


class ShapeError(TypeInferenceError):
    """A dim or a rank that does not fit."""


class DTypeError(TypeInferenceError):
    """An element type that does not fit."""


class RegistryError(OpgenError):
    """A registration that clashes, or a name that is not registered."""


class ParseError(OpgenError, ValueError):
    """Text that cannot be parsed."""


class UndecidedError(OpgenError, TypeError):
    """A decision that needs a value which is not known yet: a symbolic dim's, or an element's."""


class LanguageError(OpgenError):
    """A compute expression that breaks a rule of the language. `code` is the diagnostic's code."""

    def __init__(self, message: str, code: str = "compute") -> None:
        super().__init__(message)
        self.code = code


class OpenConditionError(LanguageError):
    """A condition that must be known when a kernel is built, and depends on what is not: `condition` says on what."""

    def __init__(self, message: str, condition: object = None) -> None:
        super().__init__(message, "stage")
        self.condition = condition


class AccessError(LanguageError):
    """A read or write that cannot be proved in bounds."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "out-of-bounds")


class ScheduleError(OpgenError):
    """A schedule primitive used where it is not legal."""


class StrategyError(OpgenError):
    """No implementation for a call and a target, or a target that is not known."""


class LoweringError(OpgenError):
    """A schedule that cannot be lowered to loop IR."""


class CodegenError(OpgenError):
    """Native code that cannot be made or linked."""


class PassError(OpgenError):
    """A pass, its requirements or its configuration."""


class ExecutorError(OpgenError):
    """Values that do not fit the program, or an executor that does not exist."""
