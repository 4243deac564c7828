"""How an op is to be compiled: implementations with priorities under conditions, chosen for a call and a target.

op_strategy.py   Implementation, Condition, OpStrategy, and the Selection that explains itself
generic.py       generic functions, dispatched on a target's keys
choose.py        from an op, a binding and a target to the implementation
library.py       schedules and kernels by name
registering.py   compute, schedule and strategy of an op that is there, by its name
"""

from .choose import StrategyCall, choose, strategy_of
from .generic import GenericFunction, HasKeys, generic_function
from .library import ScheduleFunction, kernel_named, schedule_named
from .op_strategy import Condition, Considered, Implementation, OpStrategy, Selection
from .registering import generic_func, register_compute, register_schedule, register_strategy

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
    "generic_func",
    "generic_function",
    "kernel_named",
    "register_compute",
    "register_schedule",
    "register_strategy",
    "schedule_named",
    "strategy_of",
]
