"""Errors of the runtime to diagnostics: the place is read from the positions of translated code."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from types import TracebackType
from typing import Final

from opgen_runtime.base.errors import (
    AccessError,
    AttrError,
    DTypeError,
    LanguageError,
    OpgenError,
    ShapeError,
    UndecidedError,
)

from ...diagnostics import CODES, Place

_CODES: Final = {
    "too-large": "limit",
    "shape": "shape-mismatch",
    "undecided": "stage",
    "access": "out-of-bounds",
}
_HINTS: Final = {
    "cyclic": "carry the state along one axis: `state[t, i]` made of `state[t - 1, ...]` (language reference: Scans)",
}
_WORD = re.compile(r"[A-Za-z]\w*")
_CALL_SITE = re.compile(r"\n\s*at [^\n]*")

# What translated code can raise besides the runtime's own errors.
PYTHON_ERRORS: Final = (
    TypeError,
    ValueError,
    IndexError,
    KeyError,
    AttributeError,
    ArithmeticError,
    NameError,
)


def code_of(error: BaseException) -> str:
    """The diagnostic's code of an error."""
    if isinstance(error, AccessError):
        return "out-of-bounds"
    if isinstance(error, LanguageError):
        code = _CODES.get(error.code, error.code)
        return code if code in CODES else "compute"
    if isinstance(error, DTypeError):
        return "dtype"
    if isinstance(error, ShapeError):
        return "shape-mismatch"
    if isinstance(error, AttrError):
        return "bounds"
    if isinstance(error, UndecidedError):
        return "stage"
    if isinstance(error, IndexError):
        return "rank"
    return "value"


def hint_of(error: BaseException) -> str | None:
    """What may be done instead, where a code of errors has an answer of its own."""
    return _HINTS.get(error.code) if isinstance(error, LanguageError) else None


def message_of(error: BaseException) -> str:
    """The error's text without the place of the call, which is in the generator."""
    if isinstance(error, OpgenError):
        first, *others = _CALL_SITE.sub("", str(error)).strip().split("\n")
        return "; ".join([first, *(text.strip() for text in others if text.strip().startswith("expected"))])
    if isinstance(error, RecursionError):
        return "the expression is nested too deeply"
    if isinstance(error, TypeError | AttributeError) and "'NoneType' object" in str(error):
        return "this is None here (an optional input or attr that is absent); ask `is not None` first"
    if isinstance(error, AttributeError):
        return f"this value has no `.{error.name}`" if error.name else "this value has no such property"
    return f"this cannot be computed: {error}"


def chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def place_in_code(error: BaseException, paths: Collection[str]) -> Place | None:
    """The innermost place of translated code that the error came through."""
    for cause in chain(error):
        place = _innermost(cause.__traceback__, paths)
        if place is not None:
            return place
    return None


def _innermost(traceback: TracebackType | None, paths: Collection[str]) -> Place | None:
    found: Place | None = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename in paths:
            positions = list(code.co_positions())
            line, end_line, column, end_column = positions[traceback.tb_lasti // 2]
            if line is not None and end_line is not None and column is not None and end_column is not None:
                found = Place(code.co_filename, line, column + 1, end_line, end_column + 1)
        traceback = traceback.tb_next
    return found


def place_by_name(error: BaseException, definitions: Mapping[str, Place]) -> Place | None:
    """The definition of the first tensor that the message names."""
    return next((definitions[word] for word in _WORD.findall(str(error)) if word in definitions), None)
