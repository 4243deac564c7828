"""What a block computes: tensors, and the regions of them that it gives."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ...base.vocabulary import dataclass
from ...compute.te import Compute, Placeholder, Reduce, Scan, Tensor
from ...compute.te.graph import tensor_order
from ...compute.te.regions import Need, Region, needed
from ...compute.te.restriction import Restricted, restricted
from ...compute.te.resumed import resumed
from .combining import COMBINERS
from .program import ChunkedProgram


@dataclass(frozen=True, slots=True)
class Part:
    """The regions `wanted`, in an order of all tensors; `steps`: of the reduce axes, where these are cut.

    `scan`: the one that these are steps of, in the order.  `before`: where it goes on, the placeholders of what its
    states gave, by them; from `first` on along its axis.
    """

    order: tuple[Tensor, ...]
    wanted: Mapping[Tensor, Region]
    steps: Region | None
    scan: Scan | None
    before: Mapping[Tensor, Tensor]
    first: int

    def needs(self, stored: Collection[Tensor], inner: bool = False) -> dict[Tensor, Need]:
        """The regions of inputs and of what is stored; `inner`: of what is computed on the way, too."""
        found = needed(self.order, self.wanted, stored, self.steps, self.scan)
        needs = {
            each: need
            for each, need in found.items()
            if each not in self.wanted
            and each not in self.before.values()
            and (inner or isinstance(each.op, Placeholder) or each in stored)
        }
        for tensor, before in self.before.items():
            region, axis = found[before].region, scan_axis_of(tensor)
            rows = (self.first, self.first + region[axis][1])
            whole = {k: why for k, why in found[before].whole.items() if k != axis}
            needs[tensor] = Need((*region[:axis], rows, *region[axis + 1 :]), whole)
        return needs

    def restricted(self, stored: Collection[Tensor]) -> Restricted:
        """The part as a computation of its own, of the regions that it needs, in the order of their tensors."""
        return restricted(self.order, self.wanted, stored, self.steps)


def part_of(
    program: ChunkedProgram, regions: Mapping[Tensor, Region], steps: Region | None, is_resumed: bool
) -> Part:
    """What gives regions of tensors: of reductions to positions the values, too; of scans the steps after others."""
    tensor, *_ = regions
    if is_resumed:
        assert isinstance(tensor.op, Scan)
        first, behind = regions[tensor][scan_axis_of(tensor)]
        made = resumed(tensor.op, (first, behind))
        wanted: dict[Tensor, Region] = {}
        for each, region in regions.items():
            axis = scan_axis_of(each)
            wanted[made.parts[each]] = (*region[:axis], (0, behind - first), *region[axis + 1 :])
        own = tensor_order(made.parts.values(), program.order)
        return Part((*program.order, *own), wanted, None, made.scan, made.before, made.rows[0])
    found = dict(regions)
    if has_position(tensor, steps):
        found[values_of(tensor)] = regions[tensor]
    return Part((*program.order, *[each for each in found if each not in regions]), found, steps, None, {}, 0)


def scan_axis_of(tensor: Tensor) -> int:
    """The axis of a scan's state along which its steps are."""
    assert isinstance(tensor.op, Scan)
    return next(state.scan_axis for state in tensor.op.states if state.tensor is tensor)


def has_position(tensor: Tensor, steps: Region | None) -> bool:
    """Whether partial results are pairs: positions, and the values there."""
    return (
        steps is not None
        and isinstance(tensor.op, Compute)
        and isinstance(tensor.op.body, Reduce)
        and COMBINERS[tensor.op.body.combiner].has_position
    )


def values_of(tensor: Tensor) -> Tensor:
    """The values at the positions that a reduction gives."""
    op = tensor.op
    assert isinstance(op, Compute)
    assert isinstance(op.body, Reduce)
    body = replace(op.body, dtype=op.body.value.dtype, combiner=op.body.combiner.removeprefix("arg"))
    return Tensor(f"{tensor.name}_values", tensor.shape, body.dtype, Compute(op.axes, body))
