"""What expressions are where axes go from 0 to below their extents: found once while a schedule is made.

One rule after the other looks at the body of a stage, and each wants it simplified.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, TypeAlias

from ....base.arith import Analyzer, Expr
from ....compute.te.tensor import IterVar

_Known: TypeAlias = "dict[tuple[tuple[int, ...], tuple[int, ...]], _Simplified]"
_Simplified: TypeAlias = "tuple[Sequence[IterVar], tuple[Expr, ...], tuple[Expr, ...]]"
"""Axes and expressions, so that their ids stay theirs, and what the expressions are."""

_known: Final[ContextVar[_Known | None]] = ContextVar("opgen_simplified", default=None)


@contextmanager
def simplified_once() -> Iterator[None]:
    """Remember inside what `simplified_over` finds; a use within another shares with that."""
    if _known.get() is not None:
        yield
        return
    token = _known.set({})
    try:
        yield
    finally:
        _known.reset(token)


def simplified_over(axes: Sequence[IterVar], *exprs: Expr) -> tuple[Expr, ...]:
    """The expressions with what follows from the extents of the axes, of which each has an iteration."""
    known = _known.get()
    if known is None:
        return _simplified(axes, exprs)
    key = tuple(map(id, axes)), tuple(map(id, exprs))
    found = known.get(key)
    if found is None:
        found = known[key] = axes, exprs, _simplified(axes, exprs)
    return found[2]


def _simplified(axes: Sequence[IterVar], exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
    analyzer = Analyzer()
    for axis in axes:
        analyzer.bind(axis.var, 0, axis.extent)
    return tuple([analyzer.simplify(e) for e in exprs])
