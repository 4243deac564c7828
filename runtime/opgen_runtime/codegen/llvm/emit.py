"""A lowered kernel as the text of an LLVM module.

The kernel is `i32 NAME(ptr data, ptr dims, ptr strides, ptr context)`: `data` holds the addresses of the inputs,
then of the outputs; `dims` the values of the function's symbolic dims; `strides` (in elements) those of all operands
one after the other; `context` is reserved.  The result is 0, or 1 where memory ran out.
"""

from __future__ import annotations

from typing import Final

from ...base import Target
from ...base.arith.expr import Const
from ...base.vocabulary import INDEX
from ...lower.tir.nodes.stmt import Buffer, PrimFunc
from .aliasing import Aliasing
from .statement import StatementEmitter
from .text import ModuleText, register

_PARAMETERS: Final = "ptr noalias %data, ptr noalias %dims, ptr noalias %strides, ptr noalias %context"


def emit(func: PrimFunc, target: Target) -> str:
    """LLVM IR of `func` after all lowering phases: one-dimensional buffers, explicit vectors.

    Raises CodegenError for what cannot be compiled.
    """
    module = ModuleText(target)
    aliasing = Aliasing(module, func)
    operands = {
        buffer: (position, _extent_metadata(module, buffer))
        for position, buffer in enumerate((*func.inputs, *func.outputs))
    }
    emitter = StatementEmitter(module, func.name, aliasing, operands)
    f = emitter.f
    for position, var in enumerate(func.dims):
        slot = f.emit_entry(f"getelementptr i8, ptr %dims, i64 {8 * position}")
        size = f.emit_size(f"load i64, ptr {slot}, align 8, !invariant.load !{{}}")
        emitter.define_variable(var, register(INDEX, 1, size, clean=True, nonnegative=True))
    emitter.emit(func.body)
    emitter.finish("i32", _PARAMETERS, is_kernel=True)
    width = target.vector_bits
    attributes = (
        f'attributes #0 = {{ nounwind "prefer-vector-width"="{width}" "min-legal-vector-width"="{width}" }}'
    )
    return f'target triple = "{target.triple}"\n{module.render()}{attributes}\n'


def _extent_metadata(module: ModuleText, buffer: Buffer) -> str:
    """How many bytes of an operand may be read at any time, so that loads of it may be hoisted out of loops."""
    size = buffer.dtype.itemsize
    for extent in buffer.shape:
        value = extent.value if isinstance(extent, Const) else extent
        if not isinstance(value, int):
            return ""
        size *= value
    return f", !dereferenceable {module.shared_metadata(f'i64 {size}')}" if size else ""
