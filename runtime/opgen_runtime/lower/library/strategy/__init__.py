"""How an op is to be compiled: implementations with priorities under conditions, chosen for a call and a target.

op_strategy.py   Implementation, Condition, OpStrategy, and the Selection that explains itself
generic.py       generic functions, dispatched on a target's keys
choose.py        from an op, a binding and a target to the implementation
library.py       schedules by name
"""

from .choose import StrategyCall, choose, strategy_of
from .generic import GenericFunction, HasKeys, generic_function
from .library import ScheduleFunction, schedule_named
from .op_strategy import Condition, Considered, Implementation, OpStrategy, Selection

__all__ = [
    "Condition",
    "Considered",
    "GenericFunction",
    "HasKeys",
    "Implementation",
    "OpStrategy",
    "ScheduleFunction",
    "Selection",
    "StrategyCall",
    "choose",
    "generic_function",
    "schedule_named",
    "strategy_of",
]
