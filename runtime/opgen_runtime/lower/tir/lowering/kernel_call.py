"""Tensors that kernels of loop IR compute: the kernel's statement where the tensor's stage stands.

y = tir.call(kernel, x), and a schedule of it  -->  the loops of `kernel` over the buffers of x and y
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ....base.arith import Expr, Var, const, evaluate_scalar
from ....base.arith.expr import Dim, Shape
from ....base.errors import LoweringError
from ....base.vocabulary import INDEX, dataclass
from ....compute.te import Extern, Tensor
from ..interpretation.interpret import interpret
from ..nodes.contract import LOWERED, check
from ..nodes.folding import fold_substitute
from ..nodes.relocate import Adopted, fresh_buffers, substituted_dim
from ..nodes.stmt import Buffer, PrimFunc, Stmt
from ..nodes.visit import map_exprs


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A kernel as the function of an extern tensor: lowered it is its loops, called on arrays it is interpreted."""

    func: PrimFunc

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        sizes = _sizes(self.func, [array.shape for array in arrays])
        known = {dim: int(size) for dim, size in sizes.items() if isinstance(size, int)}
        (output,) = self.func.outputs
        (found,) = interpret(self.func, arrays, known)
        shape = [dim if isinstance(dim, int) else int(evaluate_scalar(dim, known)) for dim in output.shape]
        return found.reshape(shape)


def call(kernel: PrimFunc, *operands: Tensor) -> Tensor:
    """The tensor that a kernel of one output computes of its operands.

    Dims of the kernel take the extents of the operands' shapes.  Raises LoweringError for other operands than its
    inputs (their number, dtypes and shapes), for a kernel of several outputs, and for a dim that no operand has.
    """
    name = kernel.name
    if len(kernel.outputs) != 1:
        raise LoweringError(
            f"{name} has {len(kernel.outputs)} outputs; a tensor is computed by a kernel of one"
        )
    if len(operands) != len(kernel.inputs):
        raise LoweringError(f"{name} takes {len(kernel.inputs)} operands, found {len(operands)}")
    for buffer, tensor in zip(kernel.inputs, operands, strict=True):
        if not isinstance(tensor, Tensor) or tensor.dtype is not buffer.dtype:
            raise LoweringError(f"{name}: {buffer.name} is a tensor of {buffer.dtype}, found {tensor!r:.80}")
    sizes = _sizes(kernel, [tensor.shape for tensor in operands])
    unbound = [dim.name for dim in kernel.dims if dim not in sizes]
    if unbound:
        raise LoweringError(f"{name}: the dim {unbound[0]} is that of no operand")
    check(LOWERED, kernel, "the call", own=False)
    (output,) = kernel.outputs
    values = _values(sizes)
    shape = tuple([substituted_dim(dim, values) for dim in output.shape])
    return Tensor(output.name, shape, output.dtype, Extern(operands, KernelCall(kernel), (), 0, 1))


def lower_call(call_: KernelCall, operands: Sequence[Buffer], output: Buffer) -> Stmt:
    """The kernel's statement over the buffers of its operands and of its result."""
    func = call_.func
    sizes = _sizes(func, [buffer.shape for buffer in operands])
    moved = dict(zip((*func.inputs, *func.outputs), (*operands, output), strict=True))
    values = _values(sizes)
    body = map_exprs(func.body, lambda e: fold_substitute(e, values))
    return fresh_buffers(Adopted(moved, values).stmt(body))


def _values(sizes: Mapping[Var, Dim]) -> dict[Var, Expr]:
    return {dim: size if isinstance(size, Expr) else const(size, INDEX) for dim, size in sizes.items()}


def _sizes(func: PrimFunc, shapes: Sequence[Shape]) -> dict[Var, Dim]:
    """What the dims of a kernel are for inputs of these shapes.  Raises LoweringError where one does not fit."""
    sizes: dict[Var, Dim] = {}
    for buffer, shape in zip(func.inputs, shapes, strict=True):
        fits = len(shape) == len(buffer.shape)
        for dim, extent in zip(buffer.shape, shape, strict=False):
            wanted = sizes.setdefault(dim, extent) if isinstance(dim, Var) else dim
            fits = fits and (wanted is extent or (isinstance(wanted, int) and wanted == extent))
        if not fits:
            expected, found = (", ".join(map(str, each)) for each in (buffer.shape, shape))
            raise LoweringError(f"{func.name}: {buffer.name} has the shape [{expected}], found [{found}]")
    return sizes
