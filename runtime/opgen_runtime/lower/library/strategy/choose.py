"""From an op, one call's names and a target to the implementation to compile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....base.contract import handed_in
from ....base.errors import StrategyError, shown
from ....base.vocabulary import OpPattern
from ....declaration import StrategyEntry
from ....operator.registry import Op
from .generic import GenericFunction, HasKeys
from .library import schedule_for_pattern, schedule_named
from .op_strategy import OpStrategy, Selection


def choose(op: Op, names: Mapping[str, Any], target: HasKeys) -> Selection:
    """The implementation of `op` for a call (`names` of its binding) on a target.

    The attribute "strategy" of the op is what its declaration states (entries), an `OpStrategy`, or a function
    or generic function that gives one.  Declared entries stand beside the generic schedule of the op's
    pattern, at plevel 0, so that something always applies.

    Raises StrategyError if nothing applies or two implementations are equally good.
    """
    strategy, dispatched_on = strategy_of(op, names, target)
    return strategy.select(op.name, {**names, "target": target}, dispatched_on)


def strategy_of(op: Op, names: Mapping[str, Any], target: HasKeys) -> tuple[OpStrategy, str]:
    """The strategy that an op has on a target, and the key it was dispatched on ("" if it was not)."""
    declared = op.get_attr("strategy")
    if isinstance(declared, GenericFunction):
        function, key = declared.dispatch(target)
        return _called(op, function, {**names, "target": target}), key
    if isinstance(declared, OpStrategy):
        return declared, ""
    if callable(declared):
        return _called(op, declared, {**names, "target": target}), ""
    if not isinstance(declared, tuple | list | None):
        raise StrategyError(
            f"{op.name}: its strategy is {declared!r:.80}, expected an OpStrategy or a function"
        )
    return _from_entries(op, declared or ()), ""


def _from_entries(op: Op, entries: Sequence[StrategyEntry]) -> OpStrategy:
    strategy = OpStrategy()
    pattern = OpPattern(op.get_attr("TOpPattern", OpPattern.OPAQUE))
    for entry in entries:
        schedule = schedule_named(entry.schedule) if entry.schedule else schedule_for_pattern(pattern)
        keys = tuple(key.strip() for key in entry.target.split(",") if key.strip())
        strategy.add_implementation(
            None, schedule, entry.name, entry.plevel, entry.when, entry.when_text or "", keys
        )
    name = f"generic.{pattern.name.lower()}"
    return strategy.add_implementation(None, schedule_for_pattern(pattern), name, plevel=0)


def _called(op: Op, function: Callable[..., object], names: Mapping[str, Any]) -> OpStrategy:
    """What a strategy function gives. Raises StrategyError for whatever it raises, and for anything else."""
    with handed_in(f"{op.name}: its strategy function", StrategyError):
        found = function(names)
    if not isinstance(found, OpStrategy):
        raise StrategyError(
            f"{op.name}: the strategy function gave {shown(found):.80}, expected an OpStrategy"
        )
    return found
