"""Whether a tile of a stage is what an intrinsic computes, and where the intrinsic's operands lie in it.

    C[i, j] = sum(A[i, k] * B[k, j] for k), tile: j_i of 4, k_i of 8        c[p] = sum(a[p, q] * b[q] for q)
-->
    p is j, q is k;  a[p, q] lies at B[k_o * 8 + q, j_o * 4 + p], b[q] at A[i, k_o * 8 + q], c[p] at C[i, j_o * 4 + p]

Names do not count, nor the order of operands that commute; an operand may lie in its tensor transposed and with
strides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from math import prod
from typing import Final, Protocol

from ....base.arith import (
    Analyzer,
    Binary,
    Compare,
    Expr,
    Var,
    const,
    free_vars,
    structural_equal,
    substitute,
)
from ....base.arith.relax import Relaxer, linear
from ....base.arith.structural import label
from ....base.vocabulary import INDEX, dataclass
from ....compute.te.tensor import IterVar, Read, Reduce, Tensor
from .domain import Domain, Looped
from .intrinsic import Intrinsic
from .kind import ForKind
from .slopes import slope

_COMMUTATIVE: Final = ("add", "mul", "min", "max", "and", "or", "xor", "eq", "ne")


@dataclass(frozen=True, eq=False, slots=True)
class Place:
    """Where an operand of an intrinsic lies: its element 0 at `first` of `tensor`, steps of its dims `steps` apart.

    `steps[j][d]`: by how much the index j of the tensor grows with the index d of the operand.
    """

    tensor: Tensor
    first: tuple[Expr, ...]
    steps: tuple[tuple[int, ...], ...]

    def at(self, indices: Sequence[Expr]) -> tuple[Expr, ...]:
        """The indices in the tensor of an element of the operand."""
        found = []
        for start, factors in zip(self.first, self.steps, strict=True):
            for index, factor in zip(indices, factors, strict=True):
                start = start + index * factor if factor else start
            found.append(start)
        return tuple(found)

    def equals(self, other: Place) -> bool:
        return (
            self.tensor is other.tensor
            and self.steps == other.steps
            and all(structural_equal(a, b) for a, b in zip(self.first, other.first, strict=True))
        )


@dataclass(frozen=True, eq=False, slots=True)
class Match:
    """A tile that an intrinsic computes: where its operands and its result lie.

    `outer` are the loops around the tile, `guards` what must hold for a tile to count.
    """

    intrinsic: Intrinsic
    operands: Mapping[Tensor, Place]
    result: Place
    outer: tuple[IterVar, ...]
    guards: tuple[Expr, ...]


class Tiled(Looped, Protocol):
    """What matching asks of a stage."""

    body: Expr | None
    kinds: dict[IterVar, ForKind]

    @property
    def tensor(self) -> Tensor: ...


@dataclass(frozen=True, eq=False, slots=True)
class _Span:
    """What a tile covers of an axis of the stage: from `first`, `count` elements, counted by `var`."""

    axis: IterVar
    first: Expr
    count: int
    var: Var


def match(stage: Tiled, axis: IterVar, intrinsic: Intrinsic, domain: Domain) -> Match | str:
    """The tile of the loops from `axis` inwards as what `intrinsic` computes, or the reason why it is not."""
    position = next(n for n, leaf in enumerate(stage.leaves) if leaf is axis)
    outer, tile = stage.leaves[:position], stage.leaves[position:]
    spans = _spans(stage, outer, tile, domain)
    if isinstance(spans, str):
        return spans
    moving = {leaf.var for leaf in tile}
    guards = [*domain.data_guards, *domain.reduce_guards]
    cut = next((guard for guard in guards if not moving.isdisjoint(free_vars(guard))), None)
    if cut is not None:
        return f"the tile is cut where `{cut}` does not hold; its loops must divide what they walk"
    return _Matching(stage, intrinsic, spans).run(tuple(outer), tuple(guards))


def _spans(
    stage: Tiled, outer: Sequence[IterVar], tile: Sequence[IterVar], domain: Domain
) -> list[_Span] | str:
    """What the tile covers of each axis: together, with each of its iterations, a box."""
    trips: dict[Var, int | None] = {}
    for leaf in tile:
        extent = domain.extents[leaf]
        if not isinstance(extent, int):
            return f"the loop over {leaf.var.name} has no constant extent"
        if stage.kinds.get(leaf, ForKind.SERIAL) is not ForKind.SERIAL:
            return (
                f"the loop over {leaf.var.name} is {stage.kinds[leaf].value}; the intrinsic takes its place"
            )
        trips[leaf.var] = extent
    fixed = {leaf.var: extent for leaf in outer if isinstance(extent := domain.extents[leaf], int)}
    relaxer = Relaxer(trips, fixed)
    spans = []
    for axis in (*stage.axes, *stage.reduce_axes):
        found = relaxer.range(domain.values[axis.var])
        if found is None:
            return f"the tile covers an unknown part of {axis.var.name}"
        spans.append(_Span(axis, linear(found[0], found[1]), found[2], Var(INDEX, axis.var.name)))
    steps = prod(extent for extent in trips.values() if extent is not None)
    if steps != prod(span.count for span in spans):
        return f"the {steps} iterations of the tile are no box of the axes, which span {_shown(spans)}"
    return spans


class _Matching:
    """The search for a pairing of axes under which two expressions are one."""

    def __init__(self, stage: Tiled, intrinsic: Intrinsic, spans: Sequence[_Span]) -> None:
        self.stage, self.intrinsic, self.spans = stage, intrinsic, spans
        self.moving = [span for span in spans if span.count > 1]
        self.analyzer = Analyzer()
        for span in self.moving:
            self.analyzer.bind(span.var, 0, span.count)
        self.reason, self.reached = "", -1  # the first of those that were met after most operands had a place

    def run(self, outer: tuple[IterVar, ...], guards: tuple[Expr, ...]) -> Match | str:
        body, pattern = self.stage.body, self.intrinsic.op.body
        assert body is not None
        value, wanted = body, pattern
        if isinstance(body, Reduce) or isinstance(pattern, Reduce):
            if (
                not isinstance(body, Reduce)
                or not isinstance(pattern, Reduce)
                or body.combiner != pattern.combiner
            ):
                return f"the stage computes a {_kind(body)}, the intrinsic a {_kind(pattern)}"
            if body.condition is not None:
                return f"only elements count where `{body.condition}` holds"
            value, wanted = body.value, pattern.value
        if self.stage.tensor.dtype != self.intrinsic.tensor.dtype:
            return f"the stage gives {self.stage.tensor.dtype}, the intrinsic {self.intrinsic.tensor.dtype}"
        starts: dict[Var, Expr] = {}
        for span in self.spans:
            starts[span.axis.var] = span.first + span.var if span.count > 1 else span.first
        value = substitute(value, starts)
        for pairing in self._pairings():
            places = next(self._same(wanted, value, pairing, {}), None)
            if places is not None:
                result = Read(
                    self.stage.tensor.dtype,
                    self.stage.tensor,
                    tuple(starts[own.var] for own in self.stage.axes),
                )
                read = Read(
                    result.dtype, self.intrinsic.tensor, tuple(own.var for own in self.intrinsic.op.axes)
                )
                place = self._place(read, result, pairing)
                assert isinstance(place, Place)
                return Match(self.intrinsic, places, place, outer, guards)
        return self.reason

    def _pairings(self) -> Iterator[dict[Var, Var]]:
        """The axes of the intrinsic with those of the tile, data with data, of equal extents."""
        own = [axis for axis in self.intrinsic.axes if axis.extent != 1]
        wanted = ", ".join(f"{axis.var.name}: {axis.extent}" for axis in own) or "one element"
        self.reason = f"the tile spans {_shown(self.moving)}, the intrinsic {wanted}"
        if len(own) != len(self.moving):
            return
        for order in permutations(self.moving):
            if all(
                axis.extent == span.count and axis.kind == span.axis.kind
                for axis, span in zip(own, order, strict=True)
            ):
                yield {axis.var: span.var for axis, span in zip(own, order, strict=True)}

    # ------------------------------------------------------------------ expressions

    def _same(
        self, pattern: Expr, value: Expr, pairing: Mapping[Var, Var], places: Mapping[Tensor, Place]
    ) -> Iterator[Mapping[Tensor, Place]]:
        """The places of operands, those so far included, with which two expressions are one."""
        if isinstance(pattern, Read):
            made = self._operand(pattern, value, pairing, places)
            if isinstance(made, str):
                self._differs(made, places)
            else:
                yield {**places, pattern.tensor: made}
            return
        theirs, ours = value.children(), pattern.children()
        if isinstance(value, Read) or label(pattern) != label(value):
            self._differs(f"the stage computes `{value}` where the intrinsic has `{pattern}`", places)
            return
        yield from self._all(ours, theirs, pairing, places)
        if isinstance(pattern, Binary | Compare) and pattern.op in _COMMUTATIVE:
            yield from self._all(ours, theirs[::-1], pairing, places)

    def _differs(self, reason: str, places: Mapping[Tensor, Place]) -> None:
        if len(places) > self.reached:
            self.reason, self.reached = reason, len(places)

    def _all(
        self,
        ours: Sequence[Expr],
        theirs: Sequence[Expr],
        pairing: Mapping[Var, Var],
        places: Mapping[Tensor, Place],
    ) -> Iterator[Mapping[Tensor, Place]]:
        if not ours:
            yield places
            return
        for found in self._same(ours[0], theirs[0], pairing, places):
            yield from self._all(ours[1:], theirs[1:], pairing, found)

    def _operand(
        self, pattern: Read, value: Expr, pairing: Mapping[Var, Var], places: Mapping[Tensor, Place]
    ) -> Place | str:
        name = pattern.tensor.name
        if not isinstance(value, Read):
            return (
                f"the operand {name} of the intrinsic stands for `{value}`, which is no element of a tensor; "
                "compute it into one first (pack, cache_read)"
            )
        if value.dtype != pattern.dtype:
            return f"the operand {name} of the intrinsic is {pattern.dtype}, `{value}` is {value.dtype}"
        place = self._place(pattern, value, pairing)
        known = places.get(pattern.tensor)
        if isinstance(place, Place) and known is not None and not known.equals(place):
            return f"the operand {name} of the intrinsic stands for `{value}` and for an element elsewhere"
        return place

    def _place(self, pattern: Read, value: Read, pairing: Mapping[Var, Var]) -> Place | str:
        """Where an operand lies that is read at its axes as `value` is."""
        mine = [pairing.get(index) if isinstance(index, Var) else None for index in pattern.indices]
        origin: dict[Var, Expr] = {span.var: const(0, INDEX) for span in self.moving}
        first, steps = [], []
        for index in map(self.analyzer.simplify, value.indices):
            slopes = {span.var: slope(index, span.var) for span in self.moving}
            for var, step in slopes.items():
                if step is None or (step and not any(var is own for own in mine)):
                    return (
                        f"`{value}` moves with {var.name} otherwise than "
                        f"the operand {pattern.tensor.name} of the intrinsic, `{pattern}`"
                    )
            first.append(self.analyzer.simplify(substitute(index, origin)))
            steps.append(tuple((slopes[var] or 0) if var is not None else 0 for var in mine))
        return Place(value.tensor, tuple(first), tuple(steps))


def _kind(body: Expr) -> str:
    return f"{body.combiner} over axes" if isinstance(body, Reduce) else f"value, `{body}`"


def _shown(spans: Sequence[_Span]) -> str:
    return (
        ", ".join(f"{span.axis.var.name}: {span.count}" for span in spans if span.count > 1) or "one element"
    )
