"""What an analyzer knows at a point: facts, ranges, known conditions, and caches that hold while they do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .expr import Expr
from .intervals import ANYTHING, Interval
from .polynomial import Monomial, Poly, PolyKey

if TYPE_CHECKING:
    from .witness import Witness

FactKey = tuple[Monomial, bool]  # a monomial, and whether its coefficient is positive


@dataclass(slots=True)
class Context:
    """Facts are polynomials known to be >= 0, found by the monomials that they hold."""

    facts: dict[FactKey, tuple[Poly, ...]] = field(default_factory=dict)
    ranges: dict[int, Interval] = field(default_factory=dict)  # by atom number
    known: dict[object, bool] = field(default_factory=dict)  # opaque conditions, by key
    different: tuple[Poly, ...] = ()  # known not to be 0
    either: tuple[tuple[Expr, Expr], ...] = ()  # one of the two holds
    values: dict[int, Poly] = field(default_factory=dict)  # vars with one value
    impossible: bool = False  # this point is never reached
    # caches
    polys: dict[int, tuple[Expr, Poly]] = field(default_factory=dict)
    names: dict[int, tuple[Expr, int]] = field(default_factory=dict)
    simplified: dict[int, tuple[Expr, Expr]] = field(default_factory=dict)
    atom_ranges: dict[int, Interval] = field(default_factory=dict)
    atom_facts: dict[int, tuple[Poly, ...]] = field(default_factory=dict)
    # whether polynomials are proved to be >= 0, and with how much fuel that was sought
    sought: dict[PolyKey, tuple[bool, int]] = field(default_factory=dict)
    # values at which all this holds, as far as they were sought, by kind; None: of that kind there are none
    witnesses: dict[str, Witness | None] = field(default_factory=dict)

    def child(self) -> Context:
        """A copy to which facts may be added; caches of expressions start empty."""
        return Context(
            dict(self.facts),
            dict(self.ranges),
            dict(self.known),
            self.different,
            self.either,
            dict(self.values),
            self.impossible,
        )

    def changed(self) -> None:
        """Drop what may be stronger now."""
        self.atom_ranges.clear()
        self.atom_facts.clear()
        self.simplified.clear()
        self.witnesses.clear()
        self.sought = {}

    def add(self, fact: Poly) -> None:
        """Remember `fact >= 0`."""
        if not self.know(fact):
            return
        linear = [m for m in fact if m]
        if len(linear) == 1 and len(linear[0]) == 1:
            self.narrow(linear[0][0], fact[linear[0]], fact.get((), 0))
        self.changed()

    def know(self, fact: Poly) -> bool:
        """Remember `fact >= 0`, without what follows of ranges; False where it is known already."""
        facts = self.facts
        for m, c in fact.items():
            where = (m, c > 0)
            before = facts.get(where, ())
            if fact in before:
                return False
            facts[where] = (*before, fact)
        return True

    def narrow(self, number: int, coefficient: int, offset: int) -> None:
        """coefficient * atom + offset >= 0."""
        found = (
            Interval(-(offset // coefficient), None)
            if coefficient > 0
            else Interval(None, offset // -coefficient)
        )
        self.ranges[number] = self.ranges.get(number, ANYTHING).meet(found)
