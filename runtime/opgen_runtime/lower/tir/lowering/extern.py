"""Externs: the loop IR that a user's function writes, or a call of a Python function."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ....base.contract import handed_in
from ....base.errors import LoweringError
from ....compute.te.extern import function_name
from ....compute.te.loop_ir import LoopIRFunction
from ....compute.te.tensor import Extern
from ..nodes.stmt import Buffer, CallPacked, Stmt


def lower_extern(op: Extern, operands: Sequence[Buffer], target: Buffer) -> Stmt:
    """The statement that fills the buffer of an extern tensor.

    Raises LoweringError for what a function of buffers raises, and where it gives no loop IR.
    """
    name, function = function_name(op), op.function
    if not isinstance(function, LoopIRFunction):
        return CallPacked(name, partial(function, **dict(op.attrs)), tuple(operands), target, op.output)
    with handed_in(f"the function {name}", LoweringError):
        made = function.loop_ir(operands, [target])
    if not isinstance(made, Stmt):
        raise LoweringError(f"the function {name} gave {made!r:.80}, expected a statement of loop IR")
    return made
