"""What a call is on operands whose axes are stored in another order: `permuted(mean(%x, axis=[2, 3]), [NHWC])`.

Attrs that name axes, or that say something of each axis, are not declared as such: forms that they may take are tried,
and one is proved by the tensor expressions of the call before and after.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..base.errors import OpgenError
from ..base.lru_cache import LRUCache
from ..compute.te import Tensor
from ..compute.te.permuted import Order, is_permuted, result_orders
from ..declaration import CallTensors, call_tensors
from ..ir import Call
from ..operator import AttrField, Attrs, Op, TensorType, TupleType, Type
from .calls import Facts, facts

_MAX_FORMS: Final = 16  # forms of the attrs that are tried


@dataclass(frozen=True, slots=True)
class Permuted:
    """The attrs of a call on permuted operands, and the order of each of its results."""

    attrs: Attrs | None
    results: tuple[Order, ...]


@dataclass(frozen=True, slots=True)
class _Outcome:
    found: Permuted | None


_kept: Final[LRUCache[_Outcome]] = LRUCache(4096)


def permuted(call: Call, orders: Sequence[Order | None]) -> Permuted | None:
    """`call` on operands in these orders, one a tensor or one for all tensors of a tuple; None for one that stays.

    None where nothing is proved: the place matters, elements would be added in another sequence, or the call is
    computed by a hand-written function.
    """
    known = facts(call)
    if known is None:
        return None
    key = (known, tuple(orders))
    outcome = _kept.get(key)
    if outcome is None:
        outcome = _kept.put(key, _Outcome(_derived(call, known, orders)))
    return outcome.found


def _derived(call: Call, known: Facts, orders: Sequence[Order | None]) -> Permuted | None:
    assert isinstance(call.op, Op)
    after = [_permuted_type(arg.checked_type, order) for arg, order in zip(call.args, orders, strict=True)]
    first = next((order for order in orders if order is not None), None)
    if first is None or known.made.lengths:
        return None
    for attrs in _forms(call.attrs, first):
        try:
            made = call_tensors(call.op, attrs, after)
        except OpgenError:  # attrs that such types do not suit
            continue
        if len(made.outputs) == len(known.outputs):
            operands = _operands(known.made, made, orders)
            results = [
                _order(one, other, operands) for one, other in zip(known.outputs, made.outputs, strict=True)
            ]
            proved = tuple([order for order in results if order is not None])
            if len(proved) == len(results):
                return Permuted(attrs, proved)
    return None


def _order(before: Tensor, after: Tensor, operands: Mapping[Tensor, tuple[Tensor, Order]]) -> Order | None:
    orders = result_orders(before, after, operands)
    return next((order for order in orders if is_permuted(before, after, operands, order)), None)


def _operands(
    before: CallTensors, after: CallTensors, orders: Sequence[Order | None]
) -> dict[Tensor, tuple[Tensor, Order]]:
    """For each operand of the call after, that of the call before, and its order."""
    flat: list[Order | None] = []
    for operand, order in zip(before.operands, orders, strict=True):
        flat += [order] * (len(operand) if isinstance(operand, tuple) else 0 if operand is None else 1)
    pairs = zip(after.inputs, before.inputs, flat, strict=True)
    return {new: (old, tuple(range(old.ndim)) if order is None else order) for new, old, order in pairs}


def _permuted_type(type_: Type, order: Order | None) -> Type:
    if order is None:
        return type_
    if isinstance(type_, TupleType):
        return TupleType(tuple([_permuted_type(part, order) for part in type_.fields]))
    assert isinstance(type_, TensorType)
    return type_.with_shape([type_.shape[axis] for axis in order])


def _forms(attrs: Attrs | None, order: Order) -> Iterator[Attrs | None]:
    """The attrs with each that may name axes, or have parts for each axis, in the forms that it may have then."""
    if attrs is None:
        yield None
        return
    values = attrs.as_dict()
    choices = {field.name: list(_readings(field, values[field.name], order)) for field in attrs.fields()}
    for chosen in itertools.islice(itertools.product(*choices.values()), _MAX_FORMS):
        try:
            yield attrs.replace(**dict(zip(choices, chosen, strict=True)))
        except OpgenError:  # outside its bounds
            continue


def _readings(field: AttrField, value: object, order: Order) -> Iterator[object]:
    """A value as names of axes, where an operand's rank bounds it, or as parts for each axis; and as neither."""
    ndim = len(order)
    parts = value if isinstance(value, tuple) else (value,)
    items = [part for part in parts if isinstance(part, int) and not isinstance(part, bool)]
    if items and len(items) == len(parts):
        if "ndim" in (field.bounds or "") and all([-ndim <= item < ndim for item in items]):
            named = tuple([order.index(item % ndim) for item in items])
            yield named if isinstance(value, tuple) else named[0]
        elif isinstance(value, tuple) and len(items) % ndim == 0:
            size = len(items) // ndim
            yield tuple([item for axis in order for item in items[axis * size : (axis + 1) * size]])
    yield value
