"""Programs run by Python and numpy, node by node: the debug executor's way, and the oracle of passes.

value.py         Value, what a program gives
bindings.py      values for free variables, checked against their types
interpreter.py   a program node by node, however its ops are run
op_by_op.py      ops through their tensor expressions and numpy
"""

from __future__ import annotations

from ....declaration import array_type
from .bindings import as_array, bind, check_value, concrete_types, dim_value
from .interpreter import Closure, Runner, run
from .op_by_op import run_op_by_op
from .value import Arrays, Result, Value, wrap

__all__ = [
    "Arrays", "Closure", "Result", "Runner", "Value", "array_type", "as_array", "bind", "check_value",
    "concrete_types", "dim_value", "run", "run_op_by_op", "wrap",
]  # fmt: skip
