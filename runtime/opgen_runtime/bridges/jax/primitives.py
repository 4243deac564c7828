"""Two primitives of JAX, for all ops: a call of a program, and one that is linear in its tangents.

    opgen_call      leaves -> results                   of any program
    opgen_linear    leaves, tangents -> changes         of the jvp of a program, or of a batch of it

The jvp of a call is linear, its transpose is a call of the vjp; the batch of both is one of the batched program.
Adjoints of complex numbers are conjugates of JAX's: a vjp is for the product Re(conj(a) b), JAX transposes for Re(a b).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np
from jax import core
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from ...base.errors import OpgenError
from ...operator import TensorType
from ...run.op_programs.leading_axes import leading_axes
from ...run.op_programs.programs import has_gradient
from .calls import ProgramCall, message
from .handler import BY_PARTS, CAN_PARTITION, TARGET
from .sharding import partitioned, reshaped, with_unit_axis

CALL: Final = Primitive("opgen_call")
LINEAR: Final = Primitive("opgen_linear")
CALL.multiple_results = LINEAR.multiple_results = True


def types_of(values: Sequence[Any]) -> list[TensorType]:
    """The types of arrays, or of what stands for them.  Raises TypeError for a dtype that no op has."""
    try:
        return [TensorType(tuple(value.shape), str(value.dtype)) for value in values]
    except OpgenError as error:
        raise TypeError(f"opgen: {error}") from error


def _results(call: ProgramCall, leaves: Sequence[Any]) -> list[TensorType]:
    """Raises TypeError where the call does not fit its operands, NotImplementedError for sizes that depend on data."""
    if call.program.is_data_dependent:
        raise NotImplementedError(
            f"opgen: the sizes of the results of {call.program.path[0]} depend on data; "
            "JAX compiles for sizes that it knows"
        )
    try:
        return call.infer(types_of(leaves))
    except OpgenError as error:
        raise TypeError(f"opgen: {error}") from error


def _abstract(call: ProgramCall, leaves: Sequence[Any]) -> list[Any]:
    return [
        core.ShapedArray(each.concrete_shape, np.dtype(each.dtype.numpy)) for each in _results(call, leaves)
    ]


def _lowered(ctx: Any, leaves: Sequence[Any], call: ProgramCall) -> Any:
    types = types_of(ctx.avals_in)
    dtypes = [each.dtype for each in types]
    axes = leading_axes(call.program, call.nested(types), call.values) if CAN_PARTITION else 0
    if not axes:
        text, digest = message(call, dtypes, 0)
        return jax.ffi.ffi_lowering(TARGET)(ctx, *leaves, digest=np.int64(digest), program=text)
    text, digest = message(call, dtypes, 1)
    inner, values = with_unit_axis(ctx, leaves)
    results = call.infer(types)
    stated = partitioned(
        axes, *[[each.with_shape((*each.shape, 1)) for each in own] for own in (types, results)]
    )
    lowered = jax.ffi.ffi_lowering(BY_PARTS, extra_attributes=stated)
    found = lowered(inner, *values, digest=np.int64(digest), program=text)
    return [reshaped(each, result.concrete_shape) for each, result in zip(found, results, strict=True)]


# ------------------------------------------------------------------ a call


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, call: ProgramCall
) -> tuple[list[Any], list[Any]]:
    results = CALL.bind(*primals, call=call)
    return results, _changes(primals, tangents, results, call)


def _changes(
    primals: Sequence[Any], tangents: Sequence[Any], results: Sequence[Any], call: ProgramCall
) -> list[Any]:
    """The tangents of the results that have gradients."""
    wrt = tuple([k for k, each in enumerate(tangents) if not isinstance(each, ad.Zero)])
    given = [tangents[k] for k in wrt]
    floats = [has_gradient(each) for each in types_of(results)]
    if not wrt or not any(floats):
        return [_no_change(each) for each in results]
    changes = iter(LINEAR.bind(*primals, *given, call=call, wrt=wrt, batches=()))
    return [next(changes) if has else _no_change(each) for has, each in zip(floats, results, strict=True)]


def _no_change(value: Any) -> Any:
    return ad.Zero(core.ShapedArray(value.shape, value.dtype).to_tangent_aval())


def _batch(
    args: Sequence[Any], dims: Sequence[int | None], *, call: ProgramCall
) -> tuple[list[Any], list[int]]:
    moved, numbers = _moved(args, dims)
    found = CALL.bind(*moved, call=call.batch(numbers))
    return found, [0] * len(found)


def _moved(args: Sequence[Any], dims: Sequence[int | None]) -> tuple[list[Any], tuple[int, ...]]:
    """The arguments with the axis of the batch first, and the numbers of those that have it."""
    has = [dim is not None for dim in dims]
    moved = [jnp.moveaxis(a, d, 0) if yes else a for a, d, yes in zip(args, dims, has, strict=True)]
    return moved, tuple([k for k, yes in enumerate(has) if yes])


# ------------------------------------------------------------------ a linear call


def linear_call(call: ProgramCall, wrt: Sequence[int], batches: Sequence[tuple[int, ...]]) -> ProgramCall:
    """What an equation of `LINEAR` computes: `batches` are the leaves, tangents among them, that have each axis."""
    made = call.jvp(wrt)
    for numbers in batches:
        made = made.batch(numbers)
    return made


def _linear_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    call: ProgramCall,
    wrt: tuple[int, ...],
    batches: tuple[tuple[int, ...], ...],
) -> tuple[list[Any], list[Any]]:
    results = LINEAR.bind(*primals, call=call, wrt=wrt, batches=batches)
    count = call.count
    if all(isinstance(each, ad.Zero) for each in tangents[:count]):  # it is linear in the rest
        given = [ad.instantiate_zeros(each) for each in tangents[count:]]
        return results, LINEAR.bind(*primals[:count], *given, call=call, wrt=wrt, batches=batches)
    return results, _changes(primals, tangents, results, linear_call(call, wrt, batches))


def _linear_batch(
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    call: ProgramCall,
    wrt: tuple[int, ...],
    batches: tuple[tuple[int, ...], ...],
) -> tuple[list[Any], list[int]]:
    moved, numbers = _moved(args, dims)
    found = LINEAR.bind(*moved, call=call, wrt=wrt, batches=(*batches, numbers))
    return found, [0] * len(found)


def _transpose(
    cotangents: Sequence[Any],
    *args: Any,
    call: ProgramCall,
    wrt: tuple[int, ...],
    batches: tuple[tuple[int, ...], ...],
) -> list[Any]:
    """The adjoints of the tangents that are not known, by the vjp."""
    leaves, tangents = args[: call.count], args[call.count :]
    if any(ad.is_undefined_primal(each) for each in leaves):
        raise NotImplementedError(f"opgen: {call} is linear in its tangents alone")
    open_ = [k for k, each in enumerate(tangents) if ad.is_undefined_primal(each)]
    given = [not isinstance(each, ad.Zero) for each in cotangents]
    made: list[Any] = [None] * len(args)
    if not any(given) or not open_:
        return made
    rest = iter(given)
    rows = _row_types(
        [*leaves, *[each.aval if ad.is_undefined_primal(each) else each for each in tangents]], batches
    )
    floats = [has_gradient(each) for each in call.infer(rows[: call.count])]
    several = any(each.kind == "several" for each in call.program.outputs)
    if several:  # whose cotangents are all given
        given = [True] * len(given)
    present = [next(rest) if has else False for has in floats]
    if several:
        present = floats
    adjoint = call.vjp([wrt[k] for k in open_], present)
    values = [
        _conjugate(ad.instantiate_zeros(each)) for each, has in zip(cotangents, given, strict=True) if has
    ]
    first = len(leaves)
    for numbers in batches:
        wide = [k for k in numbers if k < first]
        adjoint = adjoint.batch([*wide, *range(first, first + len(values))])
    found = CALL.bind(*leaves, *values, call=adjoint)
    for k, value in zip(open_, found, strict=True):
        made[first + k] = _conjugate(_summed(value, first + k, batches))
    return made


def _conjugate(value: Any) -> Any:
    return jnp.conj(value) if jnp.iscomplexobj(value) else value


def _summed(adjoint: Any, number: int, batches: Sequence[tuple[int, ...]]) -> Any:
    """The adjoint of a leaf, over the axes that it does not have; the last batch is the first axis."""
    missing = tuple([k for k, numbers in enumerate(reversed(batches)) if number not in numbers])
    return adjoint.sum(axis=missing) if missing else adjoint


def _row_types(values: Sequence[Any], batches: Sequence[tuple[int, ...]]) -> list[TensorType]:
    """The types without the axes of the batches."""
    found = types_of(values)
    return [
        each.with_shape(each.shape[sum([k in numbers for numbers in batches]) :])
        for k, each in enumerate(found)
    ]


def _register() -> None:
    CALL.def_abstract_eval(lambda *leaves, call: _abstract(call, leaves))
    LINEAR.def_abstract_eval(
        lambda *leaves, call, wrt, batches: _abstract(linear_call(call, wrt, batches), leaves)
    )
    mlir.register_lowering(CALL, lambda ctx, *leaves, call: _lowered(ctx, leaves, call), platform="cpu")
    mlir.register_lowering(
        LINEAR,
        lambda ctx, *leaves, call, wrt, batches: _lowered(ctx, leaves, linear_call(call, wrt, batches)),
        platform="cpu",
    )
    ad.primitive_jvps[CALL], ad.primitive_jvps[LINEAR] = _jvp, _linear_jvp
    ad.primitive_transposes[LINEAR] = _transpose
    batching.primitive_batchers[CALL], batching.primitive_batchers[LINEAR] = _batch, _linear_batch
    CALL.def_impl(jax.jit(lambda *leaves, call: CALL.bind(*leaves, call=call), static_argnames="call"))
    LINEAR.def_impl(
        jax.jit(
            lambda *leaves, call, wrt, batches: LINEAR.bind(*leaves, call=call, wrt=wrt, batches=batches),
            static_argnames=("call", "wrt", "batches"),
        )
    )


_register()
