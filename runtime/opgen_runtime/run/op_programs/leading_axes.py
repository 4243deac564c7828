"""Along which axes a call may be made of parts of all operands, as where arrays lie on several devices.

Leading axes are those of which each position of the results is made of that position of every operand.  They are
found in what the op declares, and follow for its derivatives and batches.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...base.errors import OpgenError
from ...compute.te.roles import passed_axes
from ...declaration import CallTensors, call_tensors
from ...operator import TensorType, TupleType, Type
from .batched import Batched
from .programs import Declared, Jvp, OperandType, Program, Values, Vjp, leaves, nested_as


def leading_axes(program: Program, types: Sequence[OperandType], values: Values) -> int:
    """How many leading axes a call on operands of these types, of concrete shapes, has; 0 where it is not known."""
    if isinstance(program, Declared):
        return _declared(program, types, values)
    if not isinstance(program, Vjp | Jvp | Batched):
        return 0
    known = {field.name for field in program.base.fields}
    own = {name: value for name, value in values.items() if name in known}
    operands = types[: len(program.base.operands)]
    if not isinstance(program, Batched):
        return leading_axes(program.base, operands, own)
    numbers = values[program.batched]
    assert isinstance(numbers, tuple)
    flat = list(leaves(operands))
    if len(set(numbers)) < len(flat):
        return 0
    elements = nested_as(operands, [each.with_shape(each.shape[1:]) for each in flat])
    return 1 + leading_axes(program.base, elements, own)


def _declared(program: Declared, types: Sequence[OperandType], values: Values) -> int:
    made = _tensors(program, types, values)
    if made is None or not made.inputs:
        return 0
    flat = list(leaves(types))
    least = min([each.ndim for each in (*made.inputs, *made.results)])
    for axis in range(least):
        if not _passes(made, axis):
            return axis
        parts = [_part(each, axis) for each in flat]
        part = _tensors(program, nested_as(types, parts), values)
        if part is None or not _passes(part, axis) or part.results[0].shape[axis] != parts[0].shape[axis]:
            return axis  # such as an attr that says how many positions there are
    return least


def _passes(made: CallTensors, axis: int) -> bool:
    """Whether an axis of every operand is that of every result."""
    pairs = [(result, operand) for result in made.results for operand in made.inputs]
    return all(
        result.shape[axis] == operand.shape[axis] and passed_axes(result, operand)[axis] == axis
        for result, operand in pairs
    )


def _part(type_: TensorType, axis: int) -> TensorType:
    """A type with a part of the positions."""
    shape = list(type_.concrete_shape)
    extent = shape[axis]
    shape[axis] = extent // next((k for k in range(2, extent + 1) if extent % k == 0), 1)
    return type_.with_shape(shape)


def _tensors(program: Declared, types: Sequence[OperandType], values: Values) -> CallTensors | None:
    kind = program.declaration.attrs
    try:
        attrs = None if kind is None else kind(**values)
        return call_tensors(program.op, attrs, [_type(each) for each in types])
    except OpgenError:  # no compute that could be looked at, or not of such parts
        return None


def _type(type_: OperandType) -> Type:
    if type_ is None:
        return TupleType(())
    return TupleType(type_) if isinstance(type_, tuple) else type_
