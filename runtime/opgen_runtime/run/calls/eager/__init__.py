"""Ops on arrays, at once: `eager.add(a, b)` takes arrays and gives a numpy array.

Every op of `opgen_runtime.ops` is here under its name; `eager.op("project.relu")` gives those of other projects,
whose packages have a module `eager` of their own.
An op is compiled once for each combination of shapes, dtypes and attrs, of which the most recently used are kept.
Python numbers among the operands are weak: they take the other operands' dtype.  `out=` names the numpy array (or, for
several results, the tuple of arrays) that is to hold the result; it may be one of the operands.

    eager_op.py    EagerOp: one op on arrays
    namespace.py   ops by name

No code may stand in this file: ops are bound to their names in it, and some have names of builtins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from ....ops import __all__ as _ops
from .namespace import namespace as _namespace
from .namespace import op as op

if _TYPE_CHECKING:
    from .eager_op import EagerOp as EagerOp

__getattr__, __dir__ = _namespace(__name__, _ops, others=("EagerOp", "op"), public="opgen_runtime.eager")
