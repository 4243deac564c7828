"""Conditions on sizes that decide a program: taken as they are for the sizes at hand, and assumed from then on.

An `If` of which the sides differ in rank is such a decision.  The program says what it assumes as sizes that are at
least 0, which are checked with their values before it runs (`assume_sizes`).
"""

from __future__ import annotations

from ...base.arith import Binary, Compare, Const, Expr, Not, hinted


def holds(condition: Expr) -> bool:
    """Whether a condition on sizes holds for the hints of its dims."""
    return bool(hinted(condition))


def assumption(condition: Expr, is_true: bool) -> list[Expr]:
    """Sizes that are all at least 0 only where the condition is true, or where it is not.

    The condition is true, or not, for the hints of its dims.  Of several ways to be so the first is assumed that these
    take.  Raises ValueError for what is no condition on sizes.
    """
    match condition:
        case Const():
            return []
        case Not(a=inner):
            return assumption(inner, not is_true)
        case Compare(op=op, a=a, b=b):
            return _compared(op if is_true else _OPPOSITE[op], a, b)
        case Binary(op="and" | "or" as op, a=a, b=b):
            if (op == "and") == is_true:
                return assumption(a, is_true) + assumption(b, is_true)
            return assumption(a if holds(a) == is_true else b, is_true)
    raise ValueError(f"{condition} is no condition on sizes")


_OPPOSITE = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}


def _compared(op: str, a: Expr, b: Expr) -> list[Expr]:
    match op:
        case "lt":
            return [b - a - 1]
        case "le":
            return [b - a]
        case "gt":
            return [a - b - 1]
        case "ge":
            return [a - b]
        case "eq":
            return [a - b, b - a]
    return [(a - b) * (a - b) - 1]
