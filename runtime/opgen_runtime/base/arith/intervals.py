"""Intervals of integers, with None for an end that is not known."""

from __future__ import annotations

from typing import Final

from ..vocabulary import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """All integers from `lo` to `hi`, both included; None is unbounded."""

    lo: int | None = None
    hi: int | None = None

    @property
    def is_point(self) -> bool:
        return self.lo is not None and self.lo == self.hi

    def contains(self, value: int) -> bool:
        return (self.lo is None or self.lo <= value) and (self.hi is None or value <= self.hi)

    def within(self, lo: int | None, hi: int | None) -> bool:
        """No value is below `lo` or above `hi`."""
        return (lo is None or (self.lo is not None and self.lo >= lo)) and (
            hi is None or (self.hi is not None and self.hi <= hi)
        )

    def __add__(self, other: Interval) -> Interval:
        return Interval(
            None if self.lo is None or other.lo is None else self.lo + other.lo,
            None if self.hi is None or other.hi is None else self.hi + other.hi,
        )

    def scale(self, factor: int) -> Interval:
        """Every value times `factor`."""
        if factor == 0:
            return Interval(0, 0)
        lo = None if self.lo is None else self.lo * factor
        hi = None if self.hi is None else self.hi * factor
        return Interval(lo, hi) if factor > 0 else Interval(hi, lo)

    def __mul__(self, other: Interval) -> Interval:
        if self.is_point:
            return other.scale(self.lo or 0)
        if other.is_point:
            return self.scale(other.lo or 0)
        if None not in (self.lo, self.hi, other.lo, other.hi):
            ends = [a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)]  # type: ignore[operator]  # no None here
            return Interval(min(ends), max(ends))
        if (self.lo or -1) >= 0 or self.lo == 0:
            if other.lo is not None and other.lo >= 0:
                hi = None if self.hi is None or other.hi is None else self.hi * other.hi
                return Interval((self.lo or 0) * other.lo, hi)
            if other.hi is not None and other.hi <= 0:
                return (self * other.scale(-1)).scale(-1)
        elif self.hi is not None and self.hi <= 0:
            return (self.scale(-1) * other).scale(-1)
        return Interval()

    def floordiv(self, divisor: int) -> Interval:
        """Every value // divisor, for divisor > 0."""
        return Interval(
            None if self.lo is None else self.lo // divisor, None if self.hi is None else self.hi // divisor
        )

    def meet(self, other: Interval) -> Interval:
        """The values in both."""
        if other.lo is None and other.hi is None:
            return self
        lo = self.lo if other.lo is None else other.lo if self.lo is None else max(self.lo, other.lo)
        hi = self.hi if other.hi is None else other.hi if self.hi is None else min(self.hi, other.hi)
        return Interval(lo, hi)

    def join(self, other: Interval) -> Interval:
        """The least interval that holds both."""
        return Interval(
            None if self.lo is None or other.lo is None else min(self.lo, other.lo),
            None if self.hi is None or other.hi is None else max(self.hi, other.hi),
        )


ANYTHING: Final = Interval()
