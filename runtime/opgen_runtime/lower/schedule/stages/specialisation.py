"""Specialisations: values of a program's dims for which another schedule is better, or another program simpler.

C[i, j] = ..    for all i < n       n == 1: C[0, j] = ..       1 <= n <= 8: C[i, j] = .. of a dim known to be that small
"""

from __future__ import annotations

from collections.abc import Mapping

from ....base.arith import Expr, Var, const, eq, ge, le, logical_and
from ....base.vocabulary import INDEX, dataclass


@dataclass(frozen=True, slots=True)
class Specialisation:
    """Where `guard`, a condition on dims, holds, dims may be replaced by `values`, of which more is known."""

    text: str
    guard: Expr
    values: Mapping[Var, Expr]

    def __str__(self) -> str:
        return self.text


def specialisation(dim: Var, least: int, most: int) -> Specialisation:
    """The specialisation of a program to a range of values of a dim; to a constant where that is one value."""
    if least == most:
        return Specialisation(f"{dim.name} == {least}", eq(dim, least), {dim: const(least, INDEX)})
    value = Var(INDEX, dim.name, size=True, hint=most, least=least, most=most)
    guard = logical_and(ge(dim, least), le(dim, most))
    return Specialisation(f"{least} <= {dim.name} <= {most}", guard, {dim: value})
