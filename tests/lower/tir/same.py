"""Whether two kernels of loop IR are the same node for node, but for names of what is bound, and for what the target
says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from opgen_runtime.base.arith import Const, Expr, Var
from opgen_runtime.base.arith.structural import label
from opgen_runtime.lower import tir

Pair = tuple[object, object]


def why_not_same(a: tir.PrimFunc, b: tir.PrimFunc) -> str | None:
    """The first place where they differ."""
    partner: dict[int, object] = {}  # of a name that is bound
    seen: set[tuple[int, int]] = set()
    stack: list[Pair] = [
        (getattr(a, name), getattr(b, name)) for name in ("body", "seen", "outputs", "inputs", "dims", "name")
    ]
    while stack:
        x, y = stack.pop()
        if (id(x), id(y)) in seen and isinstance(x, Expr):
            continue
        seen.add((id(x), id(y)))
        if isinstance(x, Var | tir.Buffer):
            if partner.get(id(x)) is y:
                continue
            partner[id(x)] = y  # bound, or bound again by another loop
        parts = _parts(x), _parts(y)
        if _own(x) != _own(y) or len(parts[0]) != len(parts[1]):
            return f"{x!r} and {y!r}"
        stack.extend(reversed(list(zip(*parts, strict=True))))
    return None


def _own(x: object) -> tuple[object, ...]:
    """What a thing is, apart from its parts."""
    if isinstance(x, Const):
        return label(x)
    if isinstance(x, Var):
        return (Var, x.dtype, x.size, x.least, x.most)
    if isinstance(x, tir.Buffer):
        return (tir.Buffer, x.dtype, x.scope)
    return (type(x), None if _parts(x) else x if isinstance(x, str | int | float) else None)


def _parts(x: object) -> tuple[object, ...]:
    if isinstance(x, tir.Block):
        return tuple(_flat(x))
    if isinstance(x, tir.Buffer):
        return (x.shape,)
    if isinstance(x, Const | Var):
        return ()
    if isinstance(x, Expr | tir.Stmt | tir.Kind | tir.Seen):
        return tuple([getattr(x, each.name) for each in fields(x)])
    return x if isinstance(x, tuple) else ()


def _flat(block: tir.Block) -> Iterator[tir.Stmt]:
    for part in block.body:
        if isinstance(part, tir.Block) and part.body:
            yield from _flat(part)
        else:
            yield part
