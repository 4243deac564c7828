"""Values of atoms at which all that is known holds: a polynomial that is negative there is never proved to be natural.

A search for a proof that there is not ends when its fuel does.  Most questions have no proof (do two dims agree, does a
window stay inside?), and a few values show it at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from .atoms import Atom, AtomTable
from .expr import Var
from .intervals import ANYTHING, Interval
from .polynomial import Poly

# What the values of dims are; those of indices are small, the last, the first.
KINDS: Final = ("apart", "equal", "lowest")
_LARGE: Final = 20  # what a dim is at least, where atoms are apart: loops over it have room
_EQUAL: Final = 4


class Witness:
    """A value for each atom that is free to have any; those of quotients, minima and the like follow."""

    __slots__ = ("_kind", "_ranges", "_table", "_values")

    def __init__(self, kind: str, table: AtomTable, ranges: Mapping[int, Interval]) -> None:
        self._kind = kind
        self._table = table
        self._ranges = ranges
        self._values: dict[int, int | None] = {}

    def is_sound(self, facts: Iterable[Poly]) -> bool:
        """Whether the ranges and facts hold of the values; False also where that cannot be told."""
        for number, span in self._ranges.items():
            found = self._of(number)
            if found is None or not span.contains(found):
                return False
        return all(map(self._holds, facts))

    def _holds(self, fact: Poly) -> bool:
        value = self.value(fact)
        return value is not None and value >= 0

    def value(self, p: Poly) -> int | None:
        """The value of a polynomial; None where an atom of it has none."""
        total = 0
        for monomial, coefficient in p.items():
            for number in monomial:
                factor = self._of(number)
                if factor is None:
                    return None
                coefficient *= factor
            total += coefficient
        return total

    def _of(self, number: int) -> int | None:
        if number not in self._values:
            self._values[number] = None  # of what would follow from itself
            self._values[number] = self._found(self._table.atoms[number])
        return self._values[number]

    def _found(self, atom: Atom) -> int | None:
        if atom.kind in ("var", "element"):
            return self._free(atom)
        if atom.kind not in ("div", "mod", "min", "max"):
            return None
        x, y = self.value(atom.x), self.value(atom.y)
        if x is None or y is None:
            return None
        if atom.kind in ("min", "max"):
            return min(x, y) if atom.kind == "min" else max(x, y)
        if y < 1:
            return None
        return x // y if atom.kind == "div" else x % y

    def _free(self, atom: Atom) -> int | None:
        span = atom.range.meet(self._ranges.get(atom.number, ANYTHING))
        if span.lo is not None and span.hi is not None and span.lo > span.hi:
            return None  # what is supposed cannot be
        low = span.lo if span.lo is not None else min(0, span.hi or 0)
        if self._kind == "lowest":
            return low
        is_size = isinstance(atom.expr, Var) and atom.expr.size
        if self._kind == "equal":
            wanted = max(low, _EQUAL if is_size else _EQUAL - 1)
            wanted = wanted if span.hi is None or is_size else span.hi
        else:
            apart = (7 * atom.number + 3) % 11  # neighbours differ
            wanted = low + (_LARGE + apart if is_size else apart % 4)
        return wanted if span.hi is None else min(wanted, span.hi)
