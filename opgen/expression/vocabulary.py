"""The names that the language gives: library functions, reductions, constants, dtypes; reserved names."""

from __future__ import annotations

import keyword
from typing import Final

from opgen_runtime.base.arith import INTRINSICS
from opgen_runtime.base.vocabulary import DTYPES
from opgen_runtime.operator.attrs import Attrs

# Reductions take a comprehension, or (but argmax and argmin) a static tuple.
REDUCTIONS: Final = frozenset({"sum", "prod", "min", "max", "any", "all", "argmax", "argmin"})
COMPREHENDING: Final = REDUCTIONS | {"tuple", "sorted", "next"}

# Library functions: name -> (least, greatest) number of arguments; None: any number.
LIBRARY: Final[dict[str, tuple[int, int | None]]] = {
    "len": (1, 1),
    "range": (1, 3),
    "reversed": (1, 1),
    "zip": (1, None),
    "enumerate": (1, 1),
    "tuple": (0, 1),
    "sorted": (1, 1),
    "sort": (2, 4),
    "argsort": (2, 4),
    "prefix_sums": (1, 1),
    "int": (1, 1),
    "float": (1, 1),
    "sum": (1, 1),
    "prod": (1, 1),
    "min": (1, None),
    "max": (1, None),
    "any": (1, 1),
    "all": (1, 1),
    "argmax": (1, 1),
    "argmin": (1, 1),
    "next": (2, 2),
    "complex": (2, 2),
    "real": (1, 1),
    "imag": (1, 1),
    "iscomplex": (1, 1),
    "part_dtype": (1, 1),
    "isfloat": (1, 1),
    "isint": (1, 1),
    "bits": (1, 1),
    "lowest": (1, 1),
    "highest": (1, 1),
    "promote": (1, None),
    "norm_axes": (2, 3),
    "broadcast": (1, None),
    "ceil_div": (2, 2),
    "window_out": (2, 7),
    "same_pads": (2, 5),
    "slice_indices": (4, 4),
    "einsum_plan": (2, 2),
    "ndindex": (1, 1),
    "bcast": (2, 2),
    "ravel": (2, 2),
    "unravel": (2, 2),
    "reflect": (2, 2),
    "clip": (3, 3),
    "cast": (2, 2),
    "bitcast": (2, 2),
    "trunc_div": (2, 2),
    "trunc_mod": (2, 2),
    **{name: (row.arity, row.arity) for name, row in INTRINSICS.items()},
}
ORDERS: Final = frozenset({"sort", "argsort"})  # functions of whole tensors, which give tensors
OPS: Final = "ops"  # what calls of ops begin with
AT_MOST: Final = "at_most"  # the bound in the condition of a `while`
CONSTANTS: Final = frozenset({"inf", "nan", "pi"})
DTYPE_NAMES: Final = frozenset(DTYPES)
ATTRIBUTES: Final = ("shape", "ndim", "dtype")

# What a declaration cannot bind.  The names of functions are free: what is bound hides the function.
_PYTHON: Final = frozenset(keyword.kwlist)
_GENERATED: Final = frozenset({"OP", "attrs", "cls", "math", "np", "self"})  # what generated code calls so
_TYPES: Final = frozenset({"int", "float", "str", "tuple"})  # annotations in the class of the attrs
_METHODS: Final = frozenset(name for name in dir(Attrs) if not name.startswith("_"))
RESERVED: Final = CONSTANTS | DTYPE_NAMES | _PYTHON | _GENERATED
RESERVED_ATTRS: Final = _TYPES | _METHODS


def why_reserved(name: str, attr: bool = False) -> str | None:
    """Why a declaration may not bind `name`, with `attr` as an attr; None if it may."""
    if name in DTYPE_NAMES:
        return f"`{name}` is a dtype"
    if name in CONSTANTS:
        return f"`{name}` is a constant of the language"
    if name in _PYTHON:
        return f"`{name}` is a Python keyword"
    if name in _GENERATED:
        return f"`{name}` is a name of the generated code"
    if name.startswith("_"):
        return "names that begin with `_` belong to the generated code"
    if attr and name in RESERVED_ATTRS:
        return f"`{name}` is {'a type' if name in _TYPES else 'a member'} of the class of the attrs"
    return None
