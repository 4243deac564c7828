"""One kernel of several for the same operands: the first of which the condition holds.

f(x: float32[n]) -> (y: float32[n]):
    if n == 1: <f of one element>
    else: <f>
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ....base.arith import Expr, Var, free_vars
from ..nodes.relocate import Adopted
from ..nodes.stmt import If, PrimFunc
from ..nodes.text import to_text


def chosen(func: PrimFunc, cases: Sequence[tuple[Expr, Mapping[Var, Expr], PrimFunc]]) -> PrimFunc:
    """`func`, or the first of the cases (condition, vars in place of dims, kernel) of which the condition holds.

    Buffers have one dim.
    """
    body = func.body
    for condition, values, case in reversed(cases):
        own = (*func.inputs, *func.outputs)
        moved = dict(zip((*case.inputs, *case.outputs), own, strict=True))
        dims = {value: dim for dim, value in values.items() if isinstance(value, Var)}
        body = If(condition, Adopted(moved, dims).stmt(case.body), body)
    asked = [var for condition, _, _ in cases for var in free_vars(condition)]
    return replace(func, body=body, dims=tuple(dict.fromkeys([*func.dims, *asked])))


def alike(a: PrimFunc, b: PrimFunc) -> bool:
    """Whether two kernels differ in nothing but the names of their parameters."""
    return to_text(_numbered(a)) == to_text(_numbered(b))


def _numbered(func: PrimFunc) -> PrimFunc:
    own = (*func.inputs, *func.outputs)
    made = tuple([replace(buffer, name=f"p{position}") for position, buffer in enumerate(own)])
    body = Adopted(dict(zip(own, made, strict=True)), {}).stmt(func.body)
    count = len(func.inputs)
    return replace(func, inputs=made[:count], outputs=made[count:], body=body)
