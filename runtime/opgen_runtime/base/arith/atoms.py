"""The atoms of polynomials: vars, element values, quotients, remainders, minima, choices and tables."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from .expr import Expr
from .intervals import Interval
from .polynomial import Poly


@dataclass(slots=True, eq=False)
class Atom:
    """One opaque integer value.

    kind: "var"; "element" (anything that is not understood further); "div" and "mod" (of the polynomials `x`, `y`);
    "min" and "max" (of `x` and `y`); "select" (`x` if `expr.condition` else `y`); "table" (position `x`).
    `range` holds whatever the context; `expr` is an expression with this value.
    """

    number: int
    kind: str
    expr: Expr | None
    range: Interval
    x: Poly
    y: Poly
    below: bool = True  # no overflow can start from its lower side: it is bounded by index arithmetic
    above: bool = True


class AtomTable:
    """The atoms of one analyzer; equal values share an atom."""

    __slots__ = ("_numbers", "atoms", "untamed")

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self.untamed = False  # some atom may be as large as its dtype allows
        self._numbers: dict[Hashable, int] = {}

    def find(self, key: Hashable) -> int | None:
        return self._numbers.get(key)

    def make(
        self,
        key: Hashable,
        kind: str,
        expr: Expr | None,
        range: Interval = Interval(),  # noqa: B008  (immutable)
        x: Poly | None = None,
        y: Poly | None = None,
        tame: tuple[bool, bool] = (True, True),
    ) -> int:
        """The number of a new atom under `key` (None: never shared)."""
        number = len(self.atoms)
        self.atoms.append(Atom(number, kind, expr, range, x or {}, y or {}, *tame))
        self.untamed = self.untamed or not all(tame)
        if key is not None:
            self._numbers[key] = number
        return number
