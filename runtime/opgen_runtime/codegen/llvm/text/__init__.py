"""LLVM assembly language, written: the one place that knows how modules, functions, types and literals are spelt.

types.py     types, literals, suffixes of intrinsics
values.py    operands: registers, uniform vectors, sequences and their jumps
function.py  FunctionText: one function, instruction by instruction
module.py    ModuleText: declarations, functions, constants, metadata; `fill`: what is written by hand, with words in it
"""

from .function import FunctionText, Recurrence, constant
from .module import ModuleText, fill
from .values import Jumps, Value, ramp, register, shuffle, splat

__all__ = [
    "FunctionText",
    "Jumps",
    "ModuleText",
    "Recurrence",
    "Value",
    "constant",
    "fill",
    "ramp",
    "register",
    "shuffle",
    "splat",
]
