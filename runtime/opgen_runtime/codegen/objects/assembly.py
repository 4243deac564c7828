"""What a kernel's assembly tells: calls of scalar math functions, and which vector registers it uses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from ...base.vocabulary import dataclass

_CALL: Final = re.compile(
    r"^\s*(?:callq?|jmpq?|bl|b)\s+\*?_?([A-Za-z_][\w.]*)(?:@PLT|@GOTPCREL\(%rip\))?\s*(?:#.*)?$", re.M
)
_REGISTER: Final = re.compile(r"%([zyx])mm\d+")
_MATH: Final = frozenset((
    "exp", "exp2", "expm1", "exp10", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
    "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "erfc", "pow",
    "fmod", "cbrt", "hypot", "tgamma", "lgamma", "floor", "ceil", "trunc", "rint", "nearbyint", "round",
    "roundeven", "fma", "sqrt", "ldexp", "frexp", "sincos",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class AssemblyCounts:
    """Counts over one module: calls by name of math function, instructions by widest vector register."""

    math_calls: Mapping[str, int]
    zmm: int
    ymm: int
    xmm: int


def count(assembly: str) -> AssemblyCounts:
    """Count in x86 (or, for calls, AArch64) assembly as LLVM prints it."""
    calls: Counter[str] = Counter()
    for name in _CALL.findall(assembly):
        if is_math_function(name):
            calls[name] += 1
    widths: Counter[str] = Counter()
    for line in assembly.splitlines():
        used = set(_REGISTER.findall(line))
        if used:
            widths[max(used, key="xyz".index)] += 1
    return AssemblyCounts(dict(calls), widths["z"], widths["y"], widths["x"])


def is_math_function(name: str) -> bool:
    """Whether a symbol is a function of libm (`expf`, `tanh`), of float, double or long double."""
    return name in _MATH or (name[-1:] in "fl" and name[:-1] in _MATH)
