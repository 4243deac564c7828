"""How a body reads memory: the coefficient of every axis in the position of every read, and what an element costs."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from .....base import Machine, Target
from .....base.arith import (
    ELEMENT_FUNCTIONS,
    Analyzer,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Expr,
    Select,
    Var,
    const,
    hinted,
    post_order,
)
from .....base.arith.polynomial import Poly, constant, multiply
from .....base.arith.relax import Relaxer
from .....base.vocabulary import INDEX, DType, dataclass
from .....compute.te.tensor import IterVar, Read, Tensor


@dataclass(frozen=True, slots=True)
class Access:
    """One read: the coefficient of every var in its row-major position; `entangled` vars occur otherwise too.

    Coefficients that depend on symbolic dims have the value for their hints in `strides`, and stand in `symbolic` as
    polynomials of the dims.
    """

    tensor: Tensor
    strides: dict[Var, int]
    entangled: frozenset[Var]
    symbolic: dict[Var, Poly]

    def stride(self, var: Var) -> Poly:
        """The coefficient itself."""
        found = self.symbolic.get(var)
        return constant(self.strides.get(var, 0)) if found is None else found


@dataclass(frozen=True, slots=True)
class Operations:
    """How many operations of each kind an element takes."""

    simple: int
    divisions: int
    functions: int

    def cycles(self, machine: Machine) -> float:
        """What a vector of such elements takes, at least one operation."""
        costs = machine.cycles
        total = (
            self.simple * costs["operation"]
            + self.divisions * costs["division"]
            + self.functions * costs["function"]
        )
        return max(costs["operation"], total)


def operations_of(order: Sequence[Expr]) -> Operations:
    """About how many operations the nodes take, without index arithmetic."""
    simple = divisions = functions = 0
    for node in order:
        if isinstance(node, Call):
            if ELEMENT_FUNCTIONS[node.name].cheap:
                simple += 1
            else:
                functions += 1
        elif isinstance(node, Binary | Compare | Select | Cast | Read) and node.dtype is not INDEX:
            if isinstance(node, Binary) and node.op in ("div", "floordiv", "floormod", "truncdiv"):
                divisions += 1
            else:
                simple += 1
    return Operations(simple, divisions, functions)


@dataclass(frozen=True, slots=True)
class Accesses:
    """What a body reads, the vars that it uses outside of positions, what an element takes, and its widest dtype.

    `limited` are those of them that choices compare with constants, and that are not used otherwise.  `numbers` has
    made the polynomials of symbolic strides.
    """

    reads: tuple[Access, ...]
    used: frozenset[Var]
    limited: frozenset[Var]
    operations: Operations
    widest: DType
    numbers: Analyzer

    def cycles(self, target: Target) -> float:
        """What a vector of elements takes."""
        return self.operations.cycles(target.machine)


def analyse(body: Expr, dtype: DType) -> Accesses:
    """The accesses of a body whose elements are of `dtype`."""
    order = post_order(body)
    used_vars = _UsedVars()
    numbers, positions = Analyzer(), Relaxer({}, {})
    reads: list[Access] = []
    found: dict[tuple[int, ...], Access] = {}
    for node in order:
        if isinstance(node, Read):
            key = (id(node.tensor), *map(id, node.indices))
            if key not in found:
                found[key] = _access(node, used_vars, positions, numbers)
                reads.append(found[key])
    used, limited = _used_outside(body)
    widest = dtype
    for node in order:
        if isinstance(node, Read) and node.dtype.bits > widest.bits:
            widest = node.dtype
    return Accesses(tuple(reads), used, limited, operations_of(order), widest, numbers)


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


def _access(read: Read, used_vars: _UsedVars, positions: Relaxer, numbers: Analyzer) -> Access:
    position: Expr = const(0, INDEX)
    for index, extent in zip(read.indices, read.tensor.shape, strict=True):
        position = position * extent + (index if index.dtype is INDEX else Cast(INDEX, index))
    if not all(isinstance(extent, int) for extent in read.tensor.shape[1:]):
        if any(isinstance(node, Read) for index in read.indices for node in post_order(index)):
            return Access(read.tensor, {}, used_vars.of(position), {})
        return _symbolic_access(read, position, numbers)
    found = positions.range(position)
    if found is None:
        return Access(read.tensor, {}, used_vars.of(position), {})
    strides: dict[Var, int] = {}
    entangled: set[Var] = set()
    for atom, factor in found[0].items():
        if isinstance(atom, Var):
            strides[atom] = factor
        else:
            entangled |= used_vars.of(atom)
    return Access(read.tensor, strides, frozenset(entangled), {})


def _symbolic_access(read: Read, position: Expr, numbers: Analyzer) -> Access:
    """The access of a tensor whose strides depend on symbolic dims."""
    symbolic, entangled = numbers.coefficients(position)
    strides = {var: likely(numbers.expression(factor)) for var, factor in symbolic.items()}
    return Access(read.tensor, strides, entangled, symbolic)


def _used_outside(body: Expr) -> tuple[frozenset[Var], frozenset[Var]]:
    """The vars that occur outside the indices of reads, and those that are compared with constants alone."""
    found: set[Var] = set()
    limited: set[Var] = set()
    seen: set[int] = set()
    stack = [body]
    while stack:
        node = stack.pop()
        if id(node) in seen or isinstance(node, Read):
            continue
        seen.add(id(node))
        if isinstance(node, Var):
            found.add(node)
            continue
        var = _compared(node)
        if var is None:
            stack.extend(node.children())
        else:
            limited.add(var)
    return frozenset(found | limited), frozenset(limited - found)


def _compared(node: Expr) -> Var | None:
    """The position that a node compares with a constant."""
    if not isinstance(node, Compare) or node.op not in ("lt", "le", "gt", "ge"):
        return None
    vars_ = [side for side in (node.a, node.b) if isinstance(side, Var) and side.dtype is INDEX]
    return vars_[0] if len(vars_) == 1 and any(isinstance(side, Const) for side in (node.a, node.b)) else None


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
    if outer.var in accesses.used - accesses.limited or inner.var in accesses.used:
        return False
    extent = constant(inner.extent) if isinstance(inner.extent, int) else accesses.numbers.poly(inner.extent)
    return all(
        outer.var not in read.entangled
        and inner.var not in read.entangled
        and read.stride(outer.var) == multiply(read.stride(inner.var), extent)
        for read in accesses.reads
    )


def leading_axis(group: Sequence[IterVar]) -> IterVar:
    """The axis of a run whose strides are those of the fused loop."""
    return next((axis for axis in reversed(group) if axis.extent != 1), group[-1])


def likely(extent: int | Expr) -> int:
    """The extent; where it is symbolic, what it is for the hints of its dims, at least 1."""
    return extent if isinstance(extent, int) else max(1, hinted(extent))


def likely_extent(axes: Collection[IterVar]) -> int:
    """The number of elements, for the hints of symbolic dims."""
    return math.prod([likely(axis.extent) for axis in axes])


def is_shared(axes: Collection[IterVar], work: float, target: Target) -> bool:
    """Whether loops over axes are for several threads: where the work is large, or only a run tells how large.

    `work`: cycles of the elements, one by one.
    """
    if target.num_threads < 2:
        return False
    return work > target.parallel_threshold or any(not isinstance(axis.extent, int) for axis in axes)


def total_extent(axes: Collection[IterVar]) -> int | None:
    """The number of elements; None where a dim is symbolic."""
    total = 1
    for axis in axes:
        if not isinstance(axis.extent, int):
            return None
        total *= axis.extent
    return total
