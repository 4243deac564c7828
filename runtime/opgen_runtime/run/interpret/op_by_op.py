"""Ops on arrays through their tensor expressions and numpy: no schedule, no LLVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...base.errors import ExecutorError
from ...base.vocabulary import DType
from ...compute.te import evaluate, placeholder
from ...compute.te.tensor import Tensor
from ...declaration import OpDeclaration, compute_call
from ...ir import Call, Expr, Function, IRModule, Var
from ...operator.registry import Op
from ...operator.types import Binding, Signature, TupleType, Type, bind
from .bindings import array_type
from .interpreter import Closure, run
from .value import Arrays


def run_op_by_op(expr: Expr, arrays: Mapping[Var, np.ndarray], module: IRModule | None = None) -> Arrays:
    """The value of `expr` where its free variables have `arrays`; what is shared is not copied."""
    result = run(expr, arrays, _OpByOp(module), module)
    if isinstance(result, Closure):
        raise ExecutorError("the program gives a function; executors give tensors")
    return result


class _OpByOp:
    def __init__(self, module: IRModule | None) -> None:
        self.module = module

    def run_op(self, call: Call, args: Sequence[Arrays]) -> Arrays:
        return call_op(call, args)

    def run_segment(self, function: Function, args: Sequence[Arrays]) -> Arrays:
        result = run(function.body, dict(zip(function.params, args, strict=True)), self, self.module)
        return result  # type: ignore[return-value]  # a segment gives tensors


def call_op(call: Call, args: Sequence[Arrays]) -> Arrays:
    """What the op of `call` gives for arrays (tuples of arrays for variadic operands, () for absent ones)."""
    op = call.op
    assert isinstance(op, Op)
    declaration: OpDeclaration | None = op.get_attr("declaration", None)
    compute = op.get_attr("compute")
    if declaration is None or compute is None:
        raise ExecutorError(f"op {op.name!r} has no compute; the debug executor cannot run it")
    signature = declaration.signature
    types = [_type(arg) for arg in args]
    binding = bind(signature, op.name, call.attrs, types, site=call.span)
    lengths = 0 if declaration.extern is not None else len(binding.dynamic)
    feeds: dict[Tensor, np.ndarray] = {}
    operands: list[Tensor | tuple[Tensor, ...] | None] = []
    for declared_input, arg in zip(signature.inputs, args, strict=True):
        if isinstance(arg, tuple) and declared_input.variadic:
            operands.append(
                tuple([_operand(f"{declared_input.name}{k}", a, feeds) for k, a in enumerate(arg)])
            )
        elif isinstance(arg, tuple):
            operands.append(None)
        else:
            operands.append(_operand(declared_input.name, arg, feeds))
    results = evaluate(compute_call(compute, f"{op.name}: its compute", binding, operands, lengths), feeds)
    outputs = _cut_dynamic(signature, binding, results) if lengths else results
    return tuple(outputs) if binding.is_tuple else outputs[0]


def _cut_dynamic(signature: Signature, binding: Binding, results: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs with each data-dependent dim cut from its bound to its value, which the last results hold.

    Raises ExecutorError for a value outside its bound: a mistake in the declaration.
    """
    count = len(binding.outputs)
    sizes = {name: int(size) for name, size in zip(signature.dynamic, results[count:], strict=True)}
    if not sizes:
        return list(results[:count])
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


def _operand(name: str, arg: Arrays, feeds: dict[Tensor, np.ndarray]) -> Tensor:
    assert isinstance(arg, np.ndarray)
    tensor = placeholder(name, arg.shape, DType(arg.dtype.name))
    feeds[tensor] = arg
    return tensor
