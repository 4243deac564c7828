"""What a kernel takes and gives: its slots, from the types of a segment or the tensors of a schedule."""

from __future__ import annotations

from collections.abc import Sequence

from .... import ir
from ....base.arith import Expr, Shape
from ....base.errors import CodegenError
from ....base.vocabulary import dataclass
from ....lower.library.segment import Segment, flat_types, kernel_name, known_shape
from ....operator import TensorType
from .kernel import Slot
from .symbolic import SymbolicSlot, symbolic_slot
from .written import Program


@dataclass(frozen=True, slots=True)
class Interface:
    """What a kernel takes and gives, from the types alone; data-dependent dims of outputs are None."""

    name: str
    inputs: tuple[SymbolicSlot, ...]
    outputs: tuple[TensorType, ...]

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The inputs of what can run for one shape only.  Raises CodegenError for symbolic dims."""
        if any(isinstance(dim, Expr) for slot in self.inputs for dim in slot.dims):
            raise CodegenError(f"{self.name} calls hand-written functions; its dims must be bound to values")
        return tuple([slot.at({}) for slot in self.inputs])


def interface_of(function: ir.Function) -> Interface:
    """That of a segment.  Raises what `flat_types` raises for types that are not known."""
    inputs: list[SymbolicSlot] = []
    for param in function.params:
        what = f"parameter {param.name_hint}"
        types = flat_types(param.checked_type, what)
        for k, type_ in enumerate(types):
            name = param.name_hint if len(types) == 1 else f"{param.name_hint}.{k}"
            inputs.append(symbolic_slot(name, known_shape(type_, what), type_.dtype.numpy))
    outputs = flat_types(function.body.checked_type, "the result")
    return Interface(kernel_name(function), tuple(inputs), outputs)


def slots_of(program: Program) -> tuple[tuple[Slot, ...], tuple[Slot, ...]]:
    """What a schedule's kernel takes and gives where the variables of its dims have values."""
    inputs, outputs = (
        tuple([Slot(tensor.name, program.shape(tensor), tensor.dtype.numpy) for tensor in part])
        for part in (program.inputs, program.outputs)
    )
    return inputs, outputs


def output_slots(outputs: Sequence[TensorType], storage: Sequence[Sequence[int]]) -> tuple[Slot, ...]:
    """The slots of results, by their types and their shapes in storage."""
    return tuple(
        Slot(f"output {k}", tuple(shape), type_.dtype.numpy)
        for k, (type_, shape) in enumerate(zip(outputs, storage, strict=True))
    )


def storage_shapes(segment: Segment) -> list[tuple[int, ...]]:
    """The shapes that the results of a segment are stored in: those of data-dependent dims at their bounds."""
    return [static_shape(shape, "a result") for shape, _ in segment.stored()]


def static_shape(shape: Shape, what: str) -> tuple[int, ...]:
    """The shape of `what`.  Raises CodegenError for a symbolic dim."""
    dims = [int(dim) for dim in shape if isinstance(dim, int)]
    if len(dims) != len(shape):
        raise CodegenError(
            f"{what} has a symbolic shape; its dims must be bound to values before compilation"
        )
    return tuple(dims)
