"""The derivative of a computation through ops that it calls: each by what its declaration states of its derivative.

out = -softplus(-x)    -->    y stands for softplus(z), and is a variable
z = -x, out = -y              the adjoint of y is -g, that of z is declared: -g * sigmoid(z), that of x its negative
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ..base.arith import Expr, const
from ..base.errors import LanguageError
from ..base.vocabulary import DType, dataclass
from ..compute.lang.separate import SeparateCall
from ..compute.te import Compute, Read, Tensor, data_axes, tensor_order
from ..compute.te.derivative import pullback, rebuilt, zeros
from ..ir import Call, Constant, Tuple, TupleGetItem, Var, post_order
from ..ir import Expr as GraphExpr
from ..operator import Op, TensorType, TupleType, Type
from .compute import OperandTensors
from .declaration import OpDeclaration
from .evaluate import call_tensors
from .stated_gradient import stated_gradient

Derive: TypeAlias = Callable[[SeparateCall, str, Sequence[OperandTensors]], Tensor | None]
"""`(call, operand, cotangents) -> adjoint` of an operand for which none is declared, None where it is zero; a
cotangent for each result."""
_Value: TypeAlias = "Tensor | tuple[_Value, ...] | None"


@dataclass(frozen=True, slots=True)
class Parts:
    """A computation without the calls that are kept apart: `results`, and operands of the calls, over placeholders."""

    results: tuple[Tensor, ...]
    calls: tuple[SeparateCall, ...]


def pullback_through(
    parts: Parts,
    cotangents: Sequence[Tensor | None],
    wrt: Tensor,
    saved: Sequence[Tensor | None],
    first: bool,
    derive: Derive,
) -> Tensor | None:
    """`te.derivative.pullback` of a computation that calls other ops.  Raises LanguageError as that does."""
    calls = _producers_first(parts.calls)
    active = _active(calls, wrt)
    roots, adjoints = list(parts.results), list(cotangents)
    for call in reversed(calls):
        operands = [(name, root) for name, root in _operands(call) if _depends(root, active)]
        if not operands:
            continue

        def of(held: Tensor) -> Tensor | None:
            return pullback(roots, adjoints, held, saved, first) if held.dtype.is_inexact else None

        own = {held: of(held) for held in _flat(call.results)}
        if any(each is not None for each in own.values()):
            given = _over(call.results, {held: each or zeros(held) for held, each in own.items()})
            for name, root in operands:
                roots.append(root)
                adjoints.append(_adjoint(call, name, root, given, derive))
    found = pullback(roots, adjoints, wrt, saved, first)
    return None if found is None else rebuilt([found], _values(calls))[0]


def _producers_first(calls: Sequence[SeparateCall]) -> list[SeparateCall]:
    """The calls in an order in which what one gives is read by later ones alone."""
    waiting, order = list(calls), list[SeparateCall]()
    while waiting:
        made = {held for call in waiting for held in _flat(call.results)}
        ready = next(call for call in waiting if made.isdisjoint(tensor_order(_flat(call.operands))))
        waiting.remove(ready)
        order.append(ready)
    return order


def _active(calls: Iterable[SeparateCall], wrt: Tensor) -> set[Tensor]:
    """The operand, and the results of calls that depend on it."""
    active = {wrt}
    for call in calls:
        if any(_depends(root, active) for root in _flat(call.operands)):
            active.update(_flat(call.results))
    return active


def _depends(root: Tensor, active: set[Tensor]) -> bool:
    return root.dtype.is_inexact and not active.isdisjoint(tensor_order([root]))


def _flat(operands: Iterable[OperandTensors]) -> list[Tensor]:
    found: list[Tensor] = []
    for each in operands:
        found.extend(each if isinstance(each, tuple) else () if each is None else (each,))
    return found


def _over(operands: Iterable[OperandTensors], values: Mapping[Tensor, Tensor]) -> tuple[OperandTensors, ...]:
    """The same entries with what stands for each tensor."""
    return tuple(
        [
            tuple([values[one] for one in each]) if isinstance(each, tuple) else each and values[each]
            for each in operands
        ]
    )


def _operands(call: SeparateCall) -> list[tuple[str, Tensor]]:
    """Each operand that is there with its name: `data`, or `data[1]` of a variadic one."""
    found: list[tuple[str, Tensor]] = []
    for declared, given in zip(call.callee.signature.inputs, call.operands, strict=True):
        if isinstance(given, tuple):
            found += [(f"{declared.name}[{k}]", each) for k, each in enumerate(given)]
        elif given is not None:
            found.append((declared.name, given))
    return found


def _values(calls: Sequence[SeparateCall]) -> dict[Tensor, Tensor]:
    """What the placeholders stand for."""
    values: dict[Tensor, Tensor] = {}
    for call in calls:
        made = _called(
            Op.get(call.callee.full_name), call.attrs, [type_of_operand(each) for each in call.operands]
        )
        results = made(rebuilt(_flat(call.operands), values))
        values.update(zip(_flat(call.results), results, strict=True))
    return values


def type_of_operand(operand: OperandTensors) -> Type:
    """The type of an operand of a call: of several tensors, or none, a tuple."""
    if isinstance(operand, Tensor):
        return TensorType(operand.shape, operand.dtype)
    return TupleType(tuple([type_of_operand(each) for each in operand or ()]))


def _called(op: Op, attrs: object, types: Sequence[Type]) -> Callable[[Sequence[Tensor]], tuple[Tensor, ...]]:
    """What a call computes, as a function of its operands' tensors in line."""
    made = call_tensors(op, attrs, types)  # type: ignore[arg-type]  # the attrs of a call
    return lambda flat: rebuilt(made.results, dict(zip(made.inputs, flat, strict=True)))


# ------------------------------------------------------------------ one call


def _adjoint(
    call: SeparateCall, name: str, root: Tensor, cotangents: Sequence[OperandTensors], derive: Derive
) -> Tensor | None:
    """The adjoint of an operand of a call, over the call's operands, results and their cotangents; None for zero."""
    declaration: OpDeclaration = call.callee
    if name not in declaration.gradients:
        return derive(call, name, cotangents)
    known: dict[GraphExpr, _Value] = {}

    def held(tensor: OperandTensors, title: str) -> GraphExpr:
        if isinstance(tensor, tuple):
            return Tuple(tuple([held(each, f"{title}{k}") for k, each in enumerate(tensor)]))
        if tensor is None:
            return Tuple(())
        var = Var(title, TensorType(tensor.shape, tensor.dtype))
        known[var] = tensor
        return var

    signature = declaration.signature
    inputs = [held(tensor, each.name) for each, tensor in zip(signature.inputs, call.operands, strict=True)]
    outputs = [held(tensor, each.name) for each, tensor in zip(signature.outputs, call.results, strict=True)]
    grads = [held(tensor, "grad") for tensor in cotangents]
    position = [each.name for each in signature.inputs].index(name)
    function, chosen = stated_gradient(declaration, call.attrs, position, inputs, outputs, grads)
    made = _value_of(function(**chosen), known)
    assert isinstance(made, Tensor)
    return made if made.shape == root.shape else _summed(made, root)


def _summed(adjoint: Tensor, like: Tensor) -> Tensor:
    """The adjoint of a tensor, from that of what it is broadcast to."""
    axes = data_axes(adjoint.shape)
    own = axes[len(axes) - like.ndim :]
    at = [
        const(0, axis.var.dtype) if extent == 1 else axis.var
        for axis, extent in zip(own, like.shape, strict=True)
    ]
    spread = Tensor(like.name, adjoint.shape, like.dtype, Compute(axes, Read(like.dtype, like, tuple(at))))
    found = pullback([spread], [adjoint], like)
    assert found is not None
    return found


def _value_of(expr: GraphExpr, known: Mapping[GraphExpr, _Value]) -> _Value:
    """The tensors of an expression of ops.  Raises LanguageError for what is no call of one."""
    values: dict[int, _Value] = {id(each): value for each, value in known.items()}
    for node in post_order(expr):
        if id(node) in values:
            continue
        if isinstance(node, Tuple):
            values[id(node)] = tuple([values[id(field)] for field in node.fields])
        elif isinstance(node, TupleGetItem):
            source = values[id(node.tuple_value)]
            assert isinstance(source, tuple)
            values[id(node)] = source[node.index]
        elif isinstance(node, Call) and isinstance(node.op, Op):
            args = _in_line([values[id(arg)] for arg in node.args])
            made = _called(node.op, node.attrs, [arg.checked_type for arg in node.args])(args)
            values[id(node)] = made if isinstance(node.checked_type, TupleType) else made[0]
        elif isinstance(node, Constant) and not node.data.ndim:
            values[id(node)] = _scalar(node.data)
        else:
            raise LanguageError(
                f"a declared gradient that holds {node!r:.80} is not a computation of elements"
            )
    return values[id(expr)]


def _in_line(values: Iterable[_Value]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        found += [value] if isinstance(value, Tensor) else _in_line(value or ())
    return found


def _scalar(data: np.ndarray) -> Tensor:
    dtype = DType(data.dtype.name)
    value: Expr = const(data.item(), dtype)
    return Tensor("constant", (), dtype, Compute((), value))
