"""What a block computes: tensors, and the regions of them that it gives."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ...base.vocabulary import dataclass
from ...compute.te import Compute, Placeholder, Reduce, Scan, Tensor
from ...compute.te.graph import tensor_order
from ...compute.te.regions import Need, Region, Whole, needed
from ...compute.te.restriction import Restricted, restricted
from ...compute.te.resumed import resumed
from .combining import COMBINERS
from .program import ChunkedProgram


@dataclass(frozen=True, slots=True)
class Part:
    """The regions `wanted`, in an order of all tensors; `steps`: of the reduce axes, where these are cut.

    `steps_of`: the scan that these are steps of, in the order.  `before`: where it goes on, the placeholder of its
    last elements, from `first` on along its axis.
    """

    order: tuple[Tensor, ...]
    wanted: Mapping[Tensor, Region]
    steps: Region | None
    steps_of: Scan | None = None
    before: Tensor | None = None
    first: int = 0

    def needs(self, tensor: Tensor, stored: Collection[Tensor], inner: bool = False) -> dict[Tensor, Need]:
        """The regions of inputs and of what is stored; `inner`: of what is computed on the way, too."""
        found = needed(self.order, self.wanted, stored, self.steps)
        if self.steps_of is not None and not self._has_other_scan(found, stored):
            found = {each: Need(need.region, _without_scan(need.whole)) for each, need in found.items()}
        needs = {
            each: need
            for each, need in found.items()
            if each not in self.wanted
            and each is not self.before
            and (inner or isinstance(each.op, Placeholder) or each in stored)
        }
        if self.before is not None:
            assert isinstance(tensor.op, Scan)
            axis = tensor.op.states[0].scan_axis
            region = found[self.before].region
            count = region[axis][1]
            rows = (self.first, self.first + count)
            needs[tensor] = Need(tuple([rows if k == axis else span for k, span in enumerate(region)]), {})
        return needs

    def _has_other_scan(self, found: Collection[Tensor], stored: Collection[Tensor]) -> bool:
        """Whether a scan is computed on the way that is no part of steps."""
        scans = [each.op for each in found if isinstance(each.op, Scan) and each not in stored]
        return any([op is not self.steps_of for op in scans])

    def restricted(self, stored: Collection[Tensor]) -> Restricted:
        """The part as a computation of its own, of the regions that it needs, in the order of their tensors."""
        return restricted(self.order, self.wanted, stored, self.steps)


def part_of(
    program: ChunkedProgram, tensor: Tensor, region: Region, steps: Region | None, is_resumed: bool
) -> Part:
    """What gives a region of a tensor: of reductions to positions the values, too; of scans the steps after others."""
    if is_resumed:
        assert isinstance(tensor.op, Scan)
        axis = tensor.op.states[0].scan_axis
        made = resumed(tensor, region[axis])
        length = region[axis][1] - region[axis][0]
        wanted = tuple([(0, length) if k == axis else span for k, span in enumerate(region)])
        own = [made.part] if made.before is None else [made.before, *made.part.op.inputs(), made.part]
        (scan,) = [each.op for each in tensor_order([made.part]) if isinstance(each.op, Scan)][-1:]
        return Part((*program.order, *own), {made.part: wanted}, None, scan, made.before, made.rows[0])
    found = {tensor: region}
    if has_position(tensor, steps):
        found[values_of(tensor)] = region
    return Part((*program.order, *[each for each in found if each is not tensor]), found, steps)


def _without_scan(whole: Mapping[int, Whole]) -> Mapping[int, Whole]:
    return {axis: why for axis, why in whole.items() if why is not Whole.SCAN}


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
