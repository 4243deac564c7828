"""What the tensor expression of a call says about how exact its results can be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from ..base.arith import Binary, Const, Expr, post_order
from ..base.vocabulary import OpPattern, dataclass
from ..compute.te import (
    Compute,
    Guard,
    IterVar,
    Loop,
    Operation,
    Put,
    Reduce,
    Scan,
    Update,
    tensor_order,
)
from ..operator import Attrs, Op, Type
from .evaluate import call_tensors


@dataclass(frozen=True, slots=True)
class Structure:
    """`terms`: the most terms that one element of a tensor sums up, by a reduction, a scan or an update.

    `zero_signs`: whether the sign of a zero follows from the op, see `compare.py`.
    """

    terms: int = 1
    zero_signs: bool = False


def structure_of(op: Op, attrs: Attrs | None, types: Sequence[Type]) -> Structure:
    """The structure of a call of a declared op on operands of these types, an empty tuple for an absent one."""
    operations = [tensor.op for tensor in tensor_order(call_tensors(op, attrs, types).outputs)]
    one_operand = op.get_attr("declaration").pattern == OpPattern.ELEMWISE and len(types) == 1
    return Structure(max([1, *map(_terms, operations)]), one_operand and not any(map(_chooses, operations)))


def _terms(operation: Operation) -> int:
    match operation:
        case Compute(body=body):
            return _reduced([body])
        case Scan(states=states, extent=extent):
            return _static(extent) * _reduced([state.body for state in states if state.body is not None])
        case Update(base=base, body=body):
            puts = sum(math.prod(map(_axis, loops)) * _reduced([put.value]) for loops, put in _puts(body, ()))
            return 1 + puts // max(1, math.prod(map(_static, base.shape)))
    return 1


def _reduced(bodies: Iterable[Expr]) -> int:
    """The terms of the largest reduction, one within another counted by their product."""
    terms: dict[Expr, int] = {}
    for body in bodies:
        for node in post_order(body):
            inner = max([terms[child] for child in node.children()], default=1)
            terms[node] = inner * math.prod(map(_axis, node.axes)) if isinstance(node, Reduce) else inner
    return max(terms.values(), default=1)


def _puts(
    body: Sequence[Loop | Guard | Put], loops: tuple[IterVar, ...]
) -> Iterator[tuple[tuple[IterVar, ...], Put]]:
    for statement in body:
        match statement:
            case Put():
                yield loops, statement
            case Loop(axis=axis, body=inner):
                yield from _puts(inner, (*loops, axis))
            case Guard(body=inner):
                yield from _puts(inner, loops)


def _axis(axis: IterVar) -> int:
    return _static(axis.extent)


def _static(extent: int | Expr) -> int:
    """An extent; one that is not a number counts as 1."""
    if isinstance(extent, Const):
        extent = int(extent.value)
    return extent if isinstance(extent, int) else 1


def _chooses(operation: Operation) -> bool:
    """Whether an element is a minimum or maximum, which may give a zero of either sign."""
    return isinstance(operation, Compute) and any(
        isinstance(node, Binary) and node.op in ("min", "max") for node in post_order(operation.body)
    )
