"""Gradients of element functions in float32 against those in float64, relative to what they are, over the whole range.

Where a slope is what is left of 1, or overflows on the way, its digits are lost in one precision long before they are
in the other: at -17 the slope of elu is 4e-8, and exp(x) - 1 is -1 in float32.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest

import opgen_runtime as rt
from opgen_runtime import ops
from opgen_runtime.base.vocabulary import OpPattern
from opgen_runtime.ir import declared
from opgen_runtime.operator import Op, list_ops

_LARGE: Final = np.geomspace(1e-30, 1e30, 121)
POINTS: Final = np.concatenate([np.linspace(-30, 30, 481), _LARGE, -_LARGE]).astype(np.float32)
_ABOVE: Final = {"lgamma": 0.0}
"""Below this a slope has a zero between any two poles, about which no error is small beside it."""
_LEAST: Final = 1.2e-38  # smaller slopes are subnormal in float32


def _is_function_of_floats(name: str) -> bool:
    """Whether an op takes one float tensor, element by element, and has a gradient."""
    declaration = declared(Op.get(name))
    if declaration is None or declaration.pattern is not OpPattern.ELEMWISE or declaration.arity != 1:
        return False
    try:
        kind = getattr(ops, name)(rt.var("x", rt.TensorType((1,), "float32"))).checked_type
    except (TypeError, rt.OpgenError):  # attrs without a default; no floats
        return False
    return bool(kind == rt.TensorType((1,), "float32"))


FUNCTIONS: Final = [name for name in list_ops() if name in dir(ops) and _is_function_of_floats(name)]


def test_there_are_many() -> None:
    assert {"elu", "celu", "selu", "tanh", "sigmoid", "asinh", "softsign", "gelu"} <= set(FUNCTIONS)
    assert len(FUNCTIONS) > 40


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_keep_their_digits(name: str) -> None:
    gradient = rt.grad(lambda x: getattr(ops, name)(x).sum())
    with np.errstate(all="ignore"):
        wanted = gradient(POINTS.astype(np.float64))
        found = gradient(POINTS).astype(np.float64)
        is_normal = np.isfinite(wanted.astype(np.float32)) & (np.abs(wanted) > _LEAST)
        is_normal &= _ABOVE.get(name, -np.inf) < POINTS
    np.testing.assert_allclose(found[is_normal], wanted[is_normal], rtol=1e-5)
