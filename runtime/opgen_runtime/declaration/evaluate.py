"""The tensors of one call, and its value by numpy: no schedule, no LLVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np

from ..base.errors import DTypeError, ExecutorError
from ..base.lru_cache import LRUCache
from ..base.vocabulary import DTYPES, DType, dataclass
from ..compute.te import evaluate, placeholder
from ..compute.te.tensor import Tensor
from ..ir import Call
from ..operator import Attrs, Binding, Op, TensorType, TupleType, Type
from .compute import OperandTensors
from .contract import compute_call
from .stated import stated

Arrays: TypeAlias = "np.ndarray | tuple[Arrays, ...]"


@dataclass(frozen=True, slots=True)
class CallTensors:
    """What a call computes.

    `operands`: one entry a declared input; `inputs`: their tensors, flattened.  `outputs`: the results, then
    `lengths` rank-0 tensors of data-dependent dims.
    """

    binding: Binding
    operands: tuple[OperandTensors, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    lengths: int

    @property
    def results(self) -> tuple[Tensor, ...]:
        """The outputs without the lengths."""
        return self.outputs[: len(self.binding.outputs)]

    def values(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results by numpy; those of data-dependent size padded to their upper bounds."""
        return evaluate(self.results, dict(zip(self.inputs, arrays, strict=True)))


def call_tensors(
    op: Op, attrs: Attrs | None, types: Sequence[Type], site: object | None = None
) -> CallTensors:
    """The tensor expressions of `op` for operands of `types`, over placeholders.

    Raises ExecutorError for an op without a compute, and what binding and the compute raise.
    """
    found = stated(op, attrs, types, site)
    if found is None:
        raise ExecutorError(f"op {op.name!r} has no compute; nothing says what its value is")
    binding = found.binding
    inputs: list[Tensor] = []
    operands: list[OperandTensors] = []
    for (name, variadic), type_ in zip(found.inputs, types, strict=True):
        if isinstance(type_, TupleType) and variadic:
            operands.append(tuple([_operand(f"{name}{k}", t, inputs) for k, t in enumerate(type_.fields)]))
        else:
            operands.append(None if isinstance(type_, TupleType) else _operand(name, type_, inputs))
    outputs = compute_call(found.compute, f"{op.name}: its compute", binding, operands, found.lengths)
    return CallTensors(binding, tuple(operands), tuple(inputs), outputs, found.lengths)


_made: Final[LRUCache[CallTensors]] = LRUCache(1024)  # the calls of a program have few types


def evaluate_call(call: Call, args: Sequence[Arrays]) -> Arrays:
    """What the op of `call` gives for arrays (tuples of arrays for variadic operands, () for absent ones)."""
    op = call.op
    assert isinstance(op, Op)
    types = tuple([_type(arg) for arg in args])
    key = (op, op.get_attr("compute"), op.get_attr("FTVMCompute"), call.attrs, types)
    made = _made.get(key) or _made.put(key, call_tensors(op, call.attrs, types, call.span))
    arrays = [array for arg in args for array in (arg if isinstance(arg, tuple) else (arg,))]
    results = evaluate(made.outputs, dict(zip(made.inputs, arrays, strict=True)))  # type: ignore[arg-type]  # operands nest one level deep
    if made.lengths:
        results = _cut_dynamic(made.binding, results)
    return tuple(results) if made.binding.is_tuple else results[0]


def array_type(array: np.ndarray) -> TensorType:
    """The type of an array. Raises DTypeError for one whose dtype no tensor has."""
    if array.dtype.name not in DTYPES:
        raise DTypeError(f"an array has dtype {array.dtype}; expected one of {', '.join(DTYPES)}")
    return TensorType(array.shape, DType(array.dtype.name))


def _cut_dynamic(binding: Binding, results: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs with each data-dependent dim cut from its bound to its value, which the last results hold.

    Raises ExecutorError for a value outside its bound: a mistake in the declaration.
    """
    count = len(binding.outputs)
    sizes = {name: int(size) for name, size in zip(binding.dynamic, results[count:], strict=True)}
    for name, size in sizes.items():
        bound = binding.dynamic[name]
        if not 0 <= size <= int(bound):
            raise ExecutorError(f"the data-dependent dim {name!r} is {size}, outside 0 <= {name} <= {bound}")
    cut: list[np.ndarray] = []
    for axes, array in zip(binding.dynamic_axes, results[:count], strict=True):
        index = [slice(None)] * array.ndim
        for axis, name in axes:
            index[axis] = slice(sizes[name])
        cut.append(array[tuple(index)])
    return cut


def _type(arg: Arrays) -> Type:
    return TupleType(tuple(map(_type, arg))) if isinstance(arg, tuple) else array_type(arg)


def _operand(name: str, type_: Type, inputs: list[Tensor]) -> Tensor:
    if not isinstance(type_, TensorType):
        raise ExecutorError(f"operand {name} has the type {type_}, expected a tensor of known type")
    tensor = placeholder(name, type_.shape, type_.dtype)
    inputs.append(tensor)
    return tensor
