"""Element functions of floats as LLVM functions on vectors of any lane count.

`function(name, dtype, lanes, target)` gives the symbol and the module of a name of `FORMULAS`.  Errors in units in the
last place are stated (and tested) in tests/codegen/test_vector_math.py.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ....base import Target
from ....base.arith import INTRINSICS
from ....base.errors import CodegenError
from ....base.vocabulary import DType
from ..text import FunctionText, ModuleText
from . import error_function, exponential, inverse, logarithm, power, remainder, trigonometric
from .builder import Builder, Formula, Vec

__all__ = ["FORMULAS", "function"]

FORMULAS: Final[dict[str, Formula]] = {
    **exponential.FORMULAS,
    **logarithm.FORMULAS,
    **trigonometric.FORMULAS,
    **inverse.FORMULAS,
    **error_function.FORMULAS,
    **power.FORMULAS,
    **remainder.FORMULAS,
}
_ELEMENT: Final[dict[str, str]] = {"float32": "float", "float64": "double"}


@lru_cache(maxsize=512)
def function(name: str, dtype: DType, lanes: int, target: Target) -> tuple[str, ModuleText]:
    """(symbol, module) of an `alwaysinline` internal function `T symbol(T, ...)`, T = `<lanes x dtype>`.

    The module holds the function with all that it needs; entities of the same name in several modules are equal.
    Code for this machine declares the helpers for rare arguments, which `helpers.symbols` has; for other machines
    they are in the module.  Raises CodegenError for a name that is not here and for other dtypes.
    """
    formula, element = FORMULAS.get(name), _ELEMENT.get(dtype)
    if formula is None:
        raise CodegenError(f"vector math has no function {name!r}; expected one of {', '.join(FORMULAS)}")
    if element is None:
        raise CodegenError(f"vector math of {name} on {dtype}: expected float32 or float64")
    f = FunctionText(ModuleText(target))
    b = Builder(f, element, lanes)
    operands = [Vec(b, element, f"%x{k}") for k in range(INTRINSICS[name].arity)]
    result = formula(b, *operands)
    f.do(f"ret {result.type} {result.text}")
    symbol = f"opgen_{name}_f{dtype.bits}x{lanes}"
    f.define(symbol, result.type, ", ".join(f"{o.type} {o.text}" for o in operands), "alwaysinline nounwind")
    return symbol, f.module
