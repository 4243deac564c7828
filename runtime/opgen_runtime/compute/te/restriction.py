"""A part of a computation as a computation of its own: new tensors that hold regions of those that there were.

    out[i] = x[i - 1] if i > 0 else 0, elements 8 to 15     -->     out[i] = x[i],  of x elements 7 to 14

What is decided by the place of the region, as edges are inside of it, is decided.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...base.arith import (
    Analyzer,
    Const,
    Expr,
    Var,
    add,
    const,
    holds,
    maximum,
    minimum,
    post_order,
    rewrite,
    sub,
)
from ...base.errors import LanguageError
from ...base.vocabulary import INDEX, dataclass
from .graph import replace_inputs
from .regions import Need, Region, Span, computed_region, needed
from .scan_axes import state_regions
from .tensor import Compute, IterVar, Placeholder, Read, Reduce, Scan, Sort, State, Tensor


@dataclass(frozen=True, slots=True)
class Restricted:
    """Regions of tensors as tensors: `inputs`, one for each of `sources`, whose `regions` they hold; `outputs`."""

    sources: tuple[Tensor, ...]
    regions: tuple[Region, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def restricted(
    order: Sequence[Tensor],
    wanted: Mapping[Tensor, Region],
    given: Collection[Tensor] = (),
    steps: Region | None = None,
) -> Restricted:
    """The regions `wanted` computed from those of placeholders and of `given` tensors; see `regions.needed`.

    Raises LanguageError for a region of a tensor of which no part is computed alone.
    """
    for tensor, region in wanted.items():
        if computed_region(tensor, region) != region:
            raise LanguageError(f"{tensor.name}: no part of it is computed alone, found {region}")
    part = _Part(needed(order, wanted, given, steps))
    sources: list[Tensor] = []
    for tensor in order:
        if tensor not in part.needs or tensor in part.made:
            continue
        if isinstance(tensor.op, Placeholder) or (tensor in given and tensor not in wanted):
            extents = tuple([behind - first for first, behind in part.needs[tensor].region])
            is_constant = isinstance(tensor.op, Placeholder) and tensor.op.is_constant
            part.made[tensor] = Tensor(tensor.name, extents, tensor.dtype, Placeholder(is_constant))
            sources.append(tensor)
        else:
            part.add(tensor, steps if tensor in wanted else None)
    return Restricted(
        tuple(sources),
        tuple([part.needs[each].region for each in sources]),
        tuple([part.made[each] for each in sources]),
        tuple([part.made[each] for each in wanted]),
    )


class _Part:
    """`made`: the tensors that hold regions, by those that they are regions of."""

    def __init__(self, needs: Mapping[Tensor, Need]) -> None:
        self.needs = needs
        self.made: dict[Tensor, Tensor] = {}

    def add(self, tensor: Tensor, steps: Region | None) -> None:
        """Makes the tensor, whose operands are made; of a scan all of its tensors."""
        op, region = tensor.op, self.needs[tensor].region
        if isinstance(op, Compute):
            axes = _axes_of(op.axes, region)
            body = self._at(op.body, op.axes, axes, region, steps)
            self.made[tensor] = replace(tensor, shape=tuple([a.extent for a in axes]), op=Compute(axes, body))
        elif isinstance(op, Scan):
            self._add_scan(op)
        elif isinstance(op, Sort):
            shape = tuple([behind - first for first, behind in region])
            self.made[tensor] = replace(tensor, shape=shape, op=replace_inputs(op, self.made))
        else:  # it is whole, and so are its operands
            self.made[tensor] = replace(tensor, op=replace_inputs(op, self.made))

    def _add_scan(self, scan: Scan) -> None:
        extent = scan.extent
        if isinstance(extent, Expr):
            extent = self._at(extent, (), (), (), None)
        asked = {t: need.region for t, need in self.needs.items() if t.op is scan}
        own = state_regions(scan, asked)
        states = [
            State(_axes_of(state.axes, own[state.tensor]), state.scan_axis)
            for state in scan.states
            if state.tensor is not None
        ]
        made = Scan(tuple(states), extent, scan.direction)
        for old, new in zip(scan.states, states, strict=True):
            assert old.tensor is not None
            shape = tuple([axis.extent for axis in new.axes])
            new.tensor = self.made[old.tensor] = replace(old.tensor, shape=shape, op=made)
        for old, new in zip(scan.states, states, strict=True):
            assert old.tensor is not None
            assert old.body is not None
            new.body = self._at(old.body, old.axes, new.axes, own[old.tensor], None, own)

    def _at(
        self,
        body: Expr,
        axes: Sequence[IterVar],
        fresh: Sequence[IterVar],
        region: Region,
        steps: Region | None,
        own: Mapping[Tensor, Region] | None = None,
    ) -> Expr:
        """The body over fresh axes, which begin at 0, and over the tensors that are made."""
        known = Analyzer()
        places: dict[Var, Expr] = {}
        reduced: dict[Var, IterVar] = {}
        for axis, new, (first, _) in zip(axes, fresh, region, strict=True):
            known.bind(new.var, 0, _least_one(new.extent))
            places[axis.var] = _moved(new.var, first)

        def swapped(node: Expr) -> Expr | None:
            if isinstance(node, Var):
                return places.get(node)
            if isinstance(node, Reduce):
                value = known.simplify(node.value)
                condition = None if node.condition is None else known.simplify(node.condition)
                own_axes = tuple([reduced[axis.var] for axis in node.axes])
                return replace(node, axes=own_axes, value=value, condition=condition)
            if isinstance(node, Read):
                held = own[node.tensor] if own and node.tensor in own else self.needs[node.tensor].region
                indices: list[Expr] = []
                for index, span in zip(node.indices, held, strict=True):
                    moved = _moved(index, -span[0])
                    indices.append(known.simplify(_within(moved, span) if holds(index, Read) else moved))
                return Read(node.dtype, self.made[node.tensor], tuple(indices))
            return None

        for node in reversed(
            post_order(body)
        ):  # outer reductions first: extents of others depend on their axes
            for k, axis in enumerate(node.axes if isinstance(node, Reduce) else ()):
                first, extent = 0, axis.extent
                if steps is not None and node is body:
                    first, extent = steps[k][0], steps[k][1] - steps[k][0]
                elif isinstance(extent, Expr):
                    extent = known.simplify(rewrite(extent, swapped))
                new = IterVar(
                    Var(INDEX, axis.var.name),
                    int(extent.value) if isinstance(extent, Const) else extent,
                    axis.kind,
                )
                known.bind(new.var, 0, _least_one(new.extent))
                places[axis.var] = _moved(new.var, first)
                reduced[axis.var] = new
        made = rewrite(body, swapped)
        return made if isinstance(made, Reduce) else known.simplify(made)


def _axes_of(axes: Sequence[IterVar], region: Region) -> tuple[IterVar, ...]:
    return tuple(
        [
            IterVar(Var(INDEX, axis.var.name), behind - first, axis.kind)
            for axis, (first, behind) in zip(axes, region, strict=True)
        ]
    )


def _moved(e: Expr, by: int) -> Expr:
    if not by:
        return e
    return add(e, const(by, e.dtype)) if by > 0 else sub(e, const(-by, e.dtype))


def _within(e: Expr, span: Span) -> Expr:
    """A position that is an element, inside of what is held of its axis."""
    return minimum(maximum(e, const(0, e.dtype)), const(max(span[1] - span[0] - 1, 0), e.dtype))


def _least_one(extent: int | Expr) -> int | Expr:
    return extent if isinstance(extent, Expr) else max(extent, 1)
