"""Tensor expressions as they are written by hand: `C = compute((n,), lambda i: A[i] + B[i])`.

axes.py       arithmetic of axes, elements of tensors
tensors.py    placeholder, compute, extern; var and reduce_axis
tags.py       notes on what is computed: tag_scope
reducers.py   sum and its kin; comm_reducer, of functions that users give
scans.py      scan: recurrences along the first axis
sorts.py      sort and argsort along an axis
defined.py    tensors by their operations
functions.py  element functions, choices, comparisons; float_functions.py (hypot, ldexp, nextafter)
"""

from __future__ import annotations

from collections.abc import Callable

from ....base.arith import Expr
from . import axes as _axes  # noqa: F401  (attaches arithmetic)
from .float_functions import hypot, ldexp, nextafter
from .functions import (
    ELEMENT_FUNCTIONS,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cast,
    ceildiv,
    const,
    div,
    equal,
    exp10,
    floordiv,
    floormod,
    if_then_else,
    indexdiv,
    indexmod,
    infinity,
    logical_not,
    max_value,
    maximum,
    min_value,
    minimum,
    nearbyint,
    not_equal,
    power,
    reinterpret,
    shift_left,
    shift_right,
    truncdiv,
    truncmod,
)
from .reducers import all, any, argmax, argmin, comm_reducer, max, min, prod, sum
from .scans import scan
from .sorts import argsort, sort
from .tags import tag_scope
from .tensors import compute, extern, placeholder, reduce_axis, size_var, var


def __getattr__(name: str) -> Callable[..., Expr]:
    """The element function of that name (`arith.INTRINSICS`)."""
    if name in ELEMENT_FUNCTIONS:
        return ELEMENT_FUNCTIONS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cast",
    "ceildiv",
    "comm_reducer",
    "compute",
    "const",
    "div",
    "equal",
    "exp10",
    "extern",
    "floordiv",
    "floormod",
    "hypot",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "ldexp",
    "logical_not",
    "max",
    "max_value",
    "maximum",
    "min",
    "min_value",
    "minimum",
    "nearbyint",
    "nextafter",
    "not_equal",
    "placeholder",
    "power",
    "prod",
    "reduce_axis",
    "reinterpret",
    "scan",
    "shift_left",
    "shift_right",
    "size_var",
    "sort",
    "sum",
    "tag_scope",
    "truncdiv",
    "truncmod",
    "var",
    *ELEMENT_FUNCTIONS,
]
