"""Binding: a signature run forwards, from known operands to the types of the results.

run.py         bind
arguments.py   arguments of a call -> one entry an input
frame.py       the state of one binding, and its error messages
patterns.py    shape patterns
steps.py       element types, patterns, bounds, `let`, `require`, each as one step
outputs.py     output types
plan.py        the order of the steps, found once for each kind of call
written.py     hand-written relations
cache.py         binding_of: found once, and kept
result.py      Binding
"""

from .cache import binding_of
from .plan import attrs_read
from .result import Binding
from .run import bind

__all__ = ["Binding", "attrs_read", "bind", "binding_of"]
