"""Whole tests of passes: a program's text before and after."""

from __future__ import annotations

import re
import textwrap

import numpy as np

from opgen_runtime import create_executor, ir
from opgen_runtime.transform import InferType, Pass, PassContext, VerifyIR


def function(text: str, dtype: str = "float32") -> ir.Function:
    """The function of a text whose types are written short: `fn (%x: [2, 3]) { .. }`."""

    def type_(match: re.Match[str]) -> str:
        dims = match.group(1)
        return f": Tensor[({dims}{',' if dims and ',' not in dims else ''}), {match.group(2) or dtype}]"

    full = re.sub(r": \[([^\]]*)\](?: (\w+))?", type_, textwrap.dedent(text))
    found = ir.parse_expr(full)
    assert isinstance(found, ir.Function)
    return InferType()(found)


def gives(made: Pass, before: str | ir.Function, after: str | ir.Function | None = None) -> None:
    """`made` turns `before` into exactly `after`; without `after` it leaves it as it is, the same object."""
    program = function(before) if isinstance(before, str) else before
    with PassContext(instruments=[VerifyIR()]):
        found = made(program)
    if after is None:
        assert found is program, f"\nfired:\n{found}"
        return
    expected = function(after) if isinstance(after, str) else after
    assert ir.structural_equal(found, expected), f"\nfound:\n{found}\nexpected:\n{expected}"


def arrays_for(program: ir.Function, seed: int = 0) -> dict[ir.Var, np.ndarray]:
    """An array for each parameter."""
    rng = np.random.default_rng(seed)
    found: dict[ir.Var, np.ndarray] = {}
    for var in program.params:
        type_ = var.checked_type
        drawn = rng.uniform(0.5, 2.0, type_.concrete_shape) * rng.choice([-1, 1], type_.concrete_shape)  # type: ignore[attr-defined]
        found[var] = np.asarray(drawn).astype(type_.dtype.numpy)  # type: ignore[attr-defined]
    return found


def run(program: ir.Function, arrays: dict[ir.Var, np.ndarray]) -> list[np.ndarray]:
    """The results on arrays of `arrays_for`, given in the order of the parameters."""
    values = list(arrays.values())
    result = create_executor("debug").evaluate(program)(*values)  # type: ignore[operator]
    return [part.numpy() for part in (result if isinstance(result, tuple) else (result,))]
