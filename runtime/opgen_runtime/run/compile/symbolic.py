"""Kernels of symbolic dims: compiled once for all values of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ...base.arith import Expr, Var, evaluate_scalar, free_vars
from ...base.arith.expr import AnyDim, Shape
from ...base.errors import CodegenError, ExecutorError
from ...base.kept import Kept
from ...codegen import Loaded, load
from ...ir import Function, post_order
from ...operator import TensorType, TupleType
from .kernel import EmptyKernel, Image, Kernel, NativeKernel, Slot

_KEPT: Final = 256  # combinations of shapes
Values = Mapping[Var, int]


@dataclass(frozen=True, slots=True)
class SymbolicSlot(Slot):
    """An operand whose dims may be expressions; `shape` has -1 for those."""

    dims: Shape = ()

    def at(self, values: Values) -> Slot:
        """The operand for values of the dims."""
        return Slot(self.name, concrete(self.dims, values), self.dtype)


def symbolic_slot(name: str, dims: Shape, dtype: np.dtype[np.generic]) -> SymbolicSlot:
    """An operand of these dims."""
    return SymbolicSlot(name, tuple([dim if isinstance(dim, int) else -1 for dim in dims]), dtype, dims)


class SymbolicKernel(Kernel):
    """A kernel for all values of its dims, which it takes from the shapes of its inputs.

    `image` has no operands and no dims yet; `dims`: those that the code takes.
    """

    def __init__(
        self,
        image: Image,
        inputs: Sequence[SymbolicSlot],
        outputs: Sequence[SymbolicSlot],
        dims: Sequence[Var],
    ) -> None:
        """Raises CodegenError for a dim that no shape of an input tells."""
        super().__init__(image.name, inputs, outputs)
        self._image = image
        self._operands = tuple(inputs), tuple(outputs)
        self._dims = tuple(dims)
        self._loaded: Loaded = load(image.code, image.name, image.imports)
        self._kernels: Kept[Kernel] = Kept(_KEPT)  # by the shapes of the inputs
        told = {dim for slot in inputs for dim in slot.dims if isinstance(dim, Var)}
        needed = [
            v for slot in (*inputs, *outputs) for d in slot.dims if isinstance(d, Expr) for v in free_vars(d)
        ]
        for var in (*dims, *needed):
            if var not in told:
                raise CodegenError(
                    f"{self.name}: no operand has the dim {var.name} itself, of which its shapes are made"
                )

    def run(
        self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray] | None = None
    ) -> list[np.ndarray]:
        shapes = tuple([np.shape(array) for array in inputs])
        kernel = self._kernels.get(shapes)
        if kernel is None:
            kernel = self._kernels.put(shapes, self._at(shapes))
        return kernel.run(inputs, outputs)

    def _at(self, shapes: Sequence[tuple[int, ...]]) -> Kernel:
        """The kernel for inputs of these shapes; one that does not fit is refused when it runs."""
        inputs, outputs = self._operands
        values: dict[Var, int] = {}
        for slot, shape in zip(inputs, shapes, strict=False):
            for axis, (dim, extent) in enumerate(zip(slot.dims, shape, strict=False)):
                if isinstance(dim, Var) and values.setdefault(dim, extent) != extent:
                    raise ExecutorError(
                        f"{self.name}: axis {axis} of input {slot.name} has extent {extent}, "
                        f"but dim {dim.name!r} is {values[dim]}"
                    )
        missing = [
            var.name for slot in inputs for var in slot.dims if isinstance(var, Var) and var not in values
        ]
        if missing:
            raise ExecutorError(
                f"{self.name}: no input tells the dim {missing[0]}; shapes are {list(shapes)}"
            )
        own, made = (tuple([slot.at(values) for slot in part]) for part in (inputs, outputs))
        if all([0 in slot.shape for slot in made]):
            return EmptyKernel(self.name, own, made)
        dims = tuple([values[var] for var in self._dims])
        return NativeKernel(replace(self._image, inputs=own, outputs=made, dims=dims), self._loaded)


def concrete(shape: Shape, values: Values) -> tuple[int, ...]:
    """A shape for values of its dims."""
    return tuple([dim if isinstance(dim, int) else int(evaluate_scalar(dim, dict(values))) for dim in shape])


def dims_in(function: Function) -> tuple[Var, ...]:
    """The symbolic dims of a function's types, in the order in which they occur, which equal functions share."""
    found: dict[Var, None] = {}
    kinds = [param.checked_type for param in function.params]
    kinds += [node.checked_type for node in post_order(function.body)]
    while kinds:
        kind = kinds.pop(0)
        if isinstance(kind, TupleType):
            kinds[:0] = kind.fields
        elif isinstance(kind, TensorType):
            for dim in kind.shape:
                if isinstance(dim, Expr) and not isinstance(dim, AnyDim):
                    found.update(dict.fromkeys(free_vars(dim)))
    return tuple(found)


def are_told(segment: Function) -> bool:
    """Whether each dim of a segment is the whole dim of an operand somewhere, and none is unknown."""
    told: set[Expr] = set()
    needed: set[Expr] = set(dims_in(segment))
    kinds = [param.checked_type for param in segment.params]
    while kinds:
        kind = kinds.pop()
        if isinstance(kind, TupleType):
            kinds.extend(kind.fields)
        elif isinstance(kind, TensorType):
            told.update([dim for dim in kind.shape if isinstance(dim, Var)])
            needed.update([dim for dim in kind.shape if isinstance(dim, AnyDim)])
    return needed <= told
