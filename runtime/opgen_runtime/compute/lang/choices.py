"""Choices between many alternatives that are ranges of one number, as a search by halves.

a if 0 <= i < 4 else b if 4 <= i < 9 else c if 9 <= i < 12 else d
-->
(d if i < 0 else a if i < 4 else b) if i < 9 else c if i < 12 else d
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Final

from ...base import arith
from ...base.arith.expr import Binary, Compare, Const, Expr
from ...base.vocabulary import BOOL
from .conditions import select
from .weak import Value

_MIN_CHOICES: Final = 8  # a shorter chain of choices stays as it is
_MIRRORED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}


def search(cases: Sequence[tuple[Expr, Value]], default: Callable[[], Value]) -> Value | None:
    """The value of the first case whose condition holds, else the default.

    None where the cases are few, or their conditions are no separate ranges of one integer.
    """
    if len(cases) < _MIN_CHOICES:
        return None
    starts: list[tuple[int, int, Value]] = []
    number: Expr | None = None
    for condition, value in cases:
        found = _range(condition)
        if found is None or (number is not None and found[0] is not number):
            return None
        number, low, high = found
        if low < high:
            starts.append((low, high, value))
    starts.sort(key=lambda case: case[0])
    if any(a[1] > b[0] for a, b in pairwise(starts)):
        return None
    assert number is not None
    parts: list[tuple[int, Callable[[], Value]]] = [
        (0, default)
    ]  # from where on, and what; the first from anywhere
    for low, high, value in starts:
        if len(parts) > 1 and parts[-1][0] == low:
            parts.pop()
        parts += [(low, partial(_known, value)), (high, default)]
    return _halves(number, parts)


def _known(value: Value) -> Value:
    return value


def _halves(number: Expr, parts: Sequence[tuple[int, Callable[[], Value]]]) -> Value:
    if len(parts) == 1:
        return parts[0][1]()
    middle = len(parts) // 2
    below = arith.lt(number, arith.const(parts[middle][0], number.dtype))
    return select(below, lambda: _halves(number, parts[:middle]), lambda: _halves(number, parts[middle:]))


def _range(condition: Expr) -> tuple[Expr, int, int] | None:
    """`low <= number < high` with constant ends, or `number == low`; None for any other condition."""
    parts = [condition]
    if isinstance(condition, Binary) and condition.dtype is BOOL and condition.op == "and":
        parts = [condition.a, condition.b]
    number: Expr | None = None
    low: int | None = None
    high: int | None = None
    for part in parts:
        if not isinstance(part, Compare) or not part.a.dtype.is_int:
            return None
        op, a, b = part.op, part.a, part.b
        if isinstance(a, Const):
            op, a, b = _MIRRORED.get(op, op), b, a
        if not isinstance(b, Const) or op not in _MIRRORED or (number is not None and a is not number):
            return None
        number, end = a, int(b.value)
        if op in ("ge", "gt", "eq"):
            low = end + (op == "gt")
        if op in ("le", "lt", "eq"):
            high = end + (op != "lt")
    return None if number is None or low is None or high is None else (number, low, high)
