"""Intrinsics: tiles of a computation whose loop IR is written by hand.

    k = te.reduce_axis((0, 4), name="k")
    c = te.compute((), lambda: te.sum(a[k] * b[k], axis=k), name="c")
    dot4 = te.decl_tensor_intrin(c, body, name="dot4")

What an intrinsic computes is a tensor expression over placeholders, how it does is what `body` writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....base.arith import Var, post_order
from ....base.errors import ScheduleError
from ....base.vocabulary import POSITIONAL, dataclass
from ....compute.te.tensor import Compute, IterVar, Operation, Placeholder, Read, Reduce, Tensor

# Of the buffers of the operands and of the result, to loop IR; see `decl_tensor_intrin`.
Write = Callable[[Sequence[Any], Sequence[Any]], Any]


@dataclass(frozen=True, eq=False, slots=True)
class Intrinsic:
    """`write` gives the loop IR that computes `tensor`, an expression over placeholders of constant shapes."""

    name: str
    tensor: Tensor
    write: Write

    @property
    def op(self) -> Compute:
        assert isinstance(self.tensor.op, Compute)
        return self.tensor.op

    @property
    def operands(self) -> tuple[Tensor, ...]:
        """The placeholders, in the order in which the expression reads them."""
        return self.op.inputs()

    @property
    def axes(self) -> tuple[IterVar, ...]:
        """The axes that it runs over: those of its result, then those of its reduction."""
        return (*self.op.axes, *self.op.reduce_axis)

    def __repr__(self) -> str:
        return f"Intrinsic({self.name})"


def decl_tensor_intrin(op: Operation | Tensor, fcompute: Write, name: str = "intrinsic") -> Intrinsic:
    """An intrinsic for `stage.tensorize(axis, intrinsic)`.

    `op` is what it computes: a tensor made by `te.compute` from placeholders, or its `op`.  `fcompute(ins, outs)` takes
    a buffer for each placeholder, in the order in which they are read, and for the result, with the shapes that they
    have here, and gives loop IR (`opgen_runtime.tir`) that writes the whole result; or three pieces of it, `(body,
    reset, update)`: `update` adds to the result, for tiles inside further reduce loops, and `reset` stores what to
    start from (None: the identity of the reduction).  `body` may be None: then it is `reset` and `update`.  Where
    it is lowered, what `fcompute` gives is held to the rules of loop IR, and compared with the expression on numbers.

    Raises ScheduleError for an expression that cannot be matched, with the reason.
    """
    if isinstance(op, Compute):
        op = Tensor(name, tuple(axis.extent for axis in op.axes), op.body.dtype, op)
    if not isinstance(op, Tensor):
        raise ScheduleError(f"decl_tensor_intrin of {op!r:.80}; expected a tensor of te.compute, or its op")
    reason = _why_not_intrinsic(op)
    if reason is not None:
        raise ScheduleError(f"the intrinsic {name}: {reason}")
    return Intrinsic(name, op, fcompute)


def _why_not_intrinsic(tensor: Tensor) -> str | None:
    """Why an expression is none of an intrinsic."""
    op = tensor.op
    if not isinstance(op, Compute):
        return f"{tensor.name} is a {type(op).__name__.lower()}, expected one of te.compute"
    for each in (*op.inputs(), tensor):
        if not all(isinstance(dim, int) and dim > 0 for dim in each.shape):
            return f"{each.name} has the shape {each.shape}, expected constant extents"
        if each is not tensor and not isinstance(each.op, Placeholder):
            return f"it reads {each.name}, which is no placeholder"
    body = op.body
    if isinstance(body, Reduce) and (body.condition is not None or body.combiner in (*POSITIONAL, "first")):
        return f"a {body.combiner} under a condition, or one that depends on the order, has no tiles"
    axes = {axis.var: axis for axis in (*op.axes, *op.reduce_axis)}
    value = body.value if isinstance(body, Reduce) else body
    for node in post_order(value):
        if isinstance(node, Reduce):
            return "its reduction is not the whole expression"
        if isinstance(node, Read):
            reason = _why_not_whole(node, axes)
            if reason is not None:
                return reason
    for node in post_order(value):
        if any(isinstance(child, Var) for child in node.children()) and not isinstance(node, Read):
            return f"`{node}` computes with the position"
    return None


def _why_not_whole(read: Read, axes: dict[Var, IterVar]) -> str | None:
    """An operand is read whole: each of its dims by an axis of its own, over its whole extent."""
    for index, extent in zip(read.indices, read.tensor.shape, strict=True):
        axis = axes.get(index) if isinstance(index, Var) else None
        if axis is None or axis.extent != extent or read.indices.count(index) > 1:
            return f"`{read}` is not read whole, by an axis for each of its dims"
    return None
