"""Which calls may be made of parts of all operands, as arrays lie on several devices, and how XLA is told so.

A call is partitioned along its leading axes: those of which each position of the results is made of that position of
every operand.  They are found in what the op declares, and follow for its derivatives and batches.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import jax
from jax import core
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import mlir

from ...base.errors import OpgenError
from ...compute.te.roles import passed_axes
from ...declaration import CallTensors, call_tensors
from ...operator import TensorType, TupleType, Type
from ..batched import Batched
from ..programs import Declared, Jvp, OperandType, Vjp
from .calls import ProgramCall


def leading_axes(call: ProgramCall, flat: Sequence[TensorType]) -> int:
    """How many leading axes a call on leaves of these types has."""
    program = call.program
    if isinstance(program, Declared):
        return _declared(call, program, flat)
    if not isinstance(program, Vjp | Jvp | Batched):
        return 0
    known = {field.name for field in program.base.fields}
    own = {name: value for name, value in call.values.items() if name in known}
    base = ProgramCall(program.base, call.form[: len(program.base.operands)], own)
    if not isinstance(program, Batched):
        return leading_axes(base, flat[: base.count])
    numbers = call.values[program.batched]
    assert isinstance(numbers, tuple)
    if len(set(numbers)) < len(flat):
        return 0
    return 1 + leading_axes(base, [each.with_shape(each.shape[1:]) for each in flat])


def _declared(call: ProgramCall, program: Declared, flat: Sequence[TensorType]) -> int:
    made = _tensors(call, program, flat)
    if made is None or not made.inputs:
        return 0
    least = min([each.ndim for each in (*made.inputs, *made.results)])
    for axis in range(least):
        if not _passes(made, axis):
            return axis
        parts = [_part(each, axis) for each in flat]
        part = _tensors(call, program, parts)
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


def _tensors(call: ProgramCall, program: Declared, flat: Sequence[TensorType]) -> CallTensors | None:
    kind = program.declaration.attrs
    try:
        attrs = None if kind is None else kind(**call.values)
        return call_tensors(program.op, attrs, [_type(each) for each in call.nested(flat)])
    except OpgenError:  # no compute that could be looked at, or not of such parts
        return None


def _type(type_: OperandType) -> Type:
    if type_ is None:
        return TupleType(())
    return TupleType(type_) if isinstance(type_, tuple) else type_


def partitioned(axes: int, operands: Sequence[TensorType], results: Sequence[TensorType]) -> dict[str, Any]:
    """The attributes of a custom call whose operands and results have these leading axes."""
    stated = {"mhlo.frontend_attributes": mlir.ir_attribute({"num_batch_dims": str(axes)})}
    if getattr(jax.config, "jax_use_shardy_partitioner", False):
        stated["sdy.sharding_rule"] = mlir.ir.Attribute.parse(sharding_rule(axes, operands, results))
    return stated


def with_unit_axis(ctx: Any, values: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Operands of a custom call with one more axis of one position, the last; and their context.

    XLA partitions a call only where it has an axis beyond those along which it does.
    """
    avals = [
        [core.ShapedArray((*each.shape, 1), each.dtype) for each in own]
        for own in (ctx.avals_in, ctx.avals_out)
    ]
    wide = [reshaped(value, (*each.shape, 1)) for value, each in zip(values, ctx.avals_in, strict=True)]
    return ctx.replace(avals_in=avals[0], avals_out=avals[1]), wide


def reshaped(value: Any, shape: Sequence[int]) -> Any:
    """A value of the module that is being written, in another shape."""
    type_ = mlir.ir.RankedTensorType(value.type)
    return stablehlo.reshape(mlir.ir.RankedTensorType.get(list(shape), type_.element_type), value)


def sharding_rule(axes: int, operands: Sequence[TensorType], results: Sequence[TensorType]) -> str:
    """Shardy's rule in the text of its dialect: leading axes are one factor each, all others are replicated."""
    sizes = {_factor(axis): operands[0].concrete_shape[axis] for axis in range(axes)}

    def factors(type_: TensorType) -> str:
        names = []
        for axis, extent in enumerate(type_.concrete_shape):
            name = _factor(axis if axis < axes else len(sizes))
            sizes[name] = extent
            names.append(name)
        return f"[{', '.join(names)}]"

    left, right = (", ".join(map(factors, each)) for each in (operands, results))
    known = ", ".join(
        [f"{name}={size}" for name, size in sorted(sizes.items(), key=lambda each: _rank(each[0]))]
    )
    rest = ", ".join(sorted([name for name in sizes if _rank(name) >= axes], key=_rank))
    replicated = f" need_replication={{{rest}}}" if rest else ""
    return f"#sdy.op_sharding_rule<({left})->({right}) {{{known}}}{replicated}, custom>"


_LETTERS = string.ascii_lowercase[8:]  # as shardy prints factors: i, j, ..., z, z_1, ...


def _factor(number: int) -> str:
    last = len(_LETTERS) - 1
    return _LETTERS[number] if number <= last else f"{_LETTERS[-1]}_{number - last}"


def _rank(factor: str) -> int:
    letter, _, more = factor.partition("_")
    return _LETTERS.index(letter) + int(more or 0)
