"""The tensors that an op computes: the declared expression, or a call of a hand-written function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ..base.arith import AnyDim
from ..base.errors import RegistryError
from ..base.forks import import_module
from ..compute.lang import build
from ..compute.te.tensor import Extern, Tensor
from ..operator.types import Binding, TensorType
from .declaration import OpDeclaration

OperandTensors: TypeAlias = "Tensor | tuple[Tensor, ...] | None"
Compute: TypeAlias = Callable[[Binding, Sequence[OperandTensors]], tuple[Tensor, ...]]
"""The op attribute "compute": `(binding, operands) -> output tensors`, one operand a declared input."""


def compute_of(declaration: OpDeclaration) -> Compute:
    """The op attribute "compute" of a declared op.

    The outputs come in the binding's order, then one rank-0 int64 tensor for each data-dependent dim.
    """
    if declaration.extern is None:
        return lambda binding, operands: build(declaration, binding, operands)
    return lambda binding, operands: _extern_outputs(declaration, binding, operands)


def extern(reference: str, op_name: str) -> Callable[..., np.ndarray | tuple[np.ndarray, ...]]:
    """The function that `package.module:function` names. Raises RegistryError if it cannot be found."""
    module, _, name = reference.partition(":")
    try:
        found: Callable[..., np.ndarray | tuple[np.ndarray, ...]] = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise RegistryError(
            f"op {op_name!r} is computed by {reference!r}, which cannot be found: {error}"
        ) from error
    return found


def _extern_outputs(
    declaration: OpDeclaration, binding: Binding, operands: Sequence[OperandTensors]
) -> tuple[Tensor, ...]:
    assert declaration.extern is not None
    function = extern(declaration.extern, declaration.full_name)
    flat: list[Tensor] = []
    for operand in operands:
        flat.extend(operand if isinstance(operand, tuple) else () if operand is None else (operand,))
    fields = declaration.attrs.fields() if declaration.attrs is not None else ()
    attrs = tuple([(field.name, binding.names[field.name]) for field in fields])
    shapes = binding.storage or tuple([output.shape for output in binding.outputs])
    names = [
        output.name
        for output, count in zip(declaration.signature.outputs, binding.counts, strict=True)
        for _ in range(count)
    ]
    return tuple(
        [
            Tensor(
                name,
                shape,
                output.dtype,
                Extern(tuple(flat), function, attrs, position, len(shapes), _free_axes(output)),
            )
            for position, (name, shape, output) in enumerate(zip(names, shapes, binding.outputs, strict=True))
        ]
    )


def _free_axes(output: TensorType) -> frozenset[int]:
    """The axes whose length depends on data."""
    return frozenset([axis for axis, dim in enumerate(output.shape) if isinstance(dim, AnyDim)])
