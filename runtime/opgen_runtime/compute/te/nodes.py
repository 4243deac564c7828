"""What the layer of scalar expressions must know of the nodes that tensor expressions add."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...base.arith import (
    Analyzer,
    Expr,
    Var,
    cast,
    const,
    maximum,
    minimum,
    mul,
    post_order,
    register_binder,
    register_printer,
    register_range,
    sub,
)
from ...base.vocabulary import INDEX, INT64, POSITIONAL
from .tensor import Read, Reduce

_FEW: Final = 1 << 31  # so large may the terms of a sum be that is taken not to wrap


def _bound_vars(e: Expr) -> tuple[Var, ...]:
    assert isinstance(e, Reduce)
    return tuple(axis.var for axis in e.axes)


def _reduced_range(e: Expr) -> tuple[Expr, Expr] | None:
    """argmax and argmin give a row-major position, or -1 where nothing was compared; a sum is at most all its terms."""
    assert isinstance(e, Reduce)
    count = _count(e)
    if count is None:
        return None
    if e.combiner in POSITIONAL:
        some = const(0, INDEX) if e.condition is not None else minimum(count, 1)
        return sub(some, 1), sub(count, 1)
    if e.combiner == "sum" and e.dtype == INT64:
        least, greatest = _ends(e.value)
        if least is not None and greatest is not None and max(-least, greatest) <= _FEW:
            low, high = (least, greatest) if e.condition is None else (min(least, 0), max(greatest, 0))
            return cast(mul(count, low), INT64), cast(mul(count, high), INT64)
    return None


def _count(e: Reduce) -> Expr | None:
    """How many steps the loops have; None where the number of one depends on another."""
    own = set(_bound_vars(e))
    count: Expr = const(1, INDEX)
    for axis in e.axes:
        if isinstance(axis.extent, Expr):
            if _mentions(axis.extent, own):
                return None
            count = mul(count, maximum(cast(axis.extent, INDEX), 0))
        else:
            count = mul(count, axis.extent)
    return count


def _ends(e: Expr) -> tuple[int | None, int | None]:
    """Bounds of a value, as far as it shows them by itself."""
    found = Analyzer().interval(e)
    return found.lo, found.hi


def _mentions(e: Expr, wanted: set[Var]) -> bool:
    return any(isinstance(node, Var) and node in wanted for node in post_order(e))


def _print_read(e: Read, text: Callable[[Expr], str]) -> str:
    return f"{e.tensor.name}[{', '.join(text(i) for i in e.indices) or '()'}]"


def _print_reduce(e: Reduce, text: Callable[[Expr], str]) -> str:
    """In the notation of a comprehension: sum(a[i, k] for k in range(n) if c)."""
    loops = " ".join(
        f"for {text(a.var)} in range({text(a.extent) if isinstance(a.extent, Expr) else a.extent})"
        for a in e.axes
    )
    guard = "" if e.condition is None else f" if {text(e.condition)}"
    if e.combiner == "first":
        assert e.default is not None
        return f"next(({text(e.value)} {loops}{guard}), {text(e.default)})"
    return f"{e.combiner}({text(e.value)} {loops}{guard})"


register_binder(Reduce, _bound_vars)
register_range(Reduce, _reduced_range)
register_printer(Read, _print_read)
register_printer(Reduce, _print_reduce)
