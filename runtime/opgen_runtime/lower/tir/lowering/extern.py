"""Externs: the loop IR that a user's function writes, or a call of a Python function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ....base.contract import handed_in
from ....base.errors import LoweringError
from ....compute.te.extern import function_name
from ....compute.te.loop_ir import LoopIRFunction
from ....compute.te.tensor import Extern
from ..nodes.stmt import Allocate, Buffer, CallPacked, Stmt


def lower_extern(op: Extern, operands: Sequence[Buffer], targets: Mapping[int, Buffer]) -> Stmt:
    """The statement that fills the buffers of extern tensors, by which results of their function they are.

    A call of Python fills that of `op` alone.  Results of loop IR that have no tensor are storage of its own.

    Raises LoweringError for what a function of buffers raises, and where it gives no loop IR.
    """
    name, function = function_name(op), op.function
    if not isinstance(function, LoopIRFunction):
        target = targets[op.output]
        return CallPacked(name, partial(function, **dict(op.attrs)), tuple(operands), target, op.output)
    scratch = {k: function.scratch(operands, k) for k in range(op.outputs) if k not in targets}
    buffers = {**targets, **scratch}
    with handed_in(f"the function {name}", LoweringError):
        made = function.loop_ir(operands, [buffers[k] for k in sorted(buffers)])
    if not isinstance(made, Stmt):
        raise LoweringError(f"the function {name} gave {made!r:.80}, expected a statement of loop IR")
    filling: Stmt = made
    for buffer in scratch.values():
        filling = Allocate(buffer, filling)
    return filling
