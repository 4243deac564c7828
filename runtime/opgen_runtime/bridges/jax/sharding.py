"""How XLA is told that a call may be made of parts of all operands along its leading axes: see leading_axes.py."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import jax
from jax import core
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import mlir

from ...operator import TensorType


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
