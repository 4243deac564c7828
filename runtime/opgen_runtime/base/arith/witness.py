"""Values of atoms at which all that is known holds: a polynomial that is negative there is never proved to be natural.

A search for a proof that there is not ends when its fuel does.  Most questions have no proof (do two dims agree, does a
window stay inside?), and a few values show it at once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from .atoms import Atom, AtomTable
from .expr import Var
from .intervals import ANYTHING, Interval
from .polynomial import Poly

# What the values of dims are; those of indices are small, the last, the first.
KINDS: Final = ("apart", "equal", "lowest")
# Of a search that goes on for long: dims that tiles divide, and of each index the last there is.
LATE_KIND: Final = "even"
_LARGE: Final = 20  # what a dim is at least, where atoms are apart: loops over it have room
_EQUAL: Final = 4
_EVEN: Final = 64  # tiles divide it


class Witness:
    """A value for each atom that is free to have any; those of quotients, minima and the like follow."""

    __slots__ = ("_facts", "_followed", "_kind", "_ranges", "_table", "_values")

    def __init__(
        self, kind: str, table: AtomTable, ranges: Mapping[int, Interval], facts: Collection[Poly]
    ) -> None:
        self._kind = kind
        self._table = table
        self._ranges = ranges
        self._facts = facts
        self._values: dict[int, int | None] = {}
        self._followed: dict[int, int] = {}

    def is_sound(self) -> bool:
        """Whether the ranges and facts hold of the values; False also where that cannot be told."""
        for number, span in self._ranges.items():
            found = self._of(number)
            if found is None or not span.contains(found):
                return False
        return all(map(self._holds, self._facts))

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
        if self._kind == LATE_KIND:
            wanted = max(low, _EVEN) if is_size else self._last(atom.number, low)
        elif self._kind == "equal":
            wanted = max(low, _EQUAL if is_size else _EQUAL - 1)
            wanted = wanted if span.hi is None or is_size else span.hi
        else:
            apart = (7 * atom.number + 3) % 11  # neighbours differ
            wanted = low + (_LARGE + apart if is_size else apart % 4)
        return wanted if span.hi is None else min(wanted, span.hi)

    def _last(self, number: int, low: int) -> int:
        """The last value of an index that facts allow, and no less than `low`; the first where none ends it."""
        ends = self._beside(number, -1)
        return max(
            low, min(ends) if ends else max([-least for least in self._beside(number, 1)], default=low)
        )

    def _beside(self, number: int, sign: int) -> list[int]:
        """The values of what stands beside an index in facts that have it with this sign.

        An index follows those that were met before it, as loops do those around them, so that none follows itself.
        """
        found: list[int] = []
        for fact in self._facts:
            if fact.get((number,)) == sign:
                rest = {m: c for m, c in fact.items() if m != (number,)}
                if self._latest_of(rest) < number:
                    value = self.value(rest)
                    found += [] if value is None else [value]
        return found

    def _latest_of(self, p: Poly) -> int:
        return max([self._latest(each) for m in p for each in m], default=-1)

    def _latest(self, number: int) -> int:
        """The number of the last index that an atom follows from; -1 where it follows from dims alone."""
        latest = self._followed.get(number)
        if latest is None:
            atom = self._table.atoms[number]
            if atom.kind in ("div", "mod", "min", "max"):
                latest = max(self._latest_of(atom.x), self._latest_of(atom.y))
            else:
                latest = -1 if isinstance(atom.expr, Var) and atom.expr.size else number
            self._followed[number] = latest
        return latest
