"""Whether integer arithmetic can wrap.

Index arithmetic is taken not to overflow: what is bounded by it is tame, and stays far from the ends of 64 bits.
"""

from __future__ import annotations

from typing import Final

from ..vocabulary import BOOL, DType
from .divide import Divider
from .intervals import Interval
from .polynomial import Poly

_TAME: Final = 1 << 62  # what index arithmetic stays below


class Wrapping(Divider):
    """What is known of the size of polynomials, beside their ranges."""

    __slots__ = ()

    def fits(self, p: Poly, dtype: DType) -> bool:
        if dtype.bits < 64 or not dtype.is_signed:
            return self.range(p).within(int(dtype.lowest), int(dtype.highest))
        if not self.table.untamed:
            return True
        wild = {m: c for m, c in p.items() if m and not all(self._is_tame(a) for a in m)}
        if not wild:
            return True
        if any(len(m) > 1 for m in wild):
            return False
        tame = self.range({m: c for m, c in p.items() if m not in wild})
        sure = Interval(-_TAME if tame.lo is None else tame.lo, _TAME if tame.hi is None else tame.hi)
        return (self.range(wild) + sure).within(int(dtype.lowest), int(dtype.highest))

    def _is_tame(self, number: int) -> bool:
        """Bounded by index arithmetic on both sides, by what it is or by the facts known here."""
        atom = self.table.atoms[number]
        if atom.below and atom.above:
            return True
        found = self.atom_range(number)
        below = atom.below or (found.lo is not None and found.lo >= -_TAME)
        above = atom.above or (found.hi is not None and found.hi <= _TAME)
        return (below or self._has_tame_bound(number, True)) and (
            above or self._has_tame_bound(number, False)
        )

    def _has_tame_bound(self, number: int, lower: bool) -> bool:
        atoms = self.table.atoms
        return any(
            all(atoms[a].below and atoms[a].above for m in fact for a in m if m != (number,))
            for fact in self.context.facts.get(((number,), lower), ())
        )

    def tameness(self, p: Poly) -> tuple[bool, bool]:
        below = above = True
        for m, c in p.items():
            if not m:
                continue
            atoms = [self.table.atoms[a] for a in m]
            if len(atoms) > 1:
                low = high = all(a.below and a.above for a in atoms)
            else:
                low, high = atoms[0].below, atoms[0].above
            below, above = below and (low if c > 0 else high), above and (high if c > 0 else low)
        return below, above


def dtype_range(dtype: DType) -> Interval:
    if dtype is BOOL:
        return Interval(0, 1)
    return Interval(int(dtype.lowest), int(dtype.highest))


def tame(dtype: DType) -> tuple[bool, bool]:
    return (dtype.bits < 64, dtype.bits < 64)
