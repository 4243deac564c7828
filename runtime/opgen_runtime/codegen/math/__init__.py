"""Element functions of floats as LLVM functions on vectors of any lane count.

`function(name, dtype, lanes, target)` gives the symbol and the text; `NATIVE` names what LLVM compiles to
instructions by itself.  Errors in units in the last place are stated (and tested) in tests/codegen/test_vector_math.py.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from ...base.errors import CodegenError
from ...base.target import Target
from ...base.vocabulary import FLOAT_INTRINSICS, PREDICATE_INTRINSICS, DType
from . import error_function, exponential, inverse, logarithm, power, predicate, remainder, trigonometric
from .builder import Builder, Vec, type_text

__all__ = ["NATIVE", "function"]

NATIVE: Final = frozenset({"sqrt", "floor", "ceil", "trunc", "round", "fma", "copysign", "abs"})

_Formula = Callable[..., Vec]
_FORMULAS: Final[dict[str, _Formula]] = {
    "exp": exponential.exp, "exp2": exponential.exp2, "expm1": exponential.expm1,
    "sigmoid": exponential.sigmoid, "tanh": exponential.tanh, "sinh": exponential.sinh, "cosh": exponential.cosh,
    "log": logarithm.log, "log2": logarithm.log2, "log10": logarithm.log10, "log1p": logarithm.log1p,
    "asinh": logarithm.asinh, "acosh": logarithm.acosh, "atanh": logarithm.atanh,
    "sin": trigonometric.sin, "cos": trigonometric.cos, "tan": trigonometric.tan,
    "erf": error_function.erf, "erfc": error_function.erfc,
    "pow": power.power, "rsqrt": power.rsqrt, "fmod": remainder.fmod,
    "asin": inverse.asin, "acos": inverse.acos, "atan": inverse.atan, "atan2": inverse.atan2,
    "isnan": predicate.isnan, "isinf": predicate.isinf, "isfinite": predicate.isfinite,
}  # fmt: skip
_ELEMENT: Final[dict[str, str]] = {"float32": "float", "float64": "double"}


@lru_cache(maxsize=512)
def function(name: str, dtype: DType, lanes: int, target: Target) -> tuple[str, str]:
    """(symbol, text) of an `alwaysinline` internal function `T symbol(T, ...)`, T = `<lanes x dtype>`.

    Predicates return `<lanes x i1>`.  The text holds the function with all that it needs, one entity after
    another; entities of the same name in several texts are equal.  Code for this machine declares the helpers
    for rare arguments, which `symbols` has; for other machines they are in the text.
    Raises CodegenError for a name that is not here (those of NATIVE are LLVM's) and for other dtypes.
    """
    formula, element = _FORMULAS.get(name), _ELEMENT.get(dtype)
    if formula is None:
        reason = (
            "LLVM has it as an intrinsic" if name in NATIVE else f"expected one of {', '.join(_FORMULAS)}"
        )
        raise CodegenError(f"vector math has no function {name!r}: {reason}")
    if element is None:
        raise CodegenError(f"vector math of {name} on {dtype}: expected float32 or float64")
    b = Builder(element, lanes, target)
    kind = type_text(element, lanes)
    operands = [Vec(b, element, f"%x{k}") for k in range(FLOAT_INTRINSICS[name])]
    result = formula(b, *operands)
    symbol = f"opgen_{name}_f{dtype.bits}x{lanes}"
    parameters = ", ".join(f"{kind} {o.text}" for o in operands)
    assert (result.element == "i1") == (name in PREDICATE_INTRINSICS)
    text = [
        *{**b.declarations, **b.helpers}.values(),
        f"define internal {result.type} @{symbol}({parameters}) alwaysinline nounwind {{",
        "entry:",
        *b.entry,
        *b.lines,
        f"  ret {result.type} {result.text}",
        "}",
        "",
    ]
    return symbol, "\n".join(text)
