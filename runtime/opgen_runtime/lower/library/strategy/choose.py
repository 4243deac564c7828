"""From an op, one call's names and a target to the implementation to compile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

from ....base.contract import handed_in
from ....base.errors import StrategyError, shown
from ....base.vocabulary import OpPattern, dataclass
from ....compute.te import Tensor
from ....declaration import StrategyEntry
from ....declaration.compute import OperandTensors
from ....operator import Attrs, Binding, Op, Type
from ...tir import PrimFunc
from ...tir.lowering.kernel_call import tensors_of, why_not_operands
from .generic import GenericFunction, HasKeys
from .library import kernel_named, schedule_named
from .op_strategy import OpStrategy, Selection


@dataclass(frozen=True, slots=True)
class StrategyCall:
    """The call that a strategy is asked for.

    `inputs`: its operands as tensors of the expression.  `out_type`: of its results.  `names`: its binding's, which
    conditions ask for.  `pattern`: the call's, where it is known.
    """

    attrs: Attrs | None
    inputs: tuple[object, ...]
    out_type: Type
    names: Mapping[str, Any]
    pattern: OpPattern | None = None


def choose(op: Op, call: StrategyCall, target: HasKeys) -> Selection:
    """The implementation of `op` for a call on a target.

    The attribute "strategy" of the op is what its declaration states (entries), an `OpStrategy`, or a function or
    generic function `(attrs, inputs, out_type)` that gives one; it may ask for the target as a fourth argument.
    Declared entries stand beside the schedule of the op's pattern, so that something always applies.

    Raises StrategyError if nothing applies or two implementations are equally good.
    """
    strategy, dispatched_on = strategy_of(op, call, target)
    return strategy.select(op.name, {**call.names, "target": target}, dispatched_on)


def strategy_of(op: Op, call: StrategyCall, target: HasKeys) -> tuple[OpStrategy, str]:
    """The strategy that an op has on a target, and the key it was dispatched on ("" if it was not)."""
    declared = op.get_attr("strategy")
    if isinstance(declared, GenericFunction):
        function, key = declared.dispatch(target)
        return _called(op, function, call, target), key
    if isinstance(declared, OpStrategy):
        return declared, ""
    if callable(declared):
        return _called(op, declared, call, target), ""
    if not isinstance(declared, tuple | list | None):
        raise StrategyError(
            f"{op.name}: its strategy is {declared!r:.80}, expected an OpStrategy or a function"
        )
    return _from_entries(op, declared or (), call), ""


def _from_entries(op: Op, entries: Sequence[StrategyEntry], call: StrategyCall) -> OpStrategy:
    strategy = OpStrategy()
    of_op = OpPattern(op.get_attr("TOpPattern", OpPattern.OPAQUE))
    pattern = of_op if call.pattern is None else call.pattern
    for entry in entries:
        kernel = kernel_named(entry.kernel) if entry.kernel else None
        strategy.add_implementation(
            None if kernel is None else partial(_by_kernel, kernel),
            schedule_named(entry.schedule or "generic"),
            entry.name,
            entry.plevel,
            entry.when,
            entry.when_text or "",
            tuple(key.strip() for key in entry.target.split(",") if key.strip()),
            entry.layouts,
            None if kernel is None else why_not_operands(kernel, call.inputs),
        )
    name = f"generic.{pattern.name.lower()}"
    return strategy.add_default(schedule_named("generic"), name)


def _by_kernel(kernel: PrimFunc, binding: Binding, operands: Sequence[OperandTensors]) -> tuple[Tensor, ...]:
    """A compute of an op: what a kernel gives for the tensors of its operands."""
    groups = [each if isinstance(each, tuple) else () if each is None else (each,) for each in operands]
    return tensors_of(kernel, [tensor for group in groups for tensor in group])


def _called(op: Op, function: Callable[..., object], call: StrategyCall, target: HasKeys) -> OpStrategy:
    """What a strategy function gives. Raises StrategyError for whatever it raises, and for anything else."""
    with handed_in(f"{op.name}: its strategy function", StrategyError):
        given = (call.attrs, call.inputs, call.out_type)
        found = function(*given, target) if _asks_for_target(function) else function(*given)
    if not isinstance(found, OpStrategy):
        raise StrategyError(
            f"{op.name}: the strategy function gave {shown(found):.80}, expected an OpStrategy"
        )
    return found


def _asks_for_target(function: Callable[..., object]) -> bool:
    try:
        signature(function).bind(None, None, None, None)
    except (TypeError, ValueError):
        return False
    return True
