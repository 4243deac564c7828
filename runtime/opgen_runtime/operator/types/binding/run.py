"""Binding a call whose operands' types are known to the signature of its op."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

from ....base.errors import TypeInferenceError, call_site
from ..signature import Signature
from ..type import TensorType
from .arguments import group_arguments
from .frame import Frame
from .plan import Plan, make_plan
from .result import Binding

# A plan for each kind of call: the class of its attrs, and which operands are absent.
_plans: Final[WeakKeyDictionary[Signature, dict[object, Plan]]] = WeakKeyDictionary()


def bind(
    signature: Signature,
    op_name: str,
    attrs: Any,
    input_types: Sequence[Any],
    arg_names: Sequence[str | None] | None = None,
    site: object | None = None,
) -> Binding:
    """Binds a call whose input types are known.

    `input_types`: one entry an operand: a TensorType; None for an absent optional one; a TupleType or a
    sequence for a variadic one, whose tensors may also stand in line.  `arg_names`: how the caller names
    the operands, for messages.  `site`: where the call stands (any object with a text); without it the
    caller's frame is named.

    Raises CallError (number and kind of operands), ShapeError, DTypeError, AttrError (bounds that need
    inputs); each names op, operand or attr, expected, found and site.
    """
    groups = group_arguments(signature, op_name, input_types, site)
    for declared, group in zip(signature.inputs, groups, strict=True):
        if type(group) is not TensorType and not is_known(group):
            where = site if site is not None else call_site()
            raise TypeInferenceError(
                f"{op_name}: the type of argument {declared.name!r} is not known\n  at {where}"
            )
    frame = Frame(signature, op_name, attrs, groups, arg_names, site)
    return plan_of(signature, op_name, attrs, groups).run(frame)


def plan_of(signature: Signature, op_name: str, attrs: Any, groups: Sequence[Any]) -> Plan:
    """The plan of a call with these operands, found once for each kind of call."""
    mask = tuple([group is None for group in groups]) if None in groups else None
    key = (type(attrs), mask)
    plans = _plans.get(signature)
    if plans is None:
        plans = _plans.setdefault(signature, {})
    plan = plans.get(key)
    if plan is None:
        plan = plans[key] = make_plan(signature, op_name, attrs, groups)
    return plan


def is_known(group: object) -> bool:
    """Whether the types of an operand are known: of all its tensors, or of none where it is absent."""
    if isinstance(group, tuple):
        return all(type(t) is TensorType for t in group)
    return group is None or type(group) is TensorType
