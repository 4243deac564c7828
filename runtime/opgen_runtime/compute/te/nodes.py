"""What the layer of scalar expressions must know of the nodes that tensor expressions add."""

from __future__ import annotations

from collections.abc import Callable

from ...base.arith import (
    Expr,
    Var,
    const,
    mul,
    post_order,
    register_binder,
    register_printer,
    register_range,
    sub,
)
from ...base.vocabulary import INDEX
from .tensor import Read, Reduce


def _bound_vars(e: Expr) -> tuple[Var, ...]:
    assert isinstance(e, Reduce)
    return tuple(axis.var for axis in e.axes)


def _position_range(e: Expr) -> tuple[Expr, Expr] | None:
    """argmax and argmin give a row-major position, or -1 where nothing was compared."""
    assert isinstance(e, Reduce)
    if e.combiner not in ("argmax", "argmin"):
        return None
    own = set(_bound_vars(e))
    count: Expr = const(1, INDEX)
    for axis in e.axes:
        if isinstance(axis.extent, Expr) and _mentions(axis.extent, own):
            return None
        count = mul(count, axis.extent)
    return const(-1, INDEX), sub(count, 1)


def _mentions(e: Expr, wanted: set[Var]) -> bool:
    return any(isinstance(node, Var) and node in wanted for node in post_order(e))


def _print_read(e: Read, text: Callable[[Expr], str]) -> str:
    return f"{e.tensor.name}[{', '.join(text(i) for i in e.indices) or '()'}]"


def _print_reduce(e: Reduce, text: Callable[[Expr], str]) -> str:
    """In the notation of a comprehension: sum(a[i, k] for k in range(n) if c)."""
    loops = " ".join(
        f"for {a.var.name} in range({text(a.extent) if isinstance(a.extent, Expr) else a.extent})"
        for a in e.axes
    )
    guard = "" if e.condition is None else f" if {text(e.condition)}"
    if e.combiner == "first":
        assert e.default is not None
        return f"next(({text(e.value)} {loops}{guard}), {text(e.default)})"
    return f"{e.combiner}({text(e.value)} {loops}{guard})"


register_binder(Reduce, _bound_vars)
register_range(Reduce, _position_range)
register_printer(Read, _print_read)
register_printer(Reduce, _print_reduce)
