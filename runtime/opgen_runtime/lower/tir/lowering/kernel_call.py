"""Tensors that kernels of loop IR compute: the kernel's statement where the tensor's stage stands.

y = tir.call(kernel, x), and a schedule of it  -->  the loops of `kernel` over the buffers of x and y
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ....base.arith import Expr, Var, const, dim, evaluate_scalar
from ....base.arith.expr import Dim, Shape
from ....base.errors import LoweringError
from ....base.vocabulary import INDEX, dataclass
from ....compute.te import Extern, Tensor
from ....compute.te.loop_ir import LoopIRFunction
from ..interpretation.interpret import interpret
from ..nodes.contract import LOWERED, check
from ..nodes.folding import fold_substitute
from ..nodes.relocate import Adopted, Relocator, fresh_buffers, substituted_dim
from ..nodes.stmt import Allocate, Buffer, For, ForKind, PrimFunc, Stmt
from ..nodes.text import dims_of
from ..nodes.visit import map_exprs, statements


@dataclass(frozen=True, slots=True)
class KernelCall(LoopIRFunction):
    """A kernel as the function of extern tensors: lowered it is its loops, called on arrays it is interpreted."""

    func: PrimFunc

    @property
    def name(self) -> str:
        return self.func.name

    def __call__(self, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
        sizes = _sizes(self.func, [array.shape for array in arrays])
        known = {each: int(size) for each, size in sizes.items() if isinstance(size, int)}
        results: list[np.ndarray] = []
        for output, found in zip(self.func.outputs, interpret(self.func, arrays, known), strict=True):
            shape = [int(n) if isinstance(n, int) else int(evaluate_scalar(n, known)) for n in output.shape]
            results.append(found.reshape(shape))
        return tuple(results)

    def scratch(self, ins: Sequence[Buffer], output: int) -> Buffer:
        buffer = self.func.outputs[output]
        shape = result_shapes(self.func, [each.shape for each in ins])[output]
        return Buffer(buffer.name, shape, buffer.dtype, "global")

    def loop_ir(self, ins: Sequence[Buffer], outs: Sequence[Buffer]) -> Stmt:
        """The kernel's statement over the buffers of its operands and of its results."""
        func = self.func
        values = _values(_sizes(func, [buffer.shape for buffer in ins]))
        moved = dict(zip((*func.inputs, *func.outputs), (*ins, *outs), strict=True))
        body = map_exprs(func.body, lambda e: fold_substitute(e, values))
        return fresh_buffers(Adopted(moved, values).stmt(body))

    def by_rows(self, wide: Sequence[bool]) -> KernelCall:
        return KernelCall(rows_of(self.func, wide))


def rows_of(func: PrimFunc, wide: Sequence[bool]) -> PrimFunc:
    """A kernel for each row of those inputs that are `wide`: these, and the outputs, have one more dim, the first.

    y[i] = x[i] + w[i], of a wide x  -->  parallel for row in range(rows): y[row, i] = x[row, i] + w[i]

    Rows run one after the other where a row has threads, or storage that threads share.
    """
    rows, row = dim("rows"), Var(INDEX, "row")
    is_wide = (*wide, *[True] * len(func.outputs))
    moved = {
        buffer: replace(buffer, shape=(rows, *buffer.shape))
        for buffer, has in zip((*func.inputs, *func.outputs), is_wide, strict=True)
        if has
    }
    body = Relocator(moved, lambda _, indices: (row, *indices)).stmt(func.body)
    kind = ForKind.SERIAL if any(map(_is_shared, statements(body))) else ForKind.PARALLEL
    inputs, outputs = ([moved.get(each, each) for each in part] for part in (func.inputs, func.outputs))
    loop = For(row, const(0, INDEX), rows, kind, body)
    return replace(
        func, inputs=tuple(inputs), outputs=tuple(outputs), body=loop, dims=dims_of(inputs, outputs)
    )


def _is_shared(s: Stmt) -> bool:
    is_parallel = isinstance(s, For) and s.kind is ForKind.PARALLEL
    return is_parallel or (isinstance(s, Allocate) and s.buffer.scope == "global")


def call(kernel: PrimFunc, *operands: Tensor) -> Tensor | tuple[Tensor, ...]:
    """The tensor that a kernel computes of its operands; of several outputs a tuple.

    Dims of the kernel take the extents of the operands' shapes.  Raises LoweringError for other operands than its
    inputs (their number, dtypes and shapes), and for a dim that no operand has.
    """
    made = tensors_of(kernel, operands)
    return made if len(made) > 1 else made[0]


def tensors_of(kernel: PrimFunc, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """The tensors of `call`, one for each output."""
    check_callable(kernel)
    reason = why_not_operands(kernel, operands)
    if reason is not None:
        raise LoweringError(reason)
    function, given = KernelCall(kernel), tuple(operands)
    shapes = result_shapes(kernel, [tensor.shape for tensor in operands])
    return tuple(
        [
            Tensor(output.name, shape, output.dtype, Extern(given, function, (), k, len(shapes)))
            for k, (output, shape) in enumerate(zip(kernel.outputs, shapes, strict=True))
        ]
    )


def why_not_operands(kernel: PrimFunc, operands: Sequence[object]) -> str | None:
    """Why a kernel cannot compute a tensor of these; None where it can."""
    if len(operands) != len(kernel.inputs):
        return f"{kernel.name} takes {len(kernel.inputs)} operands, found {len(operands)}"
    shapes: list[Shape] = []
    for buffer, tensor in zip(kernel.inputs, operands, strict=True):
        if not isinstance(tensor, Tensor) or tensor.dtype is not buffer.dtype:
            return f"{kernel.name}: {buffer.name} is a tensor of {buffer.dtype}, found {tensor!r:.80}"
        shapes.append(tensor.shape)
    return _bound(kernel, shapes)[1]


def check_callable(kernel: PrimFunc) -> None:
    """Raises LoweringError for a kernel with a dim that none of its inputs has."""
    bound = {each for buffer in kernel.inputs for each in buffer.shape}
    unbound = [each.name for each in kernel.dims if each not in bound]
    if unbound:
        raise LoweringError(f"{kernel.name}: the dim {unbound[0]} is that of no operand")
    check(LOWERED, kernel, "the call", own=False)


def result_shapes(kernel: PrimFunc, shapes: Sequence[Shape]) -> list[Shape]:
    """The shapes of the results for inputs of these shapes.  Raises LoweringError where one does not fit."""
    values = _values(_sizes(kernel, shapes))
    return [tuple([substituted_dim(each, values) for each in output.shape]) for output in kernel.outputs]


def _values(sizes: Mapping[Var, Dim]) -> dict[Var, Expr]:
    return {each: size if isinstance(size, Expr) else const(size, INDEX) for each, size in sizes.items()}


def _sizes(func: PrimFunc, shapes: Sequence[Shape]) -> dict[Var, Dim]:
    """What the dims of a kernel are for inputs of these shapes.  Raises LoweringError where one does not fit."""
    sizes, reason = _bound(func, shapes)
    if reason is not None:
        raise LoweringError(reason)
    return sizes


def _bound(func: PrimFunc, shapes: Sequence[Shape]) -> tuple[dict[Var, Dim], str | None]:
    """What the dims of a kernel are for inputs of these shapes, and the first misfit, if there is one."""
    sizes: dict[Var, Dim] = {}
    for buffer, shape in zip(func.inputs, shapes, strict=True):
        fits = len(shape) == len(buffer.shape)
        for length, extent in zip(buffer.shape, shape, strict=False):
            wanted = sizes.setdefault(length, extent) if isinstance(length, Var) else length
            fits = fits and (wanted is extent or (isinstance(wanted, int) and wanted == extent))
        if not fits:
            expected, found = (", ".join(map(str, each)) for each in (buffer.shape, shape))
            known = ", ".join([f"{each} = {sizes[each]}" for each in buffer.shape if each in sizes])
            reason = f"{func.name}: {buffer.name} has the shape [{expected}], found [{found}]"
            return sizes, f"{reason}; {known}" if known else reason
    return sizes, None
