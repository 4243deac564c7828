"""How a body reads memory: the coefficient of every axis in the position of every read, and what an element costs."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from ....base.arith import (
    INTRINSICS,
    Binary,
    Call,
    Cast,
    Compare,
    Expr,
    Select,
    Var,
    const,
    evaluate_scalar,
    free_vars,
    post_order,
)
from ....base.arith.relax import Relaxer
from ....base.vocabulary import INDEX, DType
from ....compute.te.tensor import IterVar, Read, Tensor

_CALL_COST: Final = 16
_HINT: Final = 64  # of a symbolic dim that has none
_LINEAR: Final = Relaxer({}, {})


@dataclass(frozen=True, slots=True)
class Access:
    """One read: the coefficient of every var in its row-major position; `entangled` vars occur otherwise too."""

    tensor: Tensor
    strides: dict[Var, int]
    entangled: frozenset[Var]


@dataclass(frozen=True, slots=True)
class Accesses:
    """What a body reads, the vars that it uses outside of positions, what one element costs, and its widest dtype."""

    reads: tuple[Access, ...]
    used: frozenset[Var]
    cost: int
    widest: DType


def analyse(body: Expr, dtype: DType) -> Accesses:
    """The accesses of a body whose elements are of `dtype`."""
    order = post_order(body)
    used_vars = _UsedVars()
    reads: list[Access] = []
    positions: dict[tuple[int, ...], Access] = {}
    for node in order:
        if isinstance(node, Read):
            key = (id(node.tensor), *map(id, node.indices))
            if key not in positions:
                positions[key] = _access(node, used_vars)
                reads.append(positions[key])
    used = _used_outside(body)
    widest = dtype
    for node in order:
        if isinstance(node, Read) and node.dtype.bits > widest.bits:
            widest = node.dtype
    return Accesses(tuple(reads), used, cost_of(order), widest)


class _UsedVars:
    """The vars that expressions use; what several of them share is walked once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Expr, frozenset[Var]]] = {}

    def of(self, e: Expr) -> frozenset[Var]:
        for node in post_order(e, self._known):
            own: frozenset[Var] = frozenset((node,)) if isinstance(node, Var) else frozenset()
            for child in node.children():
                _, used = self._known[id(child)]
                own = own if used <= own else own | used
            self._known[id(node)] = node, own
        return self._known[id(e)][1]


def _access(read: Read, used_vars: _UsedVars) -> Access:
    position: Expr = const(0, INDEX)
    entangled: set[Var] = set()
    for index, extent in zip(read.indices, read.tensor.shape, strict=True):
        if not isinstance(extent, int):
            entangled |= used_vars.of(index)
            continue
        position = position * extent + (index if index.dtype is INDEX else Cast(INDEX, index))
    found = _LINEAR.range(position)
    if found is None:
        return Access(read.tensor, {}, used_vars.of(position))
    strides: dict[Var, int] = {}
    for atom, factor in found[0].items():
        if isinstance(atom, Var):
            strides[atom] = factor
        else:
            entangled |= used_vars.of(atom)
    return Access(read.tensor, strides, frozenset(entangled))


def _used_outside(body: Expr) -> frozenset[Var]:
    """The vars that occur outside the indices of reads."""
    found: set[Var] = set()
    seen: set[int] = set()
    stack = [body]
    while stack:
        node = stack.pop()
        if id(node) in seen or isinstance(node, Read):
            continue
        seen.add(id(node))
        if isinstance(node, Var):
            found.add(node)
        stack.extend(node.children())
    return frozenset(found)


def cost_of(order: Sequence[Expr]) -> int:
    """About how many simple operations the nodes take, without index arithmetic."""
    total = 0
    for node in order:
        if isinstance(node, Call):
            total += 1 if INTRINSICS[node.name].cheap else _CALL_COST
        elif isinstance(node, Binary | Compare | Select | Cast | Read) and node.dtype is not INDEX:
            total += (
                4
                if isinstance(node, Binary) and node.op in ("div", "floordiv", "floormod", "truncdiv")
                else 1
            )
    return max(1, total)


def contiguous_groups(axes: Sequence[IterVar], accesses: Accesses) -> list[list[IterVar]]:
    """The axes in runs that every read walks through as one: fusing a run leaves positions linear."""
    groups: list[list[IterVar]] = []
    last: IterVar | None = None  # the last axis of the last run that has more than one iteration
    for axis in axes:
        if groups and (axis.extent == 1 or last is None or _walks_as_one(last, axis, accesses)):
            groups[-1].append(axis)  # an axis of one iteration is 0, whatever it is fused with
        else:
            groups.append([axis])
        if axis.extent != 1:
            last = axis
    return groups


def _walks_as_one(outer: IterVar, inner: IterVar, accesses: Accesses) -> bool:
    if outer.var in accesses.used or inner.var in accesses.used or not isinstance(inner.extent, int):
        return False
    return all(
        outer.var not in read.entangled
        and inner.var not in read.entangled
        and read.strides.get(outer.var, 0) == read.strides.get(inner.var, 0) * inner.extent
        for read in accesses.reads
    )


def leading_axis(group: Sequence[IterVar]) -> IterVar:
    """The axis of a run whose strides are those of the fused loop."""
    return next((axis for axis in reversed(group) if axis.extent != 1), group[-1])


def likely(extent: int | Expr) -> int:
    """The extent; where it is symbolic, what it is for the hints of its dims."""
    if isinstance(extent, int):
        return extent
    hints = {var: _HINT if var.hint is None else var.hint for var in free_vars(extent)}
    return max(1, int(evaluate_scalar(extent, hints)))


def likely_extent(axes: Collection[IterVar]) -> int:
    """The number of elements, for the hints of symbolic dims."""
    return math.prod([likely(axis.extent) for axis in axes])


def total_extent(axes: Collection[IterVar]) -> int | None:
    """The number of elements; None where a dim is symbolic."""
    total = 1
    for axis in axes:
        if not isinstance(axis.extent, int):
            return None
        total *= axis.extent
    return total
