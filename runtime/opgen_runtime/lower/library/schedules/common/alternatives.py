"""Stages that choose, by the position on small axes, among alternatives that read the same elements.

    t[i, x] = a[0, x] + a[1, x] if i == 0 else a[0, x] - a[1, x]

Linear maps of small tiles with constant coefficients are such: the transforms of Winograd's convolutions, changes of
colour spaces, Haar wavelets.  The small axes are unrolled inside the loop over vectors, so that each alternative is
chosen when the kernel is made, and what several of them read and compute is loaded and computed once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from .....base import Target
from .....base.arith import Expr, Select, ValueNumbers, Var, evaluate_scalar, post_order
from .....compute.te.tensor import IterVar, Read
from ....schedule import Stage
from ...heuristics import MAX_ALTERNATIVES, MIN_REUSE, MIN_TILE_READS
from .access import Accesses, is_shared, likely, likely_extent


def choosing_axes(stage: Stage) -> tuple[IterVar, ...]:
    """The axes whose positions choose among alternatives that share what they read; () where there are none.

    Their positions decide conditions, and nothing else.
    """
    if stage.body is None or stage.reduce_axes or not stage.axes:
        return ()
    small = [a for a in stage.axes if isinstance(a.extent, int) and 1 < a.extent <= MAX_ALTERNATIVES.value]
    deciding = _vars_of_conditions(stage.body) if small else set()
    found = [axis for axis in small if axis.var in deciding]
    if not found:
        return ()
    elsewhere = _read_with(stage.body, {axis.var for axis in found})
    found = [axis for axis in found if axis.var not in elsewhere]
    if not found or likely_extent(found) > MAX_ALTERNATIVES.value or len(found) == len(stage.axes):
        return ()
    reads = _reads_of_alternatives(stage.body, found)
    distinct = set().union(*reads)
    return tuple(found) if distinct and sum(map(len, reads)) >= MIN_REUSE.value * len(distinct) else ()


def is_of_tiles(stage: Stage) -> bool:
    """Whether a stage chooses among alternatives that read so many elements, a tile, that it is stored with them."""
    axes = choosing_axes(stage)
    if not axes:
        return False
    assert stage.body is not None
    return len(set().union(*_reads_of_alternatives(stage.body, axes))) >= MIN_TILE_READS.value


def vector_axis(stage: Stage, axes: tuple[IterVar, ...], target: Target) -> IterVar | None:
    """The axis for vectors: the last one that chooses nothing, if there is one (a scan's own is none), and elements
    side by side on it are stored close to each other.
    """
    column = next((axis for axis in reversed(stage.loop_axes) if axis not in axes), None)
    if column is None:
        return None
    after = stage.loop_axes[stage.loop_axes.index(column) + 1 :]
    return column if likely_extent(after) <= target.machine.max_stride else None


def schedule_alternatives(
    stage: Stage, axes: tuple[IterVar, ...], column: IterVar, lanes: int, accesses: Accesses, target: Target,
    attached: bool,
) -> None:  # fmt: skip
    """for i: for y: for x  -->  for y: for x_o: unrolled for i: vectorized for x_i; `axes` are those of i."""
    rest = [axis for axis in stage.loop_axes if axis not in axes and axis is not column]
    for axis in axes:
        stage.unroll(axis)
    if lanes > 1:
        column, lane = stage.split(column, lanes)
        stage.reorder(*rest, column, *axes, lane)
        stage.vectorize(lane)
    else:
        stage.reorder(*rest, column, *axes)
    if not attached and is_shared(stage.axes, likely_extent(stage.axes) * accesses.cycles(target), target):
        stage.parallel(stage.fuse(*rest, column))


def _reached(roots: Iterable[Expr], below: Callable[[Expr], Iterable[Expr]]) -> Iterator[Expr]:
    """Every node that `below` leads to from `roots`, once."""
    stack, seen = list(roots), set[int]()
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            stack.extend(below(node))


def _vars_of_conditions(body: Expr) -> set[Var]:
    """The variables of all conditions of choices."""
    conditions = [node.condition for node in post_order(body) if isinstance(node, Select)]
    return {node for node in _reached(conditions, lambda node: node.children()) if isinstance(node, Var)}


def _read_with(body: Expr, among: set[Var]) -> set[Var]:
    """Which variables values depend on other than by conditions of choices."""
    known = _nodes_over(body, among)

    def below(node: Expr) -> Iterable[Expr]:
        if isinstance(node, Select) and id(node.condition) in known:
            return node.then, node.otherwise
        return node.children()

    return {node for node in _reached([body], below) if isinstance(node, Var) and node in among}


def _nodes_over(body: Expr, by: set[Var]) -> set[int]:
    """The parts of `body`, by id, that positions alone decide."""
    found: set[int] = set()
    for node in post_order(body):
        if isinstance(node, Var):
            is_over = node in by
        else:
            is_over = not isinstance(node, Read) and all(id(each) in found for each in node.children())
        if is_over:
            found.add(id(node))
    return found


def _reads_of_alternatives(body: Expr, axes: Sequence[IterVar]) -> list[set[int]]:
    """What each alternative reads: equal numbers stand for one element."""
    variables = [axis.var for axis in axes]
    known = _nodes_over(body, set(variables))
    deciders = {
        id(node.condition): node.condition
        for node in post_order(body)
        if isinstance(node, Select) and id(node.condition) in known
    }
    found, numbers = [], ValueNumbers()
    for position in itertools.product(*[range(likely(axis.extent)) for axis in axes]):
        values = dict(zip(variables, position, strict=True))
        decided = {n: bool(evaluate_scalar(c, values)) for n, c in deciders.items()}
        found.append(_reads_where(body, decided, numbers))
    return found


def _reads_where(body: Expr, decided: Mapping[int, bool], numbers: ValueNumbers) -> set[int]:
    """What is read where conditions are decided; `decided` has their values, by id."""

    def below(node: Expr) -> Iterable[Expr]:
        if isinstance(node, Select) and id(node.condition) in decided:
            return (node.then if decided[id(node.condition)] else node.otherwise,)
        return () if isinstance(node, Read) else node.children()

    return {numbers.of(node) for node in _reached([body], below) if isinstance(node, Read)}
