"""Loops that go through memory the other way than their vectors: a square of elements is read in rows and turned.

for i in range(n): out[i] = a[i : i + lanes*s : s]
-->
for i in range(0, n, lanes): r = turned(a[i + k*s : i + k*s + lanes] for k in range(lanes)); out[i + k] = r[k] for k ...

The same elements are read as before, each row of the square at once, and not one by one.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base.arith import post_order
from ...base.arith.expr import Binary, Const, Expr, Var
from ...base.vocabulary import dataclass
from ...lower.tir.stmt import For, ForKind, Load, Ramp, Store
from . import memory, strided
from .memory import Memory
from .text import FunctionText, Value
from .text.types import memory_type


@dataclass(frozen=True, slots=True)
class Crossing:
    """The one store of a loop, and the reads that jump with its lanes and step with its iterations."""

    store: Store
    loads: tuple[Load, ...]
    lanes: int


def crossing(loop: For) -> Crossing | None:
    """What the body of such a loop is; None of other loops."""
    store, extent = loop.body, loop.extent
    if not isinstance(store, Store) or store.mask is not None or loop.kind is not ForKind.SERIAL:
        return None
    reads = [node for node in post_order(store.value) if isinstance(node, Load)]
    crossed = tuple(load for load in reads if _crosses(load, loop.var))
    lanes = {index.lanes for load in crossed if isinstance(index := load.indices[0], Ramp)}
    if len(lanes) != 1 or any(load.buffer is store.buffer for load in reads):
        return None
    (width,) = lanes
    if width & (width - 1) or not isinstance(extent, Const) or not extent.value or int(extent.value) % width:
        return None
    return Crossing(store, crossed, width)


def _crosses(load: Load, var: Var) -> bool:
    index = load.indices[0]
    return (
        load.mask is None
        and len(load.indices) == 1
        and isinstance(index, Ramp)
        and isinstance(index.stride, Const)
        and abs(int(index.stride.value)) >= strided.LEAST_GATHERED
        and index.lanes >= strided.FEWEST_LANES
        and _coefficient(index.base, var) == 1
    )


def _coefficient(e: Expr, var: Var) -> int | None:
    """How much `e` grows where `var` grows by 1; None where that is not seen, or not always the same."""
    if e is var:
        return 1
    if not any(node is var for node in post_order(e)):
        return 0
    if not isinstance(e, Binary):
        return None
    a, b = _coefficient(e.a, var), _coefficient(e.b, var)
    if a is None or b is None:
        return None
    if e.op in ("add", "sub"):
        return a + b if e.op == "add" else a - b
    if e.op == "mul" and isinstance(e.b, Const) and isinstance(e.b.value, int):
        return a * e.b.value
    return None


def load(f: FunctionText, source: Memory, index: Value) -> list[Value]:
    """What `lanes` iterations read, of which the first reads at `index`."""
    assert index.ramp is not None
    first, stride = index.ramp
    rows = [memory.load_row(f, source, first, k * stride, index.lanes) for k in range(index.lanes)]
    return [memory.from_memory(f, source.dtype, index.lanes, text) for text in _turned(f, source, rows)]


def _turned(f: FunctionText, source: Memory, rows: Sequence[str]) -> list[str]:
    """The transpose of a square: blocks off the diagonal change places, of 1, then 2, then 4 elements a side, ..."""
    lanes, found = len(rows), list(rows)
    kind = memory_type(source.dtype, lanes)
    side = 1
    while side < lanes:
        upper = [k if not k & side else lanes + k - side for k in range(lanes)]
        lower = [k + side if not k & side else lanes + k for k in range(lanes)]
        for k in range(lanes):
            if not k & side:
                a, b = found[k], found[k + side]
                found[k] = strided.shuffle(f, kind, a, b, upper)
                found[k + side] = strided.shuffle(f, kind, a, b, lower)
        side *= 2
    return found
