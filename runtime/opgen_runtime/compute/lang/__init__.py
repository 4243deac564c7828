"""The run-time half of the compute language.

Generated code calls these functions as `_l.<name>`; run inside `build`, they turn a declared compute
expression into tensor expressions for the operand types at hand.  Static values are computed on the spot;
what depends on indices and elements becomes an expression.  The language itself is described in
docs/language.md.

    weak.py        values, literals without a dtype, how dtypes meet
    scope.py       domains and guards; proofs that every access is in bounds
    element.py     arithmetic, bit operators, intrinsics, conversions
    conditions.py  comparisons, lazy conditions
    ranges.py      range, ndindex, what unrolls
    choices.py     choices between ranges of a number, as a search by halves
    reduce.py      comprehensions and reductions
    tensors.py     inputs, outputs and intermediates
    updates.py     `for` updates (scatter)
    scans.py       recurrences
    functions.py   exp, tanh, ... by name
    indexing.py    bcast, ravel, unravel, reflect, clip, constant tables
    static.py      functions of shapes, dims and dtypes
    build.py       runs a compute function
    expand.py      calls of other ops: their compute functions, run among the same tensors
    separate.py    calls of other ops that are kept apart, for derivatives
    scalars.py     numbers as operands of other ops
    composed.py    the types of compositions of ops
    sorts.py       sorts along an axis
    iterate.py     `while`: steps as rows of a recurrence
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from .build import ComputeDeclaration, build, find_failures, guard, loop, tensor
from .composed import operator_type, predicate_type, result_type
from .conditions import (
    at_build,
    both,
    contains,
    either,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    negate,
    not_equal,
    select,
    truth,
)
from .element import (
    absolute,
    bit_and,
    bit_not,
    bit_or,
    bit_xor,
    ceil,
    checked_add,
    checked_mul,
    checked_sub,
    checked_unpack,
    complex_,
    div,
    floor,
    floordiv,
    floormod,
    imag,
    power,
    real,
    reinterpret,
    round_,
    shift_left,
    shift_right,
    to_float,
    to_int,
    trunc,
    trunc_div,
    trunc_mod,
)
from .expand import Callee, call_op, expand
from .failures import Failure
from .functions import FUNCTIONS
from .indexing import bcast, clip, item, ravel, reflect, unravel
from .iterate import iterate
from .ranges import each, ndindex, range_, reversed_
from .reduce import all_, any_, argmax, argmin, max_, min_, next_, over, prod, sum_, when
from .sorts import argsort, sort
from .static import (
    bits,
    broadcast,
    ceil_div,
    dtype,
    einsum_plan,
    enumerate_,
    highest,
    index_of,
    iscomplex,
    isfloat,
    isint,
    len_,
    lowest,
    norm_axes,
    part_dtype,
    prefix_sums,
    promote,
    same_pads,
    slice_indices,
    sorted_,
    tuple_,
    window_out,
    zip_,
)
from .tensors import FREE, REST
from .weak import Value, cast

inf = math.inf
nan = math.nan
pi = math.pi

# The language's names for what Python would shadow.
abs = absolute
all = all_
any = any_
complex = complex_
enumerate = enumerate_
float = to_float
int = to_int
len = len_
max = max_
min = min_
range = range_
reversed = reversed_
round = round_
sorted = sorted_
sum = sum_
tuple = tuple_
zip = zip_
next = next_

__all__ = [
    "FREE",
    "REST",
    "Callee",
    "ComputeDeclaration",
    "Failure",
    "abs",
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "at_build",
    "bcast",
    "bit_and",
    "bit_not",
    "bit_or",
    "bit_xor",
    "bits",
    "both",
    "broadcast",
    "build",
    "call_op",
    "cast",
    "ceil",
    "ceil_div",
    "checked_add",
    "checked_mul",
    "checked_sub",
    "checked_unpack",
    "clip",
    "complex",
    "contains",
    "div",
    "dtype",
    "each",
    "einsum_plan",
    "either",
    "enumerate",
    "equal",
    "expand",
    "find_failures",
    "float",
    "floor",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "guard",
    "highest",
    "imag",
    "index_of",
    "inf",
    "int",
    "iscomplex",
    "isfloat",
    "isint",
    "item",
    "iterate",
    "len",
    "less",
    "less_equal",
    "loop",
    "lowest",
    "max",
    "min",
    "nan",
    "ndindex",
    "negate",
    "next",
    "norm_axes",
    "not_equal",
    "operator_type",
    "over",
    "part_dtype",
    "pi",
    "power",
    "predicate_type",
    "prefix_sums",
    "prod",
    "promote",
    "range",
    "ravel",
    "real",
    "reflect",
    "reinterpret",
    "result_type",
    "reversed",
    "round",
    "same_pads",
    "select",
    "shift_left",
    "shift_right",
    "slice_indices",
    "sort",
    "sorted",
    "sum",
    "tensor",
    "trunc",
    "trunc_div",
    "trunc_mod",
    "truth",
    "tuple",
    "unravel",
    "when",
    "window_out",
    "zip",
]  # fmt: skip

# exp, tanh, ...: one name for each element function.
globals().update(FUNCTIONS)
__all__ += [name for name in FUNCTIONS if name not in __all__]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Value]: ...
